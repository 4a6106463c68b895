"""From a TOML file and `--set a.b=c` to a `Config`; a mistake is told with its place and the nearest right name."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from trainer import exits
from trainer.config import Config
from trainer.exits import Stop

FROM_ENVIRONMENT = {"name": "TRAINSHED_RUN", "dir": "TRAINSHED_CHECKPOINT_DIR"}
"""Keys of `[run]` that the rendered jobs give by environment; they hold where the configuration says nothing."""


def load(file: str | Path | None, overrides: Iterable[str] = (), env: Mapping[str, str] = os.environ) -> Config:
    """The configuration of `file` (None: the defaults) with `overrides` (`section.key=value`) on top.

    Values of overrides are TOML; what is not TOML is a string. Raises `Stop` 78 for anything wrong in them.
    """
    values = _read(Path(file)) if file is not None else {}
    for override in overrides:
        _apply(values, override)
    for key, variable in FROM_ENVIRONMENT.items():
        if env.get(variable) and isinstance(values.setdefault("run", {}), dict):
            values["run"].setdefault(key, env[variable])
    try:
        return Config.model_validate(values)
    except ValidationError as error:
        lines = "; ".join(_explain(entry) for entry in error.errors())
        where = f"{file}: " if file is not None else ""
        raise Stop(exits.CONFIG, f"{where}{lines}") from None


def _read(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as stream:
            return tomllib.load(stream)
    except OSError as error:
        raise Stop(exits.CONFIG, f"{file}: cannot read the config: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Stop(exits.CONFIG, f"{file}: not TOML: {error}") from None


def _apply(values: dict[str, Any], override: str) -> None:
    key, equals, text = override.partition("=")
    path = key.strip().split(".")
    if not equals or not all(path):
        raise Stop(exits.CONFIG, f"--set {override}: write section.key=value")
    node = values
    for part in path[:-1]:
        node = node.setdefault(part, {})
        if not isinstance(node, dict):
            raise Stop(exits.CONFIG, f"--set {override}: {part} is not a section")
    try:
        node[path[-1]] = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        node[path[-1]] = text


def _explain(entry: Any) -> str:
    location = [str(part) for part in entry["loc"]]
    if entry["type"] != "extra_forbidden":
        message = str(entry["msg"]).removeprefix("Value error, ")
        given = entry.get("input")
        shown = f" (it is {given!r})" if isinstance(given, str | int | float | bool) else ""
        return message if entry["type"] == "value_error" else f"{'.'.join(location)}: {message.lower()}{shown}"
    return f"{'.'.join(location)}: no such key; {_nearest(location)}"


def _nearest(location: list[str]) -> str:
    section: type[BaseModel] = Config
    for part in location[:-1]:
        annotation = section.model_fields[part].annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            section = annotation
    prefix = ".".join(location[:-1])
    close = get_close_matches(location[-1], section.model_fields, n=1, cutoff=0.6)
    if close:
        return f"did you mean {'.'.join([*location[:-1], close[0]])}?"
    everywhere = {f"{name}.{key}": key for name, keys in _sections().items() for key in keys}
    close = get_close_matches(location[-1], set(everywhere.values()), n=1, cutoff=0.8)
    if close:
        return "did you mean " + " or ".join(sorted(path for path, key in everywhere.items() if key == close[0])) + "?"
    return f"{prefix or 'the config'} has {', '.join(section.model_fields)}"


def _sections() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, field in Config.model_fields.items():
        annotation = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            found[name] = list(annotation.model_fields)
    return found
