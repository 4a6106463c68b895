"""`constructs` is a PyPI package that cdk8s imports, and a folder here: the folder must never become a package."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path


def test_the_folder_is_no_package(root: Path) -> None:
    assert not (root / "constructs/__init__.py").exists()
    assert [path.name for path in (root / "constructs").iterdir() if path.suffix == ".py"] == []


def test_in_the_root_the_installed_package_is_imported(root: Path) -> None:
    """With `python -m …` the root is first on sys.path, which is where it would go wrong."""
    code = "import constructs, cdk8s, trainshed; print(constructs.__file__); print(trainshed.__file__)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    theirs, ours = map(Path, ran.stdout.split())
    assert "site-packages" in theirs.parts
    assert ours == root / "constructs/trainshed/__init__.py"


def test_packages_are_listed(root: Path) -> None:
    """Discovery would take `constructs/` for a package, or refuse the layout."""
    pyproject = tomllib.loads((root / "pyproject.toml").read_text())
    assert pyproject["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == ["constructs/trainshed"]
    assert pyproject["tool"]["ruff"]["lint"]["isort"]["known-third-party"] == ["constructs"]


def test_every_module_has_its_layer(root: Path) -> None:
    """`make lint` holds imports to the layers; a module that is in none would be held to nothing."""
    pyproject = tomllib.loads((root / "pyproject.toml").read_text())
    named = {
        name.strip().partition(".")[2].split(".")[0]
        for contract in pyproject["tool"]["importlinter"]["contracts"]
        for layer in contract.get("layers", [])
        for name in layer.split("|")
    }
    present = {path.stem for path in (root / "constructs/trainshed").iterdir() if path.name[0] not in "._"}
    assert present - {"py"} <= named
    assert "lint-imports" in (root / "Makefile").read_text()
