"""Values of a run's environment variables that are not written in the stack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from trainshed.api.base import Broken
from trainshed.api.core.env import EnvVar, EnvVarSource
from trainshed.api.core.refs import (
    FIELDS_IN_ENV,
    ConfigMapKeySelector,
    ObjectFieldSelector,
    SecretKeySelector,
)
from trainshed.api.core.shapes import key_error
from trainshed.api.types import DnsSubdomain, Str, shaped
from trainshed.gitops.values import Value
from trainshed.training.volumes import Text


class SecretEnv(Value):
    """An environment variable's value in a Secret of the run's namespace."""

    secret: DnsSubdomain
    key: Annotated[Str, shaped(key_error)]


class ConfigMapEnv(Value):
    """An environment variable's value in a ConfigMap of the run's namespace."""

    config_map: DnsSubdomain
    key: Annotated[Str, shaped(key_error)]


class FieldEnv(Value):
    """An environment variable's value in a field of the pod itself, such as `spec.nodeName` or `status.podIP`."""

    field: Text

    def rules(self) -> Iterator[Broken]:
        """Kubernetes offers some fields, and each label and annotation."""
        yield from ObjectFieldSelector(field_path=self.field).rules_among(FIELDS_IN_ENV, "field")


AnyEnv = str | SecretEnv | ConfigMapEnv | FieldEnv


def env_var(name: str, value: AnyEnv) -> EnvVar:
    """The variable as containers have it."""
    match value:
        case str():
            return EnvVar(name=name, value=value)
        case SecretEnv():
            secret = SecretKeySelector(name=value.secret, key=value.key)
            return EnvVar(name=name, value_from=EnvVarSource(secret_key_ref=secret))
        case ConfigMapEnv():
            config = ConfigMapKeySelector(name=value.config_map, key=value.key)
            return EnvVar(name=name, value_from=EnvVarSource(config_map_key_ref=config))
        case FieldEnv():
            return EnvVar(name=name, value_from=EnvVarSource(field_ref=ObjectFieldSelector(field_path=value.field)))
