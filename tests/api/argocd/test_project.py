"""AppProject: `ValidateProject` of Argo CD v3.5.1, rule by rule."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from trainshed.api.argocd import AppProject
from trainshed.api.argocd.formats import cron_error, go_duration_error


def project(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": "team-a", "namespace": "argocd"},
        "spec": spec,
    }


WINDOW = {"kind": "deny", "schedule": "0 22 * * 1-5", "duration": "8h", "applications": ["*"]}
POLICY = "p, proj:team-a:ci, applications, sync, team-a/*, allow"
FULL = project(
    sourceRepos=["https://example.com/org/repo", "!https://example.com/org/other"],
    destinations=[
        {"server": "https://kubernetes.default.svc", "namespace": "a"},
        {"name": "lab", "namespace": "a"},
        {"server": "*", "namespace": "!kube-system"},
    ],
    description="",
    roles=[
        {
            "name": "ci",
            "policies": [POLICY, "p, proj:team-a:ci, applications, action/apps/Deployment/restart, team-a/x, deny"],
            "groups": ["org:team", '"a,b"'],
            "jwtTokens": [{"iat": 1, "exp": 2, "id": "x"}],
        }
    ],
    clusterResourceWhitelist=[{"group": "kueue.x-k8s.io", "kind": "ClusterQueue", "name": "team-a-*"}],
    namespaceResourceBlacklist=[],
    namespaceResourceWhitelist=[{"group": "trainer.kubeflow.org", "kind": "TrainJob"}],
    clusterResourceBlacklist=[{"group": "", "kind": "Namespace"}],
    orphanedResources={"warn": True, "ignore": [{"kind": "Secret", "name": "x*"}]},
    syncWindows=[WINDOW, {**WINDOW, "kind": "allow", "manualSync": True, "timeZone": "Europe/Berlin"}],
    signatureKeys=[{"keyID": "4AEE18F83AFDEB23"}],
    sourceNamespaces=["argocd"],
    permitOnlyProjectScopedClusters=False,
    destinationServiceAccounts=[{"server": "*", "namespace": "a", "defaultServiceAccount": "deploy"}],
    sourceIntegrity={
        "git": {"policies": [{"repos": [{"url": "*"}], "gpg": {"mode": "strict", "keys": ["4AEE18F83AFDEB23"]}}]}
    },
)


@pytest.mark.parametrize("manifest", [project(), FULL])
def test_reads_back_as_written(manifest: dict[str, Any]) -> None:
    read = AppProject.parse(manifest)
    assert read.manifest() == manifest
    assert AppProject.parse(read.manifest()) == read


def role(**fields: Any) -> dict[str, Any]:
    return {"roles": [{"name": "ci", **fields}]}


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "repository twice": (
        {"sourceRepos": ["a", "a"]},
        'sourceRepos[1]: "a" is listed twice; leave one out',
    ),
    "repository deny all": (
        {"sourceRepos": ["!*"]},
        'sourceRepos[0]: "!*" would deny everything; leave it out',
    ),
    "namespace twice": (
        {"sourceNamespaces": ["a", "a"]},
        'sourceNamespaces[1]: "a" is listed twice; leave one out',
    ),
    "destination twice": (
        {"destinations": [{"name": "lab", "namespace": "a"}, {"name": "lab", "namespace": "a"}]},
        'destinations[1]: "lab/a" is listed twice; leave one out',
    ),
    "destination deny all": (
        {"destinations": [{"server": "!*", "namespace": "a"}]},
        'destinations[0].server: "!*" would deny everything; leave it out',
    ),
    "account twice": (
        {"destinationServiceAccounts": [{"server": "s", "defaultServiceAccount": x} for x in "ab"]},
        'destinationServiceAccounts[1]: "s/" is listed twice; leave one out',
    ),
    "account deny all": (
        {"destinationServiceAccounts": [{"server": "s", "namespace": "!*", "defaultServiceAccount": "a"}]},
        'destinationServiceAccounts[0].namespace: "!*" would deny everything; leave it out',
    ),
    "window twice": (
        {"syncWindows": [WINDOW, {**WINDOW, "applications": ["a"]}]},
        'syncWindows[1]: "deny 0 22 * * 1-5 8h" is listed twice; leave one out',
    ),
    "window kind": (
        {"syncWindows": [{**WINDOW, "kind": "block"}]},
        'kind: it is "block"; write "allow" or "deny"',
    ),
    "window schedule": (
        {"syncWindows": [{**WINDOW, "schedule": "0 25 * * *"}]},
        'schedule: the hour "25" is outside 0 to 23; write a schedule such as "0 22 * * *"',
    ),
    "window duration": (
        {"syncWindows": [{**WINDOW, "duration": "8 hours"}]},
        'duration: "8 hours" is not a duration; write a duration such as "1h30m"',
    ),
    "window for nothing": (
        {"syncWindows": [{**WINDOW, "applications": []}]},
        "applications: the window selects nothing; add applications, namespaces or clusters",
    ),
    "role twice": ({"roles": [{"name": "ci"}, {"name": "ci"}]}, 'roles[1].name: "ci" is listed twice; leave one out'),
    "role name": (
        {"roles": [{"name": "-ci"}]},
        'name: "-ci" is not a role name; use letters, digits, "-" and "_", with a letter or digit at both ends',
    ),
    "group twice": (role(groups=["a", "a"]), 'groups[1]: "a" is listed twice; leave one out'),
    "group with comma": (role(groups=["a,b"]), "groups[0]: the group 'a,b' has a comma and must be quoted"),
    "group of blanks": (role(groups=[" "]), "groups[0]: it is empty"),
    "group with quote": (role(groups=['a"b']), "groups[0]: the group 'a\"b' has characters that are not allowed"),
    "policy twice": (role(policies=[POLICY, POLICY]), f'policies[1]: "{POLICY}" is listed twice; leave one out'),
    "policy shape": (
        role(policies=["p, a, b"]),
        'spec.roles[0].policies[0]: it is not a policy; write "p, proj:team-a:ci, applications, get, team-a/*, allow"',
    ),
    "policy subject": (
        role(policies=[POLICY.replace(":ci", ":cd")]),
        'spec.roles[0].policies[0]: its subject is "proj:team-a:cd"; write "proj:team-a:ci"',
    ),
    "policy resource": (
        role(policies=[POLICY.replace("applications", "apps")]),
        'spec.roles[0].policies[0]: its resource is "apps"; '
        "write one of applications, applicationsets, repositories, exec, logs, clusters",
    ),
    "policy action": (
        role(policies=[POLICY.replace("sync", "run")]),
        'spec.roles[0].policies[0]: its action is "run"; '
        "write one of get, create, update, delete, sync, override, * or action/…",
    ),
    "policy object": (
        role(policies=[POLICY.replace("team-a/*", "team-b/*")]),
        'spec.roles[0].policies[0]: its object is "team-b/*"; write "team-a/*" or "team-a/<application>"',
    ),
    "policy effect": (
        role(policies=[POLICY.replace("allow", "yes")]),
        'spec.roles[0].policies[0]: its effect is "yes"; write "allow" or "deny"',
    ),
    "signature mode": (
        {"sourceIntegrity": {"git": {"policies": [{"repos": [], "gpg": {"mode": "all", "keys": []}}]}}},
        'mode: "all" is not a mode; write "none", "head" or "strict"',
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_rule_is_applied(name: str) -> None:
    spec, message = BROKEN[name]
    with pytest.raises(ValidationError) as raised:
        AppProject.parse(project(**spec))
    assert [error["msg"] for error in raised.value.errors()] == [message]


def test_a_description_has_at_most_255_characters() -> None:
    AppProject.parse(project(description="x" * 255))
    with pytest.raises(ValidationError):
        AppProject.parse(project(description="x" * 256))


@pytest.mark.parametrize(
    "good", ["* * * * *", "0 22 * * 1-5", "*/15 0,12 1 jan-mar SUN", "TZ=UTC 0 1 ? * 6", "5/10 0 1 1 0"]
)
def test_cron_accepts(good: str) -> None:
    assert cron_error(good) == ""


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("", '"" has 0 fields, a cron schedule has 5'),
        ("@daily", '"@daily" has 1 fields, a cron schedule has 5'),
        ("60 0 * * *", 'the minute "60" is outside 0 to 59'),
        ("0 0 * * 7", 'the day of week "7" is outside 0 to 6'),
        ("0 0 0 * *", 'the day of month "0" is outside 1 to 31'),
        ("0 0 * foo *", 'the month "foo" has a name that is not known here'),
        ("0 5-3 * * *", 'the hour "5-3" runs backwards'),
        ("*/0 0 * * *", 'the minute "*/0" has a step of 0'),
        ("*-3 0 * * *", 'the minute "*-3" puts a range after *'),
        ("1. 0 * * *", 'the minute "1." is not a number, a range, a step or *'),
    ],
)
def test_cron_refuses(bad: str, reason: str) -> None:
    assert cron_error(bad) == reason


@pytest.mark.parametrize(("text", "good"), [("1h30m", True), (".5s", True), ("0", True), ("8h ", False), ("5", False)])
def test_durations_are_go_durations(text: str, good: bool) -> None:
    assert (go_duration_error(text) == "") is good
