"""Plain cdk8s in Python: the same objects. Python's ApiObject takes no `spec`, so that comes by JsonPatch."""

import sys
from typing import Any

from cdk8s import ApiObject, ApiObjectMetadata, App, Chart, JsonPatch, YamlOutputType

RUN = ["create", "delete", "get", "list", "patch", "update", "watch"]
LOOK = ["get", "list", "watch"]
RULES = [
    {"apiGroups": ["trainer.kubeflow.org"], "resources": ["trainjobs", "trainingruntimes"], "verbs": RUN},
    {"apiGroups": ["jobset.x-k8s.io"], "resources": ["jobsets"], "verbs": RUN},
    {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": RUN},
    {"apiGroups": [""], "resources": ["configmaps", "persistentvolumeclaims", "services"], "verbs": RUN},
    {"apiGroups": [""], "resources": ["pods", "pods/log", "events"], "verbs": LOOK},
    {"apiGroups": ["kueue.x-k8s.io"], "resources": ["localqueues", "workloads"], "verbs": LOOK},
]
PER_NODE = {"cpu": "96", "memory": "400G", "nvidia.com/gpu": "8"}
SMALL = {"cpu": "1", "memory": "2Gi"}
WAVE = "argocd.argoproj.io/sync-wave"
OPTIONS = "argocd.argoproj.io/sync-options"
KUEUE = "kueue.x-k8s.io/v1beta2"
RBAC = "rbac.authorization.k8s.io"
CRD = "SkipDryRunOnMissingResource=true"
KEPT = f"Prune=confirm,PruneLast=true,{CRD}"


def made(chart: Chart, api_version: str, kind: str, metadata: ApiObjectMetadata, **content: Any) -> None:
    """One object with the top-level fields `content`."""
    thing = ApiObject(chart, f"{kind}-{metadata.name}", api_version=api_version, kind=kind, metadata=metadata)
    if content:
        thing.add_json_patch(*(JsonPatch.add(f"/{key}", value) for key, value in content.items()))


def hardware(chart: Chart, tenants: int) -> None:
    """Flavor, cohort and priority class, which all tenants share."""
    per_node = '{"cpu":"96","memory":"400G","nvidia.com/gpu":"8"}'
    annotations = {WAVE: "-30", OPTIONS: KEPT, "trainshed.dev/capacity": f'{{"nodes":{tenants},"perNode":{per_node}}}'}
    labels = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}
    flavor = ApiObjectMetadata(name="h100", annotations=annotations)
    made(chart, KUEUE, "ResourceFlavor", flavor, spec={"nodeLabels": labels})
    cohort = ApiObjectMetadata(name="shared", annotations={WAVE: "-25", OPTIONS: KEPT})
    made(chart, KUEUE, "Cohort", cohort, spec={})
    priority = ApiObjectMetadata(name="normal", annotations={WAVE: "-35", OPTIONS: CRD})
    made(chart, KUEUE, "WorkloadPriorityClass", priority, value=500, description="Tier normal")


def tenant(app: App, name: str) -> None:
    """A ClusterQueue and two namespaces with what belongs in them."""
    namespaces = [f"{name}-research", f"{name}-production"]
    charts = [Chart(app, namespace) for namespace in namespaces]
    cluster_queue(charts[0], name, namespaces)
    for chart, namespace in zip(charts, namespaces, strict=True):
        tenant_namespace(chart, name, namespace)


def cluster_queue(chart: Chart, name: str, namespaces: list[str]) -> None:
    """Quota for one node, and as much to borrow."""
    quotas = [{"name": key, "nominalQuota": one, "borrowingLimit": one} for key, one in PER_NODE.items()]
    names = {"key": "kubernetes.io/metadata.name", "operator": "In", "values": namespaces}
    spec = {
        "cohortName": "shared",
        "namespaceSelector": {"matchExpressions": [names]},
        "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
        "queueingStrategy": "BestEffortFIFO",
        "resourceGroups": [{"coveredResources": list(PER_NODE), "flavors": [{"name": "h100", "resources": quotas}]}],
    }
    metadata = ApiObjectMetadata(name=name, annotations={WAVE: "-20", OPTIONS: KEPT})
    made(chart, KUEUE, "ClusterQueue", metadata, spec=spec)


def tenant_namespace(chart: Chart, tenant: str, namespace: str) -> None:
    """A namespace with its LocalQueue, LimitRange, Role and RoleBinding."""
    levels = {f"pod-security.kubernetes.io/{mode}": "restricted" for mode in ("enforce", "audit", "warn")}
    options = {WAVE: "-40", OPTIONS: "Delete=confirm,Prune=confirm"}
    itself = ApiObjectMetadata(name=namespace, labels={"trainshed.dev/tenant": tenant, **levels}, annotations=options)
    made(chart, "v1", "Namespace", itself)
    kept = {WAVE: "-10", OPTIONS: f"Prune=confirm,{CRD}"}
    queue = ApiObjectMetadata(name=tenant, namespace=namespace, annotations=kept)
    made(chart, KUEUE, "LocalQueue", queue, spec={"clusterQueue": tenant})
    limits = {"type": "Container", "default": SMALL, "defaultRequest": SMALL}
    defaults = ApiObjectMetadata(name="container-defaults", namespace=namespace, annotations={WAVE: "-10"})
    made(chart, "v1", "LimitRange", defaults, spec={"limits": [limits]})
    owner = f"{tenant}-owner"
    role = ApiObjectMetadata(name=owner, namespace=namespace, annotations={WAVE: "-10"})
    made(chart, f"{RBAC}/v1", "Role", role, rules=RULES)
    binding = ApiObjectMetadata(name=owner, namespace=namespace, annotations={WAVE: "-9"})
    reference = {"apiGroup": RBAC, "kind": "Role", "name": owner}
    subject = {"apiGroup": RBAC, "kind": "Group", "name": f"{tenant}-owners"}
    made(chart, f"{RBAC}/v1", "RoleBinding", binding, roleRef=reference, subjects=[subject])


app = App(yaml_output_type=YamlOutputType.FOLDER_PER_CHART_FILE_PER_RESOURCE)
count = int(sys.argv[1])
hardware(Chart(app, "hardware"), count)
for number in range(count):
    tenant(app, f"tenant-{number:04}")
app.synth()
