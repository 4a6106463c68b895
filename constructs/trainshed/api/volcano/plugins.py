"""The job plugins of Volcano v1.15.1, and what they mean for names (`pkg/controllers/job/plugins`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

KNOWN_PLUGINS: Final = ("ssh", "svc", "env", "pytorch", "tensorflow", "mpi", "ray", "hcclrank")

#: These make a Service named after the job; the webhook adds svc to the others.
SERVICE_PLUGINS: Final = ("svc", "pytorch", "tensorflow", "mpi", "ray")

_MPI_FLAGS: Final = ("master", "worker", "port")


def service_plugin(plugins: Mapping[str, Sequence[str]]) -> str:
    """The first plugin that makes a Service and gives pods host names, or an empty string."""
    return next((name for name in SERVICE_PLUGINS if name in plugins), "")


def mpi_master(arguments: Sequence[str]) -> str:
    """The name of the mpi plugin's master task, as Go's flag package reads it: it stops at the first unknown flag."""
    master, rest = "master", list(arguments)
    while rest:
        flag, equals, value = rest.pop(0).partition("=")
        name = flag.removeprefix("-").removeprefix("-")
        if not flag.startswith("-") or name not in _MPI_FLAGS:
            break
        if not equals:
            if not rest:
                break
            value = rest.pop(0)
        if name == "port" and not value.isdigit():
            break
        if name == "master":
            master = value
    return master
