"""Environment variables of a container.

Rules: k8s.io/kubernetes v1.36, `pkg/apis/core/validation/validation.go`, ValidateEnv and ValidateEnvFrom.
"""

from collections.abc import Iterator
from typing import Annotated, Final

from trainshed.api.base import Broken, Model
from trainshed.api.core.refs import (
    FIELDS_IN_ENV,
    ConfigMapKeySelector,
    FileKeySelector,
    ObjectFieldSelector,
    ResourceFieldSelector,
    SecretKeySelector,
)
from trainshed.api.core.shapes import env_name_error, exactly_one
from trainshed.api.types import Bool, DnsSubdomain, Str, shaped

_VALUE_SOURCES: Final = ("config_map_key_ref", "field_ref", "file_key_ref", "resource_field_ref", "secret_key_ref")


class EnvVarSource(Model):
    """Where a value comes from: exactly one of the sources."""

    config_map_key_ref: ConfigMapKeySelector | None = None
    field_ref: ObjectFieldSelector | None = None
    file_key_ref: FileKeySelector | None = None
    resource_field_ref: ResourceFieldSelector | None = None
    secret_key_ref: SecretKeySelector | None = None

    def rules(self) -> Iterator[Broken]:
        """validateEnvVarValueFrom."""
        yield from exactly_one(self, _VALUE_SOURCES, "source")
        if self.field_ref:
            yield from self.field_ref.rules_among(FIELDS_IN_ENV, "fieldRef.fieldPath")


class EnvVar(Model):
    """One variable. `$(NAME)` in its value stands for an earlier variable of the same container."""

    name: Annotated[Str, shaped(env_name_error)]
    value: Str | None = None
    value_from: EnvVarSource | None = None

    def rules(self) -> Iterator[Broken]:
        """validateEnvVarValueFrom: a value or a source, not both. Neither is an empty value."""
        if self.value and self.value_from:
            yield Broken("valueFrom", "stands beside a value", "keep one of them")


class ConfigMapEnvSource(Model):
    """All keys of a ConfigMap in the pod's namespace."""

    name: DnsSubdomain | None = None
    optional: Bool | None = None

    def rules(self) -> Iterator[Broken]:
        """validateConfigMapEnvSource."""
        if self.name is None:
            yield Broken("name", "is missing", "add the name of the ConfigMap")


class SecretEnvSource(Model):
    """All keys of a Secret in the pod's namespace."""

    name: DnsSubdomain | None = None
    optional: Bool | None = None

    def rules(self) -> Iterator[Broken]:
        """validateSecretEnvSource."""
        if self.name is None:
            yield Broken("name", "is missing", "add the name of the Secret")


class EnvFromSource(Model):
    """All keys of one ConfigMap or Secret as variables, each with `prefix` before its name."""

    config_map_ref: ConfigMapEnvSource | None = None
    prefix: Str | None = None
    secret_ref: SecretEnvSource | None = None

    def rules(self) -> Iterator[Broken]:
        """ValidateEnvFrom."""
        if self.prefix and (error := env_name_error(self.prefix)):
            yield Broken("prefix", error)
        yield from exactly_one(self, ("config_map_ref", "secret_ref"), "source")
