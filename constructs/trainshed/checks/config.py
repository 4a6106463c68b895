"""A repository's settings: `[tool.trainshed.check]` in pyproject.toml, or `[check]` in trainshed.toml."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Final

from trainshed.checks.options import RANK, CannotCheck, Options
from trainshed.checks.pages import pages
from trainshed.faults import nearest
from trainshed.target import TARGET, Target, is_known, known_releases

_RELEASE: Final = re.compile(r"v?[0-9]+(\.[0-9]+)*")
_LISTS: Final = ("paths", "select", "ignore", "crds")
_KEYS: Final = (*_LISTS, "severity", "target")


@dataclass(frozen=True)
class Config:
    """The settings of a repository. Paths are relative to the working directory."""

    paths: tuple[str, ...] = ()
    options: Options = field(default_factory=Options)


def read_config(file: str | None) -> Config:
    """The settings in `file`; without one, of the nearest trainshed.toml or pyproject.toml with our table, upwards to
    the root of the Git repository. Raises CannotCheck for a file that cannot be used, naming key and nearest key."""
    if file is not None:
        return _read(Path(file), required=True) or Config()
    for folder in (Path.cwd(), *Path.cwd().parents):
        for name in ("trainshed.toml", "pyproject.toml"):
            if (folder / name).is_file() and (found := _read(folder / name)) is not None:
                return found
        if (folder / ".git").exists():
            break
    return Config()


def parse_target(entries: Iterable[str], target: Target = TARGET) -> Target:
    """`target` with what `kueue=0.18,trainer=2.2` say. Raises CannotCheck for an unknown system or release."""
    pairs = [entry for text in entries for entry in text.split(",") if entry.strip()]
    for pair in pairs:
        system, equals, release = (part.strip() for part in pair.partition("="))
        known = [one.name for one in fields(Target)]
        if system not in known:
            hint = nearest(system, known) or f"known are {', '.join(known)}"
            raise CannotCheck(f'target "{system}" is not known; {hint}')
        if not equals or not _RELEASE.fullmatch(release):
            raise CannotCheck(f'target "{pair.strip()}" names no release; write {system}={getattr(TARGET, system)}')
        release = release.removeprefix("v")
        if not is_known(system, release):
            raise CannotCheck(f'target "{pair.strip()}" is no known release; known are {known_releases(system)}')
        target = replace(target, **{system: ".".join(release.split(".")[:2]) if system == "kubernetes" else release})
    return target


def known_codes(words: Iterable[str], option: str) -> tuple[str, ...]:
    """Codes, or first words of codes, as given in `option`. Raises CannotCheck for one that matches no code."""
    words = tuple(word.strip() for text in words for word in text.split(",") if word.strip())
    codes = pages() if words else {}  # reading all pages takes longer than a small check
    for word in words:
        if word not in codes and not any(code.startswith(f"{word}-") for code in codes):
            begins = {code.partition("-")[0] for code in codes}
            hint = nearest(word, begins) or nearest(word, codes) or "`trainshed explain` lists all codes"
            raise CannotCheck(f'{option}: "{word}" is no code; {hint}')
    return words


def _read(path: Path, *, required: bool = False) -> Config | None:
    import tomllib  # most folders have no such file

    shown = os.path.relpath(path)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CannotCheck(f"{shown} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CannotCheck(f"{shown} is not TOML: {error}") from None
    keys = ("tool", "trainshed", "check") if path.name == "pyproject.toml" else ("check",)
    table = _get(data, *keys)
    _refuse_misplaced(data, ".".join(keys), shown)
    if table is None:
        if required:
            where = "[tool.trainshed.check]" if path.name == "pyproject.toml" else "[check]"
            raise CannotCheck(f"{shown} has no table {where}")
        return None
    if not isinstance(table, Mapping):
        raise CannotCheck(f"{shown}: check is not a table")
    return _config(table, path, shown)


def _refuse_misplaced(data: Mapping[str, Any], right: str, shown: str) -> None:
    """Settings beside our table, which would count for nothing: all of a trainshed.toml is ours, of a pyproject.toml
    `tool.trainshed` and `trainshed`."""
    if right == "check":
        places: list[tuple[str, ...]] = [(key,) for key in data if key != "check"]
        if _get(data, "tool", "trainshed", "check") is not None:
            places.insert(0, ("tool", "trainshed", "check"))
    else:
        places = [("trainshed",)] if "trainshed" in data else []
        ours = _get(data, "tool", "trainshed")
        places += [("tool", "trainshed", key) for key in ours if key != "check"] if isinstance(ours, Mapping) else []
    for place in places:
        name = ".".join(place)
        what = f"[{name}]" if isinstance(_get(data, *place), Mapping) else f'"{name}"'
        if place[-1] in _KEYS:
            raise CannotCheck(f"{shown}: {what} counts for nothing there; write {place[-1]} in the table [{right}]")
        raise CannotCheck(f"{shown}: {what} is not known; did you mean [{right}]?")


def _get(data: Any, *keys: str) -> Any:
    for key in keys:
        data = data.get(key) if isinstance(data, Mapping) else None
    return data


def _config(table: Mapping[str, Any], path: Path, shown: str) -> Config:
    for key in table:
        if key not in _KEYS:
            raise CannotCheck(
                f'{shown}: "{key}" is not known; {nearest(key, _KEYS) or "known are " + ", ".join(_KEYS)}'
            )
    lists = {key: _strings(table.get(key, []), f"{shown}: {key}") for key in _LISTS}
    severity = table.get("severity", "info")
    if severity not in RANK:
        raise CannotCheck(f"{shown}: severity is {severity!r}; write one of {', '.join(RANK)}")
    target = table.get("target", {})
    if not isinstance(target, Mapping):
        raise CannotCheck(f'{shown}: target is not a table; write target = {{kueue = "{TARGET.kueue}"}}')
    folder = Path(os.path.relpath(path.parent))
    options = Options(
        select=known_codes(lists["select"], f"{shown}: select"),
        ignore=known_codes(lists["ignore"], f"{shown}: ignore"),
        severity=severity,
        target=parse_target(f"{system}={release}" for system, release in target.items()),
        crds=tuple(str(folder / item) for item in lists["crds"]),
    )
    return Config(tuple(str(folder / item) for item in lists["paths"]), options)


def _strings(value: Any, what: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise CannotCheck(f"{what} is not a list of strings")
    return tuple(value)
