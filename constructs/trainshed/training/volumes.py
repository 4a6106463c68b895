"""What stands in the files of a run's containers: claims, ConfigMaps, Secrets, scratch space."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Final, cast

from trainshed.addresses import text_error
from trainshed.api.base import Broken
from trainshed.api.core.container import VolumeMount
from trainshed.api.core.shapes import descending_path_error
from trainshed.api.core.volume import (
    ConfigMapVolumeSource,
    EmptyDirVolumeSource,
    PersistentVolumeClaimVolumeSource,
    SecretVolumeSource,
    Volume,
)
from trainshed.api.types import Bool, DnsSubdomain, Str, shaped
from trainshed.gitops.values import Value, read_as
from trainshed.quantity import Quantity
from trainshed.tenancy.shares import AnyAmount, unit_rules

#: What a process is given: any text but one with control characters, which end it (NUL) or come from a slip.
Text = Annotated[Str, shaped(text_error)]

#: Where every container has shared memory and a writable folder.
OWN_PATHS: Final = {"/dev/shm": "shared memory", "/tmp": "the temporary directory"}


class Mount(Value):
    """A PersistentVolumeClaim of the run's namespace, mounted at an absolute path in every node's container."""

    claim: DnsSubdomain
    path: Text
    read_only: Bool = False
    sub_path: Annotated[Text, shaped(descending_path_error)] | None = None

    def rules(self) -> Iterator[Broken]:
        """Kubernetes wants an absolute path without a colon."""
        yield from _path_rules(self.path)


class ConfigMapMount(Value):
    """A ConfigMap of the run's namespace, a file for each key, read-only. What is in it is no part of the run's name:
    give a changed one a new name."""

    config_map: DnsSubdomain
    path: Text

    def rules(self) -> Iterator[Broken]:
        """As for a claim."""
        yield from _path_rules(self.path)


class SecretMount(Value):
    """A Secret of the run's namespace, a file for each key, read-only."""

    secret: DnsSubdomain
    path: Text

    def rules(self) -> Iterator[Broken]:
        """As for a claim."""
        yield from _path_rules(self.path)


class Scratch(Value):
    """Space on the node's disk that is gone with the pod. A pod that writes more than `size` into it is evicted."""

    path: Text
    size: Annotated[AnyAmount, read_as(Quantity)]

    def rules(self) -> Iterator[Broken]:
        """As for a claim; and some space."""
        yield from _path_rules(self.path)
        if self.amount <= Quantity(0):
            yield Broken("size", f"{self.amount} is not above 0", "write a size such as 200Gi")
        yield from unit_rules("ephemeral-storage", self.amount, "size")

    @property
    def amount(self) -> Quantity:
        """`size` as it is read."""
        return cast("Quantity", self.size)


AnyMount = Mount | ConfigMapMount | SecretMount | Scratch


def _path_rules(path: str) -> Iterator[Broken]:
    if not path.startswith("/") or ":" in path:
        yield Broken("path", f'"{path}" is not an absolute path without ":"', 'write for example "/data"')


def described(mount: AnyMount) -> str:
    """What is mounted, for messages."""
    match mount:
        case Mount():
            return f'claim "{mount.claim}"'
        case ConfigMapMount():
            return f'ConfigMap "{mount.config_map}"'
        case SecretMount():
            return f'Secret "{mount.secret}"'
        case Scratch():
            return "scratch space"


def volumes(mounts: Sequence[AnyMount], shared_memory: Quantity) -> list[Volume]:
    """The volumes of a pod: `shm`, `tmp`, and those of `mounts`, named after what they hold and their place."""
    return [
        Volume(name="shm", empty_dir=EmptyDirVolumeSource(medium="Memory", size_limit=shared_memory)),
        Volume(name="tmp", empty_dir=EmptyDirVolumeSource()),
        *(_volume(name, mount) for name, mount in zip(_names(mounts), mounts, strict=True)),
    ]


def volume_mounts(mounts: Sequence[AnyMount]) -> list[VolumeMount]:
    """Where a container of the pod has its volumes."""
    return [
        VolumeMount(name="shm", mount_path="/dev/shm"),
        VolumeMount(name="tmp", mount_path="/tmp"),
        *(_mounted(name, mount) for name, mount in zip(_names(mounts), mounts, strict=True)),
    ]


def _names(mounts: Sequence[AnyMount]) -> list[str]:
    words = {Mount: "claim", ConfigMapMount: "config-map", SecretMount: "secret", Scratch: "scratch"}
    return [f"{words[type(mount)]}-{index}" for index, mount in enumerate(mounts)]


def _volume(name: str, mount: AnyMount) -> Volume:
    match mount:
        case Mount():
            source = PersistentVolumeClaimVolumeSource(claim_name=mount.claim, read_only=mount.read_only or None)
            return Volume(name=name, persistent_volume_claim=source)
        case ConfigMapMount():
            return Volume(name=name, config_map=ConfigMapVolumeSource(name=mount.config_map))
        case SecretMount():
            return Volume(name=name, secret=SecretVolumeSource(secret_name=mount.secret))
        case Scratch():
            return Volume(name=name, empty_dir=EmptyDirVolumeSource(size_limit=mount.amount))


def _mounted(name: str, mount: AnyMount) -> VolumeMount:
    if isinstance(mount, Mount):
        return VolumeMount(name=name, mount_path=mount.path, read_only=mount.read_only or None, sub_path=mount.sub_path)
    return VolumeMount(name=name, mount_path=mount.path, read_only=None if isinstance(mount, Scratch) else True)
