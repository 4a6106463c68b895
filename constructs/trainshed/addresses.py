"""The shapes of addresses (container images, Git repositories, folders in them), and what is wrong with a bad one.

Each `…_error` function returns an empty string for a good address, otherwise what is wrong, and after `; ` what would
be right. A password is never repeated.
"""

from __future__ import annotations

import re
from typing import Final

_DOMAIN_PART: Final = r"(?:[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9-]*[A-Za-z0-9])"
_HOST: Final = rf"(?:{_DOMAIN_PART}(?:\.{_DOMAIN_PART})*|\[[0-9A-Fa-f:]+\])"
_PORT: Final = r"(?::[0-9]{1,5})?"
_PATH_PART: Final = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_IMAGE_PATH: Final = re.compile(rf"{_PATH_PART}(?:/{_PATH_PART})*")
_IMAGE_HOST: Final = re.compile(rf"{_HOST}{_PORT}")
_TAG: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}")
_SHA256: Final = re.compile(r"sha256:[0-9a-f]{64}")
_HEX_NAME: Final = re.compile(r"[0-9a-f]{64}")
_IMAGE_PATH_MAX: Final = 255
_IMAGE_FIX: Final = 'write for example "registry.example.com/team/trainer:1.0.0"'

_USER: Final = r"[A-Za-z0-9][A-Za-z0-9._~-]*"
_URL: Final = re.compile(rf"(?P<scheme>https?|ssh)://(?:(?P<user>[^/@]*)@)?{_HOST}{_PORT}/(?P<path>[^?#\\]+)")
_SCP: Final = re.compile(rf"(?P<user>{_USER})@{_HOST}:(?P<path>[^?#\\:]+)")
_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_SECRET: Final = re.compile(r"(?:gh[a-z]_|github_pat_|gl[a-z]{2,4}-|ATBB|oauth2$|x-token-auth$)")
_URL_FIX: Final = 'write for example "https://git.example.com/platform/clusters.git" or "git@git.example.com:team.git"'
_SERVER: Final = re.compile(rf"https?://{_HOST}{_PORT}(?:/[^?#\\]*)?")


def image_error(image: str) -> str:
    """A reference to an image: `[host[:port]/]path[:tag][@digest]` (distribution/reference v0.6.0, `regexp.go`)."""
    if error := blank_error(image):
        return error
    if found := _SCHEME.match(image):
        return f'begins with "{found[0]}", which is no part of an image; leave it out'
    name, at, digest = image.partition("@")
    if at and not (_SHA256.fullmatch(digest) if digest.startswith("sha256:") else _DIGEST.fullmatch(digest)):
        return f'its digest "{_cut(digest)}" is wrong; write sha256: and 64 of the digits 0-9a-f'
    rest, colon, tag = name.rpartition(":")
    if colon and "/" not in tag:
        if not _TAG.fullmatch(tag):
            return f'its tag "{_cut(tag)}" is wrong; a tag has at most 128 of A-Za-z0-9_.- and begins with none of .-'
        name = rest
    first, slash, path = name.partition("/")
    if not (slash and ("." in first or ":" in first or first == "localhost" or first.lower() != first)):
        first, path = "", name
    if first and not _IMAGE_HOST.fullmatch(first):
        return f'its registry "{_cut(first)}" is no host; {_IMAGE_FIX}'
    if path != path.lower() and _IMAGE_PATH.fullmatch(path.lower()):
        return f'its repository "{_cut(path)}" has capitals; write "{_cut(path.lower())}"'
    if not _IMAGE_PATH.fullmatch(path) or _HEX_NAME.fullmatch(name):
        return f'"{_cut(image)}" is no reference to an image; {_IMAGE_FIX}'
    if len(path) > _IMAGE_PATH_MAX:
        return f"its repository has {len(path)} characters, {len(path) - _IMAGE_PATH_MAX} more than the 255 allowed"
    return ""


def repository_error(url: str) -> str:
    """A Git repository as Argo CD takes it: https, http, ssh, or `user@host:path` (argo-cd v3.5, `util/git/git.go`).

    A user's name may stand in it, a password or token may not: the address is written into `dist/`.
    """
    if error := blank_error(url):
        return error
    found = _URL.fullmatch(url) or _SCP.fullmatch(url)
    user = (found["user"] if found else "") or ""
    told = "holds a password or token, which everybody could read in Git"
    if ":" in user or _SECRET.match(user) or (not found and re.match(r"[A-Za-z+]+://[^/]*:[^/]*@", url)):
        return f"{told}; leave it out, and give it to Argo CD in a Secret of the repository"
    if found:
        return ""
    scheme = _SCHEME.match(url)
    if scheme and scheme[1].lower() not in ("http", "https", "ssh"):
        return f'"{scheme[0]}" is no address that Argo CD reads Git from; {_URL_FIX}'
    if "?" in url or "#" in url:
        return f'has a "{"?" if "?" in url else "#"}", which is no part of a repository\'s address; {_URL_FIX}'
    return f'"{_cut(url)}" is no address of a Git repository; {_URL_FIX}'


def server_error(url: str) -> str:
    """The address of an API server as Argo CD knows it."""
    if error := blank_error(url):
        return error
    if re.match(r"[A-Za-z]+://[^/]*@", url):
        return "holds a user or password; leave it out: Argo CD has it in the Secret of the cluster"
    return (
        "" if _SERVER.fullmatch(url) else f'"{_cut(url)}" is no API server; write for example "https://10.0.0.1:6443"'
    )


def folder_error(path: str) -> str:
    """A folder in a repository: relative, `/` between its parts, nothing that Argo CD takes for a pattern."""
    if error := blank_error(path):
        return error
    if path.startswith("/"):
        return f'"{_cut(path)}" begins at the root; write it from the root of the repository: "dist"'
    if any(part in ("", ".", "..") for part in path.split("/")):
        return f'"{_cut(path)}" has an empty part, or one that is . or ..; write for example "dist" or "clusters/dist"'
    if found := re.search(r"[*?\[\]\\{}]", path):
        return f'"{_cut(path)}" has a "{found[0]}", which makes it a pattern; name one folder'
    return ""


def revision_error(revision: str) -> str:
    """A branch, tag, commit or range of versions."""
    if error := text_error(revision):
        return error
    if not revision:
        return 'is empty; write for example "main"'
    if revision != revision.strip() or revision.startswith("-"):
        return f'"{_cut(revision)}" is no revision; write for example "main"'
    return ""


def blank_error(text: str) -> str:
    """Text in which no blank and no control character may stand."""
    if not text:
        return "is empty; write it"
    if error := text_error(text):
        return error
    return "has a blank in it; leave it out" if any(letter.isspace() for letter in text) else ""


def text_error(text: str) -> str:
    """Text for a process or a file: no NUL, no other control character but tab and line breaks, no surrogate."""
    for letter in text:
        if (letter < " " and letter not in "\t\n\r") or "\x7f" <= letter <= "\x9f":
            return f"has the control character U+{ord(letter):04X} in it; leave it out"
        if "\ud800" <= letter <= "\udfff":
            return f"has half a character (the surrogate U+{ord(letter):04X}) in it; leave it out"
    return ""


def _cut(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}…"
