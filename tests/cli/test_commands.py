"""The other commands, and what the command line says about itself."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema_rs
import pytest
import yaml
from click.testing import CliRunner

from trainshed import __version__
from trainshed.cli import main


def run(*arguments: str) -> str:
    ran = CliRunner().invoke(main, arguments)
    assert ran.exit_code == 0, ran.output
    return ran.stdout


def test_version() -> None:
    assert run("--version") == f"trainshed, version {__version__}\n"


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_names_every_command(option: str) -> None:
    told = run(option)
    for command in ("init", "schema", "synth"):
        assert f"\n  {command} " in told
    assert "0 all is well, 1 errors were found, 2 the command could not run" in " ".join(told.split())


def test_an_unknown_command_ends_with_2() -> None:
    ran = CliRunner().invoke(main, ["sinth"])
    assert ran.exit_code == 2
    assert "sinth" in ran.stderr


def test_an_unknown_schema_ends_with_2() -> None:
    ran = CliRunner().invoke(main, ["schema", "tenants"])
    assert ran.exit_code == 2


@pytest.fixture(scope="module")
def schema() -> dict[str, object]:
    read: dict[str, object] = json.loads(run("schema", "tenant"))
    return read


def test_the_schema_is_valid(schema: dict[str, object]) -> None:
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema_rs.meta.validate(schema)


def test_the_committed_schema_is_current(root: Path) -> None:
    """Editors read it; `make schemas` writes it."""
    assert (root / "schemas/tenant.json").read_text(encoding="utf-8") == run("schema", "tenant")


def test_the_schema_takes_the_reference_tenant(schema: dict[str, object], root: Path) -> None:
    text = (root / "stacks/lab/tenants/low.yaml").read_text(encoding="utf-8")
    first = text.splitlines()[0]
    assert first == "# yaml-language-server: $schema=../../../schemas/tenant.json"
    assert (root / "stacks/lab/tenants" / first.partition("=")[2]).is_file()
    jsonschema_rs.validate(schema, yaml.safe_load(text))


@pytest.mark.parametrize(
    "wrong",
    [
        {"onwers": ["a"]},
        {"namespaces": []},
        {"guarantee": {"h100": {"nodes": -1}}},
        {"guarantee": {"h100": {"nodes": "3"}}},
        {"guarantee": {"h100": {"resources": {"cpu": "4 cores"}}}},
        {"borrow": {"h100": "all"}},
        {"lend": "some"},
        {"workloadKinds": ["Pod"]},
        {"podSecurity": "strict"},
    ],
    ids=str,
)
def test_the_schema_refuses_what_synth_refuses(schema: dict[str, object], wrong: dict[str, object]) -> None:
    good: dict[str, object] = {"name": "a", "namespaces": ["a"], "guarantee": {"h100": {"nodes": 1}}}
    validator = jsonschema_rs.validator_for(schema)
    assert validator.is_valid(good)
    assert not validator.is_valid({**good, **wrong})
