"""The words and operators of a shell script, quoted as POSIX says; what only a running shell knows stays a gap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from trainshed.fleet.words import Ref

#: Longest first.
_OPERATORS: Final = (
    "<<<", "<<-", "&>>", "&&", "||", ";;", ";&", "|&", "&>", ">>", "<<", "<&", ">&", "<>", ">|",
    ";", "|", "&", "(", ")", "<", ">", "\n",
)  # fmt: skip
_FIRST: Final = frozenset(operator[0] for operator in _OPERATORS)
_REDIRECTIONS: Final = frozenset({"<<<", "<<-", "&>>", "&>", ">>", "<<", "<&", ">&", "<>", ">|", "<", ">"})
_SPECIAL: Final = "@*#?$!-0123456789"

Atom = str | Ref


@dataclass(frozen=True, slots=True)
class Variable:
    """`$NAME` or `${NAME:-default}` in a script. `simple` is False where the shell does more than put the value in."""

    name: str
    text: str
    default: str | None = None
    quoted: bool = False
    simple: bool = True


Piece = str | Ref | Variable


@dataclass(frozen=True, slots=True)
class Token:
    """A word, made of `pieces`, or an operator. `bare` says that no part of the word is quoted."""

    operator: str = ""
    pieces: tuple[Piece, ...] = ()
    bare: bool = False

    @property
    def keyword(self) -> str:
        """The text of an unquoted plain word; empty for all else."""
        return self.pieces[0] if self.bare and len(self.pieces) == 1 and isinstance(self.pieces[0], str) else ""


class Lexer:
    """Splits a script into tokens. Comments, here-documents and redirections (with their targets) are left out."""

    def __init__(self, atoms: Sequence[Atom]) -> None:
        self._atoms = atoms
        self._at = 0
        self._documents: list[tuple[str, bool]] = []

    def tokens(self) -> list[Token]:
        """All tokens, in order."""
        found: list[Token] = []
        while self._at < len(self._atoms):
            atom = self._atoms[self._at]
            if atom in (" ", "\t", "\r"):
                self._at += 1
            elif atom == "\\" and self._peek(1) == "\n":
                self._at += 2
            elif atom == "#":
                self._skip_line()
            elif isinstance(atom, str) and atom in _FIRST:
                self._operator(found)
            else:
                found.append(self._word())
        return found

    def _peek(self, ahead: int) -> Atom:
        index = self._at + ahead
        return self._atoms[index] if index < len(self._atoms) else ""

    def _text(self, length: int) -> str:
        return "".join(atom if isinstance(atom, str) else "\0" for atom in self._atoms[self._at : self._at + length])

    def _skip_line(self) -> None:
        while self._at < len(self._atoms) and self._atoms[self._at] != "\n":
            self._at += 1

    def _operator(self, found: list[Token]) -> None:
        ahead = self._text(3)
        operator = next(item for item in _OPERATORS if ahead.startswith(item))
        self._at += len(operator)
        if operator in _REDIRECTIONS:
            if found and found[-1].keyword.isdigit() and self._glued(len(operator)):
                found.pop()
            self._redirection(operator)
        else:
            if operator == "\n":
                self._skip_documents()
            found.append(Token(operator))

    def _glued(self, length: int) -> bool:
        before = self._at - length - 1
        return before >= 0 and isinstance(self._atoms[before], str) and str(self._atoms[before]).isdigit()

    def _redirection(self, operator: str) -> None:
        while self._peek(0) in (" ", "\t"):
            self._at += 1
        if self._at >= len(self._atoms) or self._peek(0) in _FIRST:
            return
        target = self._word()
        if operator in ("<<", "<<-"):
            name = "".join(piece if isinstance(piece, str) else piece.text for piece in target.pieces)
            self._documents.append((name, operator == "<<-"))

    def _skip_documents(self) -> None:
        for name, tabs in self._documents:
            while self._at < len(self._atoms):
                start = self._at
                self._skip_line()
                line = "".join(atom for atom in self._atoms[start : self._at] if isinstance(atom, str))
                self._at += 1
                if (line.lstrip("\t") if tabs else line) == name:
                    break
        self._documents.clear()

    def _word(self) -> Token:
        pieces: list[Piece] = []
        bare = True
        while self._at < len(self._atoms):
            atom = self._atoms[self._at]
            if isinstance(atom, Ref):
                pieces.append(atom)
                self._at += 1
            elif atom in (" ", "\t", "\r") or atom in _FIRST:
                break
            elif atom in ("'", '"'):
                bare = False
                self._quoted(atom, pieces)
            elif atom == "\\":
                bare = bare and self._peek(1) == "\n"
                if self._peek(1) != "\n":
                    pieces.append(self._peek(1))
                self._at += 2
            elif atom in ("$", "`"):
                bare = False
                self._expansion(pieces, quoted=False)
            else:
                pieces.append(atom)
                self._at += 1
        return Token(pieces=_joined(pieces), bare=bare)

    def _quoted(self, quote: str, pieces: list[Piece]) -> None:
        self._at += 1
        pieces.append("")
        while self._at < len(self._atoms):
            atom = self._atoms[self._at]
            if atom == quote:
                self._at += 1
                return
            if quote == '"' and atom in ("$", "`"):
                self._expansion(pieces, quoted=True)
                continue
            if quote == '"' and atom == "\\" and self._peek(1) in ("$", "`", '"', "\\", "\n"):
                pieces.append("" if self._peek(1) == "\n" else self._peek(1))
                self._at += 2
                continue
            pieces.append(atom)
            self._at += 1

    def _expansion(self, pieces: list[Piece], *, quoted: bool) -> None:
        """`$NAME`, `${…}`, `$(…)`, `$((…))`, `…` in backquotes; a lone dollar sign is itself."""
        start = self._at
        if self._peek(0) == "`":
            self._at += 1
            while self._at < len(self._atoms) and self._atoms[self._at] != "`":
                self._at += 1
            self._at += 1
            pieces.append(Ref("", self._between(start), "command"))
        elif self._peek(1) == "(":
            self._at += 1
            self._balanced()
            pieces.append(Ref("", self._between(start), "command"))
        elif self._peek(1) == "{":
            while self._at < len(self._atoms) and self._atoms[self._at] != "}":
                self._at += 1
            self._at += 1
            pieces.append(_braced(self._between(start), quoted))
        else:
            self._at += 1
            name = self._name()
            pieces.append(Variable(name, f"${name}", quoted=quoted) if name else "$")

    def _name(self) -> str:
        if self._peek(0) in list(_SPECIAL):
            self._at += 1
            return str(self._atoms[self._at - 1])
        start = self._at
        while isinstance(atom := self._peek(0), str) and atom and (atom.isalnum() or atom == "_"):
            self._at += 1
        return self._between(start)

    def _between(self, start: int) -> str:
        return "".join(atom if isinstance(atom, str) else atom.text for atom in self._atoms[start : self._at])

    def _balanced(self) -> None:
        """Goes past a bracketed part, with the brackets and quotes in it."""
        depth, quote = 0, ""
        while self._at < len(self._atoms):
            atom = self._atoms[self._at]
            self._at += 1
            if atom == "\\" and quote != "'":
                self._at += 1
            elif quote:
                quote = "" if atom == quote else quote
            elif atom in ("'", '"'):
                quote = str(atom)
            elif atom == "(":
                depth += 1
            elif atom == ")":
                depth -= 1
                if depth == 0:
                    return


def _braced(text: str, quoted: bool) -> Variable:
    inside = text[2:-1]
    length = 0
    while length < len(inside) and (inside[length].isalnum() or inside[length] == "_"):
        length += 1
    name, rest = inside[:length], inside[length:]
    if rest in ("[@]", "[*]") or not rest:
        return Variable(name, text, quoted=quoted, simple=bool(name))
    for mark in (":-", ":=", "-", "="):
        if rest.startswith(mark) and name:
            return Variable(name, text, rest[len(mark) :], quoted)
    return Variable(name, text, quoted=quoted, simple=rest.startswith((":?", "?")) and bool(name))


def _joined(pieces: list[Piece]) -> tuple[Piece, ...]:
    out: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, str) and out and isinstance(out[-1], str):
            out[-1] += piece
        else:
            out.append(piece)
    return tuple(out)
