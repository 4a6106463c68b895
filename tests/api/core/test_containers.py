"""Containers and their parts: the API server's rules, each with a neighbour that passes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.faulted import faulted
from trainshed.api.core.container import Container, EphemeralContainer

Data = dict[str, Any]


def container(**fields: Any) -> Data:
    return {"name": "trainer", **fields}


def env(**fields: Any) -> Data:
    return container(env=[{"name": "A", **fields}])


def source(**fields: Any) -> Data:
    return env(valueFrom=fields)


def mount(**fields: Any) -> Data:
    return container(volumeMounts=[{"name": "data", "mountPath": "/data", **fields}])


def resources(limits: Data | None = None, requests: Data | None = None) -> Data:
    return container(resources={"limits": limits or {}, "requests": requests or {}})


def probe(kind: str = "livenessProbe", **fields: Any) -> Data:
    return container(**{kind: {"tcpSocket": {"port": 80}, **fields}})


def port(**fields: Any) -> Data:
    return container(ports=[{"containerPort": 29500, **fields}])


def rule(**fields: Any) -> Data:
    return container(restartPolicy="Never", restartPolicyRules=[{"action": "Restart", **fields}])


GPU = "nvidia.com/gpu"
PRIVILEGED = {"privileged": True}
GOOD = {
    "only a name": container(),
    "env value": env(value="1"),
    "env without value": env(),
    "env empty value beside a source": env(value="", valueFrom={"fieldRef": {"fieldPath": "metadata.name"}}),
    "env name with dots": container(env=[{"name": "my.name-1", "value": "x"}]),
    "label of the pod": source(fieldRef={"fieldPath": "metadata.labels['a.b/c']"}),
    "annotation of the pod": source(fieldRef={"apiVersion": "v1", "fieldPath": "metadata.annotations['A.b/c']"}),
    "secret key": source(secretKeyRef={"name": "s", "key": "k.json"}),
    "file key": source(fileKeyRef={"volumeName": "v", "path": "a/b.env", "key": "K"}),
    "own limit": source(resourceFieldRef={"resource": "limits.cpu", "divisor": "1m"}),
    "own memory": source(resourceFieldRef={"resource": "requests.memory", "divisor": "1Mi"}),
    "own huge pages": source(resourceFieldRef={"resource": "limits.hugepages-2Mi"}),
    "all keys": container(envFrom=[{"prefix": "A_", "configMapRef": {"name": "c", "optional": True}}]),
    "mount of a part": mount(subPath="a/b", readOnly=True, recursiveReadOnly="Enabled"),
    "mount with expression": mount(subPathExpr="$(POD_NAME)"),
    "two-way mount": mount(mountPropagation="Bidirectional") | {"securityContext": PRIVILEGED},
    "devices": container(volumeDevices=[{"name": "disk", "devicePath": "/dev/xvda"}]),
    "GPUs": resources({GPU: 8, "cpu": "96", "memory": "400G"}, {GPU: "8", "cpu": "500m"}),
    "GPU limit alone": resources({GPU: 8}),
    "request alone": resources(requests={"cpu": 1, "ephemeral-storage": "1Gi"}),
    "huge pages": resources({"hugepages-2Mi": "4Mi", "memory": "1Gi"}, {"hugepages-2Mi": "4Mi"}),
    "RDMA": resources({"rdma/hca_shared_devices_a": 1}, {"rdma/hca_shared_devices_a": 1}),
    "TCP probe": probe(),
    "named port": container(readinessProbe={"httpGet": {"port": "http", "path": "/"}, "successThreshold": 2}),
    "gRPC probe": container(startupProbe={"grpc": {"port": 1}, "successThreshold": 1}),
    "hooks": container(lifecycle={"preStop": {"sleep": {"seconds": 5}}, "postStart": {"exec": {"command": ["a"]}}}),
    "ports": container(ports=[{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP", "name": "dns-udp"}]),
    "host port unset": port(hostPort=0, protocol=""),
    "rules of restart": rule(exitCodes={"operator": "In", "values": [42]}),
    "own restart policy": container(restartPolicy="OnFailure"),
    "root in a user namespace": container(securityContext={"runAsUser": 0, "runAsNonRoot": False}),
    "no escalation": container(securityContext={"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}),
    "RDMA memory": container(securityContext={"capabilities": {"add": ["IPC_LOCK"]}}),
    "own seccomp": container(securityContext={"seccompProfile": {"type": "Localhost", "localhostProfile": "a.json"}}),
    "resize": container(resizePolicy=[{"resourceName": "cpu", "restartPolicy": "NotRequired"}]),
}
# fmt: off
BROKEN = [
    ({"image": "a"}, "name: is missing; add it"),
    (container(name="Trainer"), 'name: "Trainer" is not a DNS-1123 label: lower-case letters, digits and "-", '
     "alphanumeric at both ends"),
    (container(imgae="a"), 'imgae: is not a field of Container; did you mean "image"?'),
    (container(imagePullPolicy="always"),
     'imagePullPolicy: is "always", must be one of Always, IfNotPresent, Never; did you mean "Always"?'),
    (container(terminationMessagePolicy="Log"),
     'terminationMessagePolicy: is "Log", must be one of File, FallbackToLogsOnError'),
    (container(command="torchrun a.py"),
     'command: is the string "torchrun a.py", must be a list; write it as a list: [torchrun a.py]'),
    # Environment.
    (env(value=29500), 'env[0].value: is the number 29500, must be a string; write it in quotes: "29500"'),
    (env(value=True), 'env[0].value: is the boolean true, must be a string; write it in quotes: "true"'),
    (container(env=[{"name": "A=B"}]), 'env[0].name: "A=B" is not an environment name: printable ASCII without "="'),
    (container(env=[{"name": ""}]), "env[0].name: is empty"),
    (container(env=[{"name": "A"}, {"name": "A"}]),
     'env: two items have name "A"; keep one of them, or rename one'),
    (env(value="a", valueFrom={"fieldRef": {"fieldPath": "metadata.name"}}),
     "env[0].valueFrom: stands beside a value; keep one of them"),
    (source(), "env[0].valueFrom: has no source; add one of configMapKeyRef, fieldRef, fileKeyRef, resourceFieldRef, "
     "secretKeyRef"),
    (source(fieldRef={"fieldPath": "metadata.name"}, secretKeyRef={"name": "s", "key": "k"}),
     "env[0].valueFrom: has 2 sources (fieldRef, secretKeyRef), and only one is allowed; keep one of them"),
    (source(fieldRef={"fieldPath": "status.podip"}),
     'env[0].valueFrom.fieldRef.fieldPath: "status.podip" is not a field that pods offer here; '
     'did you mean "status.podIP"?'),
    (source(fieldRef={"fieldPath": "metadata.labels[app]"}),
     'env[0].valueFrom.fieldRef.fieldPath: "metadata.labels[app]" has no quotes around its key; '
     "write metadata.labels['app']"),
    (source(fieldRef={"fieldPath": "metadata.labels['a b']"}),
     'env[0].valueFrom.fieldRef.fieldPath: "a b" is not a qualified name: letters, digits, "-", "_" and ".", '
     "alphanumeric at both ends"),
    (source(secretKeyRef={"key": "k"}), "env[0].valueFrom.secretKeyRef.name: is missing; add the name of the Secret"),
    (source(configMapKeyRef={"key": "k"}),
     "env[0].valueFrom.configMapKeyRef.name: is missing; add the name of the ConfigMap"),
    (source(secretKeyRef={"name": "s", "key": "a/b"}),
     'env[0].valueFrom.secretKeyRef.key: "a/b" is not a key of a ConfigMap or Secret: letters, digits, "-", "_" '
     'and "."'),
    (source(fileKeyRef={"volumeName": "v", "path": "../a", "key": "K"}),
     'env[0].valueFrom.fileKeyRef.path: "../a" contains ".."'),
    (source(resourceFieldRef={"resource": "limit.cpu"}),
     'env[0].valueFrom.resourceFieldRef.resource: "limit.cpu" is not a resource that pods offer; '
     'did you mean "limits.cpu"?'),
    (source(resourceFieldRef={"resource": "limits.cpu", "divisor": "1k"}),
     "env[0].valueFrom.resourceFieldRef.divisor: 1k does not divide cpu; write 1 or 1m"),
    (source(resourceFieldRef={"resource": "limits.memory", "divisor": "2Mi"}),
     "env[0].valueFrom.resourceFieldRef.divisor: 2Mi is not a unit; write 1, 1k, 1M, 1G, … or 1Ki, 1Mi, 1Gi, …"),
    (container(envFrom=[{"prefix": "A_"}]), "envFrom[0]: has no source; add one of configMapRef, secretRef"),
    (container(envFrom=[{"prefix": "=", "secretRef": {"name": "s"}}]),
     'envFrom[0].prefix: "=" is not an environment name: printable ASCII without "="'),
    (container(envFrom=[{"secretRef": {}}]), "envFrom[0].secretRef.name: is missing; add the name of the Secret"),
    (container(envFrom=[{"configMapRef": {}}]),
     "envFrom[0].configMapRef.name: is missing; add the name of the ConfigMap"),
    # Mounts.
    (mount(mountPath="/data:ro"),
     'volumeMounts[0].mountPath: "/data:ro" contains ":"; write the path in the container alone'),
    (mount(mountPath=""), "volumeMounts[0].mountPath: is empty"),
    (container(volumeMounts=[{"name": "a", "mountPath": "/a"}, {"name": "b", "mountPath": "/a"}]),
     'volumeMounts: two items have mountPath "/a"; keep one of them, or rename one'),
    (mount(subPath="/a"), 'volumeMounts[0].subPath: "/a" starts with "/", but must be relative'),
    (mount(subPath="a/../b"), 'volumeMounts[0].subPath: "a/../b" contains ".."'),
    (mount(subPath="a", subPathExpr="b"), "volumeMounts[0].subPathExpr: stands beside subPath; keep one of them"),
    (mount(recursiveReadOnly="Enabled"),
     "volumeMounts[0].recursiveReadOnly: needs readOnly: true beside it; write readOnly: true"),
    (mount(recursiveReadOnly="Enabled", readOnly=True, mountPropagation="HostToContainer"),
     "volumeMounts[0].recursiveReadOnly: excludes mountPropagation; remove mountPropagation"),
    (mount(mountPropagation="Bidirectional"),
     "volumeMounts[0].mountPropagation: Bidirectional needs a privileged container; "
     "write securityContext.privileged: true, or HostToContainer"),
    (mount() | {"volumeDevices": [{"name": "data", "devicePath": "/dev/a"}]},
     'volumeMounts[0].name: "data" is in volumeDevices as well'),
    (mount() | {"volumeDevices": [{"name": "disk", "devicePath": "/data"}]},
     'volumeMounts[0].mountPath: "/data" is a device path as well'),
    (container(volumeDevices=[{"name": "disk", "devicePath": "/dev/../a"}]),
     'volumeDevices[0].devicePath: "/dev/../a" contains ".."'),
    # Resources.
    (resources({"cpu": "1"}, {"cpu": "1500m"}),
     "resources.requests[cpu]: 1500m is more than the limit of 1; raise the limit"),
    (resources(requests={GPU: 8}),
     f'resources.limits[{GPU}]: is missing, and {GPU} cannot be overcommitted; add limits: {GPU}: "8"'),
    (resources({GPU: 8}, {GPU: 6}),
     f"resources.requests[{GPU}]: 6 differs from the limit of 8, and {GPU} cannot be overcommitted; "
     "write the same number, or remove the request"),
    (resources({GPU: "500m"}),
     f"resources.limits[{GPU}]: 500m is not a whole number, and {GPU} cannot be divided; write a whole number"),
    (resources({"gpu": 8}),
     'resources.limits[gpu]: "gpu" is not a resource of containers; write nvidia.com/gpu, or your device\'s name'),
    (resources({"memroy": "1Gi"}),
     'resources.limits[memroy]: "memroy" is not a resource of containers; did you mean "memory"?'),
    (resources({"cpu": "-1"}), "resources.limits[cpu]: -1 is negative"),
    (resources({"memory": "64GB"}),
     'resources.limits[memory]: "64GB" is not a quantity; write a number with an optional suffix, such as "500m", '
     '"96", "400G" or "64Gi"'),
    (resources({"hugepages-2Mi": "3Mi", "memory": "1Gi"}, {"hugepages-2Mi": "3Mi"}),
     ["resources.limits[hugepages-2Mi]: 3Mi is not a multiple of the page size 2Mi",
      "resources.requests[hugepages-2Mi]: 3Mi is not a multiple of the page size 2Mi"]),
    (resources({"hugepages-2Mi": "4Mi"}), "resources: asks for huge pages without cpu or memory; add cpu or memory"),
    (container(resources={"claims": [{"name": "a"}, {"name": "a"}]}),
     'resources.claims: two items have name "a"; keep one of them, or rename one'),
    # Probes and hooks.
    (container(livenessProbe={}), "livenessProbe: has no handler; add one of exec, grpc, httpGet, tcpSocket"),
    (probe(exec={"command": ["a"]}),
     "livenessProbe: has 2 handlers (exec, tcpSocket), and only one is allowed; keep one of them"),
    (probe(successThreshold=2), "livenessProbe.successThreshold: 2 is not 1; write 1 or remove it"),
    (probe("startupProbe", successThreshold=2), "startupProbe.successThreshold: 2 is not 1; write 1 or remove it"),
    (probe("readinessProbe", terminationGracePeriodSeconds=5),
     "readinessProbe.terminationGracePeriodSeconds: a readiness probe ends nothing; remove it"),
    (probe(terminationGracePeriodSeconds=0),
     "livenessProbe.terminationGracePeriodSeconds: 0 is less than 1; write 1 or more"),
    (probe(periodSeconds=-1), "livenessProbe.periodSeconds: -1 is less than 0; write 0 or more"),
    (container(livenessProbe={"tcpSocket": {"port": 0}}),
     "livenessProbe.tcpSocket.port: 0 is not a port number (1 to 65535)"),
    (container(livenessProbe={"httpGet": {"port": "80"}}),
     'livenessProbe.httpGet.port: "80" is not the name of a port: lower-case letters, digits and single "-", '
     "with a letter"),
    (container(livenessProbe={"httpGet": {"port": None}}),
     "livenessProbe.httpGet.port: is null, must be a whole number or a string; write a value, or remove the field"),
    (container(livenessProbe={"httpGet": {"port": 80, "scheme": "https"}}),
     'livenessProbe.httpGet.scheme: is "https", must be one of HTTP, HTTPS; did you mean "HTTPS"?'),
    (container(livenessProbe={"httpGet": {"port": 80, "httpHeaders": [{"name": "a b", "value": "c"}]}}),
     'livenessProbe.httpGet.httpHeaders[0].name: "a b" is not the name of an HTTP header: letters, digits and "-"'),
    (container(livenessProbe={"exec": {}}),
     "livenessProbe.exec.command: is missing; add the command as a list of words"),
    (container(lifecycle={"preStop": {}}),
     "lifecycle.preStop: has no handler; add one of exec, httpGet, sleep, tcpSocket"),
    (container(lifecycle={"preStop": {"sleep": {"seconds": -1}}}),
     "lifecycle.preStop.sleep.seconds: -1 is less than 0; write 0 or more"),
    # Ports.
    (port(containerPort=0), "ports[0].containerPort: 0 is less than 1; write 1 or more"),
    (port(containerPort=65536), "ports[0].containerPort: 65536 is more than 65535; write 65535 or less"),
    (port(containerPort="80"),
     'ports[0].containerPort: is the string "80", must be a whole number; write it without quotes: 80'),
    (port(hostPort=70000), "ports[0].hostPort: 70000 is more than 65535; write 65535 or less"),
    (port(protocol="tcp"), 'ports[0].protocol: is "tcp", must be one of TCP, UDP, SCTP; did you mean "TCP"?'),
    (port(name="rendezvous-endpoint"),
     'ports[0].name: "rendezvous-endpoint" has 19 characters, 4 more than the 15 allowed for the name of a port'),
    (container(ports=[{"containerPort": 80}, {"containerPort": 80, "protocol": "TCP"}]),
     "ports: two items have containerPort 80 and protocol TCP; keep one of them, or rename one"),
    (container(ports=[{"containerPort": 80, "name": "a"}, {"containerPort": 81, "name": "a"}]),
     'ports: two items have name "a"; keep one of them, or rename one'),
    # Restarts and resizes.
    (container(restartPolicyRules=[{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}]),
     "restartPolicy: is missing, and restartPolicyRules need it; add restartPolicy"),
    (rule(), "restartPolicyRules[0].exitCodes: is missing; add exitCodes with an operator and values"),
    (rule(exitCodes={"operator": "In", "values": [1, 1]}),
     'restartPolicyRules[0].exitCodes.values: "1" is listed twice; keep one of them, or rename one'),
    (container(restartPolicy="Sometimes"),
     'restartPolicy: is "Sometimes", must be one of Always, OnFailure, Never'),
    (container(resizePolicy=[{"resourceName": "gpu", "restartPolicy": "NotRequired"}]),
     'resizePolicy[0].resourceName: is "gpu", must be one of cpu, memory; did you mean "cpu"?'),
    (container(resizePolicy=[{"resourceName": "cpu", "restartPolicy": "NotRequired"}] * 2),
     'resizePolicy: two items have resourceName "cpu"; keep one of them, or rename one'),
    # Security.
    (container(securityContext={"privileged": True, "allowPrivilegeEscalation": False}),
     "securityContext.allowPrivilegeEscalation: is false beside privileged: true; remove one of the two settings"),
    (container(securityContext={"allowPrivilegeEscalation": False, "capabilities": {"add": ["SYS_ADMIN"]}}),
     "securityContext.allowPrivilegeEscalation: is false beside the capability SYS_ADMIN; remove one of the two"),
    (container(securityContext={"runAsUser": -1}), "securityContext.runAsUser: -1 is less than 0; write 0 or more"),
    (container(securityContext={"procMount": "unmasked"}),
     'securityContext.procMount: is "unmasked", must be one of Default, Unmasked; did you mean "Unmasked"?'),
    (container(securityContext={"seccompProfile": {"type": "Localhost"}}),
     "securityContext.seccompProfile.localhostProfile: is missing, and type Localhost needs it; add localhostProfile"),
    (container(securityContext={"seccompProfile": {"type": "Localhost", "localhostProfile": "/a"}}),
     'securityContext.seccompProfile.localhostProfile: "/a" starts with "/", but must be relative'),
    (container(securityContext={"appArmorProfile": {"type": "RuntimeDefault", "localhostProfile": "a"}}),
     "securityContext.appArmorProfile.localhostProfile: type RuntimeDefault takes no profile; "
     "write type: Localhost, or remove it"),
]
# fmt: on


@pytest.mark.parametrize("data", GOOD.values(), ids=GOOD.keys())
def test_a_good_container_passes_and_reads_back(data: Data) -> None:
    """What goes in comes out, and what was not written stays unwritten."""
    assert faulted(Container, data) == []

    read = Container.model_validate(data)

    written = read.model_dump(by_alias=True, exclude_none=True)
    assert written.keys() == data.keys()
    assert Container.model_validate(written) == read


@pytest.mark.parametrize(("data", "told"), BROKEN)
def test_a_broken_container_is_told(data: Data, told: str | list[str]) -> None:
    """Each rule says where it is broken, and what would be right."""
    assert faulted(Container, data) == ([told] if isinstance(told, str) else told)


def test_a_debugging_container_takes_nothing_that_a_workload_relies_on() -> None:
    """allowedEphemeralContainerFields."""
    debugger = {"name": "debug", "image": "busybox", "targetContainerName": "trainer"}

    assert faulted(EphemeralContainer, debugger) == []
    assert faulted(EphemeralContainer, debugger | {"resources": {}, "ports": []}) == [
        "ports: cannot be set for an ephemeral container",
        "resources: cannot be set for an ephemeral container",
    ]


def test_python_spelling_is_read_and_corrected() -> None:
    """In Python the fields are snake_case, and a misspelt one is corrected in Python's spelling."""
    assert Container(name="a", working_dir="/a").model_dump(by_alias=True, exclude_none=True) == {
        "name": "a",
        "workingDir": "/a",
    }
    assert faulted(Container, {"name": "a", "workng_dir": "/a"}) == [
        'workng_dir: is not a field of Container; did you mean "working_dir"?'
    ]
