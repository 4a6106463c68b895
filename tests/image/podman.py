"""podman as these tests use it: runc, no daemon, a network of its own, limits that any machine grants."""

from __future__ import annotations

import json
import os
import random
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Limits are soft = hard and low, since a container may be denied CAP_SYS_RESOURCE; crun does not know hybrid cgroups.
CONFIGURATION = """
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
#: What a pod of the stacks may do, as flags for a container that is no pod.
CONFINED = ("--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--network=none", "--tmpfs=/tmp")


@dataclass(frozen=True)
class Ended:
    """A finished container: exit code, and what it printed."""

    code: int
    output: str


class Podman:
    """Commands of podman, with a configuration of their own in `folder`. Remembers what to remove."""

    def __init__(self, folder: Path) -> None:
        file = folder / "containers.conf"
        file.write_text(CONFIGURATION)
        self.env = {**os.environ, "CONTAINERS_CONF": str(file)}
        self.pods: list[str] = []
        self.volumes: list[str] = []
        self.networks: list[str] = []

    def call(self, *words: str, check: bool = True, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """`podman WORDS`."""
        ran = subprocess.run(["podman", *words], env=self.env, capture_output=True, text=True, timeout=timeout)
        assert not check or ran.returncode == 0, f"podman {' '.join(words)}: {ran.stdout}{ran.stderr}"
        return ran

    def run(self, image: str, *words: str, options: tuple[str, ...] = ()) -> Ended:
        """One confined container to its end; the entrypoint is the first word."""
        ran = self.call("run", "--rm", *CONFINED, *options, f"--entrypoint={words[0]}", image, *words[1:], check=False)
        return Ended(ran.returncode, ran.stdout + ran.stderr)

    def volume(self, name: str) -> Path:
        """Where a new volume, a claim of the pods, lies on this machine."""
        self.call("volume", "create", name)
        self.volumes.append(name)
        found = json.loads(self.call("volume", "inspect", name).stdout)
        return Path(found[0]["Mountpoint"])

    def network(self, name: str) -> list[str]:
        """A new network without DNS, as podman's plugins for that may be missing; two addresses in it."""
        for _ in range(5):
            subnet = f"10.{random.randrange(64, 224)}.{random.randrange(256)}"
            if (
                self.call("network", "create", f"--subnet={subnet}.0/24", "--disable-dns", name, check=False).returncode
                == 0
            ):
                self.networks.append(name)
                return [f"{subnet}.10", f"{subnet}.11"]
        raise AssertionError("no free network")

    def play(self, manifest: dict[str, Any], folder: Path, network: str, address: str) -> None:
        """Start a Pod from its manifest, at an address of a network."""
        name = manifest["metadata"]["name"]
        file = folder / f"{name}.json"  # JSON is YAML
        file.write_text(json.dumps(manifest))
        self.pods.append(name)
        self.call("play", "kube", f"--network={network}", f"--ip={address}", str(file))

    def end(self, pod: str, container: str = "node", timeout: float = 300) -> Ended:
        """Wait for a pod's container; its code (-1 if it goes on) and log."""
        name = f"{pod}-{container}"
        try:
            code = int(self.call("wait", name, timeout=timeout).stdout.strip())
        except subprocess.TimeoutExpired:
            code = -1
        log = self.call("logs", name)
        return Ended(code, log.stdout + log.stderr)

    def stop(self, pod: str, container: str = "node", grace: int = 60) -> None:
        """SIGTERM, and SIGKILL after the grace period, as the kubelet does: to the container, while the pod's network
        stays. `podman pod stop` takes the network away at once."""
        self.call("stop", f"--time={grace}", f"{pod}-{container}")

    def inspect(self, pod: str, container: str = "node") -> dict[str, Any]:
        """What podman made of a pod's container."""
        found: dict[str, Any] = json.loads(self.call("inspect", f"{pod}-{container}").stdout)[0]
        return found

    def remove_pods(self) -> None:
        """Remove every pod of this instance."""
        for name in self.pods:
            self.call("pod", "rm", "--force", "--time=0", name, check=False)
        self.pods.clear()

    def close(self) -> None:
        """Remove everything."""
        self.remove_pods()
        for name in self.volumes:
            self.call("volume", "rm", "--force", name, check=False)
        for name in self.networks:
            self.call("network", "rm", "--force", name, check=False)
