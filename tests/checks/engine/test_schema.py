"""The schema pass: what the API server would refuse is found in every kind, and nothing else is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.checks.engine.checked import checked, of_code, told
from trainshed.checks.options import Options
from trainshed.target import Target

CONTAINER = "{name: a, image: i, resurces: {}}"
#: Where a pod spec stands, in every kind that has one and no model of the whole.
TEMPLATES = {
    "apps/v1 Deployment": "{selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: SPEC}}",
    "apps/v1 StatefulSet": "{selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: SPEC}}",
    "apps/v1 DaemonSet": "{selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: SPEC}}",
    "apps/v1 ReplicaSet": "{selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: SPEC}}",
    "v1 Pod": "SPEC",
    "batch/v1 Job": "{template: {spec: SPEC}}",
    "leaderworkerset.x-k8s.io/v1 LeaderWorkerSet": "{leaderWorkerTemplate: {workerTemplate: {spec: SPEC}}}",
    "kubeflow.org/v2beta1 MPIJob": "{mpiReplicaSpecs: {Worker: {template: {spec: SPEC}}}}",
    "kubeflow.org/v1 PyTorchJob": "{pytorchReplicaSpecs: {Worker: {template: {spec: SPEC}}}}",
    "ray.io/v1 RayCluster": "{headGroupSpec: {template: {spec: SPEC}}}",
    "ray.io/v1 RayJob": "{rayClusterSpec: {workerGroupSpecs: [{template: {spec: SPEC}}]}}",
    "batch.volcano.sh/v1alpha1 CronJob": (
        "{schedule: '@daily', jobTemplate: {spec: {tasks: [{name: a, template: {spec: SPEC}}]}}}"
    ),
    "workload.codeflare.dev/v1beta2 AppWrapper": (
        "{components: [{template: {apiVersion: batch/v1, kind: Job, metadata: {name: x},"
        " spec: {template: {spec: SPEC}}}}]}"
    ),
}


@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_misspelt_field_of_a_container_is_found_in_every_kind(kind: str, tmp_path: Path) -> None:
    api_version, name = kind.split()
    spec = TEMPLATES[kind].replace("SPEC", f"{{restartPolicy: Never, containers: [{CONTAINER}]}}")
    report = checked(tmp_path, f"apiVersion: {api_version}\nkind: {name}\nmetadata: {{name: x}}\nspec: {spec}\n")
    (finding,) = of_code(report, "schema-unknown-field")
    assert finding.path.endswith("containers[0].resurces")
    assert finding.fix == 'did you mean "resources"?'
    assert finding.place is not None
    assert (finding.place.line, finding.place.column) == (4, 7 + spec.index("resurces"))


def test_kinds_without_a_model_are_judged_by_kubernetes_schemas(tmp_path: Path) -> None:
    text = """
        apiVersion: networking.k8s.io/v1
        kind: Ingress
        metadata: {name: a}
        spec:
          rule: []
          rules: [{http: {paths: [{path: 3, backend: {service: {name: a, port: {number: "80"}}}}]}}]
    """
    paths = "spec.rules[0].http.paths[0]"
    assert told(checked(tmp_path, text)) == [
        'schema-unknown-field spec.rule: rule is not a field of spec; did you mean "rules"?',
        f"schema-missing-field {paths}.pathType: pathType is missing; add it",
        f'schema-type {paths}.path: path is the number 3, must be a string; write it in quotes: "3"',
        f'schema-type {paths}.backend.service.port.number: number is the string "80", must be a whole number; '
        "write it without quotes: 80",
    ]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("spec: {cohort: a}", ["cohort was renamed in Kueue's v1beta2 (served since 0.15); write cohortName"]),
        (
            "spec: {admissionChecks: [a]}",
            [
                "admissionChecks was removed in Kueue's v1beta2 (served since 0.15); "
                "list the names in admissionChecksStrategy.admissionChecks: [{name: …}]"
            ],
        ),
        (
            "spec: {flavorFungibility: {whenCanBorrow: Borrow}}",
            ['whenCanBorrow is "Borrow", which Kueue\'s v1beta2 (served since 0.15) renamed; write MayStopSearch'],
        ),
        (
            "spec: {flavorFungibility: {whenCanPreempt: Preempt}}",
            ['whenCanPreempt is "Preempt", which Kueue\'s v1beta2 (served since 0.15) renamed; write MayStopSearch'],
        ),
        ("spec: {cohort_name: a}", ['cohort_name is not a field of ClusterQueueSpec; did you mean "cohortName"?']),
    ],
)
def test_renamed_fields_name_release_and_successor(tmp_path: Path, text: str, sentences: list[str]) -> None:
    report = checked(
        tmp_path, f"apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {{name: a}}\n{text}\n"
    )
    assert [f"{one.message}; {one.fix}" for one in report.findings if one.code.startswith("schema-")] == sentences


@pytest.mark.parametrize(
    ("kind", "spec", "message"),
    [
        (
            "TrainJob",
            "{runtimeRef: {name: a}, podTemplateOverrides: []}",
            "podTemplateOverrides was removed in Trainer",
        ),
        ("TrainJob", "{runtimeRef: {name: a}, labels: {a: b}}", "labels was removed in Trainer 2.2"),
        ("TrainJob", "{runtimeRef: {name: a}, trainer: {numProcPerNode: auto}}", 'numProcPerNode is "auto"; since'),
        ("TrainingRuntime", "{mlPolicy: {torch: {numProcPerNode: 8}}}", "numProcPerNode was removed in Trainer 2.2"),
        ("TrainingRuntime", "{mlPolicy: {torch: {elasticPolicy: {}}}}", "elasticPolicy was removed in Trainer 2.2"),
    ],
)
def test_fields_that_trainer_removed(tmp_path: Path, kind: str, spec: str, message: str) -> None:
    text = f"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: {kind}\nmetadata: {{name: a}}\nspec: {spec}\n"
    assert any(f.message.startswith(message) for f in checked(tmp_path, text).findings)


V1BETA1 = """
    apiVersion: kueue.x-k8s.io/v1beta1
    kind: ClusterQueue
    metadata: {name: a}
    spec:
      cohort: Not_A_Name
      admissionChecks: [one, 2]
      flavorFungibility: {whenCanBorrow: Borrow, whenCanPreempt: Preempt}
