"""One edit of a ClusterQueue or Cohort, and the sentence about it."""

from __future__ import annotations

from typing import Any

from tests.api.kueue.valid import CONCURRENT, GROUP, GROUPS, QUOTA, quota
from tests.api.refusals import ABSENT
from trainshed.api.base import KubernetesObject
from trainshed.api.kueue import (
    ClusterQueue,
    Cohort,
)

BROKEN: list[tuple[str, type[KubernetesObject], dict[str, Any], list[str]]] = [
    (
        "W2 resource names are qualified names",
        ClusterQueue,
        {f"{GROUP}.coveredResources[0]": "cpu!", f"{GROUP}.flavors[0].resources[0].name": "cpu!"},
        [
            f'{GROUP}.coveredResources[0]: "cpu!" is not a qualified name: letters, digits, "-", "_" and ".", '
            "alphanumeric at both ends"
        ],
    ),
    (
        "W3 a resource is covered once in all groups",
        ClusterQueue,
        {
            "spec.resourceGroups[1].coveredResources[0]": "cpu",
            "spec.resourceGroups[1].flavors[0].resources[0].name": "cpu",
        },
        [
            'spec.resourceGroups[1].coveredResources[0]: "cpu" is listed already in '
            "resourceGroups[0].coveredResources[0]; cover each resource in one place"
        ],
    ),
    (
        "W4 a flavor stands in one group",
        Cohort,
        {"spec.resourceGroups[1].flavors[0].name": "h100"},
        [
            'spec.resourceGroups[1].flavors[0].name: flavor "h100" is used already in resourceGroups[0].flavors[0]; '
            "list each flavor in one resource group only"
        ],
    ),
    (
        "W5 quotas come in the order of coveredResources",
        ClusterQueue,
        {f"{GROUP}.flavors[1].resources": [quota("memory", 1), quota("cpu", 1)]},
        [
            f"{GROUP}.flavors[1].resources: are in the order memory, cpu, but coveredResources are cpu, memory; "
            "list the resources in the order of coveredResources",
        ],
    ),
    (
        "W5 a resource that is not covered",
        ClusterQueue,
        {f"{QUOTA}.name": "gpu"},
        [f'{QUOTA}.name: is "gpu", but coveredResources[0] is "cpu"; write "cpu"'],
    ),
    (
        "CEL (b) every covered resource has a quota",
        ClusterQueue,
        {f"{GROUP}.flavors[1].resources": [quota("cpu", 1)]},
        [f'{GROUP}.flavors[1].resources: has 1 of the 2 resources in coveredResources; add "memory"'],
    ),
    (
        "CEL (b) no quota for another resource",
        Cohort,
        {f"{GROUP}.flavors[1].resources[2]": quota("pods", 1)},
        [f'{GROUP}.flavors[1].resources: has 3 resources, but coveredResources has 2; remove "pods"'],
    ),
    (
        "W6 amounts are not negative",
        ClusterQueue,
        {f"{QUOTA}.nominalQuota": -1},
        [f"{QUOTA}.nominalQuota: is -1, below 0; write 0 or more"],
    ),
    (
        "W6 limits are not negative",
        Cohort,
        {f"{QUOTA}.borrowingLimit": "-1m", f"{QUOTA}.lendingLimit": -2},
        [
            f"{QUOTA}.borrowingLimit: is -1m, below 0; write 0 or more",
            f"{QUOTA}.lendingLimit: is -2, below 0; write 0 or more",
        ],
    ),
    (
        "W7 and CEL (a): no limits without a cohort",
        ClusterQueue,
        {"spec.cohortName": ABSENT},
        [
            f"{QUOTA}.borrowingLimit: is set, but the ClusterQueue is in no cohort; set cohortName or leave "
            "borrowingLimit out",
            f"{QUOTA}.lendingLimit: is set, but the ClusterQueue is in no cohort; set cohortName or leave "
            "lendingLimit out",
        ],
    ),
    (
        "W8 no limits without a parent",
        Cohort,
        {"spec.parentName": ABSENT},
        [
            f"{QUOTA}.borrowingLimit: is set, but the Cohort has no parent; set parentName or leave borrowingLimit out",
            f"{QUOTA}.lendingLimit: is set, but the Cohort has no parent; set parentName or leave lendingLimit out",
        ],
    ),
    (
        "W9 a ClusterQueue lends no more than it owns",
        ClusterQueue,
        {f"{QUOTA}.lendingLimit": "8001m"},
        [f"{QUOTA}.lendingLimit: is 8001m, more than the nominalQuota of 8; write 8 or less"],
    ),
    (
        "W11 the selector is valid",
        ClusterQueue,
        {"spec.namespaceSelector.matchExpressions[0].values": []},
        [
            "spec.namespaceSelector.matchExpressions[0].values: is missing, and operator In needs at least one value; "
            "add values"
        ],
    ),
    (
        "CEL (c) a preference needs TryNextFlavor twice, after defaulting",
        ClusterQueue,
        {"spec.flavorFungibility.whenCanBorrow": ABSENT},
        [
            'spec.flavorFungibility.preference: is set, but whenCanBorrow is "MayStopSearch"; write whenCanBorrow: '
            '"TryNextFlavor" or leave the preference out'
        ],
    ),
    (
        "CEL (c) both are wrong",
        ClusterQueue,
        {"spec.flavorFungibility.whenCanBorrow": ABSENT, "spec.flavorFungibility.whenCanPreempt": "MayStopSearch"},
        [
            'spec.flavorFungibility.preference: is set, but whenCanBorrow and whenCanPreempt are "MayStopSearch"; '
            'write whenCanBorrow and whenCanPreempt: "TryNextFlavor" or leave the preference out'
        ],
    ),
    (
        "CEL (d) preempting while borrowing needs reclaiming",
        ClusterQueue,
        {"spec.preemption.reclaimWithinCohort": ABSENT},
        [
            'spec.preemption.borrowWithinCohort.policy: is "LowerPriority", but reclaimWithinCohort is "Never"; write '
            'reclaimWithinCohort: "LowerPriority" or "Any", or leave borrowWithinCohort out'
        ],
    ),
    (
        "W13 a weight is not negative",
        ClusterQueue,
        {"spec.fairSharing.weight": -1},
        ["spec.fairSharing.weight: is -1, below 0; write 0 or more"],
    ),
    (
        "W13 a weight is 0 or more than a nano",
        Cohort,
        {"spec.fairSharing.weight": "1n"},
        ["spec.fairSharing.weight: is 1n, too small to count; write 0, or more than 1n"],
    ),
    (
        "W14 a check names flavors of its ClusterQueue",
        ClusterQueue,
        {"spec.admissionChecksStrategy.admissionChecks[0].onFlavors[1]": "h10"},
        [
            'spec.admissionChecksStrategy.admissionChecks[0].onFlavors[1]: "h10" is not a flavor of this ClusterQueue; '
            'did you mean "h100"?'
        ],
    ),
    (
        "W15 concurrent admission needs one group",
        ClusterQueue,
        {"spec.concurrentAdmissionPolicy": CONCURRENT},
        ["spec.resourceGroups: has 2 groups while concurrentAdmissionPolicy is set; write exactly one"],
    ),
    (
        "W15 concurrent admission is not for StrictFIFO, constraints are for one mode, the last flavor is known",
        ClusterQueue,
        {
            "spec.resourceGroups": GROUPS[1:],
            "spec.admissionChecksStrategy": ABSENT,
            "spec.queueingStrategy": "StrictFIFO",
            "spec.concurrentAdmissionPolicy": {
                "migration": {"mode": "RetainFirstAdmission", "constraints": {"lastAcceptableFlavorName": "x"}}
            },
        },
        [
            'spec.queueingStrategy: is "StrictFIFO" while concurrentAdmissionPolicy is set; write "BestEffortFIFO"',
            'spec.concurrentAdmissionPolicy.migration.constraints: is set in mode "RetainFirstAdmission"; only '
            '"TryPreferredFlavors" takes constraints',
            'spec.concurrentAdmissionPolicy.migration.constraints.lastAcceptableFlavorName: "x" is not a flavor of '
            "this ClusterQueue; write one of gpu",
        ],
    ),
    (
        "a fraction goes in quotes",
        ClusterQueue,
        {f"{QUOTA}.nominalQuota": 8.5},
        [f'{QUOTA}.nominalQuota: is a number with a fraction, which goes in quotes here; write "8.5"'],
    ),
]
