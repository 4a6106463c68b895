"""Commands that are written for a shell are found where none runs them, in every kind, and others are left alone."""

from __future__ import annotations

import io

import pytest
import yaml

from tests.checks.runs.worlds import container, run
from trainshed.checks import pod_commands  # noqa: F401  (registers the rules)
from trainshed.checks.rule import RULES
from trainshed.fleet.fleet import Fleet
from trainshed.fleet.reading import read

KINDS = ("Job", "JobSet", "TrainJob", "LeaderWorkerSet", "VolcanoJob", "StatefulSet", "PyTorchJob", "AppWrapper")
ENV = [{"name": "X", "value": "1"}]


def found(kind: str, command: list[str], args: list[str] | None = None) -> list[str]:
    box = container(command, ENV) if command else container([], ENV)
    if not command:
        del box["command"]
    if args:
        box["args"] = args
    text = yaml.safe_dump_all(run(kind, box, pods=1), sort_keys=False)
    fleet = Fleet(read(["-"], io.BytesIO(text.encode())).documents)
    rules = [rule for code, rule in RULES.items() if code.startswith(("pod-command-", "pod-shell-"))]
    return [rule.code for rule in rules for _ in rule.function(fleet)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["torchrun --standalone train.py"], "pod-command-one-word"),
        (["bash", "cd /app && torchrun train.py"], "pod-shell-without-c"),
        (["sh", "-c", "python", "train.py"], "pod-shell-arguments-lost"),
        (["cd", "/app", "&&", "python", "train.py"], "pod-shell-syntax"),
        (["torchrun", "--nnodes=${X}", "train.py"], "pod-shell-syntax"),
    ],
)
def test_a_command_for_a_shell_is_found_in_every_kind(kind: str, command: list[str], code: str) -> None:
    assert found(kind, command) == [code]


@pytest.mark.parametrize(
    ("command", "args"),
    [
        (["bash", "-c", 'exec "$@"', "--", "torchrun", "train.py"], None),
        (["bash", "-euo", "pipefail", "-c", "python train.py"], None),
        (["sh", "-c", "python train.py", "sh"], None),
        (["bash", "/scripts/run.sh", "two words"], None),
        (["find", "/data", "-delete", ";"], None),
        (["env", "A=1", "bash", "-c", "echo $X && exec python train.py"], None),
        (["python", "-c", "import os; print('$X')"], None),
        (["python", "train.py", "path=${oc.env:X}"], None),
        (["python", "train.py", "--text", "a > b && c"], None),
        (["python", "train.py", "--home=$HOME_NOT_SET"], None),
        ([], ["--flag", "$X"]),
    ],
)
def test_what_a_program_reads_itself_is_left_alone(command: list[str], args: list[str] | None) -> None:
    assert found("Job", command, args) == []


def test_a_probe_has_a_command_too() -> None:
    box = container(["python", "serve.py"], readinessProbe={"exec": {"command": ["cat /tmp/ready"]}})
    fleet = Fleet(read(["-"], io.BytesIO(yaml.safe_dump_all(run("Job", box, pods=1)).encode())).documents)
    (issue,) = RULES["pod-command-one-word"].function(fleet)
    assert issue.path[-4:] == ("readinessProbe", "exec", "command", 0)
