"""Containers beside the one that trains: init containers, which end before it starts, and sidecars.

A sidecar is an init container that is restarted always (Kubernetes 1.29): it starts before all others, and ends after
the container that trains, so that no Job waits for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from trainshed.api.base import Broken
from trainshed.api.core.container import Container, VolumeMount
from trainshed.api.core.security import Capabilities, SecurityContext
from trainshed.faults import nearest

#: The container that trains, and the replicated job around it: Trainer finds both by this name, and it is the one that
#: Trainer's master address assumes.
NODE: Final = "node"
DOCTOR: Final = "doctor"


def confined() -> SecurityContext:
    """What the Pod Security level `restricted` asks of a container, and a root that is not written to."""
    return SecurityContext(
        allow_privilege_escalation=False,
        capabilities=Capabilities(drop=["ALL"]),
        read_only_root_filesystem=True,
    )


def beside(container: Container, mounts: list[VolumeMount], *, sidecar: bool = False) -> Container:
    """`container` with what it leaves out: the mounts and the confinement of the one that trains."""
    return container.model_copy(
        update={
            "restart_policy": "Always" if sidecar else container.restart_policy,
            "security_context": container.security_context or confined(),
            "volume_mounts": mounts if container.volume_mounts is None else container.volume_mounts,
        }
    )


def container_rules(
    init_containers: Sequence[Container], sidecars: Sequence[Container], volumes: Sequence[str], *, doctor: bool
) -> Iterator[Broken]:
    """Names that are taken, images that are missing, restarts that say something else, volumes that are not there."""
    taken = {NODE: "the container that trains", **({DOCTOR: "the doctor"} if doctor else {})}
    for field, containers in (("initContainers", init_containers), ("sidecars", sidecars)):
        for index, container in enumerate(containers):
            at = f"{field}[{index}]"
            if container.name in taken:
                yield Broken(f"{at}.name", f'"{container.name}" is {taken[container.name]} already', "use another name")
            taken.setdefault(container.name, "another of these containers")
            if not container.image:
                yield Broken(f"{at}.image", "is missing", "add an image")
            yield from _restart_rules(at, container, sidecar=field == "sidecars")
            for place, mount in enumerate(container.volume_mounts or ()):
                if mount.name not in volumes:
                    fix = nearest(mount.name, volumes) or f"it has {', '.join(volumes)}"
                    yield Broken(f"{at}.volumeMounts[{place}].name", f'the pod has no volume "{mount.name}"', fix)


def _restart_rules(at: str, container: Container, *, sidecar: bool) -> Iterator[Broken]:
    policy = container.restart_policy
    if sidecar and policy not in (None, "Always"):
        yield Broken(f"{at}.restartPolicy", f'is "{policy}", and a sidecar is restarted always', "leave it out")
    if not sidecar and policy == "Always":
        yield Broken(f"{at}.restartPolicy", 'is "Always", which makes it a sidecar', "move it to the sidecars")