"""


def test_v1beta1_is_read_as_v1beta2_and_told_in_its_own_words(tmp_path: Path) -> None:
    report = checked(tmp_path, V1BETA1)
    (deprecated,) = of_code(report, "kueue-deprecated-version")
    assert deprecated.severity == "warning"
    found = {f.path: f.place.line for f in report.findings if f.code.startswith("schema-") and f.place}
    assert found == {"spec.cohort": 6, "spec.admissionChecks[1]": 7}
    (document,) = report.documents
    assert document.manifest["spec"]["cohortName"] == "Not_A_Name"
    assert document.manifest["spec"]["flavorFungibility"] == dict.fromkeys(
        ("whenCanBorrow", "whenCanPreempt"), "MayStopSearch"
    )
    assert document.ref.api_version == "kueue.x-k8s.io/v1beta1"


def test_v1beta1_does_not_know_the_new_names(tmp_path: Path) -> None:
    report = checked(tmp_path, V1BETA1.replace("cohort: Not_A_Name", "cohortName: a"))
    (finding,) = of_code(report, "schema-unknown-field")
    assert finding.path == "spec.cohortName"
    assert "v1beta2" in finding.fix


@pytest.mark.parametrize(
    ("api_version", "kind", "code", "fix"),
    [
        ("batch/v1beta1", "CronJob", "schema-version", "write apiVersion: batch/v1"),
        ("extensions/v1beta1", "Deployment", "schema-version", "write apiVersion: apps/v1"),
        ("policy/v1beta1", "PodDisruptionBudget", "schema-version", "write apiVersion: policy/v1"),
        ("kueue.x-k8s.io/v1alpha1", "Cohort", "schema-version", "write apiVersion: kueue.x-k8s.io/v1beta2"),
        ("jobset.x-k8s.io/v1", "JobSet", "schema-version", "write apiVersion: jobset.x-k8s.io/v1alpha2"),
        (
            "scheduling.volcano.sh/v1alpha2",
            "Queue",
            "schema-version",
            "write apiVersion: scheduling.volcano.sh/v1beta1",
        ),
        ("v1", "Servce", "schema-unknown-kind", 'did you mean "Service"?'),
        ("apps/v1", "Job", "schema-version", "write apiVersion: batch/v1"),
        ("kueue.x-k8s.io/v1beta2", "LocalQueues", "schema-unknown-kind", 'did you mean "LocalQueue"?'),
        ("trainer.kubeflow.org/v1alpha1", "TrainingJob", "schema-unknown-kind", 'did you mean "TrainJob"?'),
    ],
)
def test_versions_and_kinds_that_are_not_served(
    tmp_path: Path, api_version: str, kind: str, code: str, fix: str
) -> None:
    report = checked(tmp_path, f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a}}\n")
    assert [one.fix for one in of_code(report, code)] == [fix]


def test_the_target_decides_what_is_served(tmp_path: Path) -> None:
    text = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: a}\n"
    assert told(checked(tmp_path, text, Options(target=Target(kueue="0.14.2")))) == [
        "schema-version apiVersion: kueue.x-k8s.io/v1beta2 is served since Kueue 0.15; the target is 0.14.2; "
        "write kueue.x-k8s.io/v1beta1"
    ]
    assert told(checked(tmp_path, text)) == []


def test_numbers_are_told_as_they_are_written(tmp_path: Path) -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {version: 1.10, octal: 0755, on: yes}\n"
    fixes = [finding.fix for finding in of_code(checked(tmp_path, text), "schema-type")]
    assert fixes == [f'write it in quotes: "{word}"' for word in ("1.10", "0755", "yes")]


#: What `kubectl get -o yaml` adds, and what generators leave behind.
DUMPED: dict[str, Any] = {
    "creationTimestamp": "2026-01-01T00:00:00Z",
    "generation": 2,
    "managedFields": [{"apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}}, "manager": "x"}],
    "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "1"}],
    "resourceVersion": "1",
    "selfLink": "/x",
    "uid": "abc",
    "finalizers": ["a.b/c"],
}
POD_SPEC: dict[str, Any] = {
    "restartPolicy": "Never",
    "containers": [{"name": "a", "image": "i", "resources": {"limits": {"cpu": 1, "memory": 1e9}}, "env": None}],
}


@pytest.mark.parametrize(
    ("api_version", "kind", "body"),
    [
        ("v1", "Pod", {"spec": POD_SPEC, "status": {"phase": "Running", "anything": []}}),
        ("batch/v1", "Job", {"spec": {"template": {"metadata": {"creationTimestamp": None}, "spec": POD_SPEC}}}),
        (
            "apps/v1",
            "Deployment",
            {
                "spec": {
                    "selector": {"matchLabels": {"a": "b"}},
                    "strategy": {},
                    "template": {
                        "metadata": {"creationTimestamp": None, "labels": {"a": "b"}},
                        "spec": {**POD_SPEC, "restartPolicy": "Always"},
                    },
                },
                "status": {},
            },
        ),
        ("kueue.x-k8s.io/v1beta2", "ResourceFlavor", {"spec": {}, "status": {}}),
        ("v1", "ConfigMap", {"data": None}),
    ],
)
def test_dumps_of_live_objects_are_clean(tmp_path: Path, api_version: str, kind: str, body: dict[str, Any]) -> None:
    manifest = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a", **DUMPED}, **body}
    listed = {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": [manifest]}
    for document in (manifest, listed):
        assert told(checked(tmp_path, yaml.safe_dump(document))) == []


def test_templates_and_encrypted_objects_are_not_judged(tmp_path: Path) -> None:
    text = """
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "{{ .Release.Name }}"}
        data: {a: 1}
        ---
        apiVersion: v1
        kind: Secret
        metadata: {name: a}
        data: {a: 1}
        sops: {mac: x, lastmodified: y}
    """
    report = checked(tmp_path, text)
    assert told(report) == []
    assert report.counts.unjudged == 2


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            "{schedule: '@daily', timeZone: Europe/Berln, jobTemplate: {spec: TEMPLATE}}",
            "timeZone: there is no time zone",
        ),
        ("{schedule: '0 0 3 * * *', jobTemplate: {spec: TEMPLATE}}", 'schedule "0 0 3 * * *" has 6 fields'),
    ],
)
def test_a_sentence_of_its_own_is_kept_apart_from_the_name_of_its_field(
    spec: str, message: str, tmp_path: Path
) -> None:
    template = "{template: {spec: {restartPolicy: Never, containers: [{name: a, image: i}]}}}"
    text = f"apiVersion: batch/v1\nkind: CronJob\nmetadata: {{name: x}}\nspec: {spec.replace('TEMPLATE', template)}\n"
    (finding,) = of_code(checked(tmp_path, text), "schema-rule")
    assert finding.message.startswith(message)


def test_both_lists_of_admission_checks_of_v1beta1_are_read_as_one(tmp_path: Path) -> None:
    report = checked(
        tmp_path,
        """
        apiVersion: kueue.x-k8s.io/v1beta1
        kind: ClusterQueue
        metadata: {name: a}
        spec:
          namespaceSelector: {}
          admissionChecks: [b, c]
          admissionChecksStrategy: {admissionChecks: [{name: b}]}
        """,
    )
    assert of_code(report, "schema-unknown-field") == []
    (document,) = report.documents
    assert document.manifest["spec"]["admissionChecksStrategy"] == {"admissionChecks": [{"name": "b"}, {"name": "c"}]}
    path = ("spec", "admissionChecksStrategy", "admissionChecks", 1, "name")
    assert document.place(path).line == 7
