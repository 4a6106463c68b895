"""Upstream's own samples read back unchanged, and the ones that upstream marks invalid are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from tests.oracle.crd import crd_errors, crds, shared_folder
from tests.oracle.documents import documents
from trainshed.api.registry import model_for
from trainshed.quantity import Quantity

# Refused samples (verdicts in corpus/*/SOURCE.md and INDEX.md): file -> words of the refusal.
REFUSED_BY_SCHEMA = {
    "workloads/jobset/config-samples_batch_v1alpha2_jobset.yaml": "spec",
    # A page of Kueue's that still shows a field which Trainer 2.3 no longer has in runtimes.
    "kueue/trainjob-docs/trainjob-doc-block-3.yaml": "numProcPerNode",
}
REFUSED_BY_WEBHOOK = {
    "schedulers/volcano/invalid-duplicated-policy-event.yaml": "event",
    "schedulers/volcano/invalid-duplicated-task-name.yaml": "name",
    # Structurally sound, but onFlavors names a flavor of no resource group (Kueue 0.19 clusterqueue_webhook.go).
    "kueue/admin/minimal-cq.yaml": "is not a flavor of this ClusterQueue",
    # Its webhook looks at no template, but the API server refuses such pods: GPUs requested without a limit.
    "kueue/serving-workloads/sample-leaderworkerset-tas.yaml": "cannot be overcommitted",
}
# Cases whose verdict depends on the release: the releases that we render for no longer have these fields.
REFUSED_CASES = {
    "071-trainer-torch-numprocpernode-in-runtime": "numProcPerNode",
    "080-trainer-podtemplateoverrides-removed": "podTemplateOverrides",
}
INVALID = {**REFUSED_BY_SCHEMA, **REFUSED_BY_WEBHOOK}
# Invalid too, for reasons that one object does not show; they must parse.
INVALID_TOGETHER = {
    "workloads/trainer/05-multi-step.yaml": "the webhook compares the TrainJob's patches with its runtime's volumes",
    "workloads/jobset/failure-policy_restartjob-action.yaml": "depends on a feature gate of the JobSet manager",
}


def corpus_files() -> list[str]:
    folder = shared_folder() / "corpus"
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*.yaml"))


def clean_cases() -> list[str]:
    """Cases that the API server takes: no verdict of an error, and no field that our releases lack."""
    found = []
    for file in sorted((shared_folder() / "cases").glob("*/expect.yaml")):
        name = file.parent.name
        if yaml.safe_load(file.read_text())["verdict"] != "error" and name not in REFUSED_CASES:
            found.append(name)
    return found


def registered(file: Path) -> Iterator[dict[str, Any]]:
    """The documents of a file for which there is a model."""
    for document in documents(file.read_text()):
        if model_for(document.get("apiVersion", ""), document.get("kind", "")):
            yield document


def reads_back(document: dict[str, Any]) -> None:
    """Parses, writes the same content, and parses that to an equal object."""
    model = model_for(document["apiVersion"], document["kind"])
    assert model is not None
    parsed = model.parse(document)
    manifest = parsed.manifest()
    assert list(changes(document, manifest, document["kind"])) == []
    assert model.parse(manifest) == parsed


def changes(before: Any, after: Any, path: str) -> Iterator[str]:
    """Where `after` says something else than `before`; nulls may go, quantities may be written in another way."""
    if isinstance(before, dict) and isinstance(after, dict):
        before = {key: value for key, value in before.items() if value is not None}
        for key in before.keys() | after.keys():
            yield from changes(before.get(key, "(absent)"), after.get(key, "(absent)"), f"{path}.{key}")
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from changes(one, other, f"{path}[{index}]")
    elif (type(before), before) != (type(after), after) and not same_quantity(before, after):
        yield f"{path}: {before!r} became {after!r}"


def same_quantity(before: Any, after: Any) -> bool:
    """Two spellings of one amount, the second one canonical."""
    try:
        return isinstance(after, str) and Quantity(before) == Quantity(after) and str(Quantity(after)) == after
    except ValueError:
        return False


@pytest.mark.parametrize("name", [name for name in corpus_files() if name not in INVALID])
def test_a_valid_sample_reads_back(name: str, shared: Path) -> None:
    for document in registered(shared / "corpus" / name):
        reads_back(document)


@pytest.mark.parametrize("name", INVALID)
def test_an_invalid_sample_is_refused(name: str, shared: Path) -> None:
    (document,) = registered(shared / "corpus" / name)
    model = model_for(document["apiVersion"], document["kind"])
    assert model is not None
    with pytest.raises(ValidationError, match=INVALID[name]):
        model.parse(document)


@pytest.mark.parametrize("name", clean_cases())
def test_a_clean_case_reads_back(name: str, shared: Path) -> None:
    for document in registered(shared / "cases" / name / "input.yaml"):
        reads_back(document)


@pytest.mark.parametrize("name", REFUSED_CASES)
def test_a_case_with_a_removed_field_is_refused(name: str, shared: Path) -> None:
    found = list(registered(shared / "cases" / name / "input.yaml"))
    with pytest.raises(ValidationError, match=REFUSED_CASES[name]):
        list(map(reads_back, found))


@pytest.mark.parametrize("name", [name for name in corpus_files() if name not in REFUSED_BY_SCHEMA])
def test_the_oracle_accepts_valid_samples(name: str, shared: Path) -> None:
    """No false alarm from the oracle itself."""
    for document in documents((shared / "corpus" / name).read_text()):
        if (document.get("apiVersion", ""), document.get("kind", "")) in crds():
            assert crd_errors(document) == []


def test_there_is_enough_to_read(shared: Path) -> None:
    """The samples cover the kinds that we model, so that an empty folder is noticed."""
    kinds = {d["kind"] for name in corpus_files() for d in registered(shared / "corpus" / name)}
    assert kinds >= {
        "ClusterQueue",
        "LocalQueue",
        "ResourceFlavor",
        "Cohort",
        "Topology",
        "JobSet",
        "TrainJob",
        "Queue",
    }
    assert kinds >= {"TrainingRuntime", "ClusterTrainingRuntime", "Job", "AdmissionCheck", "WorkloadPriorityClass"}
    assert INVALID_TOGETHER.keys() <= set(corpus_files())
    assert len(clean_cases()) > 60
