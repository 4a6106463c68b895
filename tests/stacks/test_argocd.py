"""How Argo CD takes up the reference stacks: rights by project, a folder for each application."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.stacks.objects import Object, of_kind, one

DENIED = {
    ("", "LimitRange"),
    ("", "ResourceQuota"),
    ("kueue.x-k8s.io", "LocalQueue"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
}
clusters = pytest.mark.parametrize("cluster", ["batch", "lab", "playground"])


def pairs(project: Object, field: str) -> set[tuple[str, str]]:
    return {(item["group"], item["kind"]) for item in project.spec.get(field) or []}


@clusters
def test_each_folder_has_its_project_and_a_generator_with_it(cluster: str, objects: list[Object], root: Path) -> None:
    folders = {item.application for item in objects if item.cluster == cluster} - {"argocd"}
    projects = {item.name for item in of_kind(objects, cluster, "AppProject")}
    assert projects == {f"{cluster}-{folder}" for folder in folders}
    generators = one(objects, cluster, "ApplicationSet", cluster).spec["generators"]
    found = {
        directory["path"]: item["git"]["template"]["spec"]["project"]
        for item in generators
        for directory in item["git"]["directories"]
    }
    assert found == {f"dist/{cluster}/{folder}": f"{cluster}-{folder}" for folder in folders}
    assert all((root / path).is_dir() for path in found)


@clusters
def test_only_the_platform_heals_itself(cluster: str, objects: list[Object]) -> None:
    """A healed run would run again."""
    for item in one(objects, cluster, "ApplicationSet", cluster).spec["generators"]:
        spec = item["git"]["template"]["spec"]
        automated = spec["syncPolicy"]["automated"]
        assert automated == {"prune": True, "selfHeal": spec["project"] == f"{cluster}-platform"}


@clusters
def test_sync_options(cluster: str, objects: list[Object]) -> None:
    spec = one(objects, cluster, "ApplicationSet", cluster).spec
    assert spec["template"]["spec"]["syncPolicy"]["syncOptions"] == [
        "ApplyOutOfSyncOnly=true",
        "FailOnSharedResource=true",
        "RespectIgnoreDifferences=true",
        "ServerSideApply=true",
    ]
    annotations = spec["template"]["metadata"]["annotations"]
    assert annotations["argocd.argoproj.io/compare-options"] == "ServerSideDiff=true"
    assert spec["syncPolicy"] == {"preserveResourcesOnDeletion": True}


@clusters
def test_each_project_allows_what_its_folder_holds(cluster: str, objects: list[Object]) -> None:
    for project in of_kind(objects, cluster, "AppProject"):
        folder = project.name.removeprefix(f"{cluster}-")
        namespaces = {destination["namespace"] for destination in project.spec["destinations"]}
        for item in objects:
            if (item.cluster, item.application) != (cluster, folder):
                continue
            group = item.manifest["apiVersion"].rpartition("/")[0]
            field = "namespaceResourceWhitelist" if item.namespace else "clusterResourceWhitelist"
            assert (group, item.kind) in pairs(project, field), item.file
            assert not item.namespace or namespaces & {"*", item.namespace}, item.file


def test_a_tenant_may_not_give_itself_quota_or_rights(objects: list[Object]) -> None:
    for name, namespaces in (("lab-high", {"namespace-1"}), ("lab-low", {"namespace-2", "namespace-3"})):
        project = one(objects, "lab", "AppProject", name)
        assert not pairs(project, "namespaceResourceWhitelist") & DENIED
        assert pairs(project, "namespaceResourceBlacklist") == DENIED
        assert pairs(project, "clusterResourceWhitelist") == set()
        assert {destination["namespace"] for destination in project.spec["destinations"]} == namespaces


def test_kueues_own_fields_are_no_drift(objects: list[Object]) -> None:
    for item in one(objects, "lab", "ApplicationSet", "lab").spec["generators"]:
        spec = item["git"]["template"]["spec"]
        kinds = [rule["kind"] for rule in spec.get("ignoreDifferences", [])]
        assert kinds == ([] if spec["project"] == "lab-platform" else ["Job", "JobSet", "TrainJob"])
        assert all(rule["managedFieldsManagers"] == ["kueue"] for rule in spec.get("ignoreDifferences", []))
