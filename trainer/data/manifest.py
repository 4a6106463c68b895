"""The manifest of a packed dataset: what is in it, by hash; and the checks at the start of a run."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from trainer import exits
from trainer.config import digest_of
from trainer.exits import Stop

FILE = "manifest.json"
FORMAT = "trainer-packed-1"


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TokenizerRecord(_Strict):
    """Which tokenizer made the tokens."""

    name: str
    sha256: str
    vocab: int
    end: int


class FileRecord(_Strict):
    """One file of the dataset by name in its folder."""

    name: str
    bytes: int
    sha256: str


class Shard(_Strict):
    """Tokens (`.bin`), ends of documents (`.idx`, uint64, in tokens), for chat the loss mask (`.mask`, uint8)."""

    tokens: int
    documents: int
    data: FileRecord
    index: FileRecord
    mask: FileRecord | None = None

    def files(self) -> list[FileRecord]:
        """All files of the shard."""
        return [self.data, self.index] + ([self.mask] if self.mask else [])


class Source(_Strict):
    """An input of the packing."""

    name: str
    bytes: int
    sha256: str


class Manifest(_Strict):
    """The dataset. `digest` is the SHA-256 of all other fields, so it names the content."""

    format: Literal["trainer-packed-1"]
    kind: Literal["text", "chat"]
    template: str | None
    dtype: Literal["uint16", "uint32"]
    tokenizer: TokenizerRecord
    tokens: int
    documents: int
    shards: list[Shard]
    sources: list[Source]
    digest: str

    def computed_digest(self) -> str:
        """What `digest` should be."""
        return digest_of(self.model_dump(mode="json", exclude={"digest"}))


def read(folder: Path) -> Manifest:
    """The manifest of a packed folder. Raises `Stop` 65 when there is none, it is not ours, or it was edited."""
    file = folder / FILE
    try:
        manifest = Manifest.model_validate(json.loads(file.read_text()))
    except FileNotFoundError:
        raise Stop(exits.DATA, f"{folder}: no {FILE}; make the dataset with `trainer data pack`") from None
    except OSError as error:
        raise Stop(exits.DATA, f"{file}: {error.strerror}") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise Stop(exits.DATA, f"{file}: not JSON: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise Stop(exits.DATA, f"{file}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    if manifest.computed_digest() != manifest.digest:
        raise Stop(exits.DATA, f"{file}: the digest does not match the content; the manifest was changed by hand")
    if not manifest.tokens:
        raise Stop(exits.DATA, f"{folder}: the dataset is empty")
    return manifest


def verify(folder: Path, manifest: Manifest, mode: Literal["hash", "size"], part: int = 0, parts: int = 1) -> None:
    """Check every shard's size and this part's hashes. Raises `Stop` 65 naming the file."""
    for number, shard in enumerate(manifest.shards):
        for record in shard.files():
            file = folder / record.name
            try:
                size = file.stat().st_size
            except OSError:
                raise Stop(exits.DATA, f"{file}: the shard is missing") from None
            if size != record.bytes:
                raise Stop(
                    exits.DATA, f"{file}: {size} bytes instead of {record.bytes}; the shard is truncated or changed"
                )
            if mode == "hash" and number % parts == part and sha256_of(file) != record.sha256:
                raise Stop(exits.DATA, f"{file}: SHA-256 differs from the manifest; the shard is corrupt")


def sha256_of(file: Path) -> str:
    """SHA-256 of a file's content."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
