"""Every pod in upstream's samples is read, and comes out as it went in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.api.faulted import faulted
from trainshed.api.core.pod import PodSpec
from trainshed.quantity import Quantity

# Upstream's own mistakes: file -> what is wrong.
MISTAKEN = {
    "kueue/serving-workloads/sample-leaderworkerset-tas.yaml": (
        "containers[0].resources.limits[nvidia.com/gpu]: is missing, and nvidia.com/gpu cannot be overcommitted; "
        'add limits: nvidia.com/gpu: "1"'
    )
}
# Volumes that the owner of the template adds.
GIVEN = {
    "workloads/jobset/volume-claim-policy_single-pvc.yaml": {"initializer", "checkpoints"},
    "workloads/lws/lws-volume-claim-templates.yaml": {"persistent-storage"},
}
QUANTITIES = frozenset({"limits", "requests", "overhead"})


def pods(node: Any) -> Iterator[dict[str, Any]]:
    """Every mapping with a list of containers."""
    if isinstance(node, dict):
        containers = node.get("containers")
        if isinstance(containers, list) and all(isinstance(one, dict) for one in containers):
            yield node
        for child in node.values():
            yield from pods(child)
    elif isinstance(node, list):
        for child in node:
            yield from pods(child)


def canonical(node: Any) -> Any:
    """Without nulls, and with quantities as Kubernetes writes them."""
    if isinstance(node, Mapping):
        return {
            key: {name: str(Quantity(amount)) for name, amount in value.items()}
            if key in QUANTITIES
            else str(Quantity(value))
            if key in ("sizeLimit", "divisor")
            else canonical(value)
            for key, value in node.items()
            if value is not None
        }
    return [canonical(child) for child in node] if isinstance(node, list) else node


def samples(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for file in sorted(folder.rglob("*.yaml")):
        for document in yaml.load_all(file.read_text(), Loader=yaml.CSafeLoader):
            for pod in pods(document):
                yield str(file.relative_to(folder)), pod


def test_pods_of_the_corpus_read_back(shared: Path) -> None:
    """Equal content but for nulls and the spelling of quantities; mounts match volumes."""
    count = 0
    for file, pod in samples(shared / "corpus"):
        told = faulted(PodSpec, pod)
        if told and file in MISTAKEN:
            assert told == [MISTAKEN[file]]
            continue
        assert told == [], file

        spec = PodSpec.model_validate(pod)

        assert spec.model_dump(by_alias=True, exclude_none=True) == canonical(pod), file
        assert not list(spec.mount_rules(given=GIVEN.get(file, ()))), file
        count += 1
    assert count > 80
