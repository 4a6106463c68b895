"""Probes and lifecycle hooks of a container.

Rules: k8s.io/kubernetes v1.36, `pkg/apis/core/validation/validation.go`, validateHandler and its callers.
"""

from collections.abc import Iterator
from typing import Annotated, Final, Literal

from pydantic import Field

from trainshed.api.base import Broken, Model
from trainshed.api.core.shapes import PortNumber, PositiveSeconds, exactly_one, header_error, port_rules
from trainshed.api.types import Int32, Int64, IntOrString, Str, shaped

Count = Annotated[Int32, Field(ge=0)]
_PROBES: Final = ("exec", "grpc", "http_get", "tcp_socket")
_HOOKS: Final = ("exec", "http_get", "sleep", "tcp_socket")


class ExecAction(Model):
    """Runs a command in the container; no shell is involved."""

    command: list[Str] | None = None

    def rules(self) -> Iterator[Broken]:
        """validateExecAction."""
        if not self.command:
            yield Broken("command", "is missing", "add the command as a list of words")


class GRPCAction(Model):
    """Calls the gRPC health service of the container."""

    mode: Literal["Plaintext", "TLS"] | None = None
    port: PortNumber
    service: Str | None = None


class HTTPHeader(Model):
    """One header of an HTTP request."""

    name: Annotated[Str, shaped(header_error)]
    value: Str


class HTTPGetAction(Model):
    """Requests a path from the container, by port number or name."""

    host: Str | None = None
    http_headers: list[HTTPHeader] | None = None
    path: Str | None = None
    port: IntOrString
    protocol: Str | None = None
    scheme: Literal["", "HTTP", "HTTPS"] | None = None

    def rules(self) -> Iterator[Broken]:
        """ValidatePortNumOrName."""
        yield from port_rules("port", self.port)


class TCPSocketAction(Model):
    """Opens a connection to the container, by port number or name."""

    host: Str | None = None
    port: IntOrString

    def rules(self) -> Iterator[Broken]:
        """ValidatePortNumOrName."""
        yield from port_rules("port", self.port)


class SleepAction(Model):
    """Waits, which keeps a container up while its load moves away."""

    seconds: Annotated[Int64, Field(ge=0)]


class Probe(Model):
    """One way to ask a container how it is. Unset numbers: every 10 s, 1 s timeout, 3 failures, 1 success."""

    exec: ExecAction | None = None
    failure_threshold: Count | None = None
    grpc: GRPCAction | None = None
    http_get: HTTPGetAction | None = None
    initial_delay_seconds: Count | None = None
    period_seconds: Count | None = None
    success_threshold: Count | None = None
    tcp_socket: TCPSocketAction | None = None
    termination_grace_period_seconds: PositiveSeconds | None = None
    timeout_seconds: Count | None = None

    def rules(self) -> Iterator[Broken]:
        """validateHandler: exactly one handler."""
        yield from exactly_one(self, _PROBES, "handler")


class LifecycleHandler(Model):
    """What to do at one moment of a container's life."""

    exec: ExecAction | None = None
    http_get: HTTPGetAction | None = None
    sleep: SleepAction | None = None
    tcp_socket: TCPSocketAction | None = None

    def rules(self) -> Iterator[Broken]:
        """validateHandler: exactly one handler."""
        yield from exactly_one(self, _HOOKS, "handler")


class Lifecycle(Model):
    """Hooks after the start and before the stop of a container. `stop_signal` needs the pod's `os.name`."""

    post_start: LifecycleHandler | None = None
    pre_stop: LifecycleHandler | None = None
    stop_signal: Str | None = None


def probe_rules(field: str, probe: Probe | None) -> Iterator[Broken]:
    """What depends on the kind of probe: validateLivenessProbe, validateReadinessProbe, validateStartupProbe."""
    if probe is None:
        return
    if field == "readinessProbe":
        if probe.termination_grace_period_seconds is not None:
            yield Broken(f"{field}.terminationGracePeriodSeconds", "a readiness probe ends nothing", "remove it")
    elif probe.success_threshold not in (None, 0, 1):
        yield Broken(f"{field}.successThreshold", f"{probe.success_threshold} is not 1", "write 1 or remove it")
