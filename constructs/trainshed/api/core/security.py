"""Security settings of pods and containers.

Rules: k8s.io/kubernetes v1.36, `pkg/apis/core/validation/validation.go`.
"""

import re
from collections.abc import Iterator
from typing import Annotated, Final, Literal

from trainshed.api.base import Broken, Model
from trainshed.api.core.shapes import UserId, descending_path_error
from trainshed.api.types import Bool, Str, shaped

ProfileType = Literal["RuntimeDefault", "Localhost", "Unconfined"]
_SYSCTL: Final = re.compile(r"[a-z0-9]([-_a-z0-9]*[a-z0-9])?([./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*")


def sysctl_error(name: str) -> str:
    """The name of a kernel parameter, with dots or slashes."""
    return "" if len(name) <= 253 and _SYSCTL.fullmatch(name) else f'"{name}" is not the name of a kernel parameter'


class AppArmorProfile(Model):
    """An AppArmor profile. A Localhost profile is one that the node has loaded."""

    localhost_profile: Str | None = None
    type: ProfileType

    def rules(self) -> Iterator[Broken]:
        """ValidateAppArmorProfileField."""
        yield from _localhost_rules(self.type, self.localhost_profile)


class SeccompProfile(Model):
    """A seccomp profile. A Localhost profile is a file below the kubelet's profile folder."""

    localhost_profile: Annotated[Str, shaped(descending_path_error)] | None = None
    type: ProfileType

    def rules(self) -> Iterator[Broken]:
        """validateSeccompProfileField."""
        yield from _localhost_rules(self.type, self.localhost_profile)


def _localhost_rules(kind: str, profile: str | None) -> Iterator[Broken]:
    if kind == "Localhost" and not profile:
        yield Broken("localhostProfile", "is missing, and type Localhost needs it", "add localhostProfile")
    if kind != "Localhost" and profile is not None:
        yield Broken("localhostProfile", f"type {kind} takes no profile", "write type: Localhost, or remove it")


class SELinuxOptions(Model):
    """The SELinux context of processes."""

    level: Str | None = None
    role: Str | None = None
    type: Str | None = None
    user: Str | None = None


class Sysctl(Model):
    """One kernel parameter of the pod's namespaces."""

    name: Annotated[Str, shaped(sysctl_error)]
    value: Str


class WindowsSecurityContextOptions(Model):
    """Security settings of Windows containers."""

    gmsa_credential_spec: Str | None = None
    gmsa_credential_spec_name: Str | None = None
    host_process: Bool | None = None
    run_as_user_name: Str | None = None


class Capabilities(Model):
    """Linux capabilities without their `CAP_` prefix. RDMA needs `IPC_LOCK`."""

    add: list[Str] | None = None
    drop: list[Str] | None = None


class PodSecurityContext(Model):
    """Security settings for all containers of a pod; a container's own settings win."""

    app_armor_profile: AppArmorProfile | None = None
    fs_group: UserId | None = None
    fs_group_change_policy: Literal["OnRootMismatch", "Always"] | None = None
    run_as_group: UserId | None = None
    run_as_non_root: Bool | None = None
    run_as_user: UserId | None = None
    se_linux_change_policy: Literal["MountOption", "Recursive"] | None = None
    se_linux_options: SELinuxOptions | None = None
    seccomp_profile: SeccompProfile | None = None
    supplemental_groups: list[UserId] | None = None
    supplemental_groups_policy: Literal["Merge", "Strict"] | None = None
    sysctls: list[Sysctl] | None = None
    windows_options: WindowsSecurityContextOptions | None = None

    def rules(self) -> Iterator[Broken]:
        """validateSysctls."""
        names = [one.name.replace("/", ".") for one in self.sysctls or []]
        for index, name in enumerate(names):
            if name in names[:index]:
                yield Broken(f"sysctls[{index}].name", f'"{name}" is set twice', "keep one of them")


class SecurityContext(Model):
    """Security settings of one container."""

    allow_privilege_escalation: Bool | None = None
    app_armor_profile: AppArmorProfile | None = None
    capabilities: Capabilities | None = None
    privileged: Bool | None = None
    proc_mount: Literal["Default", "Unmasked"] | None = None
    read_only_root_filesystem: Bool | None = None
    run_as_group: UserId | None = None
    run_as_non_root: Bool | None = None
    run_as_user: UserId | None = None
    se_linux_options: SELinuxOptions | None = None
    seccomp_profile: SeccompProfile | None = None
    windows_options: WindowsSecurityContextOptions | None = None

    def rules(self) -> Iterator[Broken]:
        """ValidateSecurityContext: what gives all rights cannot forbid gaining more."""
        if self.allow_privilege_escalation is False:
            if self.privileged:
                yield Broken(
                    "allowPrivilegeEscalation", "is false beside privileged: true", "remove one of the two settings"
                )
            if self.capabilities and {"SYS_ADMIN", "CAP_SYS_ADMIN"} & set(self.capabilities.add or []):
                yield Broken(
                    "allowPrivilegeEscalation", "is false beside the capability SYS_ADMIN", "remove one of the two"
                )
