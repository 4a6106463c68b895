"""Which files of a tenants folder are tenants, and which only seem to be.

A tenant whose file is not read is a tenant that Argo CD prunes, so nothing that may hold one is passed over in silence.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from trainshed.faults import Fault, Place

ENDING: Final = ".yaml"
_MEANT: Final = (ENDING, ".yml", ".json")
#: What stands beside tenants and is none of them.
_BESIDE: Final = (".md", ".rst", ".adoc", ".py", ".pyi")
_NAMES: Final = ("readme", "license", "owners", "codeowners", "thumbs.db", "desktop.ini")


class Entry(NamedTuple):
    """Something in a tenants folder. `name` is the tenant that it seems to hold (a folder: `names`); without `fault` it
    is to be read."""

    path: Path
    name: str
    fault: Fault | None = None
    warning: bool = False
    names: tuple[str, ...] = ()


def entries(folder: Path) -> Iterator[Entry]:
    """What holds a tenant, or may, in the order of the names. A fault is an error where a tenant is plainly meant."""
    for path in sorted(folder.iterdir()):
        found = _entry(path)
        if found is not None:
            yield found


def _entry(path: Path) -> Entry | None:
    name = path.name
    if (name.startswith(".") and not name.lower().endswith(_MEANT)) or name.startswith(".#"):
        return None
    if path.suffix == ENDING:
        return Entry(path, path.stem)
    place = Place(str(path))
    if path.is_dir():
        files = () if name == "__pycache__" else _tenants_below(path)
        if not files:
            return None
        fix = "move them one level up, or out of this folder"
        told = Fault("is a folder, and the tenant files in it are not read", fix=fix, place=place)
        only_json = all(file.suffix.lower() == ".json" for file in files)  # may be a schema
        return Entry(path, name, told, warning=only_json, names=tuple(file.stem for file in files))
    ending = path.suffix or name  # a file that is called ".yaml"
    if ending.lower() in _MEANT:
        stem = path.stem if path.suffix else "<tenant>"
        told = Fault("is not read: tenant files end in .yaml", fix=f"call it {stem}.yaml", place=place)
        return Entry(path, path.stem, told)
    first, *rest = name.lower().split(".")
    was_tenant = any(f".{part}".startswith(_MEANT) for part in rest)
    if not was_tenant and (ending.lower() in _BESIDE or first in _NAMES or name.lower() in _NAMES):
        return None
    told = Fault(
        "is not read: tenant files end in .yaml",
        fix="call it so if it holds a tenant, or move it out of this folder",
        place=place,
    )
    return Entry(path, first, told, warning=True)


def _tenants_below(folder: Path) -> tuple[Path, ...]:
    return tuple(Path(name) for _, _, files in os.walk(folder) for name in files if name.lower().endswith(_MEANT))
