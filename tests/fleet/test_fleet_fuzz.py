"""Whatever stands where in a manifest, the fleet model does not raise."""

from __future__ import annotations

import copy
import io
import json
import os
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fleet.test_trainjob import MPI, MPI_JOB, RUNTIME, TRAIN_JOB
from tests.fleet.test_workload_kinds import HEAD, KINDS, TEMPLATE
from trainshed.fleet.fleet import Fleet
from trainshed.fleet.pod_labels import pod_labels
from trainshed.fleet.reading import read

OTHERS = f"""
apiVersion: batch/v1
kind: CronJob
{HEAD.replace("metadata: ", "metadata: ")}
spec: {{jobTemplate: {{metadata: {{labels: {{a: b}}}}, spec: {{parallelism: 2, template: {TEMPLATE}}}}}}}
---
apiVersion: v1
kind: Pod
metadata: {{name: p, namespace: team, labels: {{kueue.x-k8s.io/pod-group-name: g}}, ownerReferences: [{{kind: Job}}]}}
spec:
  runtimeClassName: kata
  overhead: {{cpu: 1}}
  resources: {{limits: {{cpu: 2}}}}
  initContainers: [{{name: i, restartPolicy: Always, resources: {{requests: {{cpu: 1}}}}}}]
  containers: [{{name: c}}]
---
apiVersion: workload.codeflare.dev/v1beta2
kind: AppWrapper
metadata: {{name: wrap, namespace: team}}
spec:
  components:
  - podSets: [{{replicas: 2, path: template.spec.template}}]
    template: {{apiVersion: x/v1, kind: Y, spec: {{template: {TEMPLATE}}}}}
  - template: {{apiVersion: batch/v1, kind: Job, metadata: {{name: j}}, spec: {{template: {TEMPLATE}}}}}
---
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {{name: s}}
spec: {{memoryOverheadFactor: "0.2", driver: {{cores: 1, memory: 1g}}, executor: {{instances: 2, memory: 1g}}}}
---
apiVersion: flow.volcano.sh/v1alpha1
kind: JobFlow
metadata: {{name: f, namespace: team}}
spec: {{flows: [{{name: t}}]}}
---
apiVersion: flow.volcano.sh/v1alpha1
kind: JobTemplate
metadata: {{name: t, namespace: team}}
spec: {{tasks: [{{name: m, replicas: 2, template: {TEMPLATE}}}]}}
---
apiVersion: ray.io/v1
kind: RayJob
metadata: {{name: r}}
spec: {{rayClusterSpec: {{enableInTreeAutoscaling: true, headGroupSpec: {{template: {TEMPLATE}}}}}}}
---
apiVersion: v1
kind: LimitRange
metadata: {{name: l, namespace: team}}
spec: {{limits: [{{type: Container, max: {{cpu: 4}}, default: {{cpu: 2}}, defaultRequest: {{cpu: 1}}}}]}}
---
apiVersion: node.k8s.io/v1
kind: RuntimeClass
metadata: {{name: kata}}
overhead: {{podFixed: {{cpu: 250m}}}}
---
apiVersion: v1
kind: Namespace
metadata: {{name: team, labels: {{a: b}}}}
---
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {{name: a}}
spec: {{source: {{path: dist, directory: {{recurse: true}}}}, destination: {{namespace: team}}}}
---
apiVersion: kueue.x-k8s.io/v1beta2
kind: ResourceFlavor
metadata:
  name: f
  annotations: {{trainshed.dev/capacity: '{{"nodes": 2, "perNode": {{"cpu": 4}}}}'}}
spec: {{nodeLabels: {{a: b}}}}
---
apiVersion: scheduling.volcano.sh/v1beta1
kind: Queue
metadata: {{name: q, annotations: {{trainshed.dev/capacity: '{{"p": {{"nodes": 2, "perNode": {{"cpu": 4}}}}}}'}}}}
---
apiVersion: v1
kind: Node
metadata: {{name: n, labels: {{a: b}}}}
spec: {{taints: [{{key: a}}]}}
status: {{allocatable: {{cpu: 4}}}}
"""


def _seeds() -> list[dict[str, Any]]:
    texts = [f"{{apiVersion: {api}, kind: {kind}, {HEAD}, spec: {spec}}}" for api, kind, spec, _, _ in KINDS]
    jax = MPI.replace("name: mpi", "name: jax") % "true"
    jax = jax.replace("mpi: {numProcPerNode: 1, runLauncherAsNode: true}", "jax: {}")
    texts += [RUNTIME, TRAIN_JOB, MPI % "true", MPI_JOB, jax, MPI_JOB.replace("name: mpi", "name: jax")]
    return [item for text in (*texts, OTHERS) for item in yaml.safe_load_all(text)]


