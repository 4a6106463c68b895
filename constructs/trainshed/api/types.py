"""Field types with Kubernetes' bounds and shapes, shared by all API objects.

Numbers and booleans are strict: `"3"` is not an int32 and `1` is not a boolean, as for the API server.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, JsonValue, StrictBool, StrictInt, StrictStr
from pydantic_core import PydanticCustomError

from trainshed import naming
from trainshed.faults import encodable
from trainshed.quantity import Quantity

__all__ = [
    "Bool",
    "CrdQuantity",
    "DnsLabel",
    "DnsLabel1035",
    "DnsSubdomain",
    "Int32",
    "Int64",
    "IntOrString",
    "JsonValue",
    "LabelKey",
    "LabelValue",
    "Str",
    "keyed_by",
    "shaped",
    "unique",
]

Bool = StrictBool
Str = StrictStr
Int32 = Annotated[StrictInt, Field(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[StrictInt, Field(ge=-(2**63), le=2**63 - 1)]
IntOrString = StrictInt | StrictStr


def _no_fraction(value: Any) -> Any:
    if isinstance(value, float) and not value.is_integer():
        raise PydanticCustomError(
            "quantity", 'is a number with a fraction, which goes in quotes here; write "{value}"', {"value": value}
        )
    return value


#: A quantity in a custom resource. Its schema (`x-kubernetes-int-or-string`) takes a fraction as text only.
CrdQuantity = Annotated[Quantity, BeforeValidator(_no_fraction)]


def shaped(error_of: Callable[[str], str]) -> AfterValidator:
    """Refuses a string for which `error_of` returns a sentence, with that sentence."""

    def check(value: str) -> str:
        if error := error_of(value):
            raise PydanticCustomError("shape", "{reason}", {"reason": encodable(error)})
        return value

    return AfterValidator(check)


DnsLabel = Annotated[StrictStr, shaped(naming.dns1123_label_error)]
DnsLabel1035 = Annotated[StrictStr, shaped(naming.dns1035_label_error)]
DnsSubdomain = Annotated[StrictStr, shaped(naming.dns1123_subdomain_error)]
LabelKey = Annotated[StrictStr, shaped(naming.label_key_error)]
LabelValue = Annotated[StrictStr, shaped(naming.label_value_error)]


def keyed_by(*keys: str) -> AfterValidator:
    """A map list (`x-kubernetes-list-type: map`): no two items agree in all `keys` (Python field names)."""

    def check(items: list[Any]) -> list[Any]:
        seen: set[tuple[Any, ...]] = set()
        for item in items:
            key = tuple(getattr(item, name) for name in keys)
            if key in seen:
                fields = type(item).model_fields
                told = ", ".join(
                    f'{fields[name].alias or name} "{value}"' for name, value in zip(keys, key, strict=True)
                )
                raise PydanticCustomError("duplicate", "two items have {told}", {"told": told})
            seen.add(key)
        return items

    return AfterValidator(check)


def _no_duplicates(items: list[Any]) -> list[Any]:
    for index, item in enumerate(items):
        if item in items[:index]:
            raise PydanticCustomError("duplicate", '"{item}" is listed twice', {"item": str(item)})
    return items


#: A set list (`x-kubernetes-list-type: set`): no item twice.
unique = AfterValidator(_no_duplicates)
