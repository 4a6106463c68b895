"""Containers of Jobs that never end by themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.pods import issue, named
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import Node, items, text
from trainshed.fleet.workload import PodSet

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "job"
#: Last parts of the names of images whose entrypoint serves until it is stopped.
_SERVERS: Final = frozenset(
    {
        "alloydb-auth-proxy",
        "cloud-sql-proxy",
        "envoy",
        "filebeat",
        "fluent-bit",
        "fluentd",
        "gce-proxy",
        "oauth2-proxy",
        "opentelemetry-collector",
        "opentelemetry-collector-contrib",
        "promtail",
        "proxyv2",
    }
)
_SHELLS: Final = frozenset({"sh", "bash", "ash", "dash"})
#: `tail -f` as the last command of a script, in the foreground.
_FOLLOWS: Final = re.compile(r"(?:^|[;\n]|&&)\s*(?:exec\s+)?tail\s+(?P<words>[^;&|\n]*)\s*$")
_FOLLOW: Final = re.compile(r"(?:^|\s)(?:-[a-zA-Z0-9]*[fF][0-9]*|--follow(?:=\w+)?)(?:\s|$)")


@rule("job-sidecar-never-ends", severity="warning", family=FAMILY)
def sidecar_never_ends(fleet: Fleet) -> Iterator[Issue]:
    """A Job has a container beside the real one that never ends.

    Why: A pod is done when all its regular containers have ended. A proxy or a log shipper among them runs on after the
    work: the pod stays Running with all its devices, and the Job never completes.
    Fix: Move it to initContainers with `restartPolicy: Always`: such a sidecar is stopped when the others have ended.
    """
    for run in fleet.runs:
        for pod_set in run.workload.pod_sets if run.workload.form == "Job" else ():
            if len(pod_set.containers) < 2 or _stopped(pod_set):
                continue
            endless = [(path, container, why) for path, container in pod_set.containers if (why := _endless(container))]
            for path, container, why in endless if len(endless) < len(pod_set.containers) else ():
                message = f"{named(container)} ({why}) never ends by itself, and the Job is complete only when all "
                message += "containers have ended"
                fix = "move it to initContainers with restartPolicy: Always"
                yield issue(pod_set, path, message, fix)


def _stopped(pod_set: PodSet) -> bool:
    """Whether the work may end its neighbours: it sees their processes, or asks them to quit."""
    if pod_set.spec.get("shareProcessNamespace") is True:
        return True
    return any("quit" in str(container.get(field)).lower() for _, container in pod_set.containers for field in _SAID)


_SAID: Final = ("command", "args", "env", "lifecycle")


def _endless(container: Node) -> str:
    """What in the container never ends; empty where that is not known."""
    command = [word for word in items(container, "command") if isinstance(word, str)]
    words = command + [word for word in items(container, "args") if isinstance(word, str)]
    if command:
        return _following(words)
    image = text(container, "image").partition("@")[0].rpartition("/")[2].partition(":")[0]
    return image if image in _SERVERS else ""


def _following(words: list[str]) -> str:
    """`tail -f`, as a command of its own or as the end of a shell's script; or a known server."""
    name = words[0].rpartition("/")[2]
    if name in _SERVERS:
        return name
    script = " ".join(words) if name == "tail" else ""
    if name in _SHELLS and len(words) > 2 and words[1].startswith("-") and words[1].endswith("c"):
        script = words[2]
    match = _FOLLOWS.search(script.rstrip()) if len(script) < 10_000 else None
    if match is None or "--pid" in match["words"] or not _FOLLOW.search(match["words"]):
        return ""
    return f"tail {match['words'].strip()}"[:60]
