"""What is wrong with a text that is not YAML, said so that one can mend it."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

import yaml
from yaml.reader import ReaderError

TEMPLATE: Final = re.compile(r"\{\{|\{%")
_CONFLICT: Final = re.compile(r"^(?:<<<<<<< |>>>>>>> )", re.MULTILINE)
_END: Final = re.compile(r"^\.\.\.[ \t\r]*$", re.MULTILINE)
_INVISIBLE: Final = {"\u00a0": "a no-break space", "\u200b": "a zero-width space", "\ufeff": "a byte order mark"}
_FIXES: Final = (
    ("mapping values are not allowed", 'put a value that contains ": " in quotes, or correct the indentation'),
    ("did not find expected", "correct the indentation, or close the bracket or quote that is open above"),
    ("could not find expected ':'", 'write "key: value", or indent the line as part of the text above it'),
    ("found undefined alias", "define the anchor in this document: anchors do not reach over ---"),
    ("unexpected end of stream", "close the quote that is open"),
    ("unknown escape character", "use single quotes, in which a backslash is only a backslash"),
    ("exceeded maximum nesting depth", "flatten it"),
)


class Explained(NamedTuple):
    """A finding's code, message and fix, and the character offset in the text."""

    code: str
    message: str
    fix: str
    offset: int


def explain(error: yaml.YAMLError, text: str) -> Explained:
    """What to tell about `error`, which PyYAML raised while reading `text`."""
    if isinstance(error, ReaderError):
        return _character(error, text)
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    offset = min(mark.index, len(text)) if mark is not None else 0
    problem = str(getattr(error, "problem", None) or error)
    line_start = text.rfind("\n", 0, offset) + 1
    line_end = text.find("\n", offset)
    line = text[line_start : line_end if line_end >= 0 else len(text)]
    if "exceeded maximum nesting depth" in problem:
        return Explained("yaml-too-deep", "is nested more than 1000 levels deep", "flatten it", offset)
    if "<document start>" in problem and (end := _END.search(text, 0, offset)):
        message = 'kubectl and Argo CD do not read what follows "..." without "---"'
        return Explained("yaml-document-end", message, 'write "---" after "..."', end.end() + 1)
    if match := _CONFLICT.search(text):
        message = "there is a merge conflict marker here"
        return Explained("yaml-syntax", message, "resolve the conflict", match.start())
    if match := TEMPLATE.search(text, 0, line_end if line_end >= 0 else len(text)):
        message = f"is a template, not YAML: {problem}"
        return Explained("template-not-rendered", message, "check the rendered text (`helm template`)", match.start())
    if "\t" in line and (text[offset : offset + 1] == "\t" or " tab" in problem or not line[: line.find("\t")].strip()):
        at = line_start + line.find("\t")
        return Explained("yaml-tab", "a tab is used for indentation", "indent with spaces", at)
    return Explained("yaml-syntax", f"is not YAML: {problem}", _fix(problem, line), offset)


def _fix(problem: str, line: str) -> str:
    for character, name in _INVISIBLE.items():
        if character in line:
            return f"the line contains {name} (U+{ord(character):04X}): write an ordinary space"
    if "cannot start any token" in problem:
        return "put the value in quotes"
    return next((fix for part, fix in _FIXES if part in problem), "")


def _character(error: ReaderError, text: str) -> Explained:
    """libyaml counts bytes here."""
    offset = len(text.encode("utf-8", "replace")[: error.position].decode("utf-8", "ignore"))
    code = error.character if isinstance(error.character, int) else ord(error.character)
    message = f"there is a control character here (U+{max(code, 0):04X}), which YAML does not allow"
    return Explained("yaml-encoding", message, "remove it, or write it as an escape in double quotes", offset)
