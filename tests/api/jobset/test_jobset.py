"""JobSet v0.12.0: the webhook's rules J1 to J14 and the CRD's, each beside a neighbour that passes."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from pydantic import ValidationError

from trainshed.api.jobset import JobSet

UNLIMITED = 2**31 - 1


def job(name: str, pods: int | None = 2, **fields: Any) -> dict[str, Any]:
    """A replicated job; `spec` holds more fields of the Job, `pod` more fields of the pod."""
    pod = {"containers": [{"name": "main", "image": "busybox"}], **fields.pop("pod", {})}
    spec: dict[str, Any] = {"template": {"spec": pod}, **fields.pop("spec", {})}
    if pods is not None:
        spec |= {"parallelism": pods, "completions": pods}
    return {"name": name, "template": {"spec": spec}, **fields}


def jobset(*jobs: dict[str, Any], name: str = "train", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": name, "namespace": "ml"},
        "spec": {"replicatedJobs": list(jobs) or [job("node")], **spec},
    }


def refusals(manifest: dict[str, Any]) -> list[str]:
    try:
        JobSet.parse(manifest)
    except ValidationError as error:
        return [str(broken) for item in error.errors() for broken in item.get("ctx", {}).get("broken", [item["msg"]])]
    return []


def after(name: str, *others: str, status: str = "Ready") -> dict[str, Any]:
    return job(name, dependsOn=[{"name": other, "status": status} for other in others])


def rules(*rules: dict[str, Any], **policy: Any) -> dict[str, Any]:
    return {"failurePolicy": {**policy, "rules": list(rules)}}


def claims(*templates: dict[str, Any]) -> dict[str, Any]:
    return {"volumeClaimPolicies": [{"templates": list(templates)}]}


SIZE = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Ti"}}}
CLAIM = {"metadata": {"name": "data"}, "spec": SIZE}
MOUNT = {"containers": [{"name": "main", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]}
IN_PLACE = {"backoffLimit": UNLIMITED, "podReplacementPolicy": "Failed"}

GOOD: dict[str, dict[str, Any]] = {
    "smallest": jobset(),
    "no jobs": jobset() | {"spec": {}},
    "no replicas": jobset(job("node", replicas=0)),
    "live": {**jobset(), "status": {"restarts": 0}},
    "everything": jobset(
        job("driver", 1, groupName="a"),
        after("node", "driver") | {"replicas": 4},
        network={"enableDNSHostnames": True, "subdomain": "pods", "publishNotReadyAddresses": False},
        successPolicy={"operator": "All", "targetReplicatedJobs": ["node"]},
        failurePolicy={
            "maxRestarts": 3,
            "restartStrategy": "BlockingRecreate",
            "rules": [
                {
                    "name": "disrupted_1",
                    "action": "RestartJobSetAndIgnoreMaxRestarts",
                    "onJobFailureReasons": ["PodFailurePolicy"],
                    "onJobFailureMessagePatterns": ["^x(y$"],
                    "targetReplicatedJobs": ["node"],
                }
            ],
        },
        startupPolicy={"startupPolicyOrder": "AnyOrder"},
        suspend=False,
        coordinator={"replicatedJob": "node", "jobIndex": 3, "podIndex": 1},
        managedBy="kueue.x-k8s.io/multikueue",
        ttlSecondsAfterFinished=0,
    ),
    "claims": jobset(job("node", pod=MOUNT), **claims(CLAIM)),
    "in place": jobset(job("node", spec=IN_PLACE), failurePolicy={"restartStrategy": "InPlaceRestart"}),
    "generated name": {**jobset(), "metadata": {"generateName": "x" * 62}},
}


@pytest.mark.parametrize("name", GOOD)
def test_reads_back_as_written(name: str) -> None:
    read = JobSet.parse(GOOD[name])
    assert read.manifest() == GOOD[name]
    assert JobSet.parse(read.manifest()) == read


# Name of the rule: a manifest that keeps it, one that breaks it, and what is said.
PAIRS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "J1 the first job waits for nobody": (
        jobset(job("a"), after("b", "a")),
        jobset(after("b", "a"), job("a")),
        ["replicatedJobs[0].dependsOn: the first job cannot wait for another; leave it out, or move the job down"],
    ),
    "J1 a job waits for earlier ones": (
        jobset(job("a"), job("b"), after("c", "b", "a")),
        jobset(job("a"), after("b", "c"), job("c")),
        ['replicatedJobs[1].dependsOn[0].name: "c" comes later; move it up'],
    ),
    "J1 a job waits for jobs of the set": (
        jobset(job("init"), after("b", "init")),
        jobset(job("init"), after("b", "inti")),
        ['replicatedJobs[1].dependsOn[0].name: "inti" is not a job of the set; did you mean "init"?'],
    ),
    "J1 a job does not wait for itself": (
        jobset(job("a"), after("b", "a")),
        jobset(job("a"), after("b", "b")),
        ["replicatedJobs[1].dependsOn[0].name: the job waits for itself and never starts; name another job"],
    ),
    "CRD: InOrder excludes dependsOn": (
        jobset(job("a"), after("b", "a"), startupPolicy={"startupPolicyOrder": "AnyOrder"}),
        jobset(job("a"), after("b", "a"), startupPolicy={"startupPolicyOrder": "InOrder"}),
        ["startupPolicy.startupPolicyOrder: InOrder and dependsOn exclude each other; keep one of them"],
    ),
    "J2 subdomain": (
        jobset(network={"subdomain": "pods-1"}),
        jobset(network={"subdomain": "pods.svc"}),
        [
            'subdomain: "pods.svc" is not a DNS-1035 label: lower-case letters, digits and "-", starting with a letter',
        ],
    ),
    "J3 managedBy is a path": (
        jobset(managedBy="jobset.sigs.k8s.io/jobset-controller"),
        jobset(managedBy="multikueue"),
        [
            'managedBy: "multikueue" is not a domain, "/" and a path; '
            'write a domain, "/" and a path, such as "kueue.x-k8s.io/multikueue"'
        ],
    ),
    "J3 managedBy is short": (
        jobset(managedBy="a/" + "b" * 61),
        jobset(managedBy="a/" + "b" * 62),
        ["managedBy: has 64 characters, and 63 are allowed"],
    ),
    "J4 number of pods": (
        jobset(job("node", None, replicas=2**16, spec={"parallelism": 2**15 - 1, "completions": 1})),
        jobset(job("node", None, replicas=2**16, spec={"parallelism": 2**15, "completions": 1})),
        ["replicas: 65536 Jobs with a parallelism of 32768 are more than 2147483647 pods"],
    ),
    "J5 groupName": (
        jobset(job("node", groupName="a1")),
        jobset(job("node", groupName="1a")),
        ['"1a" is not a DNS-1035 label: lower-case letters, digits and "-", starting with a letter'],
    ),
    "J6 Job names": (
        jobset(job("node", None, replicas=10), name="x" * 56),
        jobset(job("node", None, replicas=11), name="x" * 56),
        [f'metadata.name: its Job "{"x" * 56}-node-10" has 64 characters, 1 more than the 63 allowed; shorten a name'],
    ),
    "J7 pod names": (
        jobset(job("node", 10), name="x" * 48),
        jobset(job("node", 11), name="x" * 48),
        [
            f'metadata.name: its pod "{"x" * 48}-node-0-10-abcde" has 64 characters, 1 more than the 63 allowed; '
            "shorten a name"
        ],
    ),
    "J8 success policy": (
        jobset(successPolicy={"operator": "Any", "targetReplicatedJobs": ["node"]}),
        jobset(successPolicy={"operator": "Any", "targetReplicatedJobs": ["nodes"]}),
        ['successPolicy.targetReplicatedJobs[0]: "nodes" is not a job of the set; did you mean "node"?'],
    ),
    "J8 failure policy": (
        jobset(**rules({"name": "a", "action": "FailJobSet", "targetReplicatedJobs": ["node"]})),
        jobset(**rules({"name": "a", "action": "FailJobSet", "targetReplicatedJobs": ["driver"]})),
        ['failurePolicy.rules[0].targetReplicatedJobs[0]: "driver" is not a job of the set; write one of node'],
    ),
    "J9 shape of rule names": (
        jobset(**rules({"name": "a:b,c_", "action": "FailJobSet"})),
        jobset(**rules({"name": "a-b", "action": "FailJobSet"})),
        [
            'name: "a-b" is not a rule name: a letter, then letters, digits, "_", "," and ":", the last no "," or ":"',
        ],
    ),
    "J9 length of rule names": (
        jobset(**rules({"name": "a" * 128, "action": "FailJobSet"})),
        jobset(**rules({"name": "a" * 129, "action": "FailJobSet"})),
        ["name: it has 129 characters, 1 more than the 128 allowed"],
    ),
    "J9 rule names are unique, made-up ones too": (
        jobset(**rules({"action": "FailJobSet"}, {"action": "FailJobSet"})),
        jobset(**rules({"name": "failurePolicyRule1", "action": "FailJobSet"}, {"action": "FailJobSet"})),
        ['rules[1].name: "failurePolicyRule1" is the name of rules[0] as well; rename one of them'],
    ),
    "J10 reasons": (
        jobset(**rules({"name": "a", "action": "FailJobSet", "onJobFailureReasons": ["FailedIndexes"]})),
        jobset(**rules({"name": "a", "action": "FailJobSet", "onJobFailureReasons": ["FailedIndex"]})),
        ['onJobFailureReasons[0]: "FailedIndex" is not a reason; did you mean "FailedIndexes"?'],
    ),
    "J11 restarting single Jobs": (
        jobset(job("node", 1, replicas=1024), **rules({"name": "a", "action": "RestartJob"})),
        jobset(job("node", 1, replicas=1025), **rules({"name": "a", "action": "RestartJobAndIgnoreMaxRestarts"})),
        [
            "replicatedJobs[0].replicas: is 1025, and with the action RestartJob at most 1024 are allowed; "
            "split the job, or use RestartJobSet"
        ],
    ),
    "J12 restarts in place": (
        jobset(job("node", spec=IN_PLACE), failurePolicy={"restartStrategy": "InPlaceRestart"}),
        jobset(job("node", None), failurePolicy={"restartStrategy": "InPlaceRestart"}),
        [
            "spec.replicatedJobs[0].template.spec.backoffLimit: must be 2147483647 with the strategy InPlaceRestart; "
            "write 2147483647",
            "spec.replicatedJobs[0].template.spec.podReplacementPolicy: must be Failed with the strategy "
            'InPlaceRestart; write "Failed"',
            "spec.replicatedJobs[0].template.spec.completions: must be written and equal to parallelism with the "
            "strategy InPlaceRestart; write both",
        ],
    ),
    "J13 the coordinator's job": (
        jobset(coordinator={"replicatedJob": "node"}),
        jobset(coordinator={"replicatedJob": "driver"}),
        ['coordinator.replicatedJob: "driver" is not a job of the set; write one of node'],
    ),
    "J13 the coordinator's Job index": (
        jobset(job("node", replicas=2), coordinator={"replicatedJob": "node", "jobIndex": 1}),
        jobset(job("node", replicas=2), coordinator={"replicatedJob": "node", "jobIndex": 2}),
        ['coordinator.jobIndex: is 2, and "node" has 2 replicas'],
    ),
    "J13 the coordinator's job is Indexed": (
        jobset(job("node", spec={"completionMode": "Indexed"}), coordinator={"replicatedJob": "node"}),
        jobset(job("node", spec={"completionMode": "NonIndexed"}), coordinator={"replicatedJob": "node"}),
        ['coordinator.replicatedJob: "node" is not Indexed; write completionMode: "Indexed"'],
    ),
    "J13 the coordinator's job has completions": (
        jobset(job("node", 1), coordinator={"replicatedJob": "node"}),
        jobset(job("node", None), coordinator={"replicatedJob": "node"}),
        [
            'spec.coordinator.replicatedJob: "node" has no completions, and the coordinator\'s job needs them; '
            "add completions"
        ],
    ),
    "J13 the coordinator's pod index": (
        jobset(coordinator={"replicatedJob": "node", "podIndex": 1}),
        jobset(coordinator={"replicatedJob": "node", "podIndex": 2}),
        ['spec.coordinator.podIndex: is 2, and "node" has 2 pods'],
    ),
    "J13 the coordinator's address": (
        jobset(name="x" * 26, coordinator={"replicatedJob": "node"}),
        jobset(name="x" * 27 + "y", coordinator={"replicatedJob": "node"}),
        [
            f'metadata.name: its coordinator label "{"x" * 27}y-node-0-0.{"x" * 27}y" has 66 characters, '
            "3 more than the 63 allowed; shorten a name"
        ],
    ),
    "J14 claims are named": (
        jobset(job("node", pod=MOUNT), **claims(CLAIM)),
        jobset(**claims({"spec": SIZE})),
        [
            "volumeClaimPolicies[0].templates[0].metadata.name: it is empty; add a name for mounts to refer to",
        ],
    ),
    "J14 claims are named once": (
        jobset(job("node", pod=MOUNT), **claims(CLAIM)),
        jobset(job("node", pod=MOUNT), **claims(CLAIM, CLAIM)),
        ['volumeClaimPolicies[0].templates[1].metadata.name: "data" is used twice; rename one of them'],
    ),
    "J14 claims are mounted": (
        jobset(job("node", pod=MOUNT), **claims(CLAIM)),
        jobset(**claims(CLAIM)),
        [
            'spec.volumeClaimPolicies[0].templates[0]: no container mounts "data"; add a volume mount of that name',
        ],
    ),
    "J14 claims are no volumes of the pod": (
        jobset(job("node", pod={**MOUNT, "volumes": [{"name": "shm", "emptyDir": {}}]}), **claims(CLAIM)),
        jobset(job("node", pod={**MOUNT, "volumes": [{"name": "data", "emptyDir": {}}]}), **claims(CLAIM)),
        [
            'replicatedJobs[0].template.spec.template.spec.volumes[0].name: "data" is in volumeClaimPolicies as well; '
            "rename one of them"
        ],
    ),
    "J14 names of claims": (
        jobset(job("n", 1, pod=MOUNT), name="x" * 51, **claims(CLAIM)),
        jobset(
            job(
                "n", None, pod={"containers": [{"name": "m", "volumeMounts": [{"name": "d" * 12, "mountPath": "/d"}]}]}
            ),
            name="x" * 51,
            **claims({**CLAIM, "metadata": {"name": "d" * 12}}),
        ),
        [
            f'metadata.name: its volume claim "{"d" * 12}-{"x" * 51}" has 64 characters, 1 more than the 63 allowed; '
            "shorten a name"
        ],
    ),
    "CRD: claims have no namespace": (
        jobset(job("node", pod=MOUNT), **claims(CLAIM)),
        jobset(job("node", pod=MOUNT), **claims({**CLAIM, "metadata": {"name": "data", "namespace": "ml"}})),
        ["volumeClaimPolicies[0].templates[0].metadata.namespace: the claim is made where the JobSet is; leave it out"],
    ),
    "CRD: a volume claim policy has templates": (
        jobset(volumeClaimPolicies=[{"templates": []}]),
        jobset(volumeClaimPolicies=[{}]),
        ["volumeClaimPolicies[0].templates: is missing; add the claims"],
    ),
    "a claim has a spec": (
        jobset(job("node", pod=MOUNT), **claims(CLAIM)),
        jobset(job("node", pod=MOUNT), **claims({"metadata": {"name": "data"}})),
        ["volumeClaimPolicies[0].templates[0].spec: is missing; add the claim's spec"],
    ),
    "a job has a spec": (
        jobset(job("node")),
        jobset({"name": "node", "template": {}}),
        ["replicatedJobs[0].template.spec: is missing; add the Job's spec"],
    ),
    "Jobs as JobSet defaults them can be created": (
        jobset(job("node", None, spec={"parallelism": 2, "completions": 2})),
        jobset(job("node", None, spec={"parallelism": 2})),
        ["spec.replicatedJobs[0].template.spec.completions: is missing, and an Indexed Job needs it; write 2"],
    ),
    "mounts have volumes": (
        jobset(job("node", pod={**MOUNT, "volumes": [{"name": "data", "emptyDir": {}}]})),
        jobset(job("node", pod={**MOUNT, "volumes": [{"name": "date", "emptyDir": {}}]})),
        [
            'spec.replicatedJobs[0].template.spec.template.spec.containers[0].volumeMounts[0].name: "data" is not a '
            'volume of the pod; did you mean "date"?'
        ],
    ),
    "names start with a letter": (
        jobset(name="a1"),
        jobset(name="1a"),
        [
            'metadata.name: "1a" is not a DNS-1035 label: lower-case letters, digits and "-", starting with a letter',
        ],
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_rule(name: str) -> None:
    kept, broken, said = PAIRS[name]
    assert refusals(kept) == []
    assert refusals(broken) == said


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (("spec", "ttlSecondsAfterFinished"), -1, "greater than or equal to 0"),
        (("spec", "failurePolicy"), {"restartStrategy": "Never"}, "Recreate"),
        (("spec", "successPolicy"), {"operator": "None"}, "All"),
        (("spec", "startupPolicy"), {}, "startupPolicyOrder"),
        (("spec", "replicatedJobs"), [job("a"), job("a")], 'two items have name "a"'),
        (("spec", "replicatedJobs"), [job("a"), after("b", *("a" * n for n in range(1, 7)))], "at most 5"),
    ],
)
def test_bounds_of_the_schema(path: tuple[str, str], value: Any, reason: str) -> None:
    manifest = copy.deepcopy(jobset())
    manifest[path[0]][path[1]] = value
    with pytest.raises(ValidationError, match=reason):
        JobSet.parse(manifest)
