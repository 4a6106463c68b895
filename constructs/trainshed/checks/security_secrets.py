"""Secrets in the open: in the environment, in commands, in ConfigMaps, in Git."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.argocd import is_live
from trainshed.checks.pods import containers, issue, named, pod_sets
from trainshed.checks.rule import Issue, rule
from trainshed.checks.secret_words import assigned_secret, is_secret, placeholder
from trainshed.fleet.access import items, mapping, mappings, text

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "security"
_RANDOM: Final = 12


@rule("security-secret-in-env", severity="error", family=FAMILY)
def secret_in_env(fleet: Fleet) -> Iterator[Issue]:
    """A secret stands as plain text in a container's environment.

    Why: Everybody who can read the repository, the object or the pod reads it, and it stays in Git's history.
    Fix: Put it in a Secret (sealed, external or made by hand) and refer to it with `valueFrom.secretKeyRef`; then
    replace the leaked one.
    """
    for _, pod_set in pod_sets(fleet):
        for path, container in containers(pod_set):
            for index, variable in mappings(container, "env"):
                name, value = text(variable, "name"), text(variable, "value")
                if is_secret(name, value):
                    message = f"{named(container)} has a secret as plain text in {name}"
                    fix = "use valueFrom.secretKeyRef, and replace the secret: it is in Git's history now"
                    yield issue(pod_set, (*path, "env", index, "value"), message, fix)


@rule("security-secret-in-command", severity="error", family=FAMILY)
def secret_in_command(fleet: Fleet) -> Iterator[Issue]:
    """A secret stands as plain text in a container's command or arguments.

    Why: Arguments are readable in the repository, in the object, and in the process list of the pod and its node.
    Fix: Take the secret from the environment, with `valueFrom.secretKeyRef`; then replace the leaked one.
    """
    for _, pod_set in pod_sets(fleet):
        for path, container in containers(pod_set):
            for field in ("command", "args"):
                words = [word if isinstance(word, str) else "" for word in items(container, field)]
                for index, word in enumerate(words):
                    before = words[index - 1] if index and words[index - 1].startswith("--") else ""
                    after_flag = before.lstrip("-") if "=" not in before and len(word) >= _RANDOM else ""
                    name = assigned_secret(word) or (after_flag if is_secret(after_flag, word) else "")
                    if name:
                        flag = word.partition("=")[0] if word.startswith("--") and "=" in word else ""
                        told = f"a credential{f' ({flag})' if flag else ''}" if name == "it" else f"a secret ({name})"
                        message = f"{named(container)} has {told} as plain text in its {field}"
                        fix = "take it from the environment with valueFrom.secretKeyRef, and replace the secret"
                        yield issue(pod_set, (*path, field, index), message, fix)


@rule("security-secret-in-configmap", severity="error", family=FAMILY)
def secret_in_configmap(fleet: Fleet) -> Iterator[Issue]:
    """A ConfigMap holds a credential.

    Why: ConfigMaps are readable by everybody who may read the namespace, and this one is in Git.
    Fix: Move it to a Secret that does not stand in Git as plain text, and replace it.
    """
    for document in fleet.of(("", "ConfigMap")):
        for key, value in mapping(document.manifest, "data").items():
            if not isinstance(value, str) or not isinstance(key, str):
                continue
            single = "\n" not in value.strip()
            if (single and is_secret(key, value.strip())) or assigned_secret(value):
                message = f'the ConfigMap holds a secret as plain text in "{key}"'
                yield Issue(document, ("data", key), message, "move it to a Secret, and replace the secret")


@rule("security-secret-in-git", severity="warning", family=FAMILY)
def secret_in_git(fleet: Fleet) -> Iterator[Issue]:
    """A Secret with its values stands in Git.

    Why: base64 is no encryption: whoever reads the repository reads the secret, and it stays in Git's history.
    Fix: Keep the object out of Git (an external or sealed secret, or one made by hand), and replace the leaked value.
    """
    for document in fleet.of(("", "Secret")):
        if is_live(document) or items(document.manifest, "metadata", "ownerReferences"):
            continue
        for field in ("stringData", "data"):
            for key, value in mapping(document.manifest, field).items():
                if isinstance(value, str) and isinstance(key, str) and (shown := _in_the_open(field, key, value)):
                    message = f'the Secret has the value of "{key}" in Git{shown}'
                    fix = "keep it out of Git (an external or sealed secret), and replace it"
                    yield Issue(document, (field, key), message, fix)


def _in_the_open(field: str, key: str, value: str) -> str:
    """How a value of a Secret can be read; empty for nothing, certificates and what another tool fills in."""
    if field == "stringData":
        return " as plain text" if not placeholder(value) and not key.endswith((".crt", ".pem", ".pub")) else ""
    try:
        plain = base64.b64decode(value, validate=True).decode("utf-8", "replace")
    except ValueError:
        return ""
    open_key = key.endswith((".crt", ".pub")) or plain.startswith("-----BEGIN CERTIFICATE")
    return ", only base64-encoded" if plain.strip() and not placeholder(plain.strip()) and not open_key else ""
