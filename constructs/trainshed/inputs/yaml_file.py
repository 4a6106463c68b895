"""Small hand-written YAML files, read with the place of every key and value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from trainshed.faults import Fault, Faults, Place
from trainshed.fleet.reading import read
from trainshed.gitops.hand_written import read_text

#: What `!!` stands for.
_CORE: Final = "tag:yaml.org,2002:"


@dataclass(frozen=True)
class YamlFile:
    """Plain data of one document, and where each part of it stands."""

    file: str
    data: Any
    _root: Any

    def place(self, path: tuple[int | str, ...]) -> Place:
        """The place of the key or item at `path`; of what is not there, the place of its nearest parent."""
        node: Any = self._root
        line, column = _start(node)
        for step in path:
            if isinstance(node, CommentedMap) and step in node:
                line, column = node.lc.key(step)
            elif isinstance(node, CommentedSeq) and isinstance(step, int) and step < len(node):
                line, column = node.lc.item(step)
            else:
                break
            node = node[step]
        return Place(self.file, line + 1, column + 1)


def read_yaml(path: Path) -> YamlFile:
    """Reads one document. Raises Faults for what is not YAML, with the line and column, and for unreadable files."""
    file = str(path)
    if path.exists() and not (path.is_file() or path.is_dir()):  # a pipe would be waited for
        raise Faults([Fault("is not a file", place=Place(file))])
    _refuse_bombs(file)
    parser = YAML(typ="rt")
    try:
        text = read_text(path, file)
        root = parser.load(text)
    except DuplicateKeyError as error:
        mark = error.problem_mark
        place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
        raise Faults([Fault("this key is written twice", fix="keep one of them", place=place)]) from None
    except MarkedYAMLError as error:
        raise Faults([_syntax_fault(file, error)]) from None
    except YAMLError as error:
        raise Faults([Fault(f"is not YAML: {' '.join(str(error).split())}", place=Place(file))]) from None
    except OSError as error:
        raise Faults([Fault(f"cannot be read: {error.strerror or error}", place=Place(file))]) from None
    if tags := list(_tag_faults(file, text)):
        raise Faults(tags)
    return YamlFile(file, _plain(root), root)


def _tag_faults(file: str, text: str) -> Iterator[Fault]:
    """A tag says that something else is to be put here; nothing does."""
    for event in yaml.parse(text, yaml.CSafeLoader):
        tag, mark = getattr(event, "tag", None), event.start_mark
        if tag and tag != "!" and mark:
            shown = f"!!{tag.removeprefix(_CORE)}" if tag.startswith(_CORE) else tag
            place = Place(file, mark.line + 1, mark.column + 1)
            yield Fault(f"tag {shown} is not understood", fix="write the value itself", place=place)


def _refuse_bombs(file: str) -> None:
    """What would take hours or all memory to read; the limits are those of `trainshed check`."""
    for finding in read([file], max_bytes=1 << 20).findings:
        if finding.code in ("yaml-anchor-bomb", "yaml-recursive-alias", "yaml-too-deep", "yaml-too-large"):
            raise Faults([Fault(finding.message, fix=finding.fix, place=finding.place)])


def _syntax_fault(file: str, error: MarkedYAMLError) -> Fault:
    mark = error.problem_mark or error.context_mark
    place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
    problem = " ".join(str(error.problem or error.context or "it cannot be parsed").split())
    if problem == "but found another document":
        return Fault(
            "a second document begins here", fix="a file holds one tenant: give it a file of its own", place=place
        )
    if r"'\t'" in problem:
        return Fault("a tab is used for indentation", fix="YAML takes spaces only", place=place)
    return Fault(f"is not YAML: {problem}", place=place)


def _start(node: Any) -> tuple[int, int]:
    return (node.lc.line, node.lc.col) if isinstance(node, CommentedMap | CommentedSeq) else (0, 0)


def _plain(node: Any) -> Any:
    """Data without ruamel.yaml's own types, which strict models would refuse."""
    if isinstance(node, dict):
        return {_plain(key): _plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_plain(item) for item in node]
    for kind in (bool, int, float, str):
        if isinstance(node, kind):
            return kind(node)
    return node
