"""The pages of the codes that no rule function stands behind: the reader's, the schema pass', the engine's own."""

from __future__ import annotations

from typing import Final

from trainshed.checks.page import Page
from trainshed.fleet.finding import Severity


def _pages(family: str, *entries: tuple[str, Severity, str, str, str]) -> list[Page]:
    return [
        Page(code, severity, family, {"Summary": what, "Why": why, "Fix": fix})
        for code, severity, what, why, fix in entries
    ]


FIXED: Final = [
    *_pages(
        "reading",
        (
            "unreadable",
            "error",
            "A file or folder cannot be read.",
            "What was not read was not judged. The exit code is 2.",
            "Check the path, its permissions and its links.",
        ),
        (
            "nothing-checked",
            "error",
            "The input holds no Kubernetes object.",
            "A pipeline with a wrong path, or whose `helm template` failed, would stay green for ever. Exit code 2. "
            "A folder without an object beside others that have some is a warning.",
            "Check the path. Where an empty input is right, ignore this code.",
        ),
        (
            "not-an-object",
            "error",
            "A document, or an item of a List, is not a Kubernetes object.",
            "kubectl and Argo CD refuse the file.",
            "Write a mapping with `apiVersion` and `kind`; several objects stand one after another with `---` between.",
        ),
        (
            "missing-kind",
            "error",
            "An object has no `kind`, or none that is text.",
            "The API server cannot know what it is.",
            "Add `kind`.",
        ),
        (
            "missing-api-version",
            "error",
            "An object has no `apiVersion`, or none that is text.",
            "The API server cannot know what it is.",
            "Add `apiVersion`.",
        ),
        (
            "duplicate-object",
            "error",
            "One object is defined twice.",
            "The definition that is applied last wins silently; Argo CD warns of a repeated resource.",
            "Keep one of the two. Clusters in folders of their own (`<cluster>/<application>/`) do not clash.",
        ),
        (
            "template-not-rendered",
            "warning",
            "Text of a template is left in the object, or a chart is not rendered.",
            "What Helm or envsubst would write there is not known, so the object is not judged.",
            "Check the rendered text, for example what `helm template` prints.",
        ),
        (
            "sops-encrypted",
            "info",
            "The object is encrypted with SOPS.",
            "Its values cannot be read, so it counts as present and is not judged.",
            "Nothing to do.",
        ),
        (
            "argocd-skipped-file",
            "info",
            "Argo CD skips this file.",
            "Every file that contains `+argocd:skip-file-rendering` is skipped, also when the words are in a comment.",
            "Remove the marker if the file is meant to be applied.",
        ),
    ),
    *_pages(
        "YAML",
        ("yaml-syntax", "error", "The text is not YAML.", "Nothing of the document can be applied.", "Correct it."),
        (
            "yaml-tab",
            "error",
            "A tab is used for indentation.",
            "YAML allows spaces only.",
            "Indent with spaces.",
        ),
        (
            "yaml-encoding",
            "error",
            "The file is not plain UTF-8.",
            "Kubernetes' tools read UTF-8 without control characters.",
            "Save the file as UTF-8 without a mark.",
        ),
        (
            "yaml-duplicate-key",
            "error",
            "A key is written twice in one mapping.",
            "kubectl and Argo CD keep the last value and drop the first without a word. Files that do not begin with "
            "`---` run together so in `cat *.yaml`; such objects are judged one by one.",
            "Remove one of the two, or write `---` between two objects.",
        ),
        (
            "yaml-merge-key",
            "error",
            "A merge key `<<` does not mean what it seems to.",
            "It needs a mapping, and written after other keys it changes them for some readers and not for others.",
            "Write `<<` first, or write the fields out.",
        ),
        (
            "yaml-non-string-key",
            "warning",
            "A key is not text.",
            "Kubernetes reads `on:` or `1:` as the text of the boolean or number, which may be another key.",
            "Put the key in quotes.",
        ),
        (
            "yaml-complex-key",
            "error",
            "A list or mapping stands where a key belongs.",
            "Often it is a template such as `{{ .Values.x }}` without quotes.",
            "Write a plain key, or render first.",
        ),
        (
            "yaml-not-json",
            "error",
            "A number is one that JSON cannot carry.",
            "`.inf` and `.nan` have no JSON form, so the document is refused.",
            "Put it in quotes if it is text.",
        ),
        (
            "yaml-tag",
            "error",
            "A YAML tag is not understood, or its value does not fit.",
            "Kubernetes refuses the document.",
            "Remove the tag.",
        ),
        (
            "yaml-document-end",
            "warning",
            "Text follows `...` without `---`.",
            "kubectl and Argo CD do not read what follows.",
            "Write `---`.",
        ),
        ("yaml-empty-document", "info", "A file holds no object.", "It has no effect.", "Remove it."),
        (
            "yaml-anchor-bomb",
            "error",
            "Aliases make the document enormous.",
            "Every reader would run out of memory.",
            "Write the values out.",
        ),
        (
            "yaml-recursive-alias",
            "error",
            "An anchor's value contains itself.",
            "It has no finite form.",
            "Write the value out.",
        ),
        (
            "yaml-too-deep",
            "error",
            "A document is nested too deeply.",
            "Kubernetes refuses it; reading it would take unbounded time.",
            "Flatten it.",
        ),
        (
            "yaml-too-large",
            "error",
            "A file or document is too large.",
            "Reading it would take unbounded memory.",
            "Split it.",
        ),
    ),
    *_pages(
        "schema",
        (
            "schema-unknown-field",
            "error",
            "A field does not exist in this kind at this version.",
            "Strict validation refuses the object; without it the field is dropped silently.",
            "Write the field that is meant. Fields that a release renamed or removed are named with their successor.",
        ),
        (
            "schema-missing-field",
            "error",
            "A required field is missing.",
            "The API server refuses the object.",
            "Add it.",
        ),
        (
            "schema-type",
            "error",
            "A value has the wrong type.",
            "The API server refuses the object. Quotes make a string, no quotes a number or a boolean.",
            "Write the value as the type that the field has.",
        ),
        (
            "schema-enum",
            "error",
            "A value is not one of those allowed.",
            "The API server refuses the object.",
            "Write one of the values named; they are case-sensitive.",
        ),
        (
            "schema-bounds",
            "error",
            "A number, a length or a count is outside its limits.",
            "The API server refuses the object.",
            "Stay within the limit.",
        ),
        (
            "schema-format",
            "error",
            "A text does not have the form it needs: a name, a label, a pattern.",
            "The API server refuses the object.",
            "Write it in the form named.",
        ),
        (
            "schema-quantity",
            "error",
            "A quantity cannot be read.",
            "Amounts are numbers with an optional suffix: `500m`, `4`, `64Gi`, `1.5`.",
            "Write a quantity.",
        ),
        (
            "schema-duplicate-item",
            "error",
            "A list holds one item twice where each has to be unique.",
            "The API server refuses the object, or merges the two.",
            "Keep one of the two, or rename one.",
        ),
        (
            "schema-rule",
            "error",
            "The object breaks a rule of its kind.",
            "A CEL rule of the CRD, the kind's webhook or Kubernetes' own validation refuses it.",
            "The finding says what would be right.",
        ),
        (
            "schema-version",
            "error",
            "The API version is not served by the target, or by the CRD of the kind.",
            "The API server does not know the object.",
            "Write the version named, and check what changed in it.",
        ),
        (
            "schema-unknown-kind",
            "error",
            "The API group has no such kind.",
            "The API server does not know the object.",
            "Correct the kind.",
        ),
        (
            "schema-rule-unevaluated",
            "info",
            "A CEL rule of a CRD could not be evaluated.",
            "It uses functions that the evaluator does not have, so it was not judged.",
            "Nothing to do.",
        ),
        (
            "schema-crd-unusable",
            "warning",
            "The schema in a CRD is none that objects could be judged by.",
            "A misspelled type, for example. The API server refuses such a definition, and its objects with it.",
            "Correct the schema.",
        ),
        (
            "kueue-deprecated-version",
            "warning",
            "A Kueue object is written in v1beta1.",
            "Kueue serves it deprecated and stores v1beta2, so it is converted and compared in another form than the "
            "one in Git.\n\n| v1beta1 | v1beta2 |\n| --- | --- |\n| ClusterQueue `cohort` | `cohortName` |\n"
            "| ClusterQueue `admissionChecks: [a]` | `admissionChecksStrategy.admissionChecks: [{name: a}]` |\n"
            "| `flavorFungibility` `Borrow`, `Preempt` | `MayStopSearch` |\n"
            "| MultiKueueCluster `kubeConfig` | `clusterSource.kubeConfig` |\n"
            "| AdmissionCheck `retryDelayMinutes` | gone |",
            "Write `kueue.x-k8s.io/v1beta2` and rename the fields.",
        ),
    ),
    *_pages(
        "check",
        (
            "allow-unused",
            "warning",
            "`trainshed.dev/allow` allows a code that nothing is found for.",
            "An allowance that is left behind hides the next mistake of its kind.",
            "Remove the code from it.",
        ),
        (
            "allow-unknown-code",
            "warning",
            "`trainshed.dev/allow` names a code that does not exist.",
            "It has no effect.",
            "Write a code as `trainshed explain` lists them.",
        ),
        (
            "internal-error",
            "warning",
            "A rule failed, which is a mistake in Trainshed.",
            "What that rule would have said is missing from the report.",
            "Report it with the input; `TRAINSHED_TRACEBACK=1` prints where it failed.",
        ),
    ),
]
