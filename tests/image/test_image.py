"""The image as it is built: the same twice, small rights, right labels, a list of what is in it."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.image.conftest import REVISION, Built
from tests.image.podman import Podman

pytestmark = pytest.mark.image


def config_of(tag: str) -> dict[str, Any]:
    """The image's configuration."""
    told = subprocess.run(["buildah", "inspect", "--type", "image", tag], check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(told.stdout)["OCIv1"]
    return found


def test_two_builds_are_one_image(built: Built) -> None:
    """Nothing that differs between two builds gets in: times, orders, bytecode."""
    first, second = built.digests
    assert first.startswith("sha256:")
    assert first == second


def test_who_it_runs_as_and_what_it_starts(built: Built) -> None:
    config = config_of(built.tag)["config"]
    assert config["User"] == "10001:10001"
    assert config["Entrypoint"] == ["python", "-m", "trainer", "launch"]
    assert config["StopSignal"] == "SIGTERM"
    assert "Cmd" not in config


def test_labels_name_sources_and_base(built: Built) -> None:
    labels = config_of(built.tag)["config"]["Labels"]
    told = {key.removeprefix("org.opencontainers.image."): value for key, value in labels.items()}
    assert told["title"] == "trainshed-trainer"
    assert told["licenses"] == "Apache-2.0"
    assert told["revision"] == REVISION
    assert told["base.name"] == "localhost/trainshed/base:bookworm"
    assert told["base.digest"].startswith("sha256:")
    assert told["created"] == "1970-01-01T00:00:00Z"
    assert told["version"]


def test_nothing_of_the_builder_is_left(built: Built) -> None:
    """No certificate, no address of an index, no pip."""
    config = config_of(built.tag)
    history = json.dumps(config["history"]) + json.dumps(config["config"])
    assert "wheels" not in history
    assert not [entry for entry in config["config"]["Env"] if entry.startswith("PIP_")]


def test_it_is_confined_and_knows_its_user(podman: Podman, built: Built) -> None:
    script = (
        "import getpass, os, json;"
        "status = dict(l.split(':', 1) for l in open('/proc/self/status').read().splitlines());"
        "print(json.dumps([getpass.getuser(), os.getuid(), os.getgid(), status['CapEff'].strip(), "
        "status['NoNewPrivs'].strip(), os.access('/', os.W_OK), os.access('/tmp', os.W_OK)]))"
    )
    ended = podman.run(built.tag, "python", "-c", script)
    assert ended.code == 0, ended.output
    assert json.loads(ended.output) == ["trainer", 10001, 10001, "0" * 16, "1", False, True]


def test_it_has_no_compiler_no_pip_and_nothing_setuid_to_use(podman: Podman, built: Built) -> None:
    for absent in ("pip", "gcc"):
        assert podman.run(built.tag, "sh", "-c", f"command -v {absent}").code != 0


def test_bytecode_is_there(podman: Podman, built: Built) -> None:
    """The root is read-only, so what is not compiled now is compiled at every start."""
    script = "import trainer.train, torch, sys; print([m.__cached__ for m in (trainer.train, torch)])"
    check = script + "; import pathlib; print(all(pathlib.Path(m.__cached__).exists() for m in (trainer.train, torch)))"
    assert podman.run(built.tag, "python", "-c", check).output.strip().endswith("True")


def test_the_command_line_is_the_packages(podman: Podman, built: Built) -> None:
    from trainer import exits

    assert json.loads(podman.run(built.tag, "python", "-m", "trainer", "exits").output) == exits.as_rows()
    ended = podman.run(
        built.tag, "python", "-m", "trainer", "config", "check", "--config", "/opt/trainshed/configs/124m.toml"
    )
    assert (ended.code, ended.output.split(", ")[0]) == (0, "/opt/trainshed/configs/124m.toml: valid")


def test_exit_codes_come_through(podman: Podman, built: Built) -> None:
    """The launcher is PID 1 and leaves with what the rank left with: here, a config that does not exist."""
    launch = ("python", "-m", "trainer", "launch", "/opt/trainshed/ddp.py", "--config", "/nowhere.toml")
    ended = podman.run(built.tag, *launch)
    assert ended.code == 78, ended.output
    assert '"name": "config"' in ended.output


def test_the_sbom_names_every_package(podman: Podman, built: Built, root: Path) -> None:
    bom = json.loads((built.out / "sbom-cpu.cdx.json").read_text())
    assert (bom["bomFormat"], bom["specVersion"]) == ("CycloneDX", "1.6")
    assert bom["metadata"]["component"]["type"] == "container"
    have = {component["purl"].split("?")[0] for component in bom["components"]}
    lock = (root / "trainer/image/requirements-cpu.txt").read_text()
    pinned = [line.split(" ")[0].split("==") for line in lock.splitlines() if "==" in line]
    assert len(pinned) >= 15
    for name, version in pinned:
        assert f"pkg:pypi/{name}@{quote(version)}" in have
    dpkg = podman.run(built.tag, "dpkg-query", "-W", "-f", "${Package}\n").output.split()
    assert len(dpkg) > 80
    assert {purl.split("/")[2].split("@")[0] for purl in have if purl.startswith("pkg:deb/")} == set(dpkg)
    licensed = [one for one in bom["components"] if one["purl"].startswith("pkg:pypi/") and one.get("licenses")]
    assert len(licensed) == len(pinned)


def test_licences_are_in_the_image(podman: Podman, built: Built, root: Path) -> None:
    told = podman.run(built.tag, "sha256sum", "/opt/trainshed/LICENSE").output.split()[0]
    assert told == hashlib.sha256((root / "LICENSE").read_bytes()).hexdigest()
    counted = podman.run(built.tag, "sh", "-c", "ls /usr/share/doc/*/copyright | wc -l")
    assert int(counted.output) > 80
