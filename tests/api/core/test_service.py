"""Service: each rule refuses what the API server refuses, and lets the neighbour pass."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.told import changed, told
from tests.oracle.core import core_errors
from trainshed.api.core.service import Service

SERVICE: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "train"},
    "spec": {"selector": {"job-name": "train"}, "ports": [{"port": 80}]},
}
HEADLESS = changed(SERVICE, spec__clusterIP="None", spec__ports=None)
BALANCER = changed(SERVICE, spec__type="LoadBalancer")
EXTERNAL = changed(SERVICE, spec__type="ExternalName", spec__externalName="a.example.", spec__ports=None)

NEIGHBOURS = [
    SERVICE,
    HEADLESS,
    EXTERNAL,
    changed(HEADLESS, spec__publishNotReadyAddresses=True),
    changed(SERVICE, spec__clusterIP="10.0.0.1", spec__clusterIPs=["10.0.0.1", "fd00::1"]),
    changed(SERVICE, spec__clusterIP="", spec__ipFamilies=["IPv6", "IPv4"], spec__ipFamilyPolicy="PreferDualStack"),
    changed(SERVICE, spec__ports=[{"port": 80, "name": "a"}, {"port": 80, "name": "b", "protocol": "UDP"}]),
    changed(SERVICE, spec__ports=[{"port": 80, "targetPort": "http", "appProtocol": "kubernetes.io/h2c"}]),
    changed(SERVICE, spec__ports=[{"port": 80, "targetPort": 0, "nodePort": 0}]),
    changed(SERVICE, spec__sessionAffinity="ClientIP", spec__sessionAffinityConfig={"clientIP": {"timeoutSeconds": 9}}),
    changed(SERVICE, spec__externalIPs=["192.0.2.1"], spec__externalTrafficPolicy="Local"),
    changed(BALANCER, spec__loadBalancerSourceRanges=[" 10.0.0.0/8 "], spec__allocateLoadBalancerNodePorts=False),
    changed(BALANCER, spec__externalTrafficPolicy="Local", spec__healthCheckNodePort=30000),
    changed(SERVICE, spec__type="NodePort", spec__ports=[{"port": 80, "nodePort": 30000}]),
    changed(SERVICE, spec__trafficDistribution="PreferSameZone"),
]

BROKEN = [
    (
        changed(SERVICE, metadata__name="4train"),
        ': metadata.name: "4train" is not a DNS-1035 label: lower-case letters, digits and "-", starting with a letter',
    ),
    (
        changed(SERVICE, spec__ports=None),
        'spec: ports: is missing; add a port, or write clusterIP: "None"',
    ),
    (
        changed(SERVICE, spec__clusterIP="None", spec__type="LoadBalancer"),
        "spec: clusterIP: cannot be None in a Service of type LoadBalancer; leave clusterIP out",
    ),
    (
        changed(SERVICE, spec__clusterIP="None", spec__type="NodePort"),
        "spec: clusterIP: cannot be None in a Service of type NodePort; leave clusterIP out",
    ),
    (
        changed(SERVICE, spec__clusterIP="none"),
        'spec: clusterIP: "none" is not an IP address; write an address of the cluster\'s Service network, or "None"',
    ),
    (
        changed(SERVICE, spec__clusterIP="10.0.0.1", spec__clusterIPs=["10.0.0.2"]),
        'spec: clusterIPs: starts with "10.0.0.2", which is not clusterIP; write clusterIP: "10.0.0.2"',
    ),
    (
        changed(SERVICE, spec__clusterIP="None", spec__clusterIPs=["None", "10.0.0.1"]),
        'spec: clusterIPs: "None" stands beside an address; keep one of them',
    ),
    (
        changed(SERVICE, spec__clusterIP="10.0.0.1", spec__clusterIPs=["10.0.0.1", "10.0.0.2"]),
        "spec: clusterIPs: has two IPv4 addresses; keep one of each family",
    ),
    (
        changed(SERVICE, spec__clusterIP="10.0.0.1", spec__clusterIPs=["10.0.0.1"], spec__ipFamilies=["IPv6"]),
        'spec: clusterIPs[0]: "10.0.0.1" is not IPv6, as ipFamilies[0] says',
    ),
    (
        changed(SERVICE, spec__ipFamilies=["IPv4", "IPv4"]),
        'spec.ipFamilies: "IPv4" is listed twice',
    ),
    (
        changed(EXTERNAL, spec__clusterIP="None"),
        "spec: clusterIP: does not go with type ExternalName; leave it out",
    ),
    (
        changed(EXTERNAL, spec__externalName=None),
        "spec: externalName: it is empty",
    ),
    (
        changed(SERVICE, spec__ports=[{"port": 80, "name": "a"}, {"port": 81}]),
        "spec: ports[1].name: is missing, and a Service with several ports needs it; add a name",
    ),
    (
        changed(SERVICE, spec__ports=[{"port": 80, "name": "a"}, {"port": 81, "name": "a"}]),
        'spec: ports[1].name: "a" is used twice',
    ),
    (
        changed(SERVICE, spec__ports=[{"port": 80, "name": "a"}, {"port": 80, "name": "b", "protocol": "TCP"}]),
        "spec: ports[1]: port 80 with protocol TCP is listed twice",
    ),
    (
        changed(SERVICE, spec__ports=[{"port": 80, "name": "A"}]),
        'spec.ports.0.name: "A" is not a DNS-1123 label: lower-case letters, digits and "-", alphanumeric at both ends',
    ),
    (
        changed(SERVICE, spec__ports=[{"port": 65536}]),
        "spec.ports.0.port: Input should be less than or equal to 65535",
    ),
    (
        changed(SERVICE, spec__ports=[{"port": 80, "targetPort": 65536}]),
        "spec.ports.0: targetPort: 65536 is not a port number (1 to 65535)",
    ),
    (
        changed(SERVICE, spec__ports=[{"port": 80, "nodePort": 30000}]),
        "spec: ports[0].nodePort: does not go with type ClusterIP; leave it out, or write type: NodePort",
    ),
    (
        changed(
            SERVICE,
            spec__type="NodePort",
            spec__ports=[{"port": 80, "name": "a", "nodePort": 30000}, {"port": 81, "name": "b", "nodePort": 30000}],
        ),
        "spec: ports[1].nodePort: 30000 with protocol TCP is listed twice",
    ),
    (
        changed(SERVICE, spec__sessionAffinityConfig={"clientIP": {}}),
        "spec: sessionAffinityConfig: works only with sessionAffinity ClientIP; leave it out",
    ),
    (
        changed(
            SERVICE,
            spec__sessionAffinity="ClientIP",
            spec__sessionAffinityConfig={"clientIP": {"timeoutSeconds": 86401}},
        ),
        "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Input should be less than or equal to 86400",
    ),
    (
        changed(SERVICE, spec__externalTrafficPolicy="Local"),
        "spec: externalTrafficPolicy: works only for Services that are reached from outside; "
        "leave it out, or write type: LoadBalancer",
    ),
    (
        changed(BALANCER, spec__healthCheckNodePort=30000),
        "spec: healthCheckNodePort: works only with type LoadBalancer and externalTrafficPolicy Local; leave it out",
    ),
    (
        changed(SERVICE, spec__loadBalancerClass="a/b"),
        "spec: loadBalancerClass: works only with type LoadBalancer; leave it out",
    ),
    (
        changed(SERVICE, spec__allocateLoadBalancerNodePorts=True),
        "spec: allocateLoadBalancerNodePorts: works only with type LoadBalancer; leave it out",
    ),
    (
        changed(SERVICE, spec__loadBalancerSourceRanges=["10.0.0.0/8"]),
        "spec: loadBalancerSourceRanges: works only with type LoadBalancer; leave it out",
    ),
    (
        changed(BALANCER, spec__loadBalancerSourceRanges=["10.0.0.0"]),
        'spec: loadBalancerSourceRanges[0]: "10.0.0.0" is not an IP network, such as "10.0.0.0/8"',
    ),
    (
        changed(SERVICE, spec__externalIPs=["127.0.0.1"]),
        'spec: externalIPs[0]: "127.0.0.1" is not an address that others can reach',
    ),
    (
        changed(SERVICE, spec__selector={"a": "b c"}),
        'spec.selector.a: "b c" is not a label value: letters, digits, "-", "_" and ".", alphanumeric at both ends',
    ),
]


@pytest.mark.parametrize("manifest", NEIGHBOURS, ids=range(len(NEIGHBOURS)))
def test_a_good_service_passes_and_reads_back(manifest: dict[str, Any]) -> None:
    assert told(Service, manifest) == []
    service = Service.parse(manifest)
    assert Service.parse(service.manifest()) == service
    assert core_errors(service.manifest()) == []


@pytest.mark.parametrize(("manifest", "message"), BROKEN, ids=[message[:60] for _, message in BROKEN])
def test_a_broken_service_is_refused_with_its_one_mistake(manifest: dict[str, Any], message: str) -> None:
    assert told(Service, manifest) == [message]


def test_headless_is_known() -> None:
    assert Service.parse(HEADLESS).spec.headless
    assert not Service.parse(SERVICE).spec.headless
