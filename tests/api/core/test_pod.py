"""The pod as a whole: the API server's rules, each with a neighbour that passes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.faulted import faulted
from trainshed.api.core.pod import PodSpec, PodTemplateSpec

Data = dict[str, Any]
TRAINER: Data = {"name": "trainer"}


def pod(*containers: Data, **fields: Any) -> Data:
    return {"containers": [TRAINER | one for one in containers] or [TRAINER], **fields}


def tolerate(**fields: Any) -> Data:
    return pod(tolerations=[fields])


def spread(**fields: Any) -> Data:
    constraint = {"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule"}
    return pod(topologySpreadConstraints=[constraint | fields])


def nodes(*expressions: Data, **fields: Any) -> Data:
    term = {"matchExpressions": list(expressions), **fields}
    return pod(
        affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}
    )


def near(weight: int = 1, **fields: Any) -> Data:
    term = {"topologyKey": "a", **fields}
    preferred = [{"weight": weight, "podAffinityTerm": term}]
    return pod(affinity={"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}})


def sidecar(**fields: Any) -> Data:
    return pod(initContainers=[{"name": "init", **fields}])


SELECTOR: Data = {"labelSelector": {"matchLabels": {"a": "b"}}}
PROBE: Data = {"tcpSocket": {"port": 80}}
LABEL = 'lower-case letters, digits and "-", alphanumeric at both ends'
SUBDOMAIN = 'lower-case letters, digits, "-" and ".", alphanumeric at both ends'
IN_NODES = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
IN_NEAR = "affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]"
GOOD = {
    "a name": pod(),
    "policies": pod(restartPolicy="OnFailure", dnsPolicy="ClusterFirstWithHostNet", preemptionPolicy="Never"),
    "empty policies": pod(restartPolicy="", dnsPolicy="", priorityClassName="", serviceAccountName=""),
    "grace": pod(terminationGracePeriodSeconds=0),
    "names": pod(hostname="a", subdomain="jobs", nodeName="node.1", schedulerName="kai-scheduler"),
    "sidecar": sidecar(restartPolicy="Always", livenessProbe=PROBE, lifecycle={}),
    "init container of its own policy": sidecar(restartPolicy="Never"),
    "host network": pod({"ports": [{"containerPort": 80, "hostPort": 80}, {"containerPort": 81}]}, hostNetwork=True),
    "host ports": pod(
        {
            "ports": [
                {"containerPort": 80, "hostPort": 8080},
                {"containerPort": 81, "hostPort": 8080, "hostIP": "10.0.0.1"},
            ]
        }
    ),
    "user namespace": pod(hostUsers=False),
    "taints": pod(
        tolerations=[
            {"operator": "Exists"},
            {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
            {"key": "a", "value": "b"},
            {"key": "a", "operator": "Equal", "value": "b", "effect": "NoExecute", "tolerationSeconds": 60},
            {"key": "a", "operator": "Gt", "value": "100"},
        ]
    ),
    "spread": spread(minDomains=2, nodeTaintsPolicy="Honor", matchLabelKeys=["a"], **SELECTOR),
    "nodes": nodes(
        {"key": "a", "operator": "In", "values": ["b"]},
        {"key": "a", "operator": "Gt", "values": ["1"]},
        {"key": "a", "operator": "Exists"},
        matchFields=[{"key": "metadata.name", "operator": "In", "values": ["node-1"]}],
    ),
    "near": near(matchLabelKeys=["a"], mismatchLabelKeys=["b"], namespaces=["team-a"], **SELECTOR),
    "addresses": pod(hostAliases=[{"ip": "10.0.0.1", "hostnames": ["a.b"]}, {"ip": "fd00::1"}]),
    "own DNS": pod(
        dnsPolicy="None", dnsConfig={"nameservers": ["10.0.0.1"], "options": [{"name": "ndots", "value": "1"}]}
    ),
    "claims": pod(
        {"resources": {"claims": [{"name": "gpu", "request": "a"}]}},
        resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "h100"}],
    ),
    "own resources": pod(
        {"resources": {"limits": {"cpu": 2, "nvidia.com/gpu": 8}}},
        resources={"limits": {"cpu": 4, "hugepages-2Mi": "4Mi"}, "requests": {"hugepages-2Mi": "4Mi"}},
    ),
    "gates": pod(schedulingGates=[{"name": "kueue.x-k8s.io/admission"}, {"name": "a.b/c"}]),
    "stop signal": pod({"lifecycle": {"stopSignal": "SIGUSR1"}}, os={"name": "linux"}),
    "sleep": pod({"lifecycle": {"preStop": {"sleep": {"seconds": 60}}}}, terminationGracePeriodSeconds=120),
    "container overrules root": pod(
        {"securityContext": {"runAsUser": 1000}}, securityContext={"runAsUser": 0, "runAsNonRoot": True}
    ),
    "sysctls": pod(securityContext={"sysctls": [{"name": "net.core.somaxconn", "value": "1024"}], "fsGroup": 0}),
    "new in 1.37": pod(evictionResponders=[{"name": "acme.io/foo", "priority": 10000}]),
    "group": pod(schedulingGroup={"podGroupName": "a"}),
}
# fmt: off
BROKEN = [
    ({}, "containers: is missing; add it"),
    ({"containers": []}, "containers: is empty; add a container"),
    (pod(restartPolicy="never"),
     'restartPolicy: is "never", must be one of Always, OnFailure, Never; did you mean "Never"?'),
    (pod(terminationGracePeriodSeconds=-1), "terminationGracePeriodSeconds: -1 is less than 0; write 0 or more"),
    (pod(activeDeadlineSeconds=0), "activeDeadlineSeconds: 0 is less than 1; write 1 or more"),
    (pod(priority="high"), 'priority: is the string "high", must be a whole number'),
    (pod(nodeSelectors={}), 'nodeSelectors: is not a field of PodSpec; did you mean "nodeSelector"?'),
    # Names.
    (pod({}, {}), 'containers: two items have name "trainer"; keep one of them, or rename one'),
    (pod(initContainers=[TRAINER]),
     'initContainers[0].name: "trainer" is the name of containers[0] as well; rename one of them'),
    (pod(hostname="a.b"), f'hostname: "a.b" is not a DNS-1123 label: {LABEL}'),
    (pod(subdomain="A"), f'subdomain: "A" is not a DNS-1123 label: {LABEL}'),
    (pod(priorityClassName="High"), f'priorityClassName: "High" is not a DNS-1123 subdomain: {SUBDOMAIN}'),
    (pod(serviceAccountName="a_b"), f'serviceAccountName: "a_b" is not a DNS-1123 subdomain: {SUBDOMAIN}'),
    (pod(runtimeClassName="N"), f'runtimeClassName: "N" is not a DNS-1123 subdomain: {SUBDOMAIN}'),
    (pod(nodeName="N"), f'nodeName: "N" is not a DNS-1123 subdomain: {SUBDOMAIN}'),
    (pod(nodeSelector={"gpu": True}),
     'nodeSelector[gpu]: is the boolean true, must be a string; write it in quotes: "true"'),
    (pod(nodeSelector={"gpu": "H 100"}),
     'nodeSelector[gpu]: "H 100" is not a label value: letters, digits, "-", "_" and ".", alphanumeric at both ends'),
    (pod(volumes=[{"name": "a"}, {"name": "a"}]),
     'volumes: two items have name "a"; keep one of them, or rename one'),
    # Init containers.
    (sidecar(livenessProbe=PROBE),
     "initContainers[0].livenessProbe: an init container runs to its end and has no such field; "
     "write restartPolicy: Always to make it a sidecar, or remove it"),
    (sidecar(lifecycle={"preStop": {"exec": {"command": ["a"]}}}),
     "initContainers[0].lifecycle: an init container runs to its end and has no such field; "
     "write restartPolicy: Always to make it a sidecar, or remove it"),
    # The node's own.
    (pod({"ports": [{"containerPort": 80, "hostPort": 81}]}, hostNetwork=True),
     "containers[0].ports[0].hostPort: 81 differs from containerPort 80 under hostNetwork: true; "
     "write the same number, or remove hostPort"),
    (pod({"ports": [{"containerPort": 80, "hostPort": 80}, {"containerPort": 81, "hostPort": 80}]}),
     "containers[0].ports[1].hostPort: 80 is taken by another port of the pod; write another number"),
    (pod(hostUsers=False, hostNetwork=True), "hostNetwork: is true beside hostUsers: false; remove one of the two"),
    (pod(hostPID=True, shareProcessNamespace=True),
     "shareProcessNamespace: is true beside hostPID: true; remove one of the two"),
    (pod(hostnameOverride="a", hostNetwork=True),
     "hostNetwork: is true beside a hostnameOverride; remove one of the two"),
    (pod(hostnameOverride="a" * 65),
     "hostnameOverride: has 65 characters, and 64 are allowed"),
    # Taints.
    (tolerate(), "tolerations[0].operator: a toleration without a key tolerates every taint; write operator: Exists"),
    (tolerate(key="a", operator="Exists", value="b"),
     "tolerations[0].value: operator Exists takes no value; remove the value, or write operator: Equal"),
    (tolerate(key="a", operator="exists"),
     'tolerations[0].operator: is "exists", must be one of Exists, Equal, Lt, Gt; did you mean "Exists"?'),
    (tolerate(key="a", effect="NoScheduling"),
     'tolerations[0].effect: is "NoScheduling", must be one of NoSchedule, PreferNoSchedule, NoExecute; '
     'did you mean "NoSchedule"?'),
    (tolerate(key="a", tolerationSeconds=1, effect="NoSchedule"),
     "tolerations[0].effect: tolerationSeconds needs the effect NoExecute; write effect: NoExecute"),
    (tolerate(key="a b", operator="Exists"),
     'tolerations[0].key: "a b" is not a qualified name: letters, digits, "-", "_" and ".", alphanumeric at both ends'),
    (tolerate(key="a", value="b c"),
     'tolerations[0].value: "b c" is not a label value: letters, digits, "-", "_" and ".", alphanumeric at both ends'),
    (tolerate(key="a", value=True),
     'tolerations[0].value: is the boolean true, must be a string; write it in quotes: "true"'),
    (tolerate(key="a", operator="Lt", value="b"),
     "tolerations[0].value: operator Lt compares integers; write a whole number in quotes"),
    # Topology.
    (spread(maxSkew=0), "topologySpreadConstraints[0].maxSkew: 0 is less than 1; write 1 or more"),
    (spread(whenUnsatisfiable="Never"),
     'topologySpreadConstraints[0].whenUnsatisfiable: is "Never", must be one of DoNotSchedule, ScheduleAnyway'),
    (spread(minDomains=2, whenUnsatisfiable="ScheduleAnyway"),
     "topologySpreadConstraints[0].minDomains: needs whenUnsatisfiable: DoNotSchedule; remove minDomains"),
    (spread(matchLabelKeys=["a"]),
     "topologySpreadConstraints[0].matchLabelKeys: needs a labelSelector beside it; add labelSelector"),
    (pod(topologySpreadConstraints=spread()["topologySpreadConstraints"] * 2),
     'topologySpreadConstraints: two items have topologyKey "kubernetes.io/hostname", '
     'whenUnsatisfiable "DoNotSchedule"; keep one of them, or rename one'),
    # Affinity.
    (nodes({"key": "a", "operator": "In"}),
     f"{IN_NODES}[0].matchExpressions[0].values: is missing, and operator In needs at least one value; add values"),
    (nodes({"key": "a", "operator": "Exists", "values": ["b"]}),
     f"{IN_NODES}[0].matchExpressions[0].values: operator Exists takes no values; "
     "remove values, or write operator: In"),
    (nodes({"key": "a", "operator": "Gt", "values": ["1", "2"]}),
     f"{IN_NODES}[0].matchExpressions[0].values: operator Gt needs exactly one value, and here are 2"),
    (nodes({"key": "a b", "operator": "Exists"}),
     f'{IN_NODES}[0].matchExpressions[0].key: "a b" is not a qualified name: letters, digits, "-", "_" and ".", '
     "alphanumeric at both ends"),
    (nodes({"key": "a", "operator": "In", "values": ["b c"]}),
     f'{IN_NODES}[0].matchExpressions[0].values: "b c" is not a label value: letters, digits, "-", "_" and ".", '
     "alphanumeric at both ends"),
    (nodes(matchFields=[{"key": "metadata.uid", "operator": "In", "values": ["a"]}]),
     f'{IN_NODES}[0].matchFields[0].key: "metadata.uid" is not a field of nodes; use metadata.name'),
    (nodes(matchFields=[{"key": "metadata.name", "operator": "Exists"}]),
     f"{IN_NODES}[0].matchFields[0]: a field is compared by In or NotIn with exactly one value"),
    (near(weight=101), f"{IN_NEAR}.weight: 101 is more than 100; write 100 or less"),
    (near(topologyKey=""), f"{IN_NEAR}.podAffinityTerm.topologyKey: is empty"),
    (near(matchLabelKeys=["a"]),
     f"{IN_NEAR}.podAffinityTerm.matchLabelKeys: needs a labelSelector beside it; add labelSelector"),
    (near(matchLabelKeys=["a"], mismatchLabelKeys=["a"], **SELECTOR),
     f'{IN_NEAR}.podAffinityTerm.matchLabelKeys: "a" is in mismatchLabelKeys as well; keep one of them'),
    # Addresses and DNS.
    (pod(hostAliases=[{"ip": "10.0.0"}]), 'hostAliases[0].ip: "10.0.0" is not an IP address'),
    (pod(hostAliases=[{"ip": "10.0.0.1"}] * 2),
     'hostAliases: two items have ip "10.0.0.1"; keep one of them, or rename one'),
    (pod(dnsPolicy="None"), "dnsConfig.nameservers: is missing, and dnsPolicy None needs it; add a name server"),
    (pod(dnsConfig={"nameservers": ["10.0.0.1"] * 4}),
     "dnsConfig.nameservers: has 4 items, 1 more than the 3 allowed"),
    (pod(dnsConfig={"searches": ["a" * 200] * 11}),
     "dnsConfig.searches: has 2210 characters, and 2048 are allowed"),
    (pod(dnsConfig={"options": [{"value": "1"}]}),
     "dnsConfig.options[0].name: is missing; add the name of the option"),
    # Claims and resources.
    (pod({"resources": {"claims": [{"name": "gpus"}]}}, resourceClaims=[{"name": "gpu", "resourceClaimName": "a"}]),
     'containers[0].resources.claims[0].name: "gpus" is not in the pod\'s resourceClaims; did you mean "gpu"?'),
    (pod(resourceClaims=[{"name": "gpu"}]),
     "resourceClaims[0]: has no claim; add one of resourceClaimName, resourceClaimTemplateName"),
    (pod(resourceClaims=[{"name": "gpu", "resourceClaimName": "a", "resourceClaimTemplateName": "b"}]),
     "resourceClaims[0]: has 2 claims (resourceClaimName, resourceClaimTemplateName), and only one is allowed; "
     "keep one of them"),
    (pod(resources={"limits": {"nvidia.com/gpu": 8}}),
     "resources.limits[nvidia.com/gpu]: a pod as a whole takes cpu, memory and huge pages; move it to a container"),
    (pod(resources={"claims": []}), "resources.claims: a pod as a whole takes no claims; move them to a container"),
    (pod({"resources": {"limits": {"cpu": 5}}}, resources={"limits": {"cpu": 4}}),
     "containers[0].resources.limits[cpu]: 5 is more than the pod's limit of 4"),
    (pod({"resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}, restartPolicy="Never"),
     "containers[0].resizePolicy[0].restartPolicy: RestartContainer contradicts the pod's restartPolicy Never; "
     "write NotRequired"),
    # Stopping.
    (pod({"lifecycle": {"stopSignal": "SIGUSR1"}}),
     "containers[0].lifecycle.stopSignal: needs the pod's os.name; add os: {name: linux}"),
    (pod({"lifecycle": {"preStop": {"sleep": {"seconds": 60}}}}),
     "containers[0].lifecycle.preStop.sleep.seconds: 60 is more than the pod's 30 seconds of grace; "
     "raise terminationGracePeriodSeconds"),
    # Security.
    (pod(securityContext={"runAsUser": 0, "runAsNonRoot": True}),
     "securityContext.runAsUser: 0 is root, and container trainer has runAsNonRoot: true; "
     "write another user, or remove runAsNonRoot"),
    (pod({"securityContext": {"runAsUser": 0}}, securityContext={"runAsNonRoot": True}),
     "containers[0].securityContext.runAsUser: 0 is root, and container trainer has runAsNonRoot: true; "
     "write another user, or remove runAsNonRoot"),
    (pod(securityContext={"sysctls": [{"name": "a.b", "value": "1"}, {"name": "a/b", "value": "1"}]}),
     'securityContext.sysctls[1].name: "a.b" is set twice; keep one of them'),
    (pod(securityContext={"sysctls": [{"name": "A", "value": "1"}]}),
     'securityContext.sysctls[0].name: "A" is not the name of a kernel parameter'),
    # Gates and responders.
    (pod(schedulingGates=[{"name": "a"}, {"name": "a"}]),
     'schedulingGates: two items have name "a"; keep one of them, or rename one'),
    (pod(evictionResponders=[{"name": "a.b/c", "priority": 100_001}]),
     "evictionResponders[0].priority: 100001 is more than 100000; write 100000 or less"),
    (pod({"volumeMounts": [{"name": "a", "mountPath": "/a", "bindMountOptions": ["noexec"]}]},
         volumes=[{"name": "a", "image": {"reference": "b"}}]),
     "containers[0].volumeMounts[0].bindMountOptions: an image volume takes no mount options"),
    (pod(ephemeralContainers=[{"name": "debug", "targetContainerName": "trainr"}]),
     'ephemeralContainers[0].targetContainerName: "trainr" is not a container of the pod; did you mean "trainer"?'),
]
# fmt: on


@pytest.mark.parametrize("data", GOOD.values(), ids=GOOD.keys())
def test_a_good_pod_passes_and_reads_back(data: Data) -> None:
    """What goes in comes out: reading the rendered pod gives the same pod."""
    assert faulted(PodSpec, data) == []

    read = PodSpec.model_validate(data)

    written = read.model_dump(by_alias=True, exclude_none=True)
    assert written.keys() == data.keys()
    assert PodSpec.model_validate(written) == read


@pytest.mark.parametrize(("data", "told"), BROKEN)
def test_a_broken_pod_is_told(data: Data, told: str) -> None:
    """Each rule says where it is broken, and what would be right."""
    assert faulted(PodSpec, data) == [told]


def test_a_template_has_labels_and_no_debugging_containers() -> None:
    """ValidatePodTemplateSpec."""
    template = {"metadata": {"labels": {"app": "a"}}, "spec": pod()}

    assert faulted(PodTemplateSpec, template) == []
    assert faulted(PodTemplateSpec, {"spec": pod(ephemeralContainers=[{"name": "debug"}])}) == [
        "spec.ephemeralContainers: a template has no ephemeral containers; remove them"
    ]
    assert faulted(PodTemplateSpec, {"metadata": {"labels": {"app": "a b"}}}) == [
        'metadata.labels[app]: "a b" is not a label value: letters, digits, "-", "_" and ".", alphanumeric at both ends'
    ]


def test_mounts_are_matched_with_the_volumes_that_the_owner_knows() -> None:
    """A mount of an unknown volume is told by `mount_rules`, not by the spec, since its owner may add volumes."""
    spec = PodSpec.model_validate(
        pod(
            {"volumeMounts": [{"name": "data", "mountPath": "/a"}, {"name": "checkpoint", "mountPath": "/b"}]},
            volumes=[{"name": "data", "emptyDir": {}}],
            initContainers=[{"name": "init", "volumeDevices": [{"name": "disk", "devicePath": "/dev/a"}]}],
        )
    )

    told = [str(broken) for broken in spec.mount_rules("spec.template.spec", given=["checkpoints"])]

    assert told == [
        'spec.template.spec.containers[0].volumeMounts[1].name: "checkpoint" is not a volume of the pod; '
        'did you mean "checkpoints"?',
        'spec.template.spec.initContainers[0].volumeDevices[0].name: "disk" is not a volume of the pod; '
        "add it to the volumes",
    ]
    assert not list(spec.mount_rules(given=["checkpoint", "disk"]))


def test_only_claims_are_block_devices() -> None:
    """ValidateVolumeDevices."""
    devices = {"volumeDevices": [{"name": "disk", "devicePath": "/dev/a"}]}
    scratch = PodSpec.model_validate(pod(devices, volumes=[{"name": "disk", "emptyDir": {}}]))
    claim = PodSpec.model_validate(
        pod(devices, volumes=[{"name": "disk", "persistentVolumeClaim": {"claimName": "a"}}])
    )

    assert [str(broken) for broken in scratch.mount_rules()] == [
        'containers[0].volumeDevices[0].name: "disk" is no claim, and only claims are block devices'
    ]
    assert not list(claim.mount_rules())
