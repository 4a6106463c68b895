"""The oracle itself: it knows every CRD and runs every rule, and known mistakes are refused with upstream's words."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.oracle.crd import Rule, crd_errors, crds, evaluations
from tests.oracle.instances import minimal_object

Manifest = dict[str, Any]

# Rules whose expression fails on an object that the schema accepts, since upstream's expression reads an optional
# field without `has()`; the API server refuses such an object as well. path -> the field that upstream reads.
EVALUATION_ERRORS = {
    ("JobSet", "spec.volumeClaimPolicies[]"): "templates",
    ("TrainingRuntime", "spec.template.spec.volumeClaimPolicies[]"): "templates",
    ("ClusterTrainingRuntime", "spec.template.spec.volumeClaimPolicies[]"): "templates",
    ("DisaggregatedSet", "spec"): "spec",
}


@pytest.fixture(autouse=True)
def _upstream(shared: Path) -> None:
    """All tests here need upstream's CRDs."""


def all_rules() -> list[tuple[str, Rule]]:
    return [(api_version, rule) for (api_version, _), crd in crds().items() for rule in crd.rules()]


def test_every_crd_compiles_strictly() -> None:
    assert len(crds()) > 40
    for (api_version, kind), crd in crds().items():
        manifest = minimal_object(crd.schema, api_version, kind, "")
        wrong = [e for e in crd_errors(manifest) if (kind, e.partition(":")[0]) not in EVALUATION_ERRORS]
        assert not wrong, f"{api_version} {kind}: {wrong}"
        assert crd_errors({**manifest, "speck": {}}), f"{api_version} {kind} accepts an unknown field"


def test_every_rule_is_evaluated(record_property: Callable[[str, object], None]) -> None:
    """Each (kind, version, path, rule) runs on the smallest object that has its path, and its expression works."""
    evaluated: set[Rule] = set()
    failures = []
    for api_version, rule in all_rules():
        crd = crds()[api_version, rule.kind]
        manifest = minimal_object(crd.schema, api_version, rule.kind, rule.path)
        assert not list(crd.validator.iter_errors(manifest)), rule
        runs = [e for e in evaluations(manifest, copy.deepcopy(manifest)) if e.rule == rule]
        assert runs, rule
        evaluated.add(rule)
        expected = EVALUATION_ERRORS.get((rule.kind, rule.path), "")
        failures += [f"{rule.kind} {e}" for e in runs if e.error and f"'{expected}'" not in e.error]
    expressions = {rule.rule for rule in evaluated}
    record_property("evaluated_rules", len(evaluated))
    print(f"{len(evaluated)} rules evaluated ({len(expressions)} distinct expressions)")
    assert not failures
    assert len(evaluated) >= 134
    assert len(expressions) >= 55


def cluster_queue(**spec: Any) -> Manifest:
    group = {
        "coveredResources": ["cpu"],
        "flavors": [{"name": "default", "resources": [{"name": "cpu", "nominalQuota": "9"}]}],
    }
    spec = {"namespaceSelector": {}, "resourceGroups": [group], **spec}
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ClusterQueue", "metadata": {"name": "q"}, "spec": spec}


