"""The generators of an ApplicationSet: what makes the parameters that fill its template.

Schema: Argo CD v3.5.1, `applicationset-crd.yaml`. A generator inside matrix or merge is the same but for its own matrix
and merge, which the CRD leaves open (any JSON).
"""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from trainshed.api.argocd.application import ApplicationSpec
from trainshed.api.argocd.hosting import PrFilter, PullRequestProviders, ScmFilter, ScmProviders
from trainshed.api.base import Broken, Model
from trainshed.api.types import Bool, Int64, JsonValue, Str

Values = dict[str, Str]


class Requirement(Model):
    """One condition of a label selector. Inside a matrix, key and values may hold `{{…}}`."""

    key: Str
    operator: Str
    values: list[Str] | None = None


class LabelSelector(Model):
    """A label selector whose texts may hold `{{…}}`, so that they are not checked as labels."""

    match_labels: dict[str, Str] | None = None
    match_expressions: list[Requirement] | None = None


class TemplateMetadata(Model):
    """The metadata of generated Applications; any text may hold `{{…}}`."""

    name: Str | None = None
    namespace: Str | None = None
    labels: dict[str, Str] | None = None
    annotations: dict[str, Str] | None = None
    finalizers: list[Str] | None = None


class ApplicationSetTemplate(Model):
    """An Application to fill in. A generator's own template wins over the set's, field by field."""

    metadata: TemplateMetadata
    spec: ApplicationSpec


class ListGenerator(Model):
    """One Application per element; elements are free JSON, or YAML made by a matrix (`elements_yaml`)."""

    elements: list[JsonValue] | None = None
    template: ApplicationSetTemplate | None = None
    elements_yaml: Str | None = None


class ClusterGenerator(Model):
    """One Application per cluster that Argo CD knows; `{}` means all of them."""

    selector: LabelSelector | None = None
    template: ApplicationSetTemplate | None = None
    values: Values | None = None
    flat_list: Bool | None = None


class GitDirectory(Model):
    """Folders, by glob; `exclude` takes them out again."""

    path: Str
    exclude: Bool | None = None


class GitFile(Model):
    """JSON or YAML files, by glob; `exclude` takes them out again."""

    path: Str
    exclude: Bool | None = None


class GitGenerator(Model):
    """One Application per folder, or per file, of a repository."""

    repo_url: Annotated[Str, Field(alias="repoURL")]
    directories: list[GitDirectory] | None = None
    files: list[GitFile] | None = None
    revision: Str
    requeue_after_seconds: Int64 | None = None
    template: ApplicationSetTemplate | None = None
    path_param_prefix: Str | None = None
    values: Values | None = None

    def rules(self) -> Iterator[Broken]:
        """Folders or files: Argo CD v3.5.1, `applicationset/generators/git.go`, `GenerateParams`."""
        if not self.directories and not self.files:
            yield Broken("directories", "nothing is looked for", "add directories or files")
        elif self.directories and self.files:
            yield Broken("files", "they are ignored, since directories is written", "use two generators")


class ScmProviderGenerator(ScmProviders):
    """One Application per repository of a Git hosting service."""

    filters: list[ScmFilter] | None = None
    clone_protocol: Str | None = None
    requeue_after_seconds: Int64 | None = None
    template: ApplicationSetTemplate | None = None
    values: Values | None = None


class PullRequestGenerator(PullRequestProviders):
    """One Application per open pull request."""

    filters: list[PrFilter] | None = None
    requeue_after_seconds: Int64 | None = None
    template: ApplicationSetTemplate | None = None
    values: Values | None = None
    continue_on_repo_not_found_error: Bool | None = None


class ClusterDecisionResourceGenerator(Model):
    """One Application per cluster that the status of some custom resource names."""

    config_map_ref: Str
    name: Str | None = None
    requeue_after_seconds: Int64 | None = None
    label_selector: LabelSelector | None = None
    template: ApplicationSetTemplate | None = None
    values: Values | None = None


class PluginConfigMapRef(Model):
    """The ConfigMap with the plugin's address and token."""

    name: Str


class PluginInput(Model):
    """What is sent to the plugin: free JSON by parameter."""

    parameters: dict[str, JsonValue] | None = None


class PluginGenerator(Model):
    """Parameters from an HTTP service."""

    config_map_ref: PluginConfigMapRef
    input: PluginInput | None = None
    requeue_after_seconds: Int64 | None = None
    template: ApplicationSetTemplate | None = None
    values: Values | None = None


class Generators(Model):
    """The generators that may stand at any depth."""

    list_: Annotated[ListGenerator | None, Field(alias="list")] = None
    clusters: ClusterGenerator | None = None
    git: GitGenerator | None = None
    scm_provider: ScmProviderGenerator | None = None
    cluster_decision_resource: ClusterDecisionResourceGenerator | None = None
    pull_request: PullRequestGenerator | None = None
    plugin: PluginGenerator | None = None
    selector: LabelSelector | None = None

    def written(self) -> list[str]:
        """The generators that are written here, as the manifest spells them."""
        fields = type(self).model_fields
        return [str(fields[name].alias) for name in fields if name != "selector" and getattr(self, name) is not None]


class NestedGenerator(Generators):
    """A generator inside matrix or merge."""

    matrix: JsonValue = None
    merge: JsonValue = None

    def rules(self) -> Iterator[Broken]:
        """Exactly one: Argo CD v3.5.1, `applicationset/generators/matrix.go` and `merge.go`."""
        yield from _one_generator(self.written(), "keep one, or nest a generator for each")


class MatrixGenerator(Model):
    """Every combination of the parameters of two generators; the second may use those of the first."""

    generators: list[NestedGenerator]
    template: ApplicationSetTemplate | None = None

    def rules(self) -> Iterator[Broken]:
        """Exactly two: Argo CD v3.5.1, `applicationset/generators/matrix.go`."""
        if len(self.generators) != 2:
            yield Broken("generators", f"there are {len(self.generators)}, a matrix takes exactly 2")


class MergeGenerator(Model):
    """The parameters of the first generator, completed from the others where all merge keys agree."""

    generators: list[NestedGenerator]
    merge_keys: list[Str]
    template: ApplicationSetTemplate | None = None

    def rules(self) -> Iterator[Broken]:
        """Two or more, and a key: Argo CD v3.5.1, `applicationset/generators/merge.go`."""
        if len(self.generators) < 2:
            yield Broken("generators", f"there is {len(self.generators)}, merge takes 2 or more")
        if not self.merge_keys:
            yield Broken("mergeKeys", "it is empty", "name the parameters that must agree")


class Generator(Generators):
    """One entry of `spec.generators`."""

    matrix: MatrixGenerator | None = None
    merge: MergeGenerator | None = None

    def rules(self) -> Iterator[Broken]:
        """An entry without a generator makes no Applications at all."""
        if not self.written():
            yield from _one_generator([], "")


def _one_generator(written: list[str], fix: str) -> Iterator[Broken]:
    if not written:
        yield Broken("", "it holds no generator", "add one, such as git or list")
    elif len(written) > 1:
        yield Broken(written[1], f"{written[0]} is written as well, and here only one is allowed", fix)
