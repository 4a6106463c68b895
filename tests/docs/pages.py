"""Hand-written pages, taken apart: fenced blocks, inline code, links."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
_CODE = re.compile(r"`([^`\n]+)`")
_OURS = r"\.ci|\.github|bench|build|constructs|dist|docs|requirements|schemas|stacks|tests|trainer"
_LIBRARY = "api|checks|fleet|gitops|inputs|scaffold|tenancy|training"
_PATH = re.compile(rf"(?:{_OURS}|{_LIBRARY})/[\w./-]*")
_LINK = re.compile(r"\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Page:
    """One Markdown file."""

    path: Path
    text: str

    @classmethod
    def read(cls, path: Path) -> Page:
        return cls(path, path.read_text(encoding="utf-8"))

    def blocks(self, language: str) -> list[str]:
        """The fenced blocks of a language, in order."""
        return [body for found, body in _FENCE.findall(self.text) if found == language]

    @property
    def prose(self) -> str:
        """The text without fenced blocks."""
        return _FENCE.sub("", self.text)

    @property
    def code(self) -> set[str]:
        """Inline code of the prose."""
        return set(_CODE.findall(self.prose))

    @property
    def links(self) -> set[str]:
        """Link targets within the repository."""
        return {
            link.split("#")[0] for link in _LINK.findall(self.prose) if "://" not in link and not link.startswith("#")
        }

    @property
    def commands(self) -> list[str]:
        """Lines after a prompt, and inline code."""
        prompts = [line[2:] for block in self.blocks("console") for line in block.splitlines() if line.startswith("$ ")]
        return prompts + sorted(self.code)


def named_paths(page: Page) -> set[str]:
    """Inline code that can only be a path of this repository: it begins with one of its folders."""
    return {code for code in page.code if _PATH.fullmatch(code)}
