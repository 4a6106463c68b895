"""The simple commands of a shell script, in order, with the variables that are certain where each runs.

No shell is run and nothing is guessed: what loops, branches, functions and sourced files decide stays open. bashlex,
the library for this, is GPL; these few constructs are all that is needed here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from trainshed.fleet.shell_words import Lexer, Token, Variable
from trainshed.fleet.words import Ref, Word, joined, literal

_LONGEST: Final = 200_000
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\+?)=")
_ENDS: Final = frozenset({";", "&", "&&", "||", "|", "|&", "\n", ";;", ";&", "(", ")"})
_BEFORE_COMMAND: Final = frozenset({"then", "else", "elif", "do", "!", "time"})
_OPENS: Final = frozenset({"if", "while", "until", "for", "select", "case"})
_CLOSES: Final = frozenset({"fi", "done", "esac"})
_DECLARES: Final = frozenset({"export", "declare", "local", "readonly", "typeset"})
_OPAQUE: Final = frozenset({"source", ".", "eval", "read", "mapfile", "readarray"})


@dataclass
class Command:
    """One simple command. `variables` are the shell's own where it runs, with those written in front of it.
    `conditional`: it may not run, or more than once. `execs`: it takes the shell's place. `alone`: the script has no
    other command, so that a shell replaces itself. `opaque`: earlier commands may have set variables unseen."""

    words: list[Word]
    variables: dict[str, Word]
    conditional: bool = False
    execs: bool = False
    alone: bool = False
    opaque: bool = False


@dataclass
class Script:
    """What was read. `whole` is False where a script is too long to be read; `traps` tells of a `trap`."""

    commands: list[Command] = field(default_factory=list)
    whole: bool = True
    traps: bool = False


def read_script(script: Word, variables: Mapping[str, Word]) -> Script:
    """The commands of `script`; `variables` are the environment of the shell."""
    atoms: list[str | Ref] = []
    for part in script:
        atoms.extend(part if isinstance(part, str) else [part])
        if len(atoms) > _LONGEST:
            return Script(whole=False)
    return _Reader(Lexer(atoms).tokens(), variables).read()


class _Reader:
    def __init__(self, tokens: list[Token], variables: Mapping[str, Word]) -> None:
        self.tokens = tokens
        self.variables: dict[str, Word] = dict(variables)
        self.arrays: dict[str, list[Word]] = {}
        self.script = Script()
        self.at = 0
        self.depth = 0
        self.braces: list[bool] = []
        self.unsure = False
        self.opaque = False

    def read(self) -> Script:
        while self.at < len(self.tokens):
            operator = self.tokens[self.at].operator
            if operator:
                self.unsure = operator == "||" or (self.unsure and operator == "&&")
                self.at += 1
            else:
                self._statement()
        commands = self.script.commands
        if len(commands) == 1 and not commands[0].conditional:
            commands[0].alone = True
        return self.script

    def _statement(self) -> None:
        """One command, or a keyword with what belongs to it."""
        word = self.tokens[self.at].keyword
        if word in _BEFORE_COMMAND:
            self.at += 1
        elif word in _OPENS:
            self.depth += 1
            self.at += 1
            if word in ("for", "select", "case"):
                self._header(word)
        elif word in _CLOSES:
            self.depth = max(self.depth - 1, 0)
            self.at += 1
        elif word == "{":
            self.braces.append(False)
            self.at += 1
        elif word == "}":
            if self.braces and self.braces.pop():
                self.depth = max(self.depth - 1, 0)
            self.at += 1
        elif word == "function" or (self._operator(1) == "(" and self._operator(2) == ")"):
            self._function(word)
        else:
            self._simple()

    def _operator(self, ahead: int) -> str:
        index = self.at + ahead
        return self.tokens[index].operator if index < len(self.tokens) else ""

    def _header(self, word: str) -> None:
        if word != "case" and self.at < len(self.tokens) and (name := self.tokens[self.at].keyword):
            self._forget(name)
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.operator in (";", "\n") or token.keyword == "do":
                return
            self.at += 1
            if word == "case" and token.keyword == "in":
                return

    def _function(self, word: str) -> None:
        self.at += 2 if word == "function" else 3
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token.keyword == "{":
                self.braces.append(True)
                self.depth += 1
                self.at += 1
                return
            if not token.operator:
                return
            self.at += 1

    def _forget(self, name: str) -> None:
        self.variables[name] = (Ref(name, f"${name}"),)
        self.arrays.pop(name, None)

    def _simple(self) -> None:
        """Assignments and words up to the next operator."""
        assigned: dict[str, Word] = {}
        words: list[Word] = []
        start = self.at
        closing = "]]" if self.tokens[start].keyword == "[[" else ""
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if closing:
                self.at += 1
                if token.keyword == closing:
                    break
                continue
            if token.operator in _ENDS:
                break
            self.at += 1
            if not words and (name := self._assignment(token, assigned)):
                continue
            words.extend(self._values(token))
        if closing:
            return
        if not words:
            for name, value in assigned.items():
                self._set(name, value)
            return
        self._run(words, assigned)

    def _assignment(self, token: Token, assigned: dict[str, Word]) -> str:
        first = token.pieces[0] if token.pieces else ""
        match = _ASSIGNMENT.match(first) if isinstance(first, str) else None
        if match is None or not isinstance(first, str):
            return ""
        name, rest = match[1], first[match.end() :]
        if not rest and len(token.pieces) == 1 and self._operator(0) == "(":
            self._array(name, append=bool(match[2]))
            return name
        before = self.variables.get(name, ()) if match[2] else ()
        assigned[name] = joined([*before, *self._plain((rest, *token.pieces[1:]))])
        return name

    def _array(self, name: str, *, append: bool) -> None:
        self.at += 1
        values = list(self.arrays.get(name, [])) if append else []
        while self.at < len(self.tokens) and self.tokens[self.at].operator != ")":
            token = self.tokens[self.at]
            self.at += 1
            if not token.operator:
                values.extend(self._values(token))
        self.at += 1
        if self.depth or self.unsure:
            self._forget(name)
        else:
            self.arrays[name] = values

    def _set(self, name: str, value: Word) -> None:
        if self.depth or self.unsure:
            self._forget(name)
        else:
            self.variables[name] = value
            self.arrays.pop(name, None)

    def _plain(self, pieces: tuple[str | Ref | Variable, ...]) -> Word:
        return joined(
            part for piece in pieces for part in (self._value(piece) if isinstance(piece, Variable) else (piece,))
        )

    def _value(self, variable: Variable) -> Word:
        value = self.variables.get(variable.name)
        if not variable.simple:
            return (Ref(variable.name, variable.text),)
        if value is None and variable.default is not None and not self.opaque:
            plain = "$" not in variable.default and "`" not in variable.default
            return (variable.default.strip("\"'") if plain else Ref("", variable.text, "command"),)
        return (Ref(variable.name, variable.text),) if value is None else value

    def _values(self, token: Token) -> list[Word]:
        """What a word becomes: an array its items, an unquoted variable its words."""
        pieces = [piece for piece in token.pieces if piece != ""]
        if len(pieces) == 1 and isinstance(only := pieces[0], Variable):
            if only.name in self.arrays and only.text.endswith(("[@]}", "[*]}")):
                return self.arrays[only.name]
            text = None if only.quoted else literal(self._value(only))
            if text is not None:
                return [(part,) for part in text.split()]
        return [self._plain(token.pieces)]

    def _run(self, words: list[Word], assigned: dict[str, Word]) -> None:
        name = literal(words[0]) or ""
        if name in _DECLARES:
            self._declare(words[1:])
            return
        if name == "unset":
            for word in words[1:]:
                self._forget(literal(word) or "")
        self.opaque = self.opaque or name in _OPAQUE
        self.script.traps = self.script.traps or name == "trap"
        execs = name == "exec" and len(words) > 1
        while execs and len(words) > 2 and (literal(words[1]) or "").startswith("-"):
            words = [words[0], *words[2:]]
        variables = {**self.variables, **assigned}
        conditional = self.depth > 0 or self.unsure
        command = Command(words[1:] if execs else words, variables, conditional, execs, opaque=self.opaque)
        self.script.commands.append(command)

    def _declare(self, words: list[Word]) -> None:
        for word in words:
            first = word[0] if word else ""
            match = _ASSIGNMENT.match(first) if isinstance(first, str) else None
            if match and isinstance(first, str):
                self._set(match[1], joined([first[match.end() :], *word[1:]]))