SEEDS = _seeds()
WORDS = st.sampled_from(
    [
        "spec",
        "template",
        "metadata",
        "labels",
        "annotations",
        "containers",
        "name",
        "resources",
        "requests",
        "limits",
        "cpu",
        "replicas",
        "node",
        "trainer",
        "env",
        "kueue.x-k8s.io/pod-group-name",
        "matchLabels",
        "4",
        "-1",
        "1e99",
        "100Mi",
        "true",
    ]
)
LEAVES = (
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | WORDS | st.text(max_size=6)
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)


def _paths(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    entries = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in entries:
        found += _paths(value, (*path, key))
    return found


SPOTS = [(index, path) for index, seed in enumerate(SEEDS) for path in _paths(seed) if path != ("kind",)]


def exercise(documents: list[dict[str, Any]]) -> int:
    """Everything the fleet model offers, of these manifests; returns the number of pods."""
    whole = Fleet(read(["-"], io.BytesIO("\n".join(map(json.dumps, documents)).encode())).documents)
    pods = 0
    for found in [*whole.workloads, *whole.templates]:
        pods += found.pods
        assert found.units >= 1
        for pod_set in found.pod_sets:
            assert pod_set.count >= 0
            assert all(hash(amount) is not None for amount in pod_set.requests.values())
            for place, container in pod_set.containers + pod_set.init_containers:
                for field in container:
                    document, path = pod_set.at((*place, field))
                    document.has(path)
            pod_labels(found, pod_set).selected(pod_set.labels)
            assert found.unit_count(pod_set) <= pod_set.count or not pod_set.count
            assert isinstance(pod_set.annotations, dict)
            assert isinstance(pod_set.scheduler, str)
        assert found.unit_requests.keys() == found.requests.keys()
        assert isinstance(found.queue_name, str)
        whole.namespaces.selected(found.manifest.get("spec"), found.namespace)
    capacity = whole.capacity
    for flavor in whole.of(("kueue.x-k8s.io", "ResourceFlavor")):
        assert (capacity.of_flavor(flavor) is None) == (capacity.node_shapes(flavor) is None)
    return pods + sum(pool.nodes for pool in capacity.pools.values())


def test_the_seeds_are_read() -> None:
    """Otherwise the fuzzing below would prove nothing."""
    assert exercise(SEEDS) > 60


@settings(
    max_examples=int(os.environ.get("TRAINSHED_FUZZ", "150")), suppress_health_check=list(HealthCheck), deadline=None
)
@given(st.lists(st.tuples(st.sampled_from(SPOTS), TREES), min_size=1, max_size=6))
def test_any_shape_anywhere(grafts: list[tuple[tuple[int, tuple[Any, ...]], Any]]) -> None:
    """Random trees in place of fields of valid manifests of every kind."""
    documents = copy.deepcopy(SEEDS)
    for (index, path), tree in grafts:
        node: Any = documents[index]
        for key in path[:-1]:
            inside = key in node if isinstance(node, dict) else isinstance(node, list) and isinstance(key, int)
            if not inside or (isinstance(node, list) and key >= len(node)):
                break
            node = node[key]
        else:
            if isinstance(node, dict) or (
                isinstance(node, list) and isinstance(path[-1], int) and path[-1] < len(node)
            ):
                node[path[-1]] = tree
    exercise(documents)


def test_deep_nesting_is_read_in_bounded_depth() -> None:
    """Envelopes in envelopes, and a patch that is nested deeper than any API."""
    inner: dict[str, Any] = {"apiVersion": "batch/v1", "kind": "Job", "spec": {}}
    deep: Any = "x"
    for _ in range(50):
        inner = {
            "apiVersion": "workload.codeflare.dev/v1beta2",
            "kind": "AppWrapper",
            "metadata": {"name": "w"},
            "spec": {"components": [{"template": inner}]},
        }
        deep = {"a": {"a": deep}}
    runtime, train_job = yaml.safe_load(RUNTIME), yaml.safe_load(TRAIN_JOB)
    pod_spec = {"affinity": deep}
    for document, path in ((runtime, ("spec",)), (train_job, ("spec", "runtimePatches", 0, "trainingRuntimeSpec"))):
        node = document
        for key in path:
            node = node[key]
        node["template"]["spec"]["replicatedJobs"][-1]["template"]["spec"]["template"]["spec"] = pod_spec
    assert exercise([inner, runtime, train_job]) == 3
