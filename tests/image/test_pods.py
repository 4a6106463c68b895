"""Rendered runs, executed: one of two pods is preempted, both save and leave 75, and the run ends as if undisturbed."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.image.conftest import Built
from tests.image.podman import Ended, Podman
from tests.image.pods import pods
from tests.training.given import manifests
from trainshed.training import Mount

pytestmark = pytest.mark.image
STEPS = 150
SAVED = f"step-{STEPS:08}"


@pytest.fixture(scope="module")
def claims(
    podman: Podman, built: Built, prefix: str, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, str, Path]:
    """Claims for data and checkpoints, the first filled by the image's own `data pack`; and the second's folder."""
    from pydoc_data.topics import topics

    data, checkpoints = f"{prefix}-data", f"{prefix}-checkpoints"
    podman.volume(data)
    folder = podman.volume(checkpoints)
    corpus = tmp_path_factory.mktemp("corpus")
    (corpus / "topics.txt").write_text("\n\n".join(topics[name] for name in sorted(topics))[:100_000])
    corpus.chmod(0o755)
    pack = ("python", "-m", "trainer", "data", "pack", "/corpus/topics.txt", "--output", "/workspace/data/train")
    options = (f"--volume={data}:/workspace/data:U", f"--volume={corpus}:/corpus:ro")
    ended = podman.run(built.tag, *pack, options=options)
    assert ended.code == 0, ended.output
    # Kubernetes gives a claim to the pod's fsGroup; podman does not know fsGroup.
    own = podman.run(built.tag, "true", options=(f"--volume={checkpoints}:/workspace/run:U",))
    assert own.code == 0, own.output
    return data, checkpoints, folder


class Gang:
    """Two pods that start and end together, in a network of their own."""

    def __init__(self, podman: Podman, network: str, folder: Path) -> None:
        self.podman, self.network, self.folder = podman, network, folder
        self.addresses = podman.network(network)

    def start(self, both: list[dict[str, Any]]) -> None:
        """Create both."""
        for pod, address in zip(both, self.addresses, strict=True):
            self.podman.play(pod, self.folder, self.network, address)

    def end(self, both: list[dict[str, Any]]) -> list[Ended]:
        """Wait for both, and remove them."""
        ended = [self.podman.end(pod["metadata"]["name"]) for pod in both]
        self.podman.remove_pods()
        return ended


@pytest.fixture(scope="module")
def gang(podman: Podman, prefix: str, tmp_path_factory: pytest.TempPathFactory) -> Gang:
    """Where gangs run."""
    return Gang(podman, prefix, tmp_path_factory.mktemp("gang"))


@pytest.fixture(scope="module")
def rendered(built: Built, claims: tuple[str, str, Path], gang: Gang) -> Callable[[str], list[dict[str, Any]]]:
    """A run of two nodes without GPUs in one of the four forms, rendered as the stacks do."""
    data, checkpoints, _ = claims

    def render(form: str) -> list[dict[str, Any]]:
        settings: dict[str, object] = {
            "run.steps": STEPS,
            "run.device": "cpu",
            "model.preset": "tiny",
            "model.dropout": 0.1,
            "data.train": "/workspace/data/train",
            "data.seq_len": 64,
            "batch.rows": 8,
            "batch.micro_rows": 2,
            "speed.dtype": "float32",
            "checkpoint.every": 1000,
            "log.every": 1,
        }
        overrides = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        made = manifests(
            form,
            gpus_per_node=0,
            image=built.tag,
            image_pull_policy="Never",
            launcher="trainshed",
            script="/opt/trainshed/ddp.py",
            args=overrides,
            resources={"cpu": 1, "memory": "2Gi"},
            shared_memory="64Mi",
            volumes=[Mount(claim=data, path="/workspace/data", read_only=True)],
            checkpoint=Mount(claim=checkpoints, path="/workspace/run"),
            grace_period=60,
        )
        return pods(form, made, gang.addresses[0])

    return render


def variable(pod: dict[str, Any], name: str) -> str:
    """A variable of the pod's container."""
    return str(next(entry["value"] for entry in pod["spec"]["containers"][0]["env"] if entry["name"] == name))


