"""Ten times the mistakes take about ten times as long, in every family: the bounds are generous, quadratic work is not.

The bad example of a rule is repeated with other names; the time of its rule alone is measured.
"""

from __future__ import annotations

import io
import re
import time

import pytest

from trainshed.checks import all_rules
from trainshed.checks.command import OUTPUTS, render
from trainshed.checks.engine import check
from trainshed.checks.options import Options
from trainshed.checks.rule import RULES
from trainshed.collector import collector_paused
from trainshed.fleet.fleet import Fleet
from trainshed.fleet.reading import read

all_rules.load()
COPIES = 2500
SECONDS = 1.5
_NAME = re.compile(
    r"\b(name|namespace|project|queue|parent|parentQueue|cohortName|subdomain|spec\.queue): ([a-z][a-z0-9-]+)"
)
_LABEL = re.compile(r"(kueue\.x-k8s\.io/queue-name|kai\.scheduler/queue): ([a-z][a-z0-9-]+)")


def copies(example: str, number: int) -> str:
    """The example `number` times, its names with a number behind them."""
    return "\n---\n".join(
        _LABEL.sub(rf"\1: \2-{index}", _NAME.sub(rf"\1: \2-{index}", example)) for index in range(number)
    )


@pytest.mark.parametrize(
    "code",
    [
        "argocd-path-missing",
        "argocd-project-missing",
        "argocd-project-refuses",
        "argocd-large-crds-client-side",
        "argocd-ignored-field-applied",
        "kai-parent-missing",
        "kai-queue-sums",
        "kai-queue-missing",
        "kueue-cohort-typo",
        "kueue-flavor-missing",
        "kueue-local-queue-missing",
        "kueue-flavor-matches-no-node",
        "reference-namespace",
        "reference-role",
        "reference-service-account",
        "reference-volume-source",
        "rendezvous-service-missing",
        "resources-exceeds-every-node",
        "volcano-parent-missing",
        "volcano-queue-missing",
        "volcano-queue-not-leaf",
        "trainer-runtime-missing",
    ],
)
def test_many_missing_names_are_no_more_work_each(code: str) -> None:
    text = copies(RULES[code].page["Bad"], COPIES)
    fleet = Fleet(read(["-"], io.BytesIO(text.encode())).documents)
    for derived in ("workloads", "runs", "kueue", "volcano", "kai", "namespaces", "capacity", "gang_marks"):
        getattr(fleet, derived)
    with collector_paused():  # else a walk through what all tests before made may fall into this one's time
        started = time.process_time()
        list(RULES[code].function(fleet))
        assert time.process_time() - started < SECONDS


def test_many_runs_and_services_in_one_namespace_are_no_more_work_each() -> None:
    service = "apiVersion: v1\nkind: Service\nmetadata: {{name: net-{0}, namespace: a}}\n"
    service += "spec: {{clusterIP: None, selector: {{job-name: sft-{0}}}}}\n"
    job = "apiVersion: batch/v1\nkind: Job\nmetadata: {{name: sft-{0}, namespace: a}}\n"
    job += "spec: {{completionMode: Indexed, completions: 2, parallelism: 2, template: {{spec: "
    job += "{{subdomain: sft-net-{0}, restartPolicy: Never, containers: [{{name: a, image: a}}]}}}}}}\n"
    text = "---\n".join(part.format(index) for index in range(COPIES) for part in (service, job))
    fleet = Fleet(read(["-"], io.BytesIO(text.encode())).documents)
    for derived in ("workloads", "runs", "namespaces"):
        getattr(fleet, derived)
    with collector_paused():
        started = time.process_time()
        found = list(RULES["rendezvous-service-missing"].function(fleet))
        assert time.process_time() - started < SECONDS
    assert len(found) == COPIES


KUEUE = "apiVersion: kueue.x-k8s.io/v1beta2\n"


def cohort(name: str, parent: str) -> str:
    return f"{KUEUE}kind: Cohort\nmetadata: {{name: {name}}}\nspec: {{parentName: {parent}}}\n"


def cluster_queue(name: str, cohort_name: str) -> str:
    flavors = '{name: h100, resources: [{name: cpu, nominalQuota: "8"}]}'
    groups = f"[{{coveredResources: [cpu], flavors: [{flavors}]}}]"
    spec = f"{{cohortName: {cohort_name}, namespaceSelector: {{}}, resourceGroups: {groups}}}"
    return f"{KUEUE}kind: ClusterQueue\nmetadata: {{name: {name}}}\nspec: {spec}\n"


WORLDS = {
    "a chain of 1,000 cohorts": [
        text
        for index in range(1000)
        for text in (cohort(f"c{index}", f"c{index + 1}"), cluster_queue(f"q{index}", f"c{index}"))
    ],
    "a circle of 2,000 cohorts": [
        text
        for index in range(2000)
        for text in (cohort(f"c{index}", f"c{(index + 1) % 2000}"), cluster_queue(f"q{index}", f"c{index}"))
    ],
    "5,000 LocalQueues of one ClusterQueue": [
        cluster_queue("gpu", "all"),
        *(
            f"{KUEUE}kind: LocalQueue\nmetadata: {{name: l{index}, namespace: a}}\nspec: {{clusterQueue: gpu}}\n"
            for index in range(5000)
        ),
    ],
    "one object 5,000 times": [f"{KUEUE}kind: ResourceFlavor\nmetadata: {{name: a}}\n"] * 5000,
}


@pytest.mark.parametrize("world", WORLDS)
def test_large_worlds_are_judged_and_told_in_seconds(world: str) -> None:
    started = time.process_time()
    report = check(["-"], Options(), stdin=io.BytesIO("---\n".join(WORLDS[world]).encode()))
    for output in OUTPUTS:
        render(report, output)
    assert report.counts.internal_errors == 0
    assert time.process_time() - started < 20


def test_the_flavors_that_refuse_a_run_are_told_up_to_eight() -> None:
    flavors = ", ".join(f'{{name: f{index}, resources: [{{name: cpu, nominalQuota: "1"}}]}}' for index in range(30))
    text = (
        f"{KUEUE}kind: ClusterQueue\nmetadata: {{name: gpu}}\nspec: {{namespaceSelector: {{}}, resourceGroups: "
        f"[{{coveredResources: [cpu], flavors: [{flavors}]}}]}}\n---\n"
        f"{KUEUE}kind: LocalQueue\nmetadata: {{name: train, namespace: a}}\nspec: {{clusterQueue: gpu}}\n---\n"
        "apiVersion: batch/v1\nkind: Job\n"
        "metadata: {name: run, namespace: a, labels: {kueue.x-k8s.io/queue-name: train}}\n"
        "spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: registry.example.com/a:1, "
        "resources: {requests: {cpu: 9}}}]}}}\n---\n"
        + "---\n".join(f"{KUEUE}kind: ResourceFlavor\nmetadata: {{name: f{index}}}\n" for index in range(30))
    )
    report = check(["-"], Options(severity="error"), stdin=io.BytesIO(text.encode()))
    [message] = [one.message for one in report.findings if "never admitted" in one.message]
    assert message.endswith("; and 22 more flavors")
