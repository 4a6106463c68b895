"""Argo CD's Application, v3.5.1: a source of manifests, a cluster to put them on, and how.

Rules: `util/argo/argo.go` (`ValidatePermissions`, `validateSourcePermissions`, `validateSourceHydrator`,
`GetRefSources`). Argo CD has no admission webhook: an Application that breaks them is stored and then shows
`InvalidSpecError`.
"""

import re
from collections.abc import Iterator
from typing import ClassVar, Final, Literal

from trainshed.api.argocd.formats import is_templated, retry_duration_error
from trainshed.api.argocd.source import ApplicationSource, SourceHydrator
from trainshed.api.base import Broken, KubernetesObject, Model
from trainshed.api.types import Bool, Int64, Str

_REF: Final = re.compile(r"[a-zA-Z0-9_-]+")
_DURATION_FIX: Final = 'write a duration such as "5s" or "3m"'


class ApplicationDestination(Model):
    """The cluster, by API address (`server`) or by its name in Argo CD (`name`), and the default namespace."""

    server: Str | None = None
    namespace: Str | None = None
    name: Str | None = None

    def rules(self) -> Iterator[Broken]:
        """One way to name the cluster: Argo CD v3.5.1, `util/argo/argo.go`, `GetDestinationCluster`."""
        if self.server and self.name and not (is_templated(self.server) and is_templated(self.name)):
            yield Broken("server", f'the cluster is already named "{self.name}"', "write either server or name")


class Automated(Model):
    """Sync without being asked. `enabled: false` keeps the settings and switches it off."""

    prune: Bool | None = None
    self_heal: Bool | None = None
    allow_empty: Bool | None = None
    enabled: Bool | None = None


class Backoff(Model):
    """The pause between retries: `duration`, times `factor` after each, never above `max_duration`."""

    duration: Str | None = None
    factor: Int64 | None = None
    max_duration: Str | None = None

    def rules(self) -> Iterator[Broken]:
        """Durations must parse: Argo CD v3.5.1, `types.go`, `RetryStrategy.NextRetryAt`."""
        for field, text in (("duration", self.duration), ("maxDuration", self.max_duration)):
            if text and (error := retry_duration_error(text)):
                yield Broken(field, error, _DURATION_FIX)


class RetryStrategy(Model):
    """How often a failed sync is tried again; a negative `limit` means for ever."""

    limit: Int64 | None = None
    backoff: Backoff | None = None
    refresh: Bool | None = None


class ManagedNamespaceMetadata(Model):
    """Labels and annotations of the namespace that `CreateNamespace=true` makes."""

    labels: dict[str, Str] | None = None
    annotations: dict[str, Str] | None = None


class SyncPolicy(Model):
    """When and how the Application is synced. `sync_options` are texts such as `ServerSideApply=true`."""

    automated: Automated | None = None
    sync_options: list[Str] | None = None
    retry: RetryStrategy | None = None
    managed_namespace_metadata: ManagedNamespaceMetadata | None = None


class ResourceIgnoreDifferences(Model):
    """Fields of matching objects that are not compared with Git."""

    group: Str | None = None
    kind: Str
    name: Str | None = None
    namespace: Str | None = None
    json_pointers: list[Str] | None = None
    jq_path_expressions: list[Str] | None = None
    managed_fields_managers: list[Str] | None = None


class Info(Model):
    """One line of information for people."""

    name: Str
    value: Str


class ApplicationSpec(Model):
    """The desired state. In an ApplicationSet's template any text may hold `{{…}}`."""

    source: ApplicationSource | None = None
    destination: ApplicationDestination
    project: Str
    sync_policy: SyncPolicy | None = None
    ignore_differences: list[ResourceIgnoreDifferences] | None = None
    info: list[Info] | None = None
    revision_history_limit: Int64 | None = None
    sources: list[ApplicationSource] | None = None
    source_hydrator: SourceHydrator | None = None


class SyncOperationResource(Model):
    """One object that a sync is limited to."""

    group: Str | None = None
    kind: Str
    name: Str
    namespace: Str | None = None


class SyncStrategyApply(Model):
    """`kubectl apply`; `force` replaces objects that cannot be patched."""

    force: Bool | None = None


class SyncStrategyHook(Model):
    """Apply and run the sync hooks (the default)."""

    force: Bool | None = None