def kueue(kind: str, **spec: Any) -> Manifest:
    return {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": {"name": "a"}, "spec": spec}


def train_job(name: str = "job", **spec: Any) -> Manifest:
    spec = {"runtimeRef": {"name": "torch-distributed"}, **spec}
    metadata = {"name": name, "namespace": "ml"}
    return {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": metadata, "spec": spec}


def runtime(**policy: Any) -> Manifest:
    spec = {"mlPolicy": policy, "template": {"spec": {}}}
    metadata = {"name": "r"}
    api_version = "trainer.kubeflow.org/v1alpha1"
    return {"apiVersion": api_version, "kind": "ClusterTrainingRuntime", "metadata": metadata, "spec": spec}


def job_set(**spec: Any) -> Manifest:
    metadata = {"name": "j", "namespace": "ml"}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": metadata, "spec": spec}


def replicated_jobs() -> list[Manifest]:
    pod = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
    template = {"spec": {"template": pod}}
    after = [{"name": "a", "status": "Ready"}]
    return [{"name": "a", "template": template}, {"name": "b", "dependsOn": after, "template": template}]


BORROWING = {
    "coveredResources": ["cpu"],
    "flavors": [{"name": "d", "resources": [{"name": "cpu", "nominalQuota": 1, "borrowingLimit": 1}]}],
}
UNCOVERED = {
    "coveredResources": ["cpu", "memory"],
    "flavors": [{"name": "d", "resources": [{"name": "cpu", "nominalQuota": 1}]}],
}

REFUSED: list[tuple[Manifest, str]] = [
    (cluster_queue(resourceGroups=[BORROWING]), "borrowingLimit must be nil when cohort is empty"),
    (
        cluster_queue(resourceGroups=[UNCOVERED]),
        "flavors must have the same number of resources as the coveredResources",
    ),
    (
        cluster_queue(preemption={"reclaimWithinCohort": "Never", "borrowWithinCohort": {"policy": "LowerPriority"}}),
        "reclaimWithinCohort=Never and borrowWithinCohort.Policy!=Never",
    ),
    (
        cluster_queue(flavorFungibility={"whenCanBorrow": "MayStopSearch", "preference": "BorrowingOverPreemption"}),
        "preference",
    ),
    (kueue("Topology", levels=[{"nodeLabel": "kubernetes.io/hostname"}, {"nodeLabel": "x/y"}]), "hostname"),
    (kueue("Topology", levels=[{"nodeLabel": "x/y"}, {"nodeLabel": "x/y"}]), "must be unique"),
    (kueue("ResourceFlavor", topologyName="t"), "at least one nodeLabel is required when topology is set"),
    (kueue("ResourceFlavor", tolerations=[{"value": "v"}]), "operator must be Exists when 'key' is empty"),
    (kueue("MultiKueueConfig", clusters=["a", "a"]), "must be unique"),
    (kueue("MultiKueueCluster", clusterSource={}), "exactly one of the fields in [kubeConfig clusterProfileRef]"),
    (train_job(name="1job"), "metadata.name must match RFC 1035 DNS label format"),
    (train_job(managedBy="me"), "ManagedBy must be trainer.kubeflow.org/trainjob-controller"),
    (runtime(torch={}, mpi={}), "Only one of the policy can be configured"),
    (
        job_set(startupPolicy={"startupPolicyOrder": "InOrder"}, replicatedJobs=replicated_jobs()),
        "StartupPolicy and DependsOn APIs are mutually exclusive",
    ),
]


@pytest.mark.parametrize(("manifest", "message"), REFUSED, ids=[f"{m['kind']}-{text[:30]}" for m, text in REFUSED])
def test_a_broken_rule_is_told_in_upstreams_words(manifest: Manifest, message: str) -> None:
    assert any(message in error for error in crd_errors(manifest)), crd_errors(manifest)


@pytest.mark.parametrize(
    "manifest",
    [
        cluster_queue(),
        kueue("Topology", levels=[{"nodeLabel": "x/y"}, {"nodeLabel": "kubernetes.io/hostname"}]),
        train_job(),
        runtime(numNodes=2, torch={}),
        job_set(replicatedJobs=replicated_jobs()),
    ],
    ids=lambda manifest: manifest["kind"],
)
def test_a_sound_object_is_accepted(manifest: Manifest) -> None:
    assert crd_errors(manifest) == []


def test_transition_rules_count_only_on_updates() -> None:
    before, after = train_job(), train_job(runtimeRef={"name": "other"})
    assert crd_errors(after) == []
    assert any("field is immutable" in error for error in crd_errors(after, before))
    assert crd_errors(before, before) == []


def test_map_lists_are_equal_in_any_order() -> None:
    """`self == oldSelf` on a map list ignores the order, as Kubernetes' CEL does, and sees a changed item."""
    steps = [{"name": "a", "status": "Ready"}, {"name": "b", "status": "Complete"}]
    before, after, changed = replicated_jobs(), replicated_jobs(), replicated_jobs()
    before[1]["dependsOn"], after[1]["dependsOn"] = steps, steps[::-1]
    changed[1]["dependsOn"] = [steps[1], {"name": "a", "status": "Complete"}]
    assert crd_errors(job_set(replicatedJobs=after), job_set(replicatedJobs=before)) == []
    assert crd_errors(job_set(replicatedJobs=changed), job_set(replicatedJobs=before))


def test_structure_is_strict() -> None:
    """Unknown fields, wrong types, duplicates in map lists, a namespace on a cluster-scoped object."""
    assert crd_errors(cluster_queue(cohort="old-spelling"))
    assert crd_errors(cluster_queue(queueingStrategy="strictFIFO"))
    twice = [{"name": "a", "template": replicated_jobs()[0]["template"]}] * 2
    assert any("duplicate item" in error for error in crd_errors(job_set(replicatedJobs=twice)))
    queue = cluster_queue()
    queue["metadata"]["namespace"] = "ml"
    assert any("namespace" in error for error in crd_errors(queue))
    assert crd_errors({"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Nothing"})
