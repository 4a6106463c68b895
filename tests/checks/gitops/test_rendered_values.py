"""What rendering leaves behind: namespaces on cluster-scoped objects, unresolved tokens, scripts without the x bit."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checks.gitops.worlds import OPTIONS, Manifest, application, codes, findings, job, made, pod

KUEUE = "kueue.x-k8s.io/v1beta2"


def platform(namespace: str | None) -> list[Manifest]:
    """A flavor, a queue and the tenant's LocalQueue; the first two with a namespace that they should not have."""
    flavor = made(KUEUE, "ResourceFlavor", {}, name="h100", namespace=namespace)
    quota = [{"name": "nvidia.com/gpu", "nominalQuota": "8"}]
    groups = [{"coveredResources": ["nvidia.com/gpu"], "flavors": [{"name": "h100", "resources": quota}]}]
    queue = made(KUEUE, "ClusterQueue", {"namespaceSelector": {}, "resourceGroups": groups}, "gpu", namespace=namespace)
    return [flavor, queue, made(KUEUE, "LocalQueue", {"clusterQueue": "gpu"}, name="train")]


def test_a_namespace_on_a_cluster_scoped_object_breaks_no_reference() -> None:
    assert codes(*platform(None)) == set()
    assert {(found.code, found.object.kind) for found in findings(*platform("team-a")) if found.object} == {
        ("schema-rule", "ResourceFlavor"),
        ("schema-rule", "ClusterQueue"),
    }


@pytest.mark.parametrize(
    ("value", "bad"),
    [("${Token[TOKEN.12]}", True), ("s3://${Token[Bucket.3]}/x", True), ("${TOKEN}", False), ("Token[1]", False)],
)
def test_a_token_of_cdk8s(value: str, bad: bool) -> None:
    settings = made("v1", "ConfigMap", name="settings", data={"claim": value})
    run = job(pod(box={"env": [{"name": "DATA", "value": value}]}))
    assert ("rendering-token-left" in codes(settings)) is bad
    assert ("rendering-token-left" in codes(run)) is bad


def script(volume: Manifest, *command: str, **mount: Any) -> Manifest:
    mounts = [{"name": "launch", "mountPath": "/launch"} | mount]
    return job(pod(box={"command": list(command), "volumeMounts": mounts}, volumes=[{"name": "launch"} | volume]))


@pytest.mark.parametrize(
    ("source", "command", "bad"),
    [
        ({}, ["/launch/run.sh"], True),
        ({"defaultMode": 0o644}, ["/launch/run.sh"], True),
        ({"defaultMode": 0o755}, ["/launch/run.sh"], False),
        ({"items": [{"key": "run.sh", "path": "run.sh", "mode": 0o755}]}, ["/launch/run.sh"], False),
        ({"items": [{"key": "run.sh", "path": "bin/run.sh"}]}, ["/launch/bin/run.sh"], True),
        ({}, ["bash", "/launch/run.sh"], False),
        ({}, ["/launcher/run.sh"], False),
    ],
)
def test_a_script_of_a_configmap_is_started(source: Manifest, command: list[str], bad: bool) -> None:
    found = codes(script({"configMap": {"name": "launcher"} | source}, *command))
    assert ("rendering-script-not-executable" in found) is bad


def test_a_script_of_a_secret_and_one_file_alone() -> None:
    secret = script({"secret": {"secretName": "launcher"}}, "/launch/run.sh")
    assert "rendering-script-not-executable" in codes(secret)
    alone = {"mountPath": "/launch/run.sh", "subPath": "run.sh"}
    source = {"name": "launcher", "items": [{"key": "run.sh", "path": "run.sh", "mode": 0o755}]}
    assert "rendering-script-not-executable" not in codes(script({"configMap": source}, "/launch/run.sh", **alone))
    assert "rendering-script-not-executable" in codes(
        script({"configMap": {"name": "launcher"}}, "/launch/run.sh", **alone)
    )


def test_an_image_with_its_own_scripts_below_the_folder_is_left_alone() -> None:
    assert "rendering-script-not-executable" not in codes(script({"emptyDir": {}}, "/launch/run.sh"))


@pytest.mark.parametrize(
    "options", [["Replace=true"], ["ServerSideApply=true"], ["Replace=false", "ServerSideApply=true"]]
)
def test_one_way_of_applying_is_fine(options: list[str]) -> None:
    assert "argocd-replace-beats-server-side" not in codes(application(syncPolicy={"syncOptions": options}))


def test_replace_wins_over_server_side_apply() -> None:
    both = ["ServerSideApply=true", "Replace=true"]
    assert "argocd-replace-beats-server-side" in codes(application(syncPolicy={"syncOptions": both}))
    settings = made("v1", "ConfigMap", name="settings", annotations={OPTIONS: ",".join(both)}, data={})
    assert "argocd-replace-beats-server-side" in codes(settings)
    settings["metadata"]["annotations"][OPTIONS] += ",Force=true"
    assert "argocd-replace-beats-server-side" not in codes(settings)


def test_a_workload_in_git_and_one_that_was_read_from_the_cluster() -> None:
    sets = [{"name": "main", "count": 1, "template": {"spec": pod()}}]
    workload = made(KUEUE, "Workload", {"queueName": "train", "podSets": sets}, name="job-sft-1a2b3")
    assert codes(workload) == {"kueue-workload-by-hand"}
    workload["status"] = {"conditions": []}
    workload["metadata"]["uid"] = "0"
    assert "kueue-workload-by-hand" not in codes(workload)


def test_suspend_is_told_where_anything_shows_argo_cd() -> None:
    run = job(more={"suspend": True}, labels={"kueue.x-k8s.io/queue-name": "train"})
    assert "kueue-suspend-in-git" not in codes(run)
    run["metadata"]["annotations"] = {"argocd.argoproj.io/sync-wave": "10"}
    assert "kueue-suspend-in-git" in codes(run)


@pytest.mark.parametrize(("name", "bad"), [("gateway", True), ("serve", False)])
def test_the_target_of_an_autoscaler(name: str, bad: bool) -> None:
    target = made("apps/v1", "Deployment", {"selector": {}, "template": {}}, name="serve")
    reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
    scaler = made("autoscaling/v2", "HorizontalPodAutoscaler", {"scaleTargetRef": reference, "maxReplicas": 4})
    assert ("reference-scale-target" in codes(target, scaler)) is bad


@pytest.mark.parametrize(("value", "severity"), [("yes", "error"), ("true", "warning")])
def test_kueues_own_label_on_a_pod(value: str, severity: str) -> None:
    labels = {"kueue.x-k8s.io/queue-name": "train", "kueue.x-k8s.io/managed": value}
    found = [item for item in findings(made("v1", "Pod", pod(), labels=labels)) if item.code == "kueue-owned-key"]
    assert [item.severity for item in found] == [severity]