class SyncStrategy(Model):
    """How a sync is performed."""

    apply: SyncStrategyApply | None = None
    hook: SyncStrategyHook | None = None


class SyncOperation(Model):
    """A sync that has been asked for."""

    revision: Str | None = None
    prune: Bool | None = None
    dry_run: Bool | None = None
    sync_strategy: SyncStrategy | None = None
    resources: list[SyncOperationResource] | None = None
    source: ApplicationSource | None = None
    manifests: list[Str] | None = None
    sync_options: list[Str] | None = None
    sources: list[ApplicationSource] | None = None
    revisions: list[Str] | None = None
    auto_heal_attempts_count: Int64 | None = None


class OperationInitiator(Model):
    """Who asked for the operation."""

    username: Str | None = None
    automated: Bool | None = None


class Operation(Model):
    """An operation that is asked for or running. It is state rather than configuration: keep it out of Git."""

    sync: SyncOperation | None = None
    initiated_by: OperationInitiator | None = None
    info: list[Info] | None = None
    retry: RetryStrategy | None = None


class Application(KubernetesObject):
    """One Application: what Argo CD syncs as a unit."""

    namespaced: ClassVar[bool] = True

    api_version: Literal["argoproj.io/v1alpha1"] = "argoproj.io/v1alpha1"
    kind: Literal["Application"] = "Application"
    spec: ApplicationSpec
    operation: Operation | None = None

    def rules(self) -> Iterator[Broken]:
        """What Argo CD v3.5.1 reports as `InvalidSpecError` and can be seen from the Application alone."""
        yield from self._source_rules()
        destination = self.spec.destination
        if not destination.server and not destination.name:
            yield Broken("spec.destination", "it names no cluster", "add server or name")

    def _source_rules(self) -> Iterator[Broken]:
        spec = self.spec
        given = [
            field
            for field, value in (
                ("source", spec.source),
                ("sources", spec.sources),
                ("sourceHydrator", spec.source_hydrator),
            )
            if value
        ]
        if not given:
            yield Broken("spec.source", "it is missing", "add source, sources or sourceHydrator")
        elif len(given) > 1:
            yield Broken(
                f"spec.{given[1]}",
                f"{given[0]} is written as well, and Argo CD uses only one of them",
                f"keep either {given[0]} or {given[1]}",
            )
        if spec.source is not None:
            yield from _one_source_rules(spec.source, "spec.source", alone=True)
        for index, source in enumerate(spec.sources or []):
            yield from _one_source_rules(source, f"spec.sources[{index}]", alone=False)
        yield from _ref_rules(spec.sources or [])
        if spec.source_hydrator is not None:
            yield from _hydrator_rules(spec.source_hydrator)


def _one_source_rules(source: ApplicationSource, field: str, *, alone: bool) -> Iterator[Broken]:
    if not source.repo_url:
        yield Broken(f"{field}.repoURL", "it is empty", "write the repository's address")
    if not source.path and not source.chart and (alone or not source.ref):
        choices = "path or chart" if alone else "path, chart or ref"
        yield Broken(field, "it says nothing to render", f"add {choices}")
    if source.chart and not source.target_revision:
        yield Broken(f"{field}.targetRevision", "a Helm chart needs a version", 'write a version such as "1.2.3"')


def _ref_rules(sources: list[ApplicationSource]) -> Iterator[Broken]:
    seen: set[str] = set()
    for index, source in enumerate(sources if len(sources) > 1 else []):
        if not source.ref:
            continue
        if not _REF.fullmatch(source.ref):
            yield Broken(
                f"spec.sources[{index}].ref", f'"{source.ref}" is not a reference', 'use letters, digits, "-" and "_"'
            )
        if source.ref in seen:
            yield Broken(f"spec.sources[{index}].ref", f'"{source.ref}" is used by another source', "rename one")
        seen.add(source.ref)


def _hydrator_rules(hydrator: SourceHydrator) -> Iterator[Broken]:
    branch = "write a branch"
    if not hydrator.dry_source.repo_url:
        yield Broken("spec.sourceHydrator.drySource.repoURL", "it is empty", "write the repository's address")
    if not hydrator.sync_source.target_branch:
        yield Broken("spec.sourceHydrator.syncSource.targetBranch", "it is empty", branch)
    if hydrator.hydrate_to is not None and not hydrator.hydrate_to.target_branch:
        yield Broken("spec.sourceHydrator.hydrateTo.targetBranch", "it is empty", branch)
