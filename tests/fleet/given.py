"""Fleets for tests, from YAML text."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping

from trainshed.fleet.document import Document
from trainshed.fleet.fleet import Fleet
from trainshed.fleet.paths import Path, show_path
from trainshed.fleet.reading import read
from trainshed.fleet.workload import Workload
from trainshed.quantity import Quantity


def fleet(*texts: str) -> Fleet:
    """The fleet of these YAML texts."""
    text = "\n---\n".join(textwrap.dedent(text) for text in texts)
    reading = read(["-"], io.BytesIO(text.encode()))
    assert not reading.findings, reading.findings
    return Fleet(reading.documents)


def workload(*texts: str) -> Workload:
    """The only workload of these YAML texts."""
    (found,) = fleet(*texts).workloads
    return found


def shown(amounts: Mapping[str, Quantity]) -> dict[str, str]:
    """Amounts as text."""
    return {name: str(amount) for name, amount in amounts.items()}


def counts(found: Workload) -> dict[str, int]:
    """Pods by pod set."""
    return {pod_set.name: pod_set.count for pod_set in found.pod_sets}


def place(at: tuple[Document, Path] | None) -> str:
    """`Kind path` of a place, which must be there."""
    assert at is not None
    document, path = at
    assert document.has(path), f"{document.ref} has no {show_path(path)}"
    return f"{document.kind} {show_path(path)}"


#: A pod spec that requests one GPU and two cores.
POD = "{containers: [{name: main, image: x, resources: {requests: {cpu: 2}, limits: {nvidia.com/gpu: 1}}}]}"
