"""Argo CD's AppProject, v3.5.1: what its Applications may read from, write to and write.

Rules: `pkg/apis/application/v1alpha1/app_project_types.go` (`ValidateProject`) and `types.go` (`validatePolicy`,
`validateRoleName`, `validateGroupName`, `SyncWindow.Validate`).
"""

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from trainshed.api.argocd.formats import cron_error, go_duration_error
from trainshed.api.base import Broken, KubernetesObject, Model
from trainshed.api.types import Bool, Int64, Str

_ROLE: Final = re.compile(r"[a-zA-Z0-9]([-_a-zA-Z0-9]*[a-zA-Z0-9])?")
_RESOURCES: Final = ("applications", "applicationsets", "repositories", "exec", "logs", "clusters")
_ACTIONS: Final = ("get", "create", "update", "delete", "sync", "override", "*")
_NESTED_ACTION: Final = re.compile(r"(action|update|delete)/")
_GPG_MODES: Final = ("none", "head", "strict")


class ProjectDestination(Model):
    """A cluster and namespace that Applications may write to; globs, `!` in front denies."""

    server: Str | None = None
    namespace: Str | None = None
    name: Str | None = None


class JwtToken(Model):
    """A token issued for a role; times in seconds since 1970."""

    iat: Int64
    exp: Int64 | None = None
    id: Str | None = None


class ProjectRole(Model):
    """A role of the project: Casbin policies for its own subject, granted to OIDC groups."""

    name: Str
    description: Str | None = None
    policies: list[Str] | None = None
    jwt_tokens: list[JwtToken] | None = None
    groups: list[Str] | None = None

    def rules(self) -> Iterator[Broken]:
        """Name and groups: `validateRoleName`, `validateGroupName`, `ValidateProject`."""
        if not _ROLE.fullmatch(self.name):
            yield Broken(
                "name",
                f'"{self.name}" is not a role name',
                'use letters, digits, "-" and "_", with a letter or digit at both ends',
            )
        yield from _repeated("groups", self.groups)
        yield from _repeated("policies", self.policies)
        for index, group in enumerate(self.groups or []):
            if error := _group_error(group):
                yield Broken(f"groups[{index}]", error)


class GroupKind(Model):
    """A kind of a group; globs."""

    group: Str
    kind: Str


class ClusterResource(Model):
    """A cluster-scoped kind, all of it or only the objects whose name fits the glob."""

    group: Str
    kind: Str
    name: Str | None = None


class OrphanedResourceKey(Model):
    """Objects that do not count as orphaned."""

    group: Str | None = None
    kind: Str | None = None
    name: Str | None = None


class OrphanedResources(Model):
    """Reports objects in the project's namespaces that no Application owns."""

    warn: Bool | None = None
    ignore: list[OrphanedResourceKey] | None = None


class SyncWindow(Model):
    """A time in which syncs are allowed or denied: a cron schedule, and how long it lasts from there."""

    kind: Str | None = None
    schedule: Str | None = None
    duration: Str | None = None
    applications: list[Str] | None = None
    namespaces: list[Str] | None = None
    clusters: list[Str] | None = None
    manual_sync: Bool | None = None
    time_zone: Str | None = None
    and_operator: Bool | None = None
    description: Str | None = None
    sync_overrun: Bool | None = None

    def rules(self) -> Iterator[Broken]:
        """`SyncWindow.Validate`, and a window must select something (`ValidateProject`)."""
        if self.kind not in ("allow", "deny"):
            yield Broken("kind", f'it is "{self.kind or ""}"', 'write "allow" or "deny"')
        if error := cron_error(self.schedule or ""):
            yield Broken("schedule", error, 'write a schedule such as "0 22 * * *"')
        if error := go_duration_error(self.duration or ""):
            yield Broken("duration", error, 'write a duration such as "1h30m"')
        if not (self.applications or self.namespaces or self.clusters):
            yield Broken("applications", "the window selects nothing", "add applications, namespaces or clusters")


class SignatureKey(Model):
    """A GnuPG key that commits must be signed with (deprecated by `source_integrity`)."""

    key_id: Annotated[Str, Field(alias="keyID")]


class DestinationServiceAccount(Model):
    """The service account that syncs impersonate for a destination."""

    server: Str
    namespace: Str | None = None
    default_service_account: Str


class GpgPolicy(Model):
    """Which commits must carry a signature of one of the keys: `none`, `head` or `strict`."""

    mode: Str
    keys: list[Str]

    def rules(self) -> Iterator[Broken]:
        """The three modes: Argo CD v3.5.1, `SourceIntegrityGitPolicyGPGMode`."""
        if self.mode not in _GPG_MODES:
            yield Broken("mode", f'"{self.mode}" is not a mode', 'write "none", "head" or "strict"')


class IntegrityRepo(Model):
    """Repositories a policy holds for; a glob."""

    url: Str


class GitIntegrityPolicy(Model):
    """A signature policy for repositories."""

    repos: list[IntegrityRepo]
    gpg: GpgPolicy


class GitIntegrity(Model):
    """Signature policies for Git; the first that matches holds."""

    policies: list[GitIntegrityPolicy]


class SourceIntegrity(Model):
    """What sources must prove before they are used."""

    git: GitIntegrity


