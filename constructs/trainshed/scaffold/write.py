"""Writes the starting repository: all files or none."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from string import Template

from trainshed import __version__, naming
from trainshed.addresses import repository_error
from trainshed.inputs.schema import schema_text
from trainshed.scaffold.names import class_name, module_name

#: Template → path in the new repository; both are read in this order.
_FILES = {
    "README.md": "README.md",
    "gitignore": ".gitignore",
    "gitattributes": ".gitattributes",
    "pyproject.toml": "pyproject.toml",
    "cdk8s.yaml": "cdk8s.yaml",
    "pre-commit.yaml": ".pre-commit-config.yaml",
    "ci.yaml": ".github/workflows/ci.yaml",
    "stacks.py": "stacks/__init__.py",
    "main.py": "stacks/__main__.py",
    "cluster.py": "stacks/$module/__init__.py",
    "tenant.yaml": "stacks/$module/tenants/products.yaml",
}
#: What a fresh clone of an empty repository holds.
_WELCOME = frozenset({".git"})


class CannotInit(Exception):  # noqa: N818  (reads as what happened)
    """Nothing was written: the folder is taken, a name is unusable, or the system refused. Exit code 2."""


class NotEmpty(CannotInit):
    """The folder holds something already."""


def write_scaffold(folder: Path, *, cluster: str, repository: str) -> list[str]:
    """Writes a repository with one cluster into `folder`, made when missing; returns the paths written, sorted.

    `cluster` is a DNS label, `repository` the Git address Argo CD reads from. Raises NotEmpty when the folder holds
    anything but `.git`, and CannotInit for unusable names and when the system refuses; nothing is left behind then.
    """
    if wrong := naming.dns1123_label_error(cluster):
        raise CannotInit(f"--cluster: {wrong}")
    if wrong := repository_error(repository):
        raise CannotInit(f"--repository: {wrong}")
    try:
        taken = sorted({path.name for path in folder.iterdir()} - _WELCOME) if folder.exists() else []
    except OSError as error:
        raise CannotInit(f"{folder}: {error.strerror or error}") from None
    if taken:
        more = f" and {len(taken) - 1} more" if len(taken) > 1 else ""
        raise NotEmpty(f"{folder}: is not empty, it holds {taken[0]}{more}; name a new folder")
    texts = scaffold_files(cluster, repository)
    _write(folder, texts)
    return sorted(texts)


def scaffold_files(cluster: str, repository: str) -> dict[str, str]:
    """Path in the new repository → text."""
    values = {
        "cluster": cluster,
        "module": module_name(cluster),
        "class_name": class_name(cluster),
        "repository": repository,
        "repository_literal": _literal(repository),
        "version": __version__,
    }
    templates = files("trainshed.scaffold") / "templates"
    made = {
        Template(path).substitute(values): Template(
            (templates / f"{name}.tmpl").read_text(encoding="utf-8")
        ).substitute(values)
        for name, path in _FILES.items()
    }
    return {**made, "schemas/tenant.json": schema_text("tenant") + "\n"}


def _literal(text: str) -> str:
    """A Python string in double quotes."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _write(folder: Path, texts: dict[str, str]) -> None:
    made: list[Path] = []
    try:
        for name, text in texts.items():
            path = folder / name
            made += _make_folders(path.parent)
            made.append(path)
            path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        for path in reversed(made):
            if path.is_dir():
                path.rmdir()
            else:
                path.unlink(missing_ok=True)
        raise CannotInit(f"{error.filename or folder}: {error.strerror or error}") from None


def _make_folders(folder: Path) -> list[Path]:
    """Makes `folder` and its parents; returns those that were missing, parents first."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()][::-1]
    folder.mkdir(parents=True, exist_ok=True)
    return missing
