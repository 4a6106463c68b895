"""The metadata of a template: what pods or Jobs made from it will carry."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import model_validator

from trainshed.api.base import Broken, Model, metadata_rules


class TemplateMeta(Model):
    """Labels and annotations for the objects that a controller makes from a template. The names are seldom used."""

    name: str | None = None
    namespace: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None

    @model_validator(mode="before")
    @classmethod
    def _drop_null_timestamp(cls, value: Any) -> Any:
        # API servers before 1.34 write `creationTimestamp: null` into every stored template.
        if isinstance(value, Mapping) and value.get("creationTimestamp", ...) is None:
            return {key: item for key, item in value.items() if key != "creationTimestamp"}
        return value

    def rules(self) -> Iterator[Broken]:
        """As for the metadata of an object."""
        yield from metadata_rules(self.labels, self.annotations)
