"""Shell scripts are read as far as is certain, and any text is read without harm."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed.fleet.shell import Command, read_script
from trainshed.fleet.words import Ref, expand, literal, shown


def commands(script: str, **variables: str) -> list[Command]:
    return read_script((script,), {name: (value,) for name, value in variables.items()}).commands


def words(script: str, **variables: str) -> list[list[str]]:
    return [[shown(word) for word in command.words] for command in commands(script, **variables)]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("torchrun a.py", ["torchrun", "a.py"]),
        ("torchrun \\\n  --x=1 'a b' \"c d\"", ["torchrun", "--x=1", "a b", "c d"]),
        ('torchrun $X ${X} ${Y:-2} "$X"', ["torchrun", "1", "1", "2", "1"]),
        ("torchrun a\\ b 2>&1 >log", ["torchrun", "a b"]),
        ("torchrun # a comment", ["torchrun"]),
        ("A='--x 1 --y 2'; torchrun $A \"$A\"", ["torchrun", "--x", "1", "--y", "2", "--x 1 --y 2"]),
        ("A=(--x 1)\nA+=(--y '2 3')\ntorchrun \"${A[@]}\"", ["torchrun", "--x", "1", "--y", "2 3"]),
        ("export A=2 B=$X && torchrun $A$B", ["torchrun", "21"]),
        ("cat <<EOF\ntorchrun no\nEOF\ntorchrun yes", ["torchrun", "yes"]),
        ("cat <<-'E' > f\n\ttorchrun no\n\tE\ntorchrun yes", ["torchrun", "yes"]),
        ("torchrun $(hostname -f) `id -u` $((1 + 2))", ["torchrun", "$(hostname -f)", "`id -u`", "$((1 + 2))"]),
    ],
)
def test_words(script: str, expected: list[str]) -> None:
    assert words(script, X="1")[-1] == expected


def test_what_a_branch_sets_is_not_certain() -> None:
    script = "N=2\nif [ $X = 1 ]; then N=4; fi\ntorchrun --nnodes=$N"
    assert literal(commands(script, X="1")[-1].words[1]) is None


def test_what_a_sourced_file_may_set_is_not_certain() -> None:
    assert commands("source /env.sh\ntorchrun a.py")[-1].opaque
    assert literal(commands("source /env.sh\ntorchrun ${N:-2}")[-1].words[1]) is None


@pytest.mark.parametrize(
    "script",
    [
        "if [ a = b ]; then torchrun x; fi",
        "while true; do torchrun x; done",
        "for i in 1 2 3; do torchrun x; done",
        "case $A in a) torchrun x;; esac",
        "run() { torchrun x; }",
        "false || torchrun x",
    ],
)
def test_commands_that_may_not_run(script: str) -> None:
    found = next(command for command in commands(script) if literal(command.words[0]) == "torchrun")
    assert found.conditional


@pytest.mark.parametrize("script", ["cd /a && torchrun x", "{ torchrun x; }", "set -e; torchrun x", "(torchrun x)"])
def test_commands_that_run(script: str) -> None:
    assert not commands(script)[-1].conditional


def test_exec_and_traps() -> None:
    assert commands("cd a; exec torchrun x")[-1].execs
    assert not commands("cd a; torchrun x")[-1].execs
    assert commands("torchrun x")[0].alone
    assert read_script(("trap 'kill 0' TERM\ntorchrun x &\nwait",), {}).traps


def test_variables_of_one_command() -> None:
    (command,) = commands("PET_NNODES=4 torchrun x")
    assert literal(command.variables["PET_NNODES"]) == "4"


def test_gaps_go_through_the_shell() -> None:
    script = expand("torchrun --rank=$(INDEX)", {"INDEX": (Ref("INDEX", "$(INDEX)", "controller"),)})
    (command,) = read_script(script, {}).commands
    assert command.words[1] == ("--rank=", Ref("INDEX", "$(INDEX)", "controller"))


def test_kubernetes_leaves_unknown_names_and_escapes() -> None:
    missing: list[str] = []
    assert literal(expand("$(A) $(B) $$(A) $A", {"A": ("1",)}, missing.append)) == "1 $(B) $(A) $A"
    assert missing == ["B"]


@given(st.text(alphabet="abN=$(){}[]\"'`\\;&|<>#! \n\t-12", max_size=80))
def test_any_text_is_read(script: str) -> None:
    for command in commands(script, N="1"):
        assert command.words
