"""What every API object shares: strict frozen models, Kubernetes' spelling, lossless read-back.

`None` means "not written" and is never rendered; `{}` and `[]` are kept, since an empty `namespaceSelector` is not an
absent one. Unknown fields are refused, and nothing is coerced.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from trainshed import naming
from trainshed.faults import encodable

Manifest = dict[str, Any]


@dataclass(frozen=True)
class Broken:
    """A rule that an object breaks: the field (relative to the model, Kubernetes' spelling), what is wrong, the fix."""

    field: str
    message: str
    fix: str = ""

    def __str__(self) -> str:
        text = f"{self.field}: {self.message}" if self.field else self.message
        return f"{text}; {self.fix}" if self.fix else text


class Model(BaseModel):
    """A part of an API object. Python names are snake_case, the manifest's are camelCase; both are read.

    Modules with models do without `from __future__ import annotations`: pydantic would compile and evaluate the text of
    each annotation, which makes the start 3 % longer.
    """

    # Building a validator takes a millisecond or more: a run that uses ten of our 300 models builds those ten.
    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True, defer_build=True
    )

    def rules(self) -> Iterator[Broken]:
        """The rules this object breaks beyond types and bounds: single-object CEL and webhook rules. Override me."""
        yield from ()

    @model_validator(mode="after")
    def _apply_rules(self) -> Self:
        if type(self).rules is not Model.rules and (broken := list(self.rules())):
            text = encodable("; ".join(map(str, broken)))
            raise PydanticCustomError("rules", "{text}", {"text": text, "broken": broken})
        return self


def metadata_rules(labels: Mapping[str, str] | None, annotations: Mapping[str, str] | None) -> Iterator[Broken]:
    """Label keys and values, annotation keys: k8s.io/apimachinery v0.36, `pkg/api/validation/objectmeta.go`."""
    for key, value in (labels or {}).items():
        if error := naming.label_key_error(key):
            yield Broken(f"labels[{key}]", error)
        if error := naming.label_value_error(value):
            yield Broken(f"labels[{key}]", error)
    for key in annotations or {}:
        if error := naming.label_key_error(key.lower()):
            yield Broken(f"annotations[{key}]", error)


class ObjectMeta(Model):
    """`metadata`. What the API server writes itself is read and kept, so that a live object reads back unchanged."""

    name: str | None = None
    generate_name: str | None = None
    namespace: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    owner_references: list[dict[str, Any]] | None = None
    creation_timestamp: Any = None
    deletion_grace_period_seconds: int | None = None
    deletion_timestamp: Any = None
    generation: int | None = None
    managed_fields: list[dict[str, Any]] | None = None
    resource_version: str | None = None
    self_link: str | None = None
    uid: str | None = None

    def rules(self) -> Iterator[Broken]:
        """See `metadata_rules`."""
        yield from metadata_rules(self.labels, self.annotations)


class KubernetesObject(Model):
    """One object of one kind at one version. `status` belongs to controllers: it is read and kept, never judged."""

    namespaced: ClassVar[bool]
    name_error: ClassVar[Callable[[str], str]] = staticmethod(naming.dns1123_subdomain_error)

    api_version: str
    kind: str
    metadata: ObjectMeta
    status: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _check_metadata(self) -> Self:
        broken = list(self._metadata_rules())
        if broken:
            text = encodable("; ".join(map(str, broken)))
            raise PydanticCustomError("rules", "{text}", {"text": text, "broken": broken})
        return self

    def _metadata_rules(self) -> Iterator[Broken]:
        if self.metadata.name is None and self.metadata.generate_name is None:
            yield Broken("metadata.name", "is missing")
        if self.metadata.name is not None and (error := type(self).name_error(self.metadata.name)):
            yield Broken("metadata.name", error)
        if not self.namespaced and self.metadata.namespace is not None:
            yield Broken("metadata.namespace", f"{self.kind} is cluster-scoped", "leave the namespace out")
        if self.metadata.namespace is not None and (error := naming.dns1123_label_error(self.metadata.namespace)):
            yield Broken("metadata.namespace", error)

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """(group, kind, namespace, name): two objects with one identity are the same object to the API server."""
        group, slash, _ = self.api_version.rpartition("/")
        return (group if slash else "", self.kind, self.metadata.namespace or "", self.metadata.name or "")

    def manifest(self) -> Manifest:
        """The object as plain data, in Kubernetes' spelling, quantities canonical. A new mapping each time."""
        return self.model_dump(by_alias=True, exclude_none=True)

    @classmethod
    def parse(cls, manifest: Mapping[str, Any]) -> Self:
        """Reads a manifest; `parse(x.manifest()) == x`. Raises pydantic.ValidationError (see `api.explain`)."""
        return cls.model_validate(manifest)
