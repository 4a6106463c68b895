"""The pods that controllers would make of a rendered run, for `podman play kube`.

Added is what controllers and the kubelet add: name, index, Trainer's and Volcano's variables, variables in arguments;
and in place of the cluster's DNS, the master's name in /etc/hosts. Nothing else is changed.
"""

from __future__ import annotations

from typing import Any

from tests.synthesis import Manifest
from tests.training.given import pod_templates
from tests.training.kubelet import expanded, resolved
from tests.training.test_torchrun import INDEX, injected

#: The container's parts that a TrainJob holds and Trainer puts into its runtime's pod.
FROM_TRAINJOB = ("command", "args", "env")


def pods(form: str, made: list[Manifest], master: str) -> list[dict[str, Any]]:
    """Two Pod manifests, node 0, which has the address `master`, first."""
    run = made[-1]
    name = run["metadata"]["name"]
    templates = pod_templates(form, made)
    hosts = {
        "IndexedJob": [f"{name}-0", f"{name}-1"],
        "JobSet": [f"{name}-node-0-0", f"{name}-node-0-1"],
        "TrainJob": [f"{name}-node-0-0", f"{name}-node-0-1"],
        "VolcanoJob": [f"{name}-master-0", f"{name}-worker-0"],
    }[form]
    found = []
    for index, host in enumerate(hosts):
        template = templates[index if form == "VolcanoJob" else 0]
        (container,) = template["spec"]["containers"]
        if form == "TrainJob":
            trainer = run["spec"]["trainer"]
            resources = {key: trainer["resourcesPerNode"][key] for key in ("limits", "requests")}
            container = {**container, **{key: trainer[key] for key in FROM_TRAINJOB}, "resources": resources}
        env = [*container["env"], *injected(form, made, index)]
        known = resolved(env, {INDEX: str(index)})  # podman puts no variables into arguments, the kubelet does
        container = {**container, "env": env, "args": [expanded(word, known) for word in container["args"]]}
        found.append(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": host, "annotations": {INDEX: str(index)}},
                "spec": {
                    **template["spec"],
                    "containers": [container],
                    "hostAliases": [{"ip": master, "hostnames": [f"{hosts[0]}.{name}"]}],
                },
            }
        )
    return found
