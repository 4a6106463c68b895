"""Tenant files and tenants that would do harm."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.synthesis import h100, new_cluster
from trainshed.faults import Faults
from trainshed.inputs.yaml_file import read_yaml
from trainshed.tenancy import Tenant, nodes


def bomb() -> str:
    """Nine levels of aliases: a billion items."""
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    return "\n".join(levels) + "\n"


@pytest.mark.parametrize(
    "text", [bomb(), "a: " + "[" * 20_000, "x" * (1 << 20) + "y"], ids=["aliases", "depth", "size"]
)
def test_a_file_that_would_never_end_is_refused(tmp_path: Path, text: str) -> None:
    """Within a moment, with the file's name."""
    file = tmp_path / "low.yaml"
    file.write_text(text, encoding="utf-8")

    with pytest.raises(Faults, match=r"low\.yaml"):
        read_yaml(file)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    """Nobody ever writes to it."""
    os.mkfifo(tmp_path / "low.yaml")

    with pytest.raises(Faults, match="is not a file"):
        read_yaml(tmp_path / "low.yaml")


@pytest.mark.parametrize("namespace", ["argocd", "kube-system", "kueue-system", "default"])
def test_a_tenant_owns_no_namespace_of_the_cluster(namespace: str) -> None:
    """Its runs could use the controllers' accounts."""
    cluster = new_cluster()

    Tenant(cluster, "high", namespaces=[namespace], guarantee={h100(cluster): nodes(1)})

    assert [fault.field for fault in cluster.faults] == ["namespaces[0]"]


@pytest.mark.parametrize("owner", ["system:masters", "system:authenticated", "x\n"])
def test_owners_are_groups_of_people(owner: str) -> None:
    """A group of the API server's own would make everybody an owner."""
    cluster = new_cluster()

    Tenant(cluster, "high", namespaces=["a"], owners=[owner], guarantee={h100(cluster): nodes(1)})

    assert [fault.field for fault in cluster.faults] == ["owners[0]"]


def test_a_file_in_another_encoding_is_told_with_the_place(tmp_path: Path) -> None:
    file = tmp_path / "low.yaml"
    file.write_bytes("name: low\nowners: [Büro]\n".encode("latin-1"))

    with pytest.raises(Faults) as raised:
        read_yaml(file)

    assert str(raised.value) == f"{file}:2:11: is not UTF-8: it has the byte 0xfc here; save the file as UTF-8"


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (
            "name: low\n".encode("utf-16"),
            "1:1: is not UTF-8: it has the byte 0xff here; save the file as UTF-8",
        ),
        (b"name: low\ncohort: a\0b\n", "2:10: has the character U+0000 here, which YAML does not allow; remove it"),
        (
            b"name: low\n<<<<<<< HEAD\ncohort: a\n=======\ncohort: b\n>>>>>>> topic\n",
            "2:1: has a merge conflict here; keep what is right of the two sides, and remove the markers",
        ),
        (
            b"name: low\n---\nname: high\n",
            "2:1: a second document begins here; a file holds one tenant: give it a file of its own",
        ),
    ],
    ids=["UTF-16", "NUL", "conflict", "two"],
)
def test_what_is_no_tenant_file_is_told_by_line(tmp_path: Path, data: bytes, told: str) -> None:
    file = tmp_path / "low.yaml"
    file.write_bytes(data)
    with pytest.raises(Faults) as raised:
        read_yaml(file)
    assert str(raised.value) == f"{file}:{told}"


def test_plain_files_have_no_tags(tmp_path: Path) -> None:
    file = tmp_path / "low.yaml"
    file.write_text("%YAML 1.2\n---\na: &x {b: ! c}\nd: *x\ne: '!include'\nf: a !b\n")

    assert read_yaml(file).data == {"a": {"b": "c"}, "d": {"b": "c"}, "e": "!include", "f": "a !b"}
