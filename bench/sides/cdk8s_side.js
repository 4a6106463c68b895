// cdk8s in TypeScript, as the JavaScript that its compiler would leave: the same objects as ApiObjects.
"use strict";
const { ApiObject, App, Chart, YamlOutputType } = require("cdk8s");

const RUN = ["create", "delete", "get", "list", "patch", "update", "watch"];
const LOOK = ["get", "list", "watch"];
const RULES = [
  { apiGroups: ["trainer.kubeflow.org"], resources: ["trainjobs", "trainingruntimes"], verbs: RUN },
  { apiGroups: ["jobset.x-k8s.io"], resources: ["jobsets"], verbs: RUN },
  { apiGroups: ["batch"], resources: ["jobs"], verbs: RUN },
  { apiGroups: [""], resources: ["configmaps", "persistentvolumeclaims", "services"], verbs: RUN },
  { apiGroups: [""], resources: ["pods", "pods/log", "events"], verbs: LOOK },
  { apiGroups: ["kueue.x-k8s.io"], resources: ["localqueues", "workloads"], verbs: LOOK },
];
const PER_NODE = { cpu: "96", memory: "400G", "nvidia.com/gpu": "8" };
const SMALL = { cpu: "1", memory: "2Gi" };
const WAVE = "argocd.argoproj.io/sync-wave";
const OPTIONS = "argocd.argoproj.io/sync-options";
const KUEUE = "kueue.x-k8s.io/v1beta2";
const RBAC = "rbac.authorization.k8s.io";
const CRD = "SkipDryRunOnMissingResource=true";
const KEPT = `Prune=confirm,PruneLast=true,${CRD}`;

function made(chart, apiVersion, kind, metadata, content) {
  new ApiObject(chart, `${kind}-${metadata.name}`, { apiVersion, kind, metadata, ...content });
}

function hardware(chart, tenants) {
  const capacity = JSON.stringify({ nodes: tenants, perNode: PER_NODE });
  const annotations = { [WAVE]: "-30", [OPTIONS]: KEPT, "trainshed.dev/capacity": capacity };
  const nodeLabels = { "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3" };
  made(chart, KUEUE, "ResourceFlavor", { name: "h100", annotations }, { spec: { nodeLabels } });
  made(chart, KUEUE, "Cohort", { name: "shared", annotations: { [WAVE]: "-25", [OPTIONS]: KEPT } }, { spec: {} });
  const priority = { name: "normal", annotations: { [WAVE]: "-35", [OPTIONS]: CRD } };
  made(chart, KUEUE, "WorkloadPriorityClass", priority, { value: 500, description: "Tier normal" });
}

function tenant(app, name) {
  const namespaces = [`${name}-research`, `${name}-production`];
  const charts = namespaces.map((namespace) => new Chart(app, namespace));
  clusterQueue(charts[0], name, namespaces);
  namespaces.forEach((namespace, i) => tenantNamespace(charts[i], name, namespace));
}

function clusterQueue(chart, name, namespaces) {
  const resources = Object.entries(PER_NODE).map(([key, one]) => ({ name: key, nominalQuota: one, borrowingLimit: one }));
  const names = { key: "kubernetes.io/metadata.name", operator: "In", values: namespaces };
  const spec = {
    cohortName: "shared",
    namespaceSelector: { matchExpressions: [names] },
    preemption: { reclaimWithinCohort: "Any", withinClusterQueue: "LowerPriority" },
    queueingStrategy: "BestEffortFIFO",
    resourceGroups: [{ coveredResources: Object.keys(PER_NODE), flavors: [{ name: "h100", resources }] }],
  };
  made(chart, KUEUE, "ClusterQueue", { name, annotations: { [WAVE]: "-20", [OPTIONS]: KEPT } }, { spec });
}

function tenantNamespace(chart, tenant, namespace) {
  const labels = { "trainshed.dev/tenant": tenant };
  for (const mode of ["enforce", "audit", "warn"]) labels[`pod-security.kubernetes.io/${mode}`] = "restricted";
  const annotations = { [WAVE]: "-40", [OPTIONS]: "Delete=confirm,Prune=confirm" };
  made(chart, "v1", "Namespace", { name: namespace, labels, annotations });
  const queue = { name: tenant, namespace, annotations: { [WAVE]: "-10", [OPTIONS]: `Prune=confirm,${CRD}` } };
  made(chart, KUEUE, "LocalQueue", queue, { spec: { clusterQueue: tenant } });
  const limits = [{ type: "Container", default: SMALL, defaultRequest: SMALL }];
  const defaults = { name: "container-defaults", namespace, annotations: { [WAVE]: "-10" } };
  made(chart, "v1", "LimitRange", defaults, { spec: { limits } });
  const owner = `${tenant}-owner`;
  made(chart, `${RBAC}/v1`, "Role", { name: owner, namespace, annotations: { [WAVE]: "-10" } }, { rules: RULES });
  const roleRef = { apiGroup: RBAC, kind: "Role", name: owner };
  const subjects = [{ apiGroup: RBAC, kind: "Group", name: `${tenant}-owners` }];
  const binding = { name: owner, namespace, annotations: { [WAVE]: "-9" } };
  made(chart, `${RBAC}/v1`, "RoleBinding", binding, { roleRef, subjects });
}

const count = Number(process.argv[2]);
const app = new App({ yamlOutputType: YamlOutputType.FOLDER_PER_CHART_FILE_PER_RESOURCE });
hardware(new Chart(app, "hardware"), count);
for (let i = 0; i < count; i++) tenant(app, `tenant-${String(i).padStart(4, "0")}`);
app.synth();
