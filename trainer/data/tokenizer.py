"""Text to tokens: bytes (built in), or a `tokenizers` JSON file. Nothing is ever downloaded."""

from __future__ import annotations

import hashlib
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from trainer import exits
from trainer.exits import Stop

BYTE_SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
END_NAMES = ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|im_end|>")


class Tokenizer(Protocol):
    """What packing needs. `sha256` identifies the tokenizer; `end` is the token between documents."""

    name: str
    sha256: str
    vocab: int
    end: int

    def encode(self, text: str) -> list[int]:
        """Tokens of plain text; special tokens in the text stay text."""
        ...

    def special(self, name: str) -> int | None:
        """Id of a special token, or None."""
        ...


class ByteTokenizer:
    """One token per UTF-8 byte, then the special tokens."""

    def __init__(self) -> None:
        self.name = "byte"
        self.vocab = 256 + len(BYTE_SPECIALS)
        self.end = 256
        self.sha256 = hashlib.sha256(("byte:" + ",".join(BYTE_SPECIALS)).encode()).hexdigest()

    def encode(self, text: str) -> list[int]:
        return list(text.encode())

    def special(self, name: str) -> int | None:
        return 256 + BYTE_SPECIALS.index(name) if name in BYTE_SPECIALS else None

    def decode(self, tokens: list[int]) -> str:
        """Text of tokens; special tokens vanish, broken UTF-8 is replaced."""
        return bytes(token for token in tokens if token < 256).decode(errors="replace")


class JsonTokenizer:
    """A tokenizer.json of the Hugging Face `tokenizers` library (extra `tokenizers`)."""

    def __init__(self, file: Path) -> None:
        try:
            rust: Any = import_module("tokenizers").Tokenizer
        except ImportError:
            raise Stop(exits.USAGE, f"{file}: install the extra `tokenizers` to use a tokenizer file") from None
        try:
            content = file.read_bytes()
            self._inner: Any = rust.from_str(content.decode())
        except OSError as error:
            text = f"{file}: cannot read the tokenizer: {error.strerror}; nothing is downloaded, name a tokenizer.json"
            raise Stop(exits.DATA, text) from None
        except Exception as error:
            raise Stop(exits.DATA, f"{file}: not a tokenizer file: {error}") from None
        self.name = file.name
        self.sha256 = hashlib.sha256(content).hexdigest()
        self.vocab = int(self._inner.get_vocab_size(with_added_tokens=True))
        end = next((found for name in END_NAMES if (found := self.special(name)) is not None), None)
        if end is None:
            raise Stop(exits.DATA, f"{file}: has none of the end tokens {', '.join(END_NAMES)}")
        self.end = end

    def encode(self, text: str) -> list[int]:
        return list(self._inner.encode(text, add_special_tokens=False).ids)

    def special(self, name: str) -> int | None:
        found = self._inner.token_to_id(name)
        return None if found is None else int(found)


def open_tokenizer(choice: str) -> Tokenizer:
    """`byte`, or the path of a tokenizer.json."""
    if choice == "byte":
        return ByteTokenizer()
    return JsonTokenizer(Path(choice))
