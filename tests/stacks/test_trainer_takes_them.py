"""What the reference stacks hand to the trainer, it takes: options, configuration, world, budget, claims."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.stacks.objects import Object
from trainer import config_load, launch, topology
from trainer.config import Config

IN_IMAGE = "/opt/trainshed/configs/"


def containers(objects: list[Object]) -> Iterator[tuple[str, int, dict[str, Any], dict[str, Any]]]:
    """(file, nodes, what has command, args and env, the container with the mounts) of each run."""
    runtimes = {(item.namespace, item.name): item.spec for item in objects if item.kind == "TrainingRuntime"}
    for item in objects:
        if item.kind == "TrainJob":
            runtime = runtimes[item.namespace, item.spec["runtimeRef"]["name"]]["template"]["spec"]
            pod = runtime["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
            yield item.file, item.spec["trainer"]["numNodes"], item.spec["trainer"], pod["containers"][0]
        elif item.kind == "JobSet":
            job = item.spec["replicatedJobs"][0]["template"]["spec"]
            container = job["template"]["spec"]["containers"][0]
            yield item.file, job["parallelism"], container, container
        elif item.kind == "Job" and "tasks" in item.spec:
            for task in item.spec["tasks"]:
                container = task["template"]["spec"]["containers"][0]
                yield item.file, item.spec["minAvailable"], container, container
        elif item.kind == "Job":
            container = item.spec["template"]["spec"]["containers"][0]
            yield item.file, item.spec["parallelism"], container, container


def config_of(root: Path, holder: dict[str, Any], env: dict[str, str]) -> Config:
    """The configuration that a rank of this container would load."""
    args = holder["args"][holder["args"].index("/opt/trainshed/ddp.py") + 1 :]
    flags = dict(zip(args[::2], range(0, len(args), 2), strict=True))
    assert set(flags) <= {"--config", "--set"}, args
    file = root / "trainer/configs" / args[flags["--config"] + 1].removeprefix(IN_IMAGE)
    overrides = [value for flag, value in zip(args[::2], args[1::2], strict=True) if flag == "--set"]
    return config_load.load(file, overrides, env)


def test_the_trainer_takes_what_the_stacks_give(root: Path, objects: list[Object], monkeypatch: Any) -> None:
    seen = 0
    for file, nodes, holder, container in containers(objects):
        env = {entry["name"]: entry.get("value", "") for entry in holder["env"]}
        config = config_of(root, holder, env)
        # The world has a GPU for each process, and the batch divides.
        topology.check(config, topology.World(0, 0, nodes * 8, 8), "cuda", 8)
        # What the launcher would read of the grace period is consistent.
        for name in ("PET_SHUTDOWN_TIMEOUT", "TRAINSHED_GRACE_PERIOD"):
            monkeypatch.setenv(name, env[name])
        assert launch.shutdown_seconds() == 105
        # It reads and writes where a claim is mounted; the root is read-only.
        mounts = {mount["mountPath"]: mount.get("readOnly", False) for mount in container["volumeMounts"]}
        assert mounts[str(Path(config.data.train).parent)], file
        assert mounts[str(Path(config.run.dir).parent)] is False, file
        assert config.run.dir == env["TRAINSHED_CHECKPOINT_DIR"]
        seen += 1
    assert seen == 9
