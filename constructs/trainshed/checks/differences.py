"""Where two manifests differ: the first place, in Kubernetes' eyes."""

from __future__ import annotations

from typing import Any, Final

from trainshed.fleet.amounts import quantity
from trainshed.fleet.paths import Path

_AMOUNTS = frozenset({"limits", "requests", "capacity", "default", "defaultRequest", "nominalQuota", "sizeLimit"})


#: What the API server writes where a manifest has nothing (kubernetes v1.36, `pkg/apis/{batch,core}/v1/defaults.go`).
_DEFAULTS: Final[dict[str, Any]] = {
    "backoffLimit": 6, "completionMode": "NonIndexed", "completions": 1, "dnsPolicy": "ClusterFirst",
    "enableDNSHostnames": True, "enableServiceLinks": True, "parallelism": 1, "protocol": "TCP",
    "publishNotReadyAddresses": True, "replicas": 1, "restartPolicy": "Always", "schedulerName": "default-scheduler",
    "suspend": False, "terminationGracePeriodSeconds": 30, "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File", "volumeMode": "Filesystem",
}  # fmt: skip


def first_difference(old: Any, new: Any, path: Path = (), *, live: bool = False) -> tuple[Path, Any, Any] | None:
    """(path, old value, new value) of the first difference, None where both mean the same.

    Absent, null, empty and the default are the same, and so are two spellings of one quantity. With `live` the old
    value was read from a cluster: what only that has was written there, and is no difference.
    """
    if old == new or (_empty(old) and _empty(new)) or (live and new is None):
        return None
    if path and (old is None or new is None) and _default(path) == (new if old is None else old):
        return None
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            if found := first_difference(old.get(key), new.get(key), (*path, key), live=live):
                return found
        return None
    if isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            before = old[index] if index < len(old) else None
            after = new[index] if index < len(new) else None
            if before is not None or after is not None:
                found = first_difference(before, after, (*path, index), live=live)
                if found:
                    return found
        return None
    if _AMOUNTS.intersection(str(part) for part in path[-2:]) and _same_amount(old, new):
        return None
    return path, old, new


def _default(path: Path) -> Any:
    """The default of a field that has one; a JobSet's Jobs are Indexed."""
    name = str(path[-1])
    return "Indexed" if name == "completionMode" and "replicatedJobs" in path else _DEFAULTS.get(name)


def _empty(value: Any) -> bool:
    return value is None or (isinstance(value, dict | list | str) and not value)


def _same_amount(old: Any, new: Any) -> bool:
    before, after = quantity(old), quantity(new)
    return before is not None and before == after


def shown(value: Any) -> str:
    """A value as a message shows it; long ones are cut."""
    if _empty(value):
        return "nothing"
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else f"a list of {len(value)}"
    text = str(value)
    return f'"{text[:60]}…"' if len(text) > 60 else f'"{text}"'
