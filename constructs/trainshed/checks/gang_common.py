"""What the rules on gang schedulers share: how sure a missing queue is, what runs torch, who places a pod."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import islice
from typing import Final

from trainshed.faults import nearest
from trainshed.fleet.access import Node, items, mapping, mappings, text
from trainshed.fleet.amounts import amounts
from trainshed.fleet.document import Document
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import Workload
from trainshed.spelling import Names

VOLCANO: Final = "volcano"
KAI: Final = "kai-scheduler"
YUNIKORN: Final = "yunikorn"
VOLCANO_QUEUE: Final = "scheduling.volcano.sh/queue-name"
VOLCANO_GROUP: Final = "scheduling.k8s.io/group-name"
KAI_QUEUE: Final = "kai.scheduler/queue"
_TORCH: Final = re.compile(r"\btorchrun\b|torch\.distributed\.(run|launch)\b|\baccelerate\s+launch\b")
_RENDEZVOUS: Final = ("MASTER_ADDR", "WORLD_SIZE", "PET_NNODES", "PET_MASTER_ADDR", "PET_RDZV_ENDPOINT")
#: So many names are compared when the nearest one is the object itself.
_FEW: Final = 64
_ELASTIC: Final = re.compile(r"--nnodes[= ]\s*[\"']?(\d+):(\d+)")


def listed(names: Iterable[str], most: int = 6) -> str:
    """Names for a sentence, the first few of them."""
    shown = names.in_order if isinstance(names, Names) else sorted(set(names))
    return ", ".join(shown[:most]) + (f" and {len(shown) - most} more" if len(shown) > most else "")


def proposal(name: str, known: Iterable[str], otherwise: str, but: str = "") -> str:
    """The nearest known name other than `but` as a question, followed by what else would be right."""
    near = nearest(name, known)
    if but and near == nearest(but, (but,)):
        near = nearest(name, [item for item in islice(known, _FEW) if item != but])
    return f"{near} Otherwise {otherwise}" if near else otherwise


def called(document: Document) -> str:
    """An object for a sentence: `Job aurora/pretrain`, `Queue org`."""
    return str(document.ref).replace("/", " ", 1)


def spec_text(spec: Node) -> str:
    """Commands and arguments of the containers of a pod spec, as one text to look into."""
    return " ".join(_words(item for item in items(spec, "containers") if isinstance(item, dict)))


def _words(containers: Iterable[Node]) -> Iterator[str]:
    for container in containers:
        for field in ("command", "args"):
            yield from (word for word in items(container, field) if isinstance(word, str))


def distributed(spec: Node) -> bool:
    """Whether pods of this spec are ranks of one run: they start torch's launcher, are told of a rendezvous, or train
    on several GPUs each."""
    words = spec_text(spec)
    if _TORCH.search(words) is not None:
        return True
    for _, container in mappings(spec, "containers"):
        if any(text(item, "name") in _RENDEZVOUS for _, item in mappings(container, "env")):
            return True
    return "train" in words and _gpus(spec) > 1


def _gpus(spec: Node) -> Fraction:
    found = Fraction(0)
    for _, container in mappings(spec, "containers"):
        for name, amount in amounts(mapping(container, "resources").get("limits")).items():
            if name.endswith("/gpu"):
                found += amount.value
    return found


def elastic_minimum(words: str) -> int | None:
    """The least number of nodes of an elastic launch (`--nnodes=1:4`), None where there is none."""
    match = _ELASTIC.search(words)
    return int(match[1][:9]) if match and match[1] != match[2] else None


def marked(workload: Workload, key: str) -> str:
    """The label of the workload, else of its first pod set that has it."""
    if value := workload.labels.get(key, ""):
        return value
    return next((pod_set.labels[key] for pod_set in workload.pod_sets if pod_set.labels.get(key)), "")


def label_place(workload: Workload, key: str) -> tuple[Document, Path]:
    """Where the label that `marked` found is written."""
    if workload.labels.get(key):
        return workload.document, (*workload.labels_path, key)
    for pod_set in workload.pod_sets:
        if pod_set.labels.get(key):
            return pod_set.at(("metadata", "labels", key))
    return workload.document, (*workload.labels_path, key)
