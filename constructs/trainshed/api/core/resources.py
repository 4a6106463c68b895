"""What containers ask for.

Rules: k8s.io/kubernetes v1.36, `pkg/apis/core/validation/validation.go`, ValidateContainerResourceRequirements, and
`pkg/apis/core/helper/helpers.go` for the classes of resource names.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Final

from trainshed import naming
from trainshed.api.base import Broken, Model
from trainshed.api.core.shapes import Text
from trainshed.api.types import Str, keyed_by
from trainshed.faults import nearest
from trainshed.quantity import Quantity
from trainshed.spelling import misspelt, short_slip

_NATIVE: Final = ("cpu", "memory", "ephemeral-storage")
_HUGE: Final = "hugepages-"
_POD_LEVEL: Final = ("cpu", "memory")
_OF_NODES: Final = (*_NATIVE, "pods")
#: The devices of the vendors' plugins.
DEVICES: Final[Mapping[str, str]] = {
    "nvidia": "nvidia.com/gpu",
    "amd": "amd.com/gpu",
    "habana": "habana.ai/gaudi",
    "google": "google.com/tpu",
}
_VENDOR: Final = re.compile(r"(nvidia|amd)(?:[.-]?com)?(?:[./-])gpus?", re.IGNORECASE)


def is_extended(name: str) -> bool:
    """Whether a device plugin or operator offers the resource (`nvidia.com/gpu`): whole numbers, no overcommit."""
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


class ResourceClaim(Model):
    """The use of one of the pod's resource claims (dynamic resource allocation), or of one request in it."""

    name: Text
    request: Str | None = None


class ResourceRequirements(Model):
    """Requests are reserved, limits are enforced. A missing request is taken from the limit."""

    claims: Annotated[list[ResourceClaim], keyed_by("name")] | None = None
    limits: dict[str, Quantity] | None = None
    requests: dict[str, Quantity] | None = None

    def rules(self) -> Iterator[Broken]:
        """ValidateContainerResourceRequirements."""
        limits, requests = self.limits or {}, self.requests or {}
        for list_, amounts in (("limits", limits), ("requests", requests)):
            for name, amount in amounts.items():
                field = f"{list_}[{name}]"
                yield from _name_rules(field, name)
                yield from _amount_rules(field, name, amount)
        for name, request in requests.items():
            yield from _pair_rules(name, request, limits)
        names = {*limits, *requests}
        if any(name.startswith(_HUGE) for name in names) and not names & {"cpu", "memory"}:
            yield Broken("", "asks for huge pages without cpu or memory", "add cpu or memory")


def pod_level_rules(resources: ResourceRequirements) -> Iterator[Broken]:
    """validatePodResources: the pod as a whole has cpu, memory and huge pages only."""
    if resources.claims is not None:
        yield Broken("claims", "a pod as a whole takes no claims", "move them to a container")
    for list_, amounts in (("limits", resources.limits), ("requests", resources.requests)):
        for name in amounts or {}:
            if name not in _POD_LEVEL and not name.startswith(_HUGE):
                yield Broken(
                    f"{list_}[{name}]", "a pod as a whole takes cpu, memory and huge pages", "move it to a container"
                )


def container_resource_error(name: str) -> str:
    """The name of a resource that a container can ask for."""
    if error := naming.label_key_error(name):
        return error
    if "/" in name or name in _NATIVE or name.startswith(_HUGE):
        return ""
    return f'"{name}" is not a resource of containers; {_meant(name, _NATIVE)}'


def node_resource_error(name: str) -> str:
    """The name of a resource that nodes offer; also what is certainly a slip in a device's name."""
    if error := naming.label_key_error(name):
        return error
    if "/" in name:
        return device_error(name)
    if name in _OF_NODES or name.startswith(_HUGE):
        return ""
    return f'"{name}" is not a resource of nodes; {_meant(name, _OF_NODES)}'


def _meant(name: str, known: tuple[str, ...]) -> str:
    hint = f"write {misnamed_gpu(name) or DEVICES['nvidia']}, or your device's name" if "gpu" in name.lower() else ""
    return hint or nearest(name, known) or f"use {', '.join(known)}, or a device such as nvidia.com/gpu"


def misnamed_gpu(name: str) -> str:
    """What the vendor's plugin offers, where `name` says the same in other words (`nvidia/gpu`, `amd.com/gpus`)."""
    match = _VENDOR.fullmatch(name) if name not in DEVICES.values() else None
    return DEVICES[match[1].lower()] if match else ""


def device_error(name: str) -> str:
    """A well-known device whose name has a slip in it. Other vendors' names, and other devices of these, are right."""
    meant = misnamed_gpu(name) or next((known for known in DEVICES.values() if _slipped(name, known)), "")
    return f'"{name}" is offered by no device plugin; did you mean "{meant}"?' if meant else ""


def _slipped(name: str, known: str) -> bool:
    (host, _, device), (its_host, _, its_device) = name.partition("/"), known.partition("/")
    alike = device.lower() == its_device or misspelt(device, its_device) or short_slip(device, [its_device])
    return name != known and (host == its_host or misspelt(host, its_host)) and bool(alike)


def _name_rules(field: str, name: str) -> Iterator[Broken]:
    message, _, fix = container_resource_error(name).partition("; ")
    if message:
        yield Broken(field, message, fix)


def _amount_rules(field: str, name: str, amount: Quantity) -> Iterator[Broken]:
    if amount < Quantity(0):
        yield Broken(field, f"{amount} is negative")
    elif is_extended(name) and not amount.is_whole():
        yield Broken(field, f"{amount} is not a whole number, and {name} cannot be divided", "write a whole number")
    elif name.startswith(_HUGE) and (page := _page_size(name)) is not None and (amount / page).denominator != 1:
        yield Broken(field, f"{amount} is not a multiple of the page size {page}")


def _page_size(name: str) -> Quantity | None:
    try:
        size = Quantity(name.removeprefix(_HUGE))
    except ValueError:
        return None
    return size if size > Quantity(0) else None


def _pair_rules(name: str, request: Quantity, limits: Mapping[str, Quantity]) -> Iterator[Broken]:
    limit = limits.get(name)
    fixed = is_extended(name) or name.startswith(_HUGE)
    if limit is None:
        if fixed:
            yield Broken(
                f"limits[{name}]", f"is missing, and {name} cannot be overcommitted", f'add limits: {name}: "{request}"'
            )
    elif fixed and request != limit:
        yield Broken(
            f"requests[{name}]",
            f"{request} differs from the limit of {limit}, and {name} cannot be overcommitted",
            "write the same number, or remove the request",
        )
    elif request > limit:
        yield Broken(f"requests[{name}]", f"{request} is more than the limit of {limit}", "raise the limit")
