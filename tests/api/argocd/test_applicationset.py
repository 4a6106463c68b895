"""ApplicationSet: every generator reads back, templates stay unjudged, and what Argo CD ignores is refused."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from trainshed.api.argocd import ApplicationSet

REPO = "https://example.com/org/repo"
SECRET = {"secretName": "token", "key": "token"}
TEMPLATE: dict[str, Any] = {
    "metadata": {"name": "{{.path.basename}}", "labels": {"{{.key}}": "{{.value}}"}},
    "spec": {
        "project": "tenants",
        "source": {"repoURL": REPO, "path": "{{.path.path}}", "targetRevision": "main"},
        "destination": {"server": "{{.server}}", "name": "{{.name}}", "namespace": "{{.path.basename}}"},
        "syncPolicy": {"retry": {"backoff": {"duration": "{{.pause}}"}}},
    },
}
GIT: dict[str, Any] = {"git": {"repoURL": REPO, "revision": "main", "directories": [{"path": "dist/tenants/*"}]}}
LIST: dict[str, Any] = {"list": {"elements": [{"cluster": "lab", "size": 3, "none": None}, "text"]}}


def application_set(*generators: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "ApplicationSet",
        "metadata": {"name": "tenants", "namespace": "argocd"},
        "spec": {"generators": list(generators or (GIT,)), "template": TEMPLATE, **spec},
    }


GENERATORS: dict[str, dict[str, Any]] = {
    "git directories": GIT,
    "git files": {"git": {"repoURL": REPO, "revision": "main", "files": [{"path": "*.json", "exclude": True}]}},
    "list": LIST,
    "all clusters": {"clusters": {}},
    "some clusters": {"clusters": {"selector": {"matchLabels": {"env": "{{.env}}"}}, "flatList": True}},
    "plugin": {"plugin": {"configMapRef": {"name": "p"}, "input": {"parameters": {"a": [1, None]}}}},
    "cluster decision": {"clusterDecisionResource": {"configMapRef": "c", "name": "n", "values": {"a": "b"}}},
    "github repositories": {
        "scmProvider": {"github": {"organization": "o", "tokenRef": SECRET}, "cloneProtocol": "ssh"}
    },
    "azure repositories": {
        "scmProvider": {"azureDevOps": {"organization": "o", "teamProject": "t", "accessTokenRef": SECRET}}
    },
    "codecommit": {
        "scmProvider": {"awsCodeCommit": {"tagFilters": [{"key": "k"}]}, "filters": [{"pathsExist": ["a"]}]}
    },
    "azure pull requests": {"pullRequest": {"azuredevops": {"organization": "o", "project": "p", "repo": "r"}}},
    "bitbucket pull requests": {
        "pullRequest": {
            "bitbucketServer": {
                "api": "https://example.com",
                "project": "p",
                "repo": "r",
                "basicAuth": {"username": "u", "passwordRef": SECRET},
                "caRef": {"configMapName": "ca", "key": "ca.crt"},
            },
            "filters": [{"branchMatch": ".*"}],
            "continueOnRepoNotFoundError": True,
        }
    },
    "matrix": {"matrix": {"generators": [GIT, LIST], "template": TEMPLATE}},
    "matrix in matrix": {"matrix": {"generators": [GIT, {"matrix": {"generators": [LIST, {"new": None}]}}]}},
    "merge": {"merge": {"mergeKeys": ["cluster"], "generators": [LIST, {"clusters": {}}, LIST]}},
    "selector": {**LIST, "selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]}},
}


@pytest.mark.parametrize("name", GENERATORS)
def test_generator_reads_back_as_written(name: str) -> None:
    manifest = application_set(GENERATORS[name])
    read = ApplicationSet.parse(manifest)
    assert read.manifest() == manifest
    assert ApplicationSet.parse(read.manifest()) == read


def test_spec_reads_back_as_written() -> None:
    manifest = application_set(
        goTemplate=True,
        goTemplateOptions=["missingkey=error"],
        syncPolicy={"preserveResourcesOnDeletion": True, "applicationsSync": "create-update"},
        strategy={
            "type": "RollingSync",
            "deletionOrder": "Reverse",
            "rollingSync": {
                "steps": [
                    {"matchExpressions": [{"key": "env", "operator": "In", "values": ["lab"]}], "maxUpdate": "25%"},
                    {"maxUpdate": 0},
                ]
            },
        },
        preservedFields={"annotations": ["a"], "labels": []},
        applyNestedSelectors=True,
        ignoreApplicationDifferences=[{"jsonPointers": ["/spec/syncPolicy"]}],
        templatePatch="spec: {}",
    )
    assert ApplicationSet.parse(manifest).manifest() == manifest


def strategy(**fields: Any) -> dict[str, Any]:
    return application_set(strategy=fields)


def rolling(**step: Any) -> dict[str, Any]:
    return strategy(type="RollingSync", rollingSync={"steps": [step]})


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "no generator": (application_set({}), "it holds no generator; add one, such as git or list"),
    "git looks for nothing": (
        application_set({"git": {"repoURL": REPO, "revision": "main"}}),
        "directories: nothing is looked for; add directories or files",
    ),
    "git looks for both": (
        application_set({"git": {**GIT["git"], "files": [{"path": "a"}]}}),
        "files: they are ignored, since directories is written; use two generators",
    ),
    "matrix of three": (
        application_set({"matrix": {"generators": [GIT, LIST, LIST]}}),
        "generators: there are 3, a matrix takes exactly 2",
    ),
    "two generators in one entry of a matrix": (
        application_set({"matrix": {"generators": [{**GIT, **LIST}, LIST]}}),
        "git: list is written as well, and here only one is allowed; keep one, or nest a generator for each",
    ),
    "empty entry of a matrix": (
        application_set({"matrix": {"generators": [{}, LIST]}}),
        "it holds no generator; add one, such as git or list",
    ),
    "merge of one": (
        application_set({"merge": {"mergeKeys": ["a"], "generators": [LIST]}}),
        "generators: there is 1, merge takes 2 or more",
    ),
    "merge without keys": (
        application_set({"merge": {"mergeKeys": [], "generators": [LIST, LIST]}}),
        "mergeKeys: it is empty; name the parameters that must agree",
    ),
    "no repository service": (
        application_set({"scmProvider": {}}),
        "it names no service; add one of github, gitlab, gitea, bitbucketServer, bitbucket, azureDevOps, awsCodeCommit",
    ),
    "two services": (
        application_set(
            {"pullRequest": {"github": {"owner": "o", "repo": "r"}, "gitlab": {"project": "p"}}},
        ),
        "gitlab: github is written as well, and only one is asked; keep one of them",
    ),
    "no pull request service": (
        application_set({"pullRequest": {}}),
        "it names no service; add one of github, gitlab, gitea, bitbucketServer, bitbucket, azuredevops",
    ),
    "unknown strategy": (
        strategy(type="Rolling"),
        'type: "Rolling" is not a strategy; write "AllAtOnce" or "RollingSync"',
    ),
    "no steps": (
        strategy(type="RollingSync"),
        "rollingSync.steps: it is empty, so RollingSync does nothing; add steps",
    ),
    "unknown order": (
        strategy(deletionOrder="Backwards"),
        'deletionOrder: "Backwards" is not an order; write "AllAtOnce" or "Reverse"',
    ),
    "reverse without steps": (
        strategy(deletionOrder="Reverse"),
        'deletionOrder: Reverse works only with RollingSync; write type "RollingSync" with steps',
    ),
    "operator": (
        rolling(matchExpressions=[{"key": "a", "operator": "Exists"}]),
        'operator: it is "Exists"; write "In" or "NotIn"',
    ),
    "percentage": (rolling(maxUpdate="25"), 'maxUpdate: "25" is not a percentage; write 2 or "25%"'),
    "template option": (
        application_set(goTemplate=True, goTemplateOptions=["missingkey=fail"]),
        'goTemplateOptions[0]: "missingkey=fail" is not an option of Go templates; '
        "write one of missingkey=default, missingkey=invalid, missingkey=zero, missingkey=error",
    ),
    "patch without Go templates": (
        application_set(templatePatch="spec: {}"),
        "templatePatch: it works only with Go templates; add goTemplate: true",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_rule_is_applied(name: str) -> None:
    manifest, message = BROKEN[name]
    with pytest.raises(ValidationError) as raised:
        ApplicationSet.parse(manifest)
    assert [error["msg"] for error in raised.value.errors()] == [message]


def test_deletion_policies_are_four() -> None:
    with pytest.raises(ValidationError, match="applicationsSync"):
        ApplicationSet.parse(application_set(syncPolicy={"applicationsSync": "delete"}))
