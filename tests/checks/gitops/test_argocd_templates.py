"""ApplicationSet templates, order of what makes others possible, drift of numbers, scripts that lost their lines."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checks.gitops.worlds import Manifest, application, codes, findings, job, made, pod

WAVE = "argocd.argoproj.io/sync-wave"
KUEUE = "kueue.x-k8s.io/v1beta2"


def application_set(name: str, go: bool) -> Manifest:
    spec: Manifest = {
        "generators": [{"git": {"repoURL": "https://git.example.com/a.git", "directories": [{"path": "dist/*"}]}}],
        "template": {
            "metadata": {"name": name},
            "spec": {
                "project": "platform",
                "source": {"repoURL": "https://git.example.com/a.git", "path": "dist"},
                "destination": {"server": "https://kubernetes.default.svc"},
            },
        },
    }
    return made("argoproj.io/v1alpha1", "ApplicationSet", spec | ({"goTemplate": True} if go else {}), "tenants")


@pytest.mark.parametrize(
    ("name", "go", "bad"),
    [
        ("{{path.basename}}", True, True),
        ("{{ path[1] }}", True, True),
        ("{{name}}-a", True, True),
        ("{{.path.basename}}", True, False),
        ("{{ index .path.segments 1 }}", True, False),
        ("{{- if .name }}{{ .name | lower }}{{ end }}", True, False),
        ("{{path.basename}}", False, False),
        ("{{.path.basename}}", False, True),
        ("plain", False, False),
    ],
)
def test_the_language_of_a_template(name: str, go: bool, bad: bool) -> None:
    assert ("argocd-applicationset-template" in codes(application_set(name, go))) == bad


def priority(wave: str) -> Manifest:
    return made(KUEUE, "WorkloadPriorityClass", None, "high", namespace=None, value=1, annotations={WAVE: wave})


@pytest.mark.parametrize(("first", "bad"), [("20", True), ("10", False), ("-5", False)])
def test_a_queued_job_comes_after_its_priority_class(first: str, bad: bool) -> None:
    labels = {"kueue.x-k8s.io/queue-name": "train", "kueue.x-k8s.io/priority-class": "high"}
    run = job(labels=labels, annotations={WAVE: "10"})
    assert ("argocd-made-too-early" in codes(run, priority(first))) == bad


@pytest.mark.parametrize(("wave", "bad"), [("5", True), ("0", False), ("-5", False)])
def test_a_custom_resource_comes_after_its_definition(wave: str, bad: bool) -> None:
    names = {"kind": "Widget", "plural": "widgets", "singular": "widget"}
    spec = {"group": "example.com", "names": names, "scope": "Namespaced", "versions": []}
    definition = made(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        spec,
        "widgets.example.com",
        namespace=None,
        annotations={WAVE: wave},
    )
    assert ("argocd-made-too-early" in codes(definition, made("example.com/v1", "Widget", {}))) == bad


@pytest.mark.parametrize(("wave", "bad"), [("5", True), ("-5", False)])
def test_a_job_comes_after_the_priority_class_of_its_pods(wave: str, bad: bool) -> None:
    named = made("scheduling.k8s.io/v1", "PriorityClass", None, "train", namespace=None, value=1)
    named["metadata"]["annotations"] = {WAVE: wave}
    assert ("argocd-needed-in-later-wave" in codes(job(pod(priorityClassName="train")), named)) == bad


def queue(quota: Any) -> Manifest:
    flavors = [{"name": "h100", "resources": [{"name": "cpu", "nominalQuota": quota}]}]
    groups = [{"coveredResources": ["cpu"], "flavors": flavors}]
    return made(KUEUE, "ClusterQueue", {"namespaceSelector": {}, "resourceGroups": groups}, "gpus", namespace=None)


def test_numbers_in_place_of_strings_are_drift_where_argo_cd_compares() -> None:
    code = "argocd-quantity-not-canonical"
    assert code not in codes(queue(8))
    assert code in codes(queue(8), application())
    assert code not in codes(queue("8"), application())


def test_a_wave_on_a_pod_template() -> None:
    code = "argocd-annotation-without-effect"
    run = job()
    run["spec"]["template"]["metadata"] = {"annotations": {WAVE: "5"}}
    assert code in codes(run)
    assert code not in codes(job(annotations={WAVE: "5"}))
    assert code not in codes(made("v1", "Pod", pod(), annotations={WAVE: "5"}))


@pytest.mark.parametrize(("group", "bad"), [("kueue.x-k8s.io/v1beta2", True), ("kueue.x-k8s.io", False), ("*", False)])
def test_a_version_in_the_group_of_a_project(group: str, bad: bool) -> None:
    spec = {"sourceRepos": ["*"], "clusterResourceWhitelist": [{"group": group, "kind": "ClusterQueue"}]}
    project = made("argoproj.io/v1alpha1", "AppProject", spec, "platform")
    assert ("argocd-project-unknown-kind" in codes(project)) == bad


def config_map(text: str, key: str = "run.sh") -> Manifest:
    return made("v1", "ConfigMap", None, "scripts", data={key: text})


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ("#!/bin/bash\\nset -e\\nexec torchrun train.py\\n", True),
        ("set -e\\nexec torchrun train.py", True),
        ("#!/bin/bash\nset -e\nprintf 'a\\n'\n", False),
        ("printf 'a\\n'", False),
        ("set -e; printf 'a\\n'", False),
        ("write \\n for a line end", False),
        ("cd \\network\\share", False),
    ],
)
def test_escaped_line_ends(text: str, bad: bool) -> None:
    code = "rendering-escaped-newlines"
    assert (code in codes(config_map(text))) == bad
    assert (code in codes(job(pod(box={"command": ["/bin/bash", "-c", text]})))) == bad


def test_carriage_returns_in_a_command() -> None:
    code = "rendering-script-crlf"
    assert code in codes(job(pod(box={"command": ["/bin/bash", "-c", "set -e\r\nexec python a.py\r\n"]})))
    assert code not in codes(job(pod(box={"command": ["/bin/bash", "-c", "set -e\nexec python a.py\n"]})))


def test_the_levels_of_a_topology_of_kai_stay_but_for_their_aliases() -> None:
    def topology(label: str, alias: str) -> Manifest:
        levels = [{"nodeLabel": label, "alias": alias}]
        return made("kai.scheduler/v1alpha1", "Topology", {"levels": levels}, "net", namespace=None)

    before = topology("example.com/rack", "rack")
    changed = findings(topology("example.com/block", "rack"), before=[before])
    assert [item.code for item in changed if item.severity == "error"] == ["change-immutable-field"]
    assert not findings(topology("example.com/rack", "shelf"), before=[before])


@pytest.mark.parametrize(
    ("written", "bad"),
    [("2026-01-31", 1), ("2026-01-31T10:00:00Z", 1), ('"2026-01-31"', 0), ("v2026-01-31", 0), ("2026-01", 0)],
)
def test_a_date_without_quotes(written: str, bad: int) -> None:
    head = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: a\n  namespace: a\n"
    pod_ = "    spec: {restartPolicy: Never, containers: [{name: a, image: t%s}]}\n"
    texts = (
        f"{head}  labels: {{until: {written}}}\nspec:\n  template:\n{pod_ % ''}",
        f"{head}spec:\n  template:\n    metadata: {{annotations: {{until: {written}}}}}\n{pod_ % ''}",
        f"{head}spec:\n  template:\n{pod_ % f', env: [{{name: UNTIL, value: {written}}}]'}",
    )
    for text in texts:
        found = [item for item in findings(text=text) if item.code == "rendering-plain-date"]
        assert len(found) == bad, text


def test_the_sidecar_that_kuberay_adds_needs_no_image() -> None:
    spec = {"containers": [{"name": "head", "image": "ray"}]}
    cluster = {"enableInTreeAutoscaling": True, "headGroupSpec": {"template": {"spec": spec}}}
    assert "rendering-image-missing" not in codes(made("ray.io/v1", "RayCluster", cluster))
    options = cluster | {"autoscalerOptions": {"resources": {"limits": {"cpu": "1"}}}}
    assert "rendering-image-missing" not in codes(made("ray.io/v1", "RayCluster", options))
    assert "rendering-image-missing" in codes(job(pod(box={"image": ""})))


@pytest.mark.parametrize(
    ("entry", "bad"),
    [
        ({"name": "A", "valueFrom": None}, True),
        ({"name": "A", "value": None, "valueFrom": None}, True),
        ({"name": "A", "value": "x", "valueFrom": None}, False),
        ({"name": "A"}, False),
        ({"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}, False),
    ],
)
def test_a_variable_whose_source_got_lost(entry: Manifest, bad: bool) -> None:
    assert ("rendering-variable-without-source" in codes(job(pod(box={"env": [entry]})))) == bad
