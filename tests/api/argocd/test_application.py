"""Application: what Argo CD v3.5.1 reports as InvalidSpecError is refused here, its neighbours pass."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from trainshed.api.argocd import Application

REPO = "https://example.com/org/repo"


def application(**spec: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "project": "platform",
        "source": {"repoURL": REPO, "path": "dist/platform", "targetRevision": "main"},
        "destination": {"server": "https://kubernetes.default.svc", "namespace": "kueue-system"},
    }
    merged = {key: value for key, value in {**base, **spec}.items() if value is not None}
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "platform", "namespace": "argocd"},
        "spec": merged,
    }


FULL = application(
    syncPolicy={
        "automated": {"prune": True, "selfHeal": True, "allowEmpty": False, "enabled": True},
        "syncOptions": ["ServerSideApply=true"],
        "retry": {
            "limit": 5,
            "backoff": {"duration": "5s", "factor": 2, "maxDuration": "3m"},
            "refresh": True,
        },
        "managedNamespaceMetadata": {"labels": {"team": "a"}, "annotations": {}},
    },
    ignoreDifferences=[{"group": "jobset.x-k8s.io", "kind": "JobSet", "jqPathExpressions": [".spec.suspend"]}],
    info=[{"name": "runbook", "value": REPO}],
    revisionHistoryLimit=0,
)
HELM = {
    "valuesObject": {"replicas": 0, "keep": None, "nested": {"gone": None, "list": [1, None]}},
    "skipCrds": True,
    "fileParameters": [{"name": "a", "path": "b"}],
}


@pytest.mark.parametrize(
    "manifest",
    [
        application(),
        FULL,
        application(source={"repoURL": REPO, "chart": "kueue", "targetRevision": "0.19.2", "helm": HELM}),
        application(
            source=None,
            sources=[
                {"repoURL": REPO, "ref": "values"},
                {"repoURL": REPO, "path": "a", "directory": {"recurse": True, "jsonnet": {"tlas": []}}},
            ],
        ),
        application(
            source=None,
            sourceHydrator={
                "drySource": {"repoURL": REPO, "targetRevision": "main", "path": "apps"},
                "syncSource": {"targetBranch": "env/lab", "path": "lab"},
                "hydrateTo": {"targetBranch": "env/lab-next"},
            },
        ),
        application(destination={"name": "in-cluster"}),
        {**application(), "operation": {"sync": {"syncStrategy": {"hook": {}}}, "retry": {"limit": -1}}},
        {**application(), "status": {"sync": {"status": "Synced"}}},
    ],
)
def test_reads_back_as_written(manifest: dict[str, Any]) -> None:
    read = Application.parse(manifest)
    assert read.manifest() == manifest
    assert Application.parse(read.manifest()) == read


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "no source": (
        {"source": None},
        "spec.source: it is missing; add source, sources or sourceHydrator",
    ),
    "two kinds of source": (
        {"sources": [{"repoURL": REPO, "path": "a"}]},
        "spec.sources: source is written as well, and Argo CD uses only one of them; keep either source or sources",
    ),
    "no cluster": (
        {"destination": {"namespace": "a"}},
        "spec.destination: it names no cluster; add server or name",
    ),
    "cluster twice": (
        {"destination": {"name": "lab", "server": "https://lab"}},
        'server: the cluster is already named "lab"; write either server or name',
    ),
    "no repository": (
        {"source": {"repoURL": "", "path": "a"}},
        "spec.source.repoURL: it is empty; write the repository's address",
    ),
    "nothing to render": (
        {"source": {"repoURL": REPO}},
        "spec.source: it says nothing to render; add path or chart",
    ),
    "a lone ref": (
        {"source": {"repoURL": REPO, "ref": "values"}},
        "spec.source: it says nothing to render; add path or chart",
    ),
    "nothing to render in one of several": (
        {"source": None, "sources": [{"repoURL": REPO}]},
        "spec.sources[0]: it says nothing to render; add path, chart or ref",
    ),
    "chart without version": (
        {"source": {"repoURL": REPO, "chart": "kueue"}},
        'spec.source.targetRevision: a Helm chart needs a version; write a version such as "1.2.3"',
    ),
    "two tools": (
        {"source": {"repoURL": REPO, "path": "a", "kustomize": {"namePrefix": "x-"}, "directory": {"recurse": True}}},
        "directory: the source already has kustomize; keep one of them",
    ),
    "ref with a slash": (
        {"source": None, "sources": [{"repoURL": REPO, "ref": "a/b"}, {"repoURL": REPO, "path": "a"}]},
        'spec.sources[0].ref: "a/b" is not a reference; use letters, digits, "-" and "_"',
    ),
    "ref twice": (
        {"source": None, "sources": [{"repoURL": REPO, "ref": "a"}, {"repoURL": REPO, "ref": "a"}]},
        'spec.sources[1].ref: "a" is used by another source; rename one',
    ),
    "retry pause": (
        {"syncPolicy": {"retry": {"backoff": {"duration": "5 s"}}}},
        'duration: "5 s" is not a duration; write a duration such as "5s" or "3m"',
    ),
    "retry limit": (
        {"syncPolicy": {"retry": {"backoff": {"maxDuration": "3min"}}}},
        'maxDuration: "3min" is not a duration; write a duration such as "5s" or "3m"',
    ),
    "dry source without repository": (
        {
            "source": None,
            "sourceHydrator": {
                "drySource": {"repoURL": "", "targetRevision": "main", "path": "a"},
                "syncSource": {"targetBranch": "", "path": "lab"},
                "hydrateTo": {"targetBranch": ""},
            },
        },
        "spec.sourceHydrator.drySource.repoURL: it is empty; write the repository's address; "
        "spec.sourceHydrator.syncSource.targetBranch: it is empty; write a branch; "
        "spec.sourceHydrator.hydrateTo.targetBranch: it is empty; write a branch",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_rule_is_applied(name: str) -> None:
    spec, message = BROKEN[name]
    with pytest.raises(ValidationError) as raised:
        Application.parse(application(**spec))
    assert [error["msg"] for error in raised.value.errors()] == [message]


@pytest.mark.parametrize("path", ["", ".", "/", "x/"])
def test_hydrated_manifests_lie_in_a_folder(path: str) -> None:
    """`^.{2,}|[^./]$`: never the root, and `x/` has two characters."""
    hydrator = {
        "drySource": {"repoURL": REPO, "targetRevision": "main", "path": "apps"},
        "syncSource": {"targetBranch": "env/lab", "path": path},
    }
    manifest = application(source=None, sourceHydrator=hydrator)
    if path == "x/":
        assert Application.parse(manifest).manifest() == manifest
    else:
        with pytest.raises(ValidationError):
            Application.parse(manifest)


def test_empty_settings_of_a_second_tool_do_not_count() -> None:
    """Argo CD drops `kustomize: {}`, but not `plugin: {}`."""
    source = {"repoURL": REPO, "path": "a", "directory": {"recurse": True}}
    Application.parse(application(source={**source, "kustomize": {}}))
    with pytest.raises(ValidationError, match="plugin: the source already has directory"):
        Application.parse(application(source={**source, "plugin": {}}))


def test_seconds_are_durations_too() -> None:
    Application.parse(application(syncPolicy={"retry": {"backoff": {"duration": "30", "maxDuration": "1h30m"}}}))


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(ValidationError, match="targetrevision"):
        Application.parse(application(source={"repoURL": REPO, "path": "a", "targetrevision": "main"}))
