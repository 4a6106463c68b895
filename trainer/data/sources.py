"""Documents out of files: JSON lines, text, parquet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from trainer import exits
from trainer.exits import Stop


def records(file: Path, text_field: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, record) of each document. A text file is one record. Raises `Stop` 65 for what cannot be read."""
    suffix = file.suffix.lower()
    try:
        if suffix in (".jsonl", ".ndjson"):
            yield from _json_lines(file)
        elif suffix == ".parquet":
            yield from _parquet(file)
        elif suffix in (".txt", ".md", ".rst"):
            yield str(file), {text_field: file.read_text(encoding="utf-8")}
        else:
            raise Stop(exits.DATA, f"{file}: unknown kind of file; use .jsonl, .txt, .md, .rst or .parquet")
    except OSError as error:
        raise Stop(exits.DATA, f"{file}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise Stop(exits.DATA, f"{file}: not UTF-8 at byte {error.start}") from None


def _json_lines(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    with file.open(encoding="utf-8") as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            place = f"{file}:{number}"
            try:
                record = json.loads(line)
            except json.JSONDecodeError as error:
                raise Stop(exits.DATA, f"{place}: not JSON: {error.msg}") from None
            if not isinstance(record, dict):
                raise Stop(exits.DATA, f"{place}: not a JSON object")
            yield place, record


def _parquet(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise Stop(exits.USAGE, f"{file}: install the extra `parquet` to read parquet") from None
    try:
        source = parquet.ParquetFile(file)
        number = 0
        for batch in source.iter_batches(batch_size=1024):
            for record in batch.to_pylist():
                number += 1
                yield f"{file}:{number}", record
    except arrow.ArrowInvalid as error:
        raise Stop(exits.DATA, f"{file}: not parquet: {error}") from None


def text_of(place: str, record: dict[str, Any], field: str) -> str:
    """The record's text. Raises `Stop` 65 when the field is missing or no text."""
    value = record.get(field)
    if not isinstance(value, str):
        raise Stop(exits.DATA, f"{place}: no text in field {field!r}; it has {', '.join(sorted(record)) or 'nothing'}")
    return value
