"""Role, RoleBinding, PriorityClass, NetworkPolicy: each rule, and a neighbour that passes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.told import changed, told
from tests.oracle.core import core_errors
from trainshed.api.base import KubernetesObject
from trainshed.api.networking import NetworkPolicy
from trainshed.api.rbac import Role, RoleBinding
from trainshed.api.scheduling import PriorityClass

Manifest = dict[str, Any]

RBAC = "rbac.authorization.k8s.io"
ROLE: Manifest = {"apiVersion": f"{RBAC}/v1", "kind": "Role", "metadata": {"name": "a:b"}}
BINDING: Manifest = {
    "apiVersion": f"{RBAC}/v1",
    "kind": "RoleBinding",
    "metadata": {"name": "a"},
    "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "edit"},
    "subjects": [{"kind": "Group", "name": "team:a", "apiGroup": RBAC}],
}
PRIORITY: Manifest = {
    "apiVersion": "scheduling.k8s.io/v1",
    "kind": "PriorityClass",
    "metadata": {"name": "high"},
    "value": 1_000_000_000,
}
POLICY: Manifest = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "NetworkPolicy",
    "metadata": {"name": "a"},
    "spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]},
}
PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}


def role(**more: Any) -> Manifest:
    """A Role of one rule on pods, changed."""
    return changed(ROLE, rules=[changed(PODS, **more)])


def subject(**values: Any) -> Manifest:
    return changed(BINDING, subjects=[values])


def ingress(**rule: Any) -> Manifest:
    return changed(POLICY, spec__ingress=[rule])


NEIGHBOURS: list[tuple[type[KubernetesObject], Manifest]] = [
    (Role, ROLE),
    (Role, role()),
    (Role, role(resourceNames=["a"])),
    (Role, role(apiGroups=["*"], resources=["*"], verbs=["*"])),
    (RoleBinding, BINDING),
    (RoleBinding, changed(BINDING, subjects=None, roleRef={"kind": "Role", "name": "a"})),
    (RoleBinding, subject(kind="ServiceAccount", name="a", apiGroup="")),
    (RoleBinding, subject(kind="User", name="a@example.com")),
    (PriorityClass, PRIORITY),
    (PriorityClass, changed(PRIORITY, value=-5, preemptionPolicy="Never", globalDefault=True, description="a")),
    (PriorityClass, changed(PRIORITY, value=None)),
    (PriorityClass, changed(PRIORITY, metadata__name="system-node-critical", value=2_000_001_000)),
    (NetworkPolicy, POLICY),
    (NetworkPolicy, changed(POLICY, spec=None)),
    (NetworkPolicy, ingress(**{"from": [{"namespaceSelector": {}, "podSelector": {"matchLabels": {"a": "b"}}}]})),
    (NetworkPolicy, ingress(**{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}]})),
    (NetworkPolicy, ingress(ports=[{"port": 1, "endPort": 65535}, {"port": "http"}, {"protocol": "SCTP"}])),
    (NetworkPolicy, changed(POLICY, spec__egress=[{"to": [{"ipBlock": {"cidr": "fd00::/8"}}]}, {}])),
]

BROKEN: list[tuple[type[KubernetesObject], Manifest, str]] = [
    (Role, changed(ROLE, metadata__name="a/b"), ': metadata.name: "a/b" holds "/"'),
    (Role, changed(ROLE, metadata__name=".."), ': metadata.name: it cannot be ".."'),
    (Role, role(verbs=[]), "rules.0.verbs: List should have at least 1 item after validation, not 0"),
    (
        Role,
        role(apiGroups=None),
        'rules.0: apiGroups: is missing; write the groups of the resources; "" is the core group',
    ),
    (Role, role(resources=[]), 'rules.0: resources: is missing; write the resources, such as "pods"'),
    (
        Role,
        role(resources=["pods", "jobs"], resourceNames=["a"]),
        "rules.0: resourceNames: cannot apply to several resources; write one rule for each resource",
    ),
    (
        Role,
        changed(ROLE, rules=[{"nonResourceURLs": ["/healthz"], "verbs": ["get"]}]),
        "rules.0: nonResourceURLs: a Role is about one namespace, and URLs are about none; leave it out",
    ),
    (
        RoleBinding,
        changed(BINDING, roleRef__apiGroup="rbac"),
        "roleRef.apiGroup: Input should be 'rbac.authorization.k8s.io'",
    ),
    (RoleBinding, changed(BINDING, roleRef__kind="role"), "roleRef.kind: Input should be 'Role' or 'ClusterRole'"),
    (RoleBinding, changed(BINDING, roleRef__name="a%b"), 'roleRef.name: "a%b" holds "%"'),
    (
        RoleBinding,
        subject(kind="Team", name="a"),
        "subjects.0.kind: Input should be 'ServiceAccount', 'User' or 'Group'",
    ),
    (RoleBinding, subject(kind="User", name=""), "subjects.0.name: String should have at least 1 character"),
    (
        RoleBinding,
        subject(kind="ServiceAccount", name="a", apiGroup=RBAC),
        f'subjects.0: apiGroup: "{RBAC}" is not the group of a ServiceAccount; leave it out',
    ),
    (
        RoleBinding,
        subject(kind="Group", name="a", apiGroup="v1"),
        'subjects.0: apiGroup: "v1" is not the group of a Group; leave it out',
    ),
    (
        RoleBinding,
        subject(kind="ServiceAccount", name="team:a"),
        'subjects.0: name: "team:a" is not a DNS-1123 subdomain: lower-case letters, digits, "-" and ".", '
        "alphanumeric at both ends",
    ),
    (
        PriorityClass,
        changed(PRIORITY, value=1_000_000_001),
        ": value: is 1000000001; above 1000000000 is reserved for the system; write 1000000000 or less",
    ),
    (
        PriorityClass,
        changed(PRIORITY, metadata__name="system-high"),
        ': metadata.name: names with "system-" are reserved; take another name',
    ),
    (
        PriorityClass,
        changed(PRIORITY, metadata__namespace="a"),
        ": metadata.namespace: PriorityClass is cluster-scoped; leave the namespace out",
    ),
    (
        PriorityClass,
        changed(PRIORITY, preemptionPolicy="Always"),
        "preemptionPolicy: Input should be 'Never' or 'PreemptLowerPriority'",
    ),
    (
        NetworkPolicy,
        changed(POLICY, spec__policyTypes=["ingress"]),
        "spec.policyTypes.0: Input should be 'Ingress' or 'Egress'",
    ),
    (
        NetworkPolicy,
        changed(POLICY, spec__policyTypes=["Ingress"] * 3),
        "spec.policyTypes: List should have at most 2 items after validation, not 3",
    ),
    (
        NetworkPolicy,
        ingress(**{"from": [{}]}),
        "spec.ingress.0.from.0: the peer names nobody; add podSelector, namespaceSelector or ipBlock",
    ),
    (
        NetworkPolicy,
        ingress(**{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}, "podSelector": {}}]}),
        "spec.ingress.0.from.0: ipBlock excludes the selectors; write two peers",
    ),
    (
        NetworkPolicy,
        ingress(**{"from": [{"ipBlock": {"cidr": "10.0.0.0"}}]}),
        'spec.ingress.0.from.0.ipBlock.cidr: "10.0.0.0" is not an IP network, such as "10.0.0.0/8"',
    ),
    (
        NetworkPolicy,
        ingress(**{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.0.0.0/8"]}}]}),
        'spec.ingress.0.from.0.ipBlock: except[0]: "10.0.0.0/8" is not a smaller part of "10.0.0.0/8"',
    ),
    (
        NetworkPolicy,
        ingress(**{"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["192.168.0.0/16"]}}]}),
        'spec.ingress.0.from.0.ipBlock: except[0]: "192.168.0.0/16" is not a smaller part of "10.0.0.0/8"',
    ),
    (
        NetworkPolicy,
        ingress(ports=[{"port": 0}]),
        "spec.ingress.0.ports.0: port: 0 is not a port number (1 to 65535)",
    ),
    (
        NetworkPolicy,
        ingress(ports=[{"port": 80, "endPort": 79}]),
        "spec.ingress.0.ports.0: endPort: is 79, less than the port 80",
    ),
    (
        NetworkPolicy,
        ingress(ports=[{"port": 80, "endPort": 65536}]),
        "spec.ingress.0.ports.0: endPort: 65536 is not a port number (1 to 65535)",
    ),
    (
        NetworkPolicy,
        ingress(ports=[{"port": "http", "endPort": 90}]),
        "spec.ingress.0.ports.0: endPort: works only with a number as port; write the first port of the range as port",
    ),
    (
        NetworkPolicy,
        ingress(ports=[{"endPort": 90}]),
        "spec.ingress.0.ports.0: endPort: works only with a number as port; write the first port of the range as port",
    ),
    (
        NetworkPolicy,
        ingress(ports=[{"protocol": "ICMP"}]),
        "spec.ingress.0.ports.0.protocol: Input should be 'TCP', 'UDP' or 'SCTP'",
    ),
]


@pytest.mark.parametrize(("model", "manifest"), NEIGHBOURS, ids=range(len(NEIGHBOURS)))
def test_a_good_object_passes_and_reads_back(model: type[KubernetesObject], manifest: Manifest) -> None:
    assert told(model, manifest) == []
    parsed = model.parse(manifest)
    assert parsed.manifest() == {key: value for key, value in manifest.items() if value is not None}
    assert model.parse(parsed.manifest()) == parsed
    assert core_errors(parsed.manifest()) == []


@pytest.mark.parametrize(("model", "manifest", "message"), BROKEN, ids=[message[:60] for *_, message in BROKEN])
def test_a_broken_object_is_refused_with_its_one_mistake(
    model: type[KubernetesObject], manifest: Manifest, message: str
) -> None:
    assert told(model, manifest) == [message]


def test_python_s_words_are_written_with_an_underscore() -> None:
    """`from`, `except` and `rules` are taken in Python; the manifest has the plain words."""
    assert "rules" in Role.parse(role()).manifest()
    policy = NetworkPolicy.parse(ingress(**{"from": [{"podSelector": {}}]}))
    assert policy.spec is not None
    assert policy.spec.ingress is not None
    assert policy.spec.ingress[0].from_ is not None
