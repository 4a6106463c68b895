"""The volume sources in use today. Those that Kubernetes has deprecated are in `volume_legacy`.

Rules: k8s.io/kubernetes v1.36, `pkg/apis/core/validation/validation.go`, validateVolumeSource and its callees.
"""

import re
from collections.abc import Iterator
from typing import Annotated, Final, Literal

from pydantic import Field

from trainshed.api.base import Broken, Model
from trainshed.api.core.claim import PersistentVolumeClaimTemplate
from trainshed.api.core.refs import KeyToPath, LocalObjectReference
from trainshed.api.core.shapes import Text, UserId, backsteps_error, mode_rules
from trainshed.api.types import Bool, Int32, Str, shaped
from trainshed.quantity import Quantity

_MEDIUM: Final = re.compile(r"(Memory|HugePages(-.+)?)?")


class ConfigMapVolumeSource(Model):
    """The keys of a ConfigMap as files. Without `items`, every key."""

    default_mode: Int32 | None = None
    default_user: UserId | None = None
    items: list[KeyToPath] | None = None
    name: Str | None = None
    optional: Bool | None = None

    def rules(self) -> Iterator[Broken]:
        """validateConfigMapVolumeSource."""
        if not self.name:
            yield Broken("name", "is missing", "add the name of the ConfigMap")
        yield from mode_rules("defaultMode", self.default_mode)


class SecretVolumeSource(Model):
    """The keys of a Secret as files. Without `items`, every key."""

    default_mode: Int32 | None = None
    default_user: UserId | None = None
    items: list[KeyToPath] | None = None
    optional: Bool | None = None
    secret_name: Str | None = None

    def rules(self) -> Iterator[Broken]:
        """validateSecretVolumeSource."""
        if not self.secret_name:
            yield Broken("secretName", "is missing", "add the name of the Secret")
        yield from mode_rules("defaultMode", self.default_mode)


class CSIVolumeSource(Model):
    """A volume that a CSI driver makes for this pod alone."""

    driver: Text
    fs_type: Str | None = None
    node_publish_secret_ref: LocalObjectReference | None = None
    read_only: Bool | None = None
    volume_attributes: dict[str, Str] | None = None


class EmptyDirVolumeSource(Model):
    """Scratch space that lives as long as the pod: on the node's disk, or in memory (`medium: Memory`).

    `size_limit` is in bytes. In memory it counts against the containers' memory limits.
    """

    medium: Str | None = None
    mode: Int32 | None = None
    size_limit: Quantity | None = None

    def rules(self) -> Iterator[Broken]:
        """validateVolumeSource; a medium that no kubelet knows (`pkg/volume/emptydir`) leaves pods unstarted."""
        if self.medium and not _MEDIUM.fullmatch(self.medium):
            yield Broken("medium", f'"{self.medium}" is not a medium', "write Memory or HugePages, or remove it")
        if self.size_limit is not None and self.size_limit < Quantity(0):
            yield Broken("sizeLimit", f"{self.size_limit} is negative", "write a size such as 64Gi")
        yield from mode_rules("mode", self.mode, highest=0o1777)


class EphemeralVolumeSource(Model):
    """A claim that is made with the pod and deleted with it."""

    volume_claim_template: PersistentVolumeClaimTemplate | None = None

    def rules(self) -> Iterator[Broken]:
        """validateEphemeralVolumeSource."""
        if self.volume_claim_template is None:
            yield Broken("volumeClaimTemplate", "is missing", "add volumeClaimTemplate with a spec")


class HostPathVolumeSource(Model):
    """A path of the node itself."""

    path: Annotated[Text, shaped(backsteps_error)]
    type: (
        Literal["", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"]
        | None
    ) = None


class ImageVolumeSource(Model):
    """The files of an OCI image or artifact, read-only."""

    pull_policy: Literal["", "Always", "IfNotPresent", "Never"] | None = None
    reference: Str | None = None


class NFSVolumeSource(Model):
    """A path that an NFS server exports."""

    path: Text
    read_only: Bool | None = None
    server: Text

    def rules(self) -> Iterator[Broken]:
        """validateNFSVolumeSource."""
        if not self.path.startswith("/"):
            yield Broken("path", f'"{self.path}" is not absolute', 'write a path that starts with "/"')


class PersistentVolumeClaimVolumeSource(Model):
    """A claim in the pod's namespace."""

    claim_name: Text
    read_only: Bool | None = None


class ISCSIVolumeSource(Model):
    """A disk of an iSCSI target."""

    chap_auth_discovery: Bool | None = None
    chap_auth_session: Bool | None = None
    fs_type: Str | None = None
    initiator_name: Str | None = None
    iqn: Text
    iscsi_interface: Str | None = None
    lun: Annotated[Int32, Field(ge=0, le=255)]
    portals: list[Str] | None = None
    read_only: Bool | None = None
    secret_ref: LocalObjectReference | None = None
    target_portal: Text

    def rules(self) -> Iterator[Broken]:
        """validateISCSIVolumeSource."""
        for field, name in (("iqn", self.iqn), ("initiatorName", self.initiator_name)):
            if name and not name.startswith(("iqn", "eui", "naa")):
                yield Broken(field, f'"{name}" starts with none of iqn, eui, naa')
        if (self.chap_auth_discovery or self.chap_auth_session) and self.secret_ref is None:
            yield Broken("secretRef", "is missing, and CHAP needs it", "add secretRef")


class FCVolumeSource(Model):
    """A disk on a Fibre Channel network: by target and number, or by world wide identifier."""

    fs_type: Str | None = None
    lun: Annotated[Int32, Field(ge=0, le=255)] | None = None
    read_only: Bool | None = None
    target_wwns: Annotated[list[Str] | None, Field(alias="targetWWNs")] = None
    wwids: list[Str] | None = None

    def rules(self) -> Iterator[Broken]:
        """validateFCVolumeSource."""
        if bool(self.target_wwns) == bool(self.wwids):
            yield Broken("", "needs either targetWWNs or wwids", "write one of them")
        if self.target_wwns and self.lun is None:
            yield Broken("lun", "is missing, and targetWWNs need it", "add lun")
