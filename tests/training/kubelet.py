"""What the kubelet makes of a container's environment and arguments (k8s.io/kubernetes, third_party `expansion`)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

_ANNOTATION = re.compile(r"metadata\.annotations\['(.+)'\]")


def resolved(entries: Iterable[Mapping[str, Any]], annotations: Mapping[str, str]) -> dict[str, str]:
    """The environment of a container: later entries win, `$(NAME)` sees earlier ones, fields come from the pod."""
    env: dict[str, str] = {}
    for entry in entries:
        if "valueFrom" in entry:
            match = _ANNOTATION.fullmatch(entry["valueFrom"]["fieldRef"]["fieldPath"])
            assert match, entry
            env[entry["name"]] = annotations.get(match[1], "")
        else:
            env[entry["name"]] = expanded(entry.get("value", ""), env)
    return env


def expanded(text: str, env: Mapping[str, str]) -> str:
    """`$(NAME)` replaced where NAME is known; `$$` is an escaped dollar; anything else stays as it is."""
    out, at = "", 0
    while at < len(text):
        if text[at] != "$" or at + 1 == len(text):
            out, at = out + text[at], at + 1
        elif text[at + 1] == "$":
            out, at = out + "$", at + 2
        elif text[at + 1] == "(" and (end := text.find(")", at)) > 0:
            name = text[at + 2 : end]
            out, at = out + env.get(name, f"$({name})"), end + 1
        else:
            out, at = out + text[at : at + 2], at + 2
    return out