def wait_for_step(journal: Path, step: int, timeout: float = 180) -> None:
    """Until the journal tells of a step."""
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        lines = journal.read_text().split("\n")[:-1] if journal.exists() else []
        if any(line["event"] == "step" and line["step"] >= step for line in map(json.loads, lines)):
            return
        time.sleep(0.05)
    pytest.fail(f"{journal} never told of step {step}")


def weights(podman: Podman, built: Built, claims: tuple[str, str, Path], run: str) -> str:
    """SHA-256 of the weights that the image exports from a run's last checkpoint."""
    script = (
        f"import sys; from trainer.cli import main; out = '/tmp/out'\n"
        f"code = main(['export', '/workspace/run/{run}/checkpoints/{SAVED}', out])\n"
        "import hashlib; print(hashlib.sha256(open(out + '/model.safetensors', 'rb').read()).hexdigest())\n"
        "sys.exit(code)"
    )
    ended = podman.run(built.tag, "python", "-c", script, options=(f"--volume={claims[1]}:/workspace/run:ro",))
    assert ended.code == 0, ended.output
    (found,) = re.findall(r"^[0-9a-f]{64}$", ended.output, re.M)
    return str(found)


@pytest.fixture(scope="module")
def undisturbed(
    podman: Podman,
    built: Built,
    claims: tuple[str, str, Path],
    rendered: Callable[[str], list[dict[str, Any]]],
    gang: Gang,
) -> str:
    """The weights of a JobSet's run from beginning to end."""
    both = rendered("JobSet")
    for pod in both:
        for entry in pod["spec"]["containers"][0]["env"]:
            if entry["name"] == "TRAINSHED_CHECKPOINT_DIR":
                entry["value"] = "/workspace/run/undisturbed"
    gang.start(both)
    assert_codes(gang.end(both), 0)
    return weights(podman, built, claims, "undisturbed")


def assert_codes(ended: list[Ended], code: int) -> None:
    """Both pods left with `code`; otherwise tell what they said."""
    assert [one.code for one in ended] == [code, code], "\n".join(one.output[-3000:] for one in ended)


@pytest.mark.parametrize(("form", "evicted"), [("JobSet", 1), ("IndexedJob", 0), ("TrainJob", 0), ("VolcanoJob", 1)])
def test_one_pod_is_preempted_and_nothing_is_lost(
    form: str,
    evicted: int,
    podman: Podman,
    built: Built,
    claims: tuple[str, str, Path],
    rendered: Callable[[str], list[dict[str, Any]]],
    undisturbed: str,
    gang: Gang,
) -> None:
    both = rendered(form)
    run = Path(variable(both[0], "TRAINSHED_CHECKPOINT_DIR")).name
    folder = claims[2] / run
    # GIVEN a run under way, confined as its pod says
    gang.start(both)
    wait_for_step(folder / "metrics.jsonl", 20)
    made = podman.inspect(both[0]["metadata"]["name"])
    assert made["Config"]["User"].split(":")[0] == "10001"
    assert made["HostConfig"]["ReadonlyRootfs"] is True
    assert not made["EffectiveCaps"]
    # WHEN one of its two pods is evicted
    begin = time.monotonic()
    podman.stop(both[evicted]["metadata"]["name"])
    ended = gang.end(both)
    # THEN both have saved the same step and leave as preempted, long before the grace period is over
    assert_codes(ended, 75)
    assert time.monotonic() - begin < 40
    latest = (folder / "checkpoints/latest").read_text().strip()
    saved = json.loads((folder / "checkpoints" / latest / "manifest.json").read_text())["meta"]["step"]
    assert 20 <= saved < STEPS
    # WHEN the gang starts again
    gang.start(both)
    assert_codes(gang.end(both), 0)
    # THEN it went on from there, and ends with the weights of a run that nobody disturbed
    journal = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in journal if line["event"] == "resume"] == [saved]
    assert weights(podman, built, claims, run) == undisturbed