class AppProjectSpec(Model):
    """What the project's Applications may do. Nothing is allowed that is not listed."""

    source_repos: list[Str] | None = None
    destinations: list[ProjectDestination] | None = None
    description: Annotated[Str | None, Field(max_length=255)] = None
    roles: list[ProjectRole] | None = None
    cluster_resource_whitelist: list[ClusterResource] | None = None
    namespace_resource_blacklist: list[GroupKind] | None = None
    orphaned_resources: OrphanedResources | None = None
    sync_windows: list[SyncWindow] | None = None
    namespace_resource_whitelist: list[GroupKind] | None = None
    signature_keys: list[SignatureKey] | None = None
    cluster_resource_blacklist: list[ClusterResource] | None = None
    source_namespaces: list[Str] | None = None
    permit_only_project_scoped_clusters: Bool | None = None
    destination_service_accounts: list[DestinationServiceAccount] | None = None
    source_integrity: SourceIntegrity | None = None

    def rules(self) -> Iterator[Broken]:
        """`ValidateProject`: nothing twice, and no `!*`, which would deny everything."""
        yield from _repeated("sourceRepos", self.source_repos)
        yield from _repeated("sourceNamespaces", self.source_namespaces)
        yield from _deny_all("sourceRepos", self.source_repos or [])
        seen: set[str] = set()
        for index, item in enumerate(self.destinations or []):
            field = f"destinations[{index}]"
            yield from _deny_all_fields(field, (("name", item.name), ("server", item.server)), item.namespace)
            yield from _seen_before(seen, f"{item.server or item.name or ''}/{item.namespace or ''}", field)
        seen = set()
        for index, account in enumerate(self.destination_service_accounts or []):
            field = f"destinationServiceAccounts[{index}]"
            yield from _deny_all_fields(field, (("server", account.server),), account.namespace)
            yield from _seen_before(seen, f"{account.server}/{account.namespace or ''}", field)
        seen = set()
        for index, window in enumerate(self.sync_windows or []):
            key = " ".join((window.kind or "", window.schedule or "", window.duration or ""))
            yield from _seen_before(seen, key, f"syncWindows[{index}]")
        seen = set()
        for index, role in enumerate(self.roles or []):
            yield from _seen_before(seen, role.name, f"roles[{index}].name")


class AppProject(KubernetesObject):
    """One project."""

    namespaced: ClassVar[bool] = True

    api_version: Literal["argoproj.io/v1alpha1"] = "argoproj.io/v1alpha1"
    kind: Literal["AppProject"] = "AppProject"
    spec: AppProjectSpec

    def rules(self) -> Iterator[Broken]:
        """Policies speak about this project and their own role: `validatePolicy`."""
        if self.metadata.name is None:
            return
        for index, role in enumerate(self.spec.roles or []):
            for number, policy in enumerate(role.policies or []):
                if broken := _policy_error(self.metadata.name, role.name, policy):
                    yield Broken(f"spec.roles[{index}].policies[{number}]", *broken)


def _policy_error(project: str, role: str, policy: str) -> tuple[str, str] | None:
    parts = [part.strip(" ") for part in policy.split(",")]
    if len(parts) != 6 or parts[0] != "p":
        return "it is not a policy", f'write "p, proj:{project}:{role}, applications, get, {project}/*, allow"'
    _, subject, resource, action, target, effect = parts
    if subject != (expected := f"proj:{project}:{role}"):
        return f'its subject is "{subject}"', f'write "{expected}"'
    if resource not in _RESOURCES:
        return f'its resource is "{resource}"', f"write one of {', '.join(_RESOURCES)}"
    if action not in _ACTIONS and not _NESTED_ACTION.match(action):
        return f'its action is "{action}"', f"write one of {', '.join(_ACTIONS)} or action/…"
    if not target.startswith(f"{project}/"):
        return f'its object is "{target}"', f'write "{project}/*" or "{project}/<application>"'
    if effect not in ("allow", "deny"):
        return f'its effect is "{effect}"', 'write "allow" or "deny"'
    return None


def _group_error(group: str) -> str:
    text = group.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        text = text[1:-1]
    elif "," in text:
        return f"the group '{text}' has a comma and must be quoted"
    if not text:
        return "it is empty"
    return f"the group '{group}' has characters that are not allowed" if re.search('["\n\r\t]', text) else ""


def _repeated(field: str, items: Sequence[str] | None) -> Iterator[Broken]:
    seen: set[str] = set()
    for index, item in enumerate(items or []):
        yield from _seen_before(seen, item, f"{field}[{index}]")


def _seen_before(seen: set[str], key: str, field: str) -> Iterator[Broken]:
    if key in seen:
        yield Broken(field, f'"{key}" is listed twice', "leave one out")
    seen.add(key)


def _deny_all(field: str, items: Sequence[str]) -> Iterator[Broken]:
    for index, item in enumerate(items):
        if item == "!*":
            yield Broken(f"{field}[{index}]", '"!*" would deny everything', "leave it out")


def _deny_all_fields(
    field: str, clusters: tuple[tuple[str, str | None], ...], namespace: str | None
) -> Iterator[Broken]:
    for name, value in (*clusters, ("namespace", namespace)):
        if value == "!*":
            yield Broken(f"{field}.{name}", '"!*" would deny everything', "leave it out")
