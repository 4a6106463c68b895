"""The same of the other kinds, and of what is cluster-scoped."""

from __future__ import annotations

from typing import Any

from tests.api.refusals import ABSENT
from trainshed.api.base import KubernetesObject
from trainshed.api.kueue import (
    AdmissionCheck,
    ClusterQueue,
    MultiKueueCluster,
    MultiKueueConfig,
    ProvisioningRequestConfig,
    ResourceFlavor,
    Topology,
    WorkloadPriorityClass,
)

BROKEN: list[tuple[str, type[KubernetesObject], dict[str, Any], list[str]]] = [
    (
        "W17 node labels have valid keys",
        ResourceFlavor,
        {"spec.nodeLabels": {"a/b/c": "x"}},
        [
            'spec.nodeLabels.a/b/c.[key]: its prefix "a/b" is wrong: "a/b" is not a DNS-1123 subdomain: lower-case '
            'letters, digits, "-" and ".", alphanumeric at both ends'
        ],
    ),
    (
        "W17 node labels have valid values",
        ResourceFlavor,
        {"spec.nodeLabels": {"a": "x y"}},
        ['spec.nodeLabels.a: "x y" is not a label value: letters, digits, "-", "_" and ".", alphanumeric at both ends'],
    ),
    (
        "CEL (a) a topology needs a node label",
        ResourceFlavor,
        {"spec.nodeLabels": ABSENT},
        ["spec.nodeLabels: is empty, but topologyName is set; name at least one label of the nodes"],
    ),
    (
        "CEL (c) a taint has one of three effects",
        ResourceFlavor,
        {"spec.nodeTaints[0].effect": "Never"},
        ["spec.nodeTaints[0].effect: Input should be 'NoSchedule', 'PreferNoSchedule' or 'NoExecute'"],
    ),
    (
        "a taint's time is a time",
        ResourceFlavor,
        {"spec.nodeTaints[1].timeAdded": "today"},
        ['spec.nodeTaints[1].timeAdded: "today" is not a time such as "2026-01-31T12:00:00Z"'],
    ),
    (
        "W18 a taint's key is a label key",
        ResourceFlavor,
        {"spec.nodeTaints[0].key": ""},
        ["spec.nodeTaints[0].key: it is empty"],
    ),
    (
        "W18 a taint's value is a label value",
        ResourceFlavor,
        {"spec.nodeTaints[0].value": "-"},
        [
            'spec.nodeTaints[0].value: "-" is not a label value: letters, digits, "-", "_" and ".", alphanumeric at '
            "both ends"
        ],
    ),
    (
        "W18 taints are unique by key and effect",
        ResourceFlavor,
        {"spec.nodeTaints[1].effect": "NoSchedule"},
        ['spec.nodeTaints[1]: key "gpu" with effect "NoSchedule" is listed twice; keep one of them'],
    ),
    (
        "CEL (d) a toleration's operator is Equal or Exists",
        ResourceFlavor,
        {"spec.tolerations[1].operator": "Gt", "spec.tolerations[1].value": "1"},
        ['spec.tolerations[1].operator: is "Gt"; write "Equal" or "Exists"'],
    ),
    (
        "CEL (d) Exists takes no value, not even an empty one",
        ResourceFlavor,
        {"spec.tolerations[0].value": ""},
        ['spec.tolerations[0].value: is set, but operator is "Exists"; leave the value out'],
    ),
    (
        "CEL (d) an effect is not empty",
        ResourceFlavor,
        {"spec.tolerations[0].effect": ""},
        ["spec.tolerations[0].effect: is empty; leave it out to tolerate every effect"],
    ),
    (
        "topology levels are unique",
        Topology,
        {"spec.levels": [{"nodeLabel": "rack"}, {"nodeLabel": "rack"}]},
        ['spec.levels[1].nodeLabel: "rack" is listed already; list each label once'],
    ),
    (
        "the hostname is the last level",
        Topology,
        {"spec.levels[2]": {"nodeLabel": "rack"}},
        ['spec.levels[1].nodeLabel: "kubernetes.io/hostname" is not the last level; list levels widest first'],
    ),
    (
        "a kind is like a kind",
        AdmissionCheck,
        {"spec.parameters.kind": "1st"},
        ['spec.parameters.kind: "1st" is not a kind: letters, digits and "-", starting with a letter'],
    ),
    (
        "managed resources are unique",
        ProvisioningRequestConfig,
        {"spec.managedResources[1]": "nvidia.com/gpu"},
        ['spec.managedResources: "nvidia.com/gpu" is listed twice'],
    ),
    (
        "cluster names are unique",
        MultiKueueConfig,
        {"spec.clusters[2]": "a"},
        ['spec.clusters[2]: "a" is listed already; list each cluster once'],
    ),
    (
        "a cluster has one source",
        MultiKueueCluster,
        {"spec.clusterSource.clusterProfileRef": {"name": "p"}},
        ["spec.clusterSource: has both kubeConfig and clusterProfileRef; keep one of them"],
    ),
    (
        "a cluster has some source",
        MultiKueueCluster,
        {"spec.clusterSource.kubeConfig": ABSENT},
        ["spec.clusterSource: has neither kubeConfig nor clusterProfileRef; add one of them"],
    ),
    (
        "a priority fits an int32",
        WorkloadPriorityClass,
        {"value": 2**31},
        ["value: Input should be less than or equal to 2147483647"],
    ),
    (
        "cluster-scoped kinds have no namespace",
        ClusterQueue,
        {"metadata.namespace": "team"},
        ["metadata.namespace: ClusterQueue is cluster-scoped; leave the namespace out"],
    ),
]
