"""Where an Argo CD Application's manifests come from: `source`, with the settings of each rendering tool.

Schema: Argo CD v3.5.1, `manifests/crds/application-crd.yaml`.
"""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from trainshed.api.base import Broken, Model
from trainshed.api.types import Bool, IntOrString, JsonValue, Str


class HelmParameter(Model):
    """A value as on Helm's command line (`--set`, with `force_string` `--set-string`)."""

    name: Str | None = None
    value: Str | None = None
    force_string: Bool | None = None


class HelmFileParameter(Model):
    """A value read from a file (`--set-file`)."""

    name: Str | None = None
    path: Str | None = None


class HelmSource(Model):
    """How Helm renders the source. `values_object` wins over `values`."""

    value_files: list[Str] | None = None
    parameters: list[HelmParameter] | None = None
    release_name: Str | None = None
    values: Str | None = None
    file_parameters: list[HelmFileParameter] | None = None
    version: Str | None = None
    pass_credentials: Bool | None = None
    ignore_missing_value_files: Bool | None = None
    skip_crds: Bool | None = None
    values_object: dict[str, JsonValue] | None = None
    namespace: Str | None = None
    kube_version: Str | None = None
    api_versions: list[Str] | None = None
    skip_tests: Bool | None = None
    skip_schema_validation: Bool | None = None


class KustomizeReplica(Model):
    """The replica count of the workload called `name`."""

    name: Str
    count: IntOrString


class KustomizeSelector(Model):
    """Which objects a patch applies to."""

    group: Str | None = None
    version: Str | None = None
    kind: Str | None = None
    name: Str | None = None
    namespace: Str | None = None
    annotation_selector: Str | None = None
    label_selector: Str | None = None


class KustomizePatch(Model):
    """One patch, inline (`patch`) or from a file (`path`)."""

    path: Str | None = None
    patch: Str | None = None
    target: KustomizeSelector | None = None
    options: dict[str, Bool] | None = None


class KustomizeSource(Model):
    """How Kustomize builds the source."""

    name_prefix: Str | None = None
    name_suffix: Str | None = None
    images: list[Str] | None = None
    common_labels: dict[str, Str] | None = None
    version: Str | None = None
    common_annotations: dict[str, Str] | None = None
    force_common_labels: Bool | None = None
    force_common_annotations: Bool | None = None
    namespace: Str | None = None
    common_annotations_envsubst: Bool | None = None
    replicas: list[KustomizeReplica] | None = None
    patches: list[KustomizePatch] | None = None
    components: list[Str] | None = None
    label_without_selector: Bool | None = None
    kube_version: Str | None = None
    api_versions: list[Str] | None = None
    ignore_missing_components: Bool | None = None
    label_include_templates: Bool | None = None


class JsonnetVar(Model):
    """A Jsonnet variable; `code` means that the value is an expression."""

    name: Str
    value: Str
    code: Bool | None = None


class JsonnetSource(Model):
    """Settings of Jsonnet files in a directory source."""

    ext_vars: list[JsonnetVar] | None = None
    tlas: list[JsonnetVar] | None = None
    libs: list[Str] | None = None


class DirectorySource(Model):
    """Plain manifests: sub-folders are read only with `recurse`; `include` and `exclude` are globs."""

    recurse: Bool | None = None
    jsonnet: JsonnetSource | None = None
    exclude: Str | None = None
    include: Str | None = None


class PluginEnv(Model):
    """An environment variable of a config management plugin."""

    name: Str
    value: Str


class PluginParameter(Model):
    """A parameter of a config management plugin: one of text, mapping or list."""

    name: Str | None = None
    string: Str | None = None
    map: dict[str, Str] | None = None
    array: list[Str] | None = None


class PluginSource(Model):
    """A config management plugin. Without a name, Argo CD discovers it."""

    name: Str | None = None
    env: list[PluginEnv] | None = None
    parameters: list[PluginParameter] | None = None


_TOOLS = ("kustomize", "helm", "directory", "plugin")


class _Tools(Model):
    """The four explicit source types; at most one may say something."""

    def rules(self) -> Iterator[Broken]:
        """One tool per source: Argo CD v3.5.1, `types.go`, `ApplicationSource.ExplicitType`."""
        used = [tool for tool in _TOOLS if _says_something(tool, getattr(self, tool))]
        if len(used) > 1:
            yield Broken(used[1], f"the source already has {used[0]}", "keep one of them")


def _says_something(tool: str, settings: Model | None) -> bool:
    # Argo CD drops empty settings of all tools but the plugin (`NormalizeApplicationSpec`).
    if settings is None or tool == "plugin":
        return settings is not None
    return any(getattr(settings, name) for name in type(settings).model_fields)


class ApplicationSource(_Tools):
    """One source: a folder (`path`) or a Helm chart (`chart`) of a repository at a revision."""

    repo_url: Annotated[Str, Field(alias="repoURL")]
    path: Str | None = None
    target_revision: Str | None = None
    helm: HelmSource | None = None
    kustomize: KustomizeSource | None = None
    directory: DirectorySource | None = None
    plugin: PluginSource | None = None
    chart: Str | None = None
    ref: Str | None = None
    name: Str | None = None
    tag_prefix: Str | None = None


class DrySource(_Tools):
    """What the source hydrator renders: a folder of a repository at a revision."""

    repo_url: Annotated[Str, Field(alias="repoURL")]
    target_revision: Str
    path: Str
    helm: HelmSource | None = None
    kustomize: KustomizeSource | None = None
    directory: DirectorySource | None = None
    plugin: PluginSource | None = None


class HydrateTo(Model):
    """The branch that hydrated manifests go to first, when they are promoted by somebody else."""

    target_branch: Str


class SyncSource(Model):
    """Where hydrated manifests are synced from. The repository is the dry source's when it is not written."""

    target_branch: Str
    path: Annotated[Str, Field(min_length=1, pattern=r"^.{2,}|[^./]$")]
    repo_url: Annotated[Str | None, Field(alias="repoURL")] = None


class SourceHydrator(Model):
    """Rendered manifests, written to Git by Argo CD itself."""

    dry_source: DrySource
    sync_source: SyncSource
    hydrate_to: HydrateTo | None = None
