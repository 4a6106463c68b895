"""Secrets in the open, and tokens that a run carries without need."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import containers, issue, named, pod_sets
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import mapping, mappings, text

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "security"
#: Whole words of a variable's name that mean its value is a secret.
_SECRET_NAME: Final = re.compile(
    r"(?:^|_)(?:API_?KEY|ACCESS_?KEY|SECRET(?:_?KEY|_ACCESS_KEY)?|PASSWORD|PASSWD|TOKEN|PRIVATE_?KEY|CREDENTIALS?)(?:_V?[0-9]+)?$",
    re.IGNORECASE,
)
#: Names that end like a secret's and hold none: a count, a path, a switch, a reference.
_NO_SECRET: Final = re.compile(
    r"(?:^|_)(?:MAX|NUM|N|PAD|EOS|BOS|UNK|SEP|MASK|STOP|IMAGE|SPECIAL)_?(?:[A-Z]+_)?TOKENS?$|_ID$", re.IGNORECASE
)
#: Shapes of well-known credentials, wherever they stand.
_SHAPES: Final = re.compile(
    r"\b(?:AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36,}|glpat-[A-Za-z0-9_-]{20,}|hf_[A-Za-z0-9]{30,}"
    r"|xox[baprs]-[A-Za-z0-9-]{10,}|sk-[A-Za-z0-9_-]{32,})\b|-----BEGIN [A-Z ]*PRIVATE KEY-----"
)
_PLACEHOLDER: Final = re.compile(
    r"^(?:\$\w+|\$\(.*\)|\$\{.*\}|<.*>|\{\{.*\}\}|/.*|true|false|[0-9]{1,4}|none|null)$", re.IGNORECASE
)


def _is_secret(name: str, value: str) -> bool:
    if not value or _PLACEHOLDER.match(value):
        return False
    if _SHAPES.search(value):
        return True
    return bool(_SECRET_NAME.search(name)) and not _NO_SECRET.search(name) and len(value) >= 8


@rule("security-secret-in-env", severity="error", family=FAMILY)
def secret_in_env(fleet: Fleet) -> Iterator[Issue]:
    """A secret stands as plain text in a container's environment.

    Why: Everybody who can read the repository, the object or the pod reads it, and it stays in Git's history.
    Fix: Put it in a Secret (sealed, external or made by hand) and refer to it with `valueFrom.secretKeyRef`; then
    replace the leaked one.
    Bad:
        apiVersion: batch/v1
        kind: Job
        metadata: {name: sft, namespace: team-a}
        spec:
          template:
            spec:
              restartPolicy: Never
              containers:
              - name: node
                image: trainer
                env: [{name: WANDB_API_KEY, value: 0123456789abcdef0123456789abcdef01234567}]
    Good:
        apiVersion: batch/v1
        kind: Job
        metadata: {name: sft, namespace: team-a}
        spec:
          template:
            spec:
              restartPolicy: Never
              containers:
              - name: node
                image: trainer
                env:
                - {name: WANDB_API_KEY, valueFrom: {secretKeyRef: {name: wandb, key: api-key}}}
                - {name: MAX_TOKENS, value: "1048576000"}
    """
    for _, pod_set in pod_sets(fleet):
        for path, container in containers(pod_set):
            for index, variable in mappings(container, "env"):
                name, value = text(variable, "name"), text(variable, "value")
                if _is_secret(name, value):
                    message = f"{named(container)} has a secret as plain text in {name}"
                    fix = "use valueFrom.secretKeyRef, and replace the secret: it is in Git's history now"
                    yield issue(pod_set, (*path, "env", index, "value"), message, fix)


@rule("security-secret-in-configmap", severity="warning", family=FAMILY)
def secret_in_configmap(fleet: Fleet) -> Iterator[Issue]:
    """A ConfigMap holds what looks like a credential.

    Why: ConfigMaps are readable by everybody who may read the namespace, and this one is in Git.
    Fix: Move it to a Secret that does not stand in Git as plain text, and replace it.
    Bad:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings, namespace: team-a}
        data: {HF_TOKEN: hf_abcdefghijklmnopqrstuvwxyzABCDEFGH}
    Good:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings, namespace: team-a}
        data: {HF_HOME: /cache/hf}
    """
    for document in fleet.of(("", "ConfigMap")):
        for key, value in mapping(document.manifest, "data").items():
            if isinstance(value, str) and _SHAPES.search(value):
                message = f'"{key}" holds what looks like a credential'
                yield Issue(document, ("data", key), message, "move it to a Secret, and replace it")


@rule("security-default-token", severity="warning", family=FAMILY)
def default_token(fleet: Fleet) -> Iterator[Issue]:
    """A run mounts the token of the namespace's default service account on purpose.

    Why: Code from a dataset or a model that runs in the pod can talk to the API server with it, and whatever is ever
    granted to `default` is granted to every run.
    Fix: Leave `automountServiceAccountToken` false, or give the run a service account of its own.
    Bad:
        apiVersion: batch/v1
        kind: Job
        metadata: {name: sft, namespace: team-a}
        spec:
          template:
            spec:
              automountServiceAccountToken: true
              restartPolicy: Never
              containers: [{name: node, image: trainer}]
    Good:
        apiVersion: batch/v1
        kind: Job
        metadata: {name: sft, namespace: team-a}
        spec:
          template:
            spec:
              automountServiceAccountToken: true
              serviceAccountName: ckpt-writer
              restartPolicy: Never
              containers: [{name: node, image: trainer}]
    """
    for workload, pod_set in pod_sets(fleet):
        account = text(pod_set.spec, "serviceAccountName") or text(pod_set.spec, "serviceAccount")
        if workload.kind == "DaemonSet" or account not in ("", "default"):
            continue
        if pod_set.spec.get("automountServiceAccountToken") is True:
            message = "the token of the namespace's default service account is mounted"
            fix = "set automountServiceAccountToken to false, or name a service account of its own"
            yield issue(pod_set, ("spec", "automountServiceAccountToken"), message, fix)
