"""core/v1 ServiceAccount."""

from typing import Annotated, ClassVar, Literal

from trainshed.api.base import KubernetesObject, Model
from trainshed.api.core.refs import LocalObjectReference
from trainshed.api.types import Bool, Str, keyed_by


class ObjectReference(Model):
    """Another object. A ServiceAccount's secrets use only `name`."""

    api_version: Str | None = None
    field_path: Str | None = None
    kind: Str | None = None
    name: Str | None = None
    namespace: Str | None = None
    resource_version: Str | None = None
    uid: Str | None = None


class ServiceAccount(KubernetesObject):
    """Who a pod is to the API server. Tokens are made on demand; `secrets` is a relic that a few tools still read."""

    namespaced: ClassVar[bool] = True

    api_version: Literal["v1"] = "v1"
    kind: Literal["ServiceAccount"] = "ServiceAccount"
    automount_service_account_token: Bool | None = None
    image_pull_secrets: list[LocalObjectReference] | None = None
    secrets: Annotated[list[ObjectReference], keyed_by("name")] | None = None
