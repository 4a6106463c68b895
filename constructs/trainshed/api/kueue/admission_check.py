"""AdmissionCheck (kueue.x-k8s.io/v1beta2), as in Kueue v0.19.2."""

import re
from typing import Annotated, ClassVar, Final, Literal

from pydantic import Field

from trainshed.api.base import KubernetesObject, Model
from trainshed.api.types import DnsLabel, DnsSubdomain, Str, shaped

PROVISIONING_CONTROLLER: Final = "kueue.x-k8s.io/provisioning-request"
MULTIKUEUE_CONTROLLER: Final = "kueue.x-k8s.io/multikueue"

_KIND: Final = re.compile(r"[A-Za-z]([-A-Za-z0-9]*[A-Za-z0-9])?")


def _kind_error(kind: str) -> str:
    return "" if _KIND.fullmatch(kind) else f'"{kind}" is not a kind: letters, digits and "-", starting with a letter'


class AdmissionCheckParametersReference(Model):
    """The object with the check's settings. Its name may have 63 characters only, and no dots."""

    api_group: DnsSubdomain
    kind: Annotated[Str, Field(max_length=63), shaped(_kind_error)]
    name: DnsLabel


class AdmissionCheckSpec(Model):
    """Who answers the check. Built in: `kueue.x-k8s.io/provisioning-request` and `kueue.x-k8s.io/multikueue`."""

    controller_name: Annotated[Str, Field(min_length=1, max_length=253)]
    parameters: AdmissionCheckParametersReference | None = None


class AdmissionCheck(KubernetesObject):
    """A condition outside Kueue which a workload waits for. Its controller can't change."""

    namespaced: ClassVar[bool] = False
    IMMUTABLE: ClassVar[tuple[str, ...]] = ("spec.controllerName",)

    api_version: Literal["kueue.x-k8s.io/v1beta2"] = "kueue.x-k8s.io/v1beta2"
    kind: Literal["AdmissionCheck"] = "AdmissionCheck"
    spec: AdmissionCheckSpec | None = None
