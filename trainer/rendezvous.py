"""Meeting the other nodes: wait for the master with a deadline, and let no two nodes claim one rank.

torchrun's static rendezvous fails late and vaguely here: a name that is not published yet, a master that never comes,
or two nodes with one rank all end in a store timeout of many minutes. Each has its own message and code in this module.
"""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING

from torch.distributed.elastic.rendezvous import RendezvousHandler, RendezvousInfo, RendezvousParameters
from torch.distributed.elastic.rendezvous.api import rendezvous_handler_registry
from torch.distributed.elastic.rendezvous.static_tcp_rendezvous import StaticTCPRendezvous, create_rdzv_handler

from trainer import exits
from trainer.exits import Stop

if TYPE_CHECKING:
    from torch.distributed.launcher.api import LaunchConfig

POLL_SECONDS = 0.25


def wait_for_name(host: str, deadline: float) -> str:
    """An address of `host`. `deadline` is on the monotonic clock; raises `Stop` 69 when it passes.

    The DNS name of a headless service appears only once the master's pod has an address, some seconds after the start.
    """
    while True:
        try:
            return str(socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)[0][4][0])
        except OSError as error:
            if time.monotonic() >= deadline:
                raise Stop(exits.UNHEALTHY, f"the master's name {host} does not resolve: {error}") from None
        time.sleep(POLL_SECONDS)


def wait_for_port(host: str, port: int, deadline: float) -> None:
    """Return once something listens on `host:port`; raises `Stop` 69 when the deadline passes."""
    while True:
        try:
            with socket.create_connection((host, port), timeout=max(0.1, min(2.0, deadline - time.monotonic()))):
                return
        except OSError as error:
            if time.monotonic() >= deadline:
                raise Stop(exits.UNHEALTHY, f"the master {host}:{port} cannot be reached: {error}") from None
        time.sleep(POLL_SECONDS)


class ClaimedStaticRendezvous(StaticTCPRendezvous):
    """torch's static rendezvous, where each node first claims its rank under its host name.

    The second host that claims a rank is refused (78). The same host may claim again: that is its replacement pod.
    """

    owner = ""

    def next_rendezvous(self) -> RendezvousInfo:
        """Join, then claim the rank."""
        info = super().next_rendezvous()
        holder = info.store.compare_set(f"trainer/claim/{info.rank}", "", self.owner).decode()
        if holder not in ("", self.owner):
            raise Stop(
                exits.CONFIG,
                f"two nodes claim node rank {info.rank}: {holder} and {self.owner}; check PET_NODE_RANK of both",
            )
        return info


def _create(parameters: RendezvousParameters) -> RendezvousHandler:
    handler = create_rdzv_handler(parameters)
    handler.__class__ = ClaimedStaticRendezvous
    assert isinstance(handler, ClaimedStaticRendezvous)
    handler.owner = os.environ.get("TRAINSHED_NODE_NAME") or socket.gethostname()
    return handler


def prepare(config: LaunchConfig, timeout: float) -> None:
    """Wait for the master of a static rendezvous and put our handler in place of torch's.

    `timeout` in seconds holds for the name, the port, and the store together. Other backends are left alone.
    """
    if config.rdzv_backend != "static":
        return
    host, _, port_text = config.rdzv_endpoint.rpartition(":")
    host = host.strip("[]")
    rank = int(config.rdzv_configs.get("rank", 0))
    deadline = time.monotonic() + timeout
    wait_for_name(host, deadline)
    if rank == 0:
        _refuse_taken_port(host, int(port_text))
    else:
        wait_for_port(host, int(port_text), deadline)
    config.rdzv_configs["timeout"] = max(1, int(timeout))
    _use_claims()


def _refuse_taken_port(host: str, port: int) -> None:
    """Node rank 0 opens the port itself, so whoever listens there already has the same rank or is another program."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("", port))
        except OSError as error:
            raise Stop(
                exits.UNHEALTHY,
                f"port {port} is taken here ({error.strerror}), so this node cannot be the master {host}: another "
                "agent with node rank 0 runs on this host, or another program uses the port",
            ) from None


def _use_claims() -> None:
    """Let the name `static` create our handler: the agent treats only that name as static, so a new one will not do."""
    rendezvous_handler_registry._registry["static"] = _create
