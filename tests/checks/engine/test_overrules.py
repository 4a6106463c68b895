"""One cause is told once, by the code that says most about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.engine.checked import checked
from trainshed.checks.options import Options
from trainshed.checks.overrules import OVERRULES, told_once
from trainshed.checks.pages import pages
from trainshed.faults import Place
from trainshed.fleet.finding import Finding, ObjectRef, Severity

LWS = """
    apiVersion: leaderworkerset.x-k8s.io/v1
    kind: LeaderWorkerSet
    metadata: {name: serve, namespace: team-a}
    spec:
      replicas: REPLICAS
      leaderWorkerTemplate:
        size: 8
        subGroupPolicy: POLICY
        workerTemplate: {spec: {restartPolicy: RESTART, containers: [{name: a, image: "a:1"}]}}
    """
LONG = "x" * 60
JOBSET = f"""
    apiVersion: jobset.x-k8s.io/v1alpha2
    kind: JobSet
    metadata: {{name: {LONG}, namespace: team-a}}
    spec:
      replicatedJobs:
      - name: node
        template:
          spec:
            backoffLimit: 0
            completionMode: Indexed
            completions: 2
            parallelism: 2
            template: {{spec: {{restartPolicy: Never, containers: [{{name: a, image: "a:1"}}]}}}}
    """
QUOTA = """
    apiVersion: kueue.x-k8s.io/v1beta2
    kind: ClusterQueue
    metadata: {name: gpus}
    spec:
      namespaceSelector: {}
      resourceGroups:
      - coveredResources: [memory]
        flavors: [{name: a, resources: [{name: memory, nominalQuota: 12000m}]}]
    """
LEVEL = """
    apiVersion: v1
    kind: Namespace
    metadata: {name: team-a, labels: {pod-security.kubernetes.io/enforce: LEVEL}}
    """
POD = """
    ---
    apiVersion: v1
    kind: Pod
    metadata: {name: a, namespace: team-a}
    spec:
      automountServiceAccountToken: false
      volumes: [{name: a, hostPath: {path: /etc}}]
      containers: [{name: a, image: "a:1", securityContext: {privileged: true}}]
    """


def lws(replicas: str = "1", policy: str = "{subGroupSize: 4}", restart: str = "Always") -> str:
    return LWS.replace("REPLICAS", replicas).replace("POLICY", policy).replace("RESTART", restart)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (lws(policy="{subGroupSize: 3}"), ["lws-sizes"]),
        (lws(policy="{}"), ["lws-sizes"]),
        (lws(replicas="-1"), ["lws-sizes"]),
        (lws(restart="Never"), ["lws-restart-policy"]),
        (JOBSET, ["schema-rule"]),
        (QUOTA, ["kueue-quota-unit"]),
        (LEVEL.replace("LEVEL", "strict"), ["security-unknown-level"]),
        (LEVEL.replace("LEVEL", "baseline") + POD, ["security-pod-security"] * 2),
        (LEVEL.replace("LEVEL", "privileged") + POD, ["security-host-path", "security-privileged"]),
    ],
)
def test_one_cause_is_one_finding(tmp_path: Path, text: str, expected: list[str]) -> None:
    report = checked(tmp_path, text, Options(severity="warning"))
    assert sorted(one.code for one in report.findings) == expected


def test_of_names_that_are_too_long_the_longest_is_told(tmp_path: Path) -> None:
    (finding,) = checked(tmp_path, JOBSET).findings
    assert f'its pod "{LONG}-node-0-1-abcde" has 75 characters' in finding.message


def test_what_is_ignored_or_allowed_makes_nothing_needless(tmp_path: Path) -> None:
    text = LEVEL.replace("LEVEL", "baseline") + POD
    found = {one.code for one in checked(tmp_path, text, Options(ignore=("security-pod-security",))).findings}
    assert {"security-host-path", "security-privileged"} <= found
    allowed = text.replace(
        "{name: a, namespace", "{annotations: {trainshed.dev/allow: security-pod-security}, name: a, namespace"
    )
    assert {"security-host-path", "security-privileged"} <= {one.code for one in checked(tmp_path, allowed).findings}


def finding(code: str, severity: Severity = "error", path: str = "spec", name: str = "a", line: int = 1) -> Finding:
    return Finding(code, severity, "x", "", ObjectRef("v1", "A", None, name), path, Place("a.yaml", line, 1))


def test_only_the_same_field_of_the_same_object_counts() -> None:
    more = finding("lws-sizes")
    assert told_once([more, finding("schema-rule")]) == [more]
    for other in (finding("schema-rule", path="spec.a"), finding("schema-rule", name="b"), finding("schema-type")):
        assert told_once([more, other]) == [more, other]
    assert len(told_once([more, finding("schema-rule", line=9)])) == 2, "another definition of the object"


def test_nothing_is_hidden_by_what_is_less_severe() -> None:
    assert len(told_once([finding("lws-sizes", "warning"), finding("schema-rule")])) == 2


def test_the_table_names_codes_that_exist() -> None:
    assert {*OVERRULES, *frozenset().union(*OVERRULES.values())} <= pages().keys()
