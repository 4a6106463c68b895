"""Make a packed dataset: shards of tokens, an index of documents, a manifest. Same input, same bytes."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from trainer import exits
from trainer.data import chat, sources
from trainer.data.manifest import FILE, FileRecord, Manifest, Shard, Source, TokenizerRecord, sha256_of
from trainer.data.tokenizer import Tokenizer
from trainer.exits import Stop

Kind = Literal["text", "chat"]


@dataclass
class _Buffer:
    tokens: list[np.ndarray] = field(default_factory=list)
    masks: list[np.ndarray] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    size: int = 0


class ShardWriter:
    """Collects documents and writes a shard whenever `shard_tokens` are full; a document is never split."""

    def __init__(self, folder: Path, dtype: np.dtype, shard_tokens: int, *, masked: bool) -> None:
        self.folder, self.dtype, self.shard_tokens, self.masked = folder, dtype, shard_tokens, masked
        self.shards: list[Shard] = []
        self._buffer = _Buffer()

    def add(self, tokens: list[int], mask: list[int] | None) -> None:
        """Append one document."""
        buffer = self._buffer
        if buffer.size and buffer.size + len(tokens) > self.shard_tokens:
            self.flush()
            buffer = self._buffer
        buffer.tokens.append(np.asarray(tokens, dtype=self.dtype))
        if self.masked:
            buffer.masks.append(np.asarray(mask, dtype=np.uint8))
        buffer.size += len(tokens)
        buffer.ends.append(buffer.size)

    def flush(self) -> None:
        """Write what is collected, if anything."""
        buffer, stem = self._buffer, f"shard-{len(self.shards):05d}"
        if not buffer.size:
            return
        data = self._write(f"{stem}.bin", np.concatenate(buffer.tokens))
        index = self._write(f"{stem}.idx", np.asarray(buffer.ends, dtype="<u8"))
        mask = self._write(f"{stem}.mask", np.concatenate(buffer.masks)) if self.masked else None
        self.shards.append(Shard(tokens=buffer.size, documents=len(buffer.ends), data=data, index=index, mask=mask))
        self._buffer = _Buffer()

    def _write(self, name: str, values: np.ndarray) -> FileRecord:
        file = self.folder / name
        values.tofile(file)
        return FileRecord(name=name, bytes=file.stat().st_size, sha256=sha256_of(file))


def pack(
    inputs: Iterable[Path],
    output: Path,
    tokenizer: Tokenizer,
    *,
    kind: Kind = "text",
    text_field: str = "text",
    shard_tokens: int = 100_000_000,
) -> Manifest:
    """Write the dataset folder `output`, which must not exist; it appears complete or not at all.

    Text documents end with the tokenizer's end token. Raises `Stop` 65 for bad or empty input, 64 for a taken output.
    """
    files = sorted(_expand(inputs))
    if output.exists():
        raise Stop(exits.USAGE, f"{output}: exists already; choose another folder")
    work = output.with_name(output.name + ".tmp")
    shutil.rmtree(work, ignore_errors=True)
    try:
        work.mkdir(parents=True)
        dtype = np.dtype("<u2") if tokenizer.vocab <= 1 << 16 else np.dtype("<u4")
        writer = ShardWriter(work, dtype, shard_tokens, masked=kind == "chat")
        for tokens, mask in _documents(files, tokenizer, kind, text_field):
            writer.add(tokens, mask)
        writer.flush()
        if not writer.shards:
            raise Stop(
                exits.DATA, f"no document in {', '.join(map(str, files)) or 'no files'}: the dataset would be empty"
            )
        manifest = _manifest(writer, files, tokenizer, kind, dtype)
        (work / FILE).write_text(manifest.model_dump_json(indent=1) + "\n")
        work.rename(output)
    except OSError as error:
        raise Stop(exits.UNHEALTHY, f"{output}: cannot write the dataset: {error.strerror}") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return manifest


def _expand(inputs: Iterable[Path]) -> Iterator[Path]:
    for entry in inputs:
        if entry.is_dir():
            yield from (file for file in entry.rglob("*") if file.is_file() and not file.name.startswith("."))
        elif entry.is_file():
            yield entry
        else:
            raise Stop(exits.DATA, f"{entry}: no such file")


def _documents(
    files: list[Path], tokenizer: Tokenizer, kind: Kind, text_field: str
) -> Iterator[tuple[list[int], list[int] | None]]:
    for file in files:
        for place, record in sources.records(file, text_field):
            if kind == "chat":
                yield chat.render(chat.messages_of(record, place), tokenizer)
            elif text := sources.text_of(place, record, text_field):
                yield [*tokenizer.encode(text), tokenizer.end], None


def _manifest(writer: ShardWriter, files: list[Path], tokenizer: Tokenizer, kind: Kind, dtype: np.dtype) -> Manifest:
    record = TokenizerRecord(name=tokenizer.name, sha256=tokenizer.sha256, vocab=tokenizer.vocab, end=tokenizer.end)
    manifest = Manifest(
        format="trainer-packed-1",
        kind=kind,
        template=chat.TEMPLATE if kind == "chat" else None,
        dtype="uint16" if dtype.itemsize == 2 else "uint32",
        tokenizer=record,
        tokens=sum(shard.tokens for shard in writer.shards),
        documents=sum(shard.documents for shard in writer.shards),
        shards=writer.shards,
        sources=[Source(name=file.name, bytes=file.stat().st_size, sha256=sha256_of(file)) for file in files],
        digest="",
    )
    return manifest.model_copy(update={"digest": manifest.computed_digest()})
