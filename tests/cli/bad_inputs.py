"""Mistakes that people make, each as the files of a small repository. What they are told: `bad_inputs.txt`."""

from __future__ import annotations

from tests.cli.repository import MAIN, stack

Files = dict[str, str]


def body(*lines: str) -> Files:
    """A mistake in the body of the stack."""
    return {"stacks/lab.py": stack(*lines)}


def tenant(text: str, name: str = "low") -> Files:
    """A mistake in a tenant file."""
    return {
        "stacks/lab.py": stack('load_tenants(self, Path(__file__).parent / "tenants")'),
        f"stacks/tenants/{name}.yaml": text,
    }


TWO_CLUSTERS = MAIN.replace("app.build(Lab)", "app.build(Lab, Other)").replace(
    "    from stacks.lab import Lab\n", "    from stacks.lab import Lab\n    from stacks.other import Other\n"
)
WITH_ARGO_CD = MAIN.replace("App()", 'App(repository=Repository(url="https://git.example.com/a.git"))').replace(
    "import App", "import App, Repository"
)
OTHER = """from stacks.lab import JOB
from trainshed.gitops import App, Cluster
from trainshed.tenancy import NodePool, Tenant, nodes
from trainshed.training import JobSet, Training


class Other(Cluster):
    def __init__(self, app: App) -> None:
        super().__init__(app, "other")
"""
LOAD_LOW = 'low = load_tenants(self, Path(__file__).parent / "tenants")["low"]'

BAD: dict[str, Files] = {
    "misspelt keyword of a component": body(
        'Tenant(self, "a", namespaces=["a"], guarantee={pool: nodes(1)}, borow={})',
    ),
    "missing keyword of a component": body('Tenant(self, "a", namespaces=["a"])'),
    "unknown field of a training": body("Training(**JOB, gpus=8, shared_memroy='1Gi')"),
    "wrong enum": body('ClusterQueue(self, "q", quota={pool: nodes(1)}, queueing_strategy="FIFO")'),
    "negative quantity": body(
        'NodePool(self, "b", nodes=1, per_node={"cpu": -1})',
        'Training(**{**JOB, "resources": {"cpu": "-96", "memory": "400G"}})',
    ),
    "unparsable quantity": body(
        'NodePool(self, "b", nodes=1, per_node={"cpu": "4 cores"})',
        'Tenant(self, "a", namespaces=["a"], guarantee={pool: resources(memory="12GB")})',
    ),
    "resources that nothing has": body(
        'NodePool(self, "b", nodes=1, per_node={"cpu": 96, "memroy": "400G", "gpu": 8, "nvidia.com/gpus": 8})',
        'ClusterQueue(self, "q", quota={pool: resources(cpus=3, **{"amd/gpu": 1})})',
        'Training(**{**JOB, "resources": {"cpu": "88", "memory": "360G", "ephemeral-storag": "1G"}})',
        'Training(**JOB, gpu_resource="nvida.com/gpu")',
    ),
    "resources that nothing has in a tenant file": tenant(
        "name: low\nnamespaces: [a]\nguarantee:\n  h100: {resources: {cpu: 1, memroy: 1G}}\n"
    ),
    "borrowing outside a cohort": body(
        'ClusterQueue(self, "q", quota={pool: nodes(1)}, borrow={pool: nodes(1)})',
        'Tenant(self, "a", namespaces=["a"], guarantee={pool: nodes(1)}, borrow={pool: nodes(1)})',
    ),
    "lending above nominal": body(
        'ClusterQueue(self, "q", quota={pool: nodes(1)}, lend={pool: nodes(2)}, cohort=cohort)',
        'Tenant(self, "a", namespaces=["a"], guarantee={pool: nodes(1)}, lend={pool: nodes(3)}, cohort=cohort)',
    ),
    "flavor resources in another order": body(
        'cpu, memory = (api.ResourceQuota(name=name, nominal_quota="1G") for name in ("cpu", "memory"))',
        'flavor = api.FlavorQuotas(name="h100", resources=[memory, cpu])',
        'group = api.ResourceGroup(covered_resources=["cpu", "memory"], flavors=[flavor])',
        'ClusterQueue(self, "q", spec=api.ClusterQueueSpec(resource_groups=[group]))',
    ),
    "one identity twice": body(
        'queue = ClusterQueue(self, "q", quota={pool: nodes(1)})',
        'LocalQueue(self, "llm", namespace="a", cluster_queue=queue)',
        'LocalQueue(self, "other", name="llm", namespace="a", cluster_queue=queue)',
        'ClusterQueue(self, "q", quota={pool: nodes(1)})',
    ),
    "a name over its budget": body(
        'JobSet(self, "a-very-long-name-for-a-run-of-a-language-model", Training(**JOB), queue=QueueRef("llm", "a"))',
    ),
    "GPUs and processes differ": body("Training(**JOB, processes_per_node=4)"),
    "a queue of another cluster": {
        "stacks/__main__.py": TWO_CLUSTERS,
        "stacks/lab.py": stack('self.llm = LocalQueue(self, "llm", namespace="a", cluster_queue=External("q"))'),
        "stacks/other.py": OTHER + '        JobSet(self, "run", Training(**JOB), queue=app.clusters[0].llm)\n',
    },
    "strings for components": body(
        'Tenant(self, "a", namespaces="a", guarantee={"h100": nodes(1)}, cohort="shared")',
        'JobSet(self, "run", Training(**JOB), queue="llm")',
    ),
    "guarantees exceed the pool": body(
        'Tenant(self, "a", namespaces=["a"], guarantee={pool: nodes(2)})',
        'Tenant(self, "b", namespaces=["b"], guarantee={pool: nodes(2)})',
    ),
    "a tenant called platform": body('Tenant(self, "platform", namespaces=["a"], guarantee={pool: nodes(1)})'),
    "a namespace of two tenants": body(
        'Tenant(self, "a", namespaces=["n"], guarantee={pool: nodes(1)})',
        'Tenant(self, "b", namespaces=["n"], guarantee={pool: nodes(1)})',
    ),
    "a name that Kubernetes refuses": body('ClusterQueue(self, "Research_Queue", quota={pool: nodes(1)})'),
    "a required argument misspelt": body('Tenant(self, "a", namespaces=["a"], guarentee={pool: nodes(1)})'),
    "a namespace of another tenant, and a run in what was meant": body(
        'Tenant(self, "a", namespaces=["n-1"], guarantee={pool: nodes(1)})',
        'b = Tenant(self, "b", namespaces=["n-1"], guarantee={pool: nodes(1)})',
        'JobSet(self, "run", Training(**JOB), queue=b.queue("n-2"))',
        'JobSet(self, "walk", Training(**JOB), queue=b.queue("n-1"))',
    ),
    "a tenant twice, with a run": {
        **body(
            'Tenant(self, "a", namespaces=["n-1"], guarantee={pool: nodes(1)})',
            'b = Tenant(self, "a", namespaces=["n-2"], guarantee={pool: nodes(1)})',
            'JobSet(self, "run", Training(**JOB), queue=b.queue("n-2"))',
        ),
        "stacks/__main__.py": WITH_ARGO_CD,
    },
    "a tenant for a queue": body(
        'high = Tenant(self, "high", namespaces=["n-1"], guarantee={pool: nodes(1)})',
        'JobSet(self, "run", Training(**JOB), queue=high)',
    ),
    "a cluster that is never made": {"stacks/lab.py": stack().replace('        super().__init__(app, "lab")\n', "")},
    "a cluster that does nothing": {
        "stacks/lab.py": stack().replace("        super().__init__", "        return\n        ")
    },
    "an application twice": body('Application(self, "runs")', 'Application(self, "runs")'),
    "a cluster twice": {
        "stacks/__main__.py": MAIN.replace("app.build(Lab)", "app.build(Lab, Lab)"),
        "stacks/lab.py": stack(),
    },
    "a stack that raises": body("1 / 0"),
    "a stack that raises far away": body("import json", 'json.loads("{")'),
    "a stack that raises what is no Exception": body("import asyncio", "raise asyncio.CancelledError"),
    "a stack that goes elsewhere and raises": body("import os", 'os.chdir("/")', "1 / 0"),
    "a syntax error in a stack": body('Tenant(self, "a"'),
    "a module that is not there": body("import trainshed_extras"),
    "a stack that renders nothing": {
        "stacks/lab.py": "class Lab:\n    def __init__(self, app: object) -> None:\n        pass\n"
    },
    "an app that never calls synth": {
        "stacks/lab.py": stack(),
        "stacks/__main__.py": MAIN.replace("    app.synth()\n", ""),
    },
    "an app that ends before synth": {
        "stacks/lab.py": stack(),
        "stacks/__main__.py": MAIN.replace("    app.synth()\n", "    raise SystemExit\n"),
    },
    "a stack that ends the process": body("import sys", "sys.exit(3)"),
    "a stack that ends the process without a word": body("import os", "os._exit(0)"),
    "a tenant file with a tab": tenant("name: low\nguarantee:\n\th100: {nodes: 1}\n"),
    "a tenant file with tags": tenant(
        "name: low\nnamespaces: [!!str a]\nguarantee:\n  h100: !include pool.yaml\nowners: !!python/object:os.x {}\n"
    ),
    "a tenant file with a duplicate key": tenant(
        "name: low\nnamespaces: [a]\nguarantee:\n  h100: {nodes: 1}\nnamespaces: [b]\n"
    ),
    "a tenant file without a field": tenant("name: low\nguarantee:\n  h100: {nodes: 1}\n"),
    "a tenant file with unknown names": tenant(
        """name: low
namespaces: [a]
cohort: shraed
priority: hihg
guarantee:
  h100: {nodes: 1}
  h10: {nodes: 1}
borrow:
  a100: unlimited
"""
    ),
    "a tenant file with another name": tenant("name: low\nnamespaces: [a]\nguarantee:\n  h100: {nodes: 1}\n", "lwo"),
    "an empty tenant file": tenant("# nothing yet\n"),
    "a tenant file that is not YAML": tenant("name: [low\n"),
    "a tenant file with many faults": tenant(
        """name: low
namespaces: [a, B]
onwers: [team]
cohort: shared
guarantee:
  h100:
    nodes: "3"
borrow:
  h100: {nodes: -1}
lend: some
workloadKinds: [TrainJob, Pod]
containerDefaults: {cpu: 1.5.0}
"""
    ),
    "a tenant file that promises too much": tenant(
        """name: low
namespaces: [a]
cohort: shared
guarantee:
  h100: {nodes: 4}
lend:
  h100: {nodes: 5}
priority: hihg
"""
    ),
    "a tenant file that borrows alone": tenant(
        "name: low\nnamespaces: [a]\nguarantee: {h100: {nodes: 1}}\nborrow: {h100: unlimited}\n"
    ),
    "a tenant file that ends in yml": {"stacks/lab.py": stack(LOAD_LOW), "stacks/tenants/low.yml": "name: low\n"},
    "a tenant folder that is not there": body(LOAD_LOW),
    "a tenant that is not there": {
        "stacks/lab.py": stack(LOAD_LOW),
        "stacks/tenants/slow.yaml": "name: slow\nnamespaces: [a]\nguarantee:\n  h100: {nodes: 1}\n",
    },
    "several clusters and files at once": {
        "stacks/__main__.py": TWO_CLUSTERS,
        "stacks/other.py": OTHER
        + '        pool = NodePool(self, "a100", nodes=-1, per_node={"cpu": "4 cores"})\n'
        + '        Tenant(self, "a", namespaces=["a"], guarantee={pool: nodes(1)}, borow={})\n',
        "stacks/lab.py": stack(LOAD_LOW, 'JobSet(self, "run", Training(**JOB), queue=low.queue("a"))'),
        "stacks/tenants/low.yaml": "name: low\nnamespaces: [a]\nguarantee:\n  h100: {nods: 1}\n",
        "stacks/tenants/high.yaml": "name: high\nnamespace: [a]\nguarantee:\n  h100: {nodes: 1}\n",
    },
    "references that nobody can read": {
        "stacks/__main__.py": MAIN.replace("App()", "App(repository=REPOSITORY)")
        .replace(
            "    app = App",
            '    REPOSITORY = Repository("https://ci:hunter2@git.example.com/a.git", path="/dist")\n    app = App',
        )
        .replace("import App\n", "import App, Repository\n"),
        "stacks/lab.py": stack(),
    },
    "images and texts that no node takes": body(
        *(
            f'Training(**{{**JOB, "image": "{image}"}})'
            for image in (
                "registry.example.com/Team/Trainer:1",
                "trainer :1",
                "docker://trainer:1",
                "t:-1",
                "a@sha256:12",
            )
        ),
        r'Training(**{**JOB, "script": "/a\x00.py"}, args=["--name", "a\x07"], env={"A B=": "x", "C": "\x00"})',
    ),
    "numbers that are none": body(
        'a = NodePool(self, "a", nodes=True, per_node={"cpu": "96", "nvidia.com/gpu": "0.5"})',
        'NodePool(self, "b", nodes=10**30, per_node={"cpu": None, "memory": True, "nvidia.com/gpu": -1})',
        'NodePool(self, "c", nodes=1, per_node={"nvidia.com/gpu": 7.5})',
        'Training(**{**JOB, "nodes": 2.0, "gpus_per_node": True, "retries": -1, "grace_period": "2m"})',
        'Tenant(self, "a", namespaces=["a"], guarantee={pool: nodes(True)}, borrow={pool: nodes(-1)}, cohort=cohort)',
    ),
    "arguments of another kind": body(
        'NodePool("p", self, nodes=1, per_node=NODE)',
        'NodePool(self, "q", nodes=None, per_node=["cpu"], labels={"a": 1}, taints="gpu", topology={"rack"})',
        'Tenant(self, "a", namespaces=(name for name in "ab"), guarantee=None, owners=[""], lend="some")',
        'Tenant(self, None, namespaces=["a"], guarantee={pool: nodes(1)}, cohort=pool)',
        "nodes(1, 2)",
    ),
    "a component that is made in nothing": body('NodePool("p", nodes=1, per_node=NODE)'),
    "a component that is made in the app": body('NodePool(app, "p", nodes=1, per_node=NODE)'),
    "a training by position": body('JobSet(self, "run", Training(2, 8), queue=QueueRef("llm", "a"))'),
    "one bad pool, cohort and training, and all who name them": body(
        'bad = NodePool(self, "bad", nodes=-1, per_node=NODE)',
        'odd = Cohort(self, "odd", parent="none")',
        'a = Tenant(self, "a", namespaces=["a"], guarantee={bad: nodes(1)}, borrow={bad: nodes(2)}, cohort=odd)',
        'b = Tenant(self, "b", namespaces=["b"], guarantee={pool: nodes(1)}, lend={bad: nodes(2)}, cohort=odd)',
        'q = ClusterQueue(self, "q", quota={bad: resources(cpu=3)}, cohort=odd)',
        "training = Training(**JOB, gpu=3)",
        'JobSet(self, "run", training, queue=a.queue("nowhere"))',
        'TrainJob(self, "run", training, queue=LocalQueue(self, "l", namespace="b", cluster_queue=q))',
        'JobSet(self, "other", Training(**JOB), queue=b.queue("b"))',
    ),
    "a cluster with a bad name": {
        "stacks/__main__.py": MAIN.replace(
            "App()", 'App(repository=Repository("git@git.example.com:team/a.git"))'
        ).replace("import App\n", "import App, Repository\n"),
        "stacks/lab.py": stack().replace('"lab"', '"My_Lab"'),
    },
    "things that are built but are no clusters": {
        "stacks/__main__.py": MAIN.replace("app.build(Lab)", 'app.build(None, "lab", Lab(app))'),
        "stacks/lab.py": stack(),
    },
    "a cluster that is made without its app": {
        "stacks/__main__.py": MAIN.replace("app.build(Lab)", "app.build(Lab())"),
        "stacks/lab.py": stack(),
    },
    "tenants with a reserved and with an upper-case name, and their runs": {
        "stacks/lab.py": stack(
            'a = Tenant(self, "platform", namespaces=["a"], guarantee={pool: nodes(1)}, priority="high")',
            'b = Tenant(self, "runs", namespaces=["b"], guarantee={pool: nodes(1)})',
            'c = Tenant(self, "NLP", namespaces=["c"], guarantee={pool: nodes(1)})',
            'd = Tenant(self, "d", namespaces=["kube-system"], guarantee={pool: nodes(1)})',
            'JobSet(self, "one", Training(**JOB), queue=a.queue("a"))',
            'JobSet(self, "two", Training(**JOB), queue=b.queue("b"))',
            'TrainJob(self, "three", Training(**JOB), queue=c.queue("c"))',
            'TrainJob(self, "four", Training(**JOB), queue=d.queue("d"))',
        ),
        "stacks/__main__.py": WITH_ARGO_CD,
    },
    "a queue in a namespace that the tenant has not": {
        "stacks/lab.py": stack(
            'nlp = Tenant(self, "nlp", namespaces=["nlp"], guarantee={pool: nodes(1)})',
            'TrainJob(self, "run", Training(**JOB), queue=nlp.queue("nlpp"))',
            'TrainJob(self, "other", Training(**JOB, priority="hihg"), queue=nlp.queue(7))',
        ),
        "stacks/__main__.py": WITH_ARGO_CD,
    },
    "amounts without their unit": body(
        'Training(**{**JOB, "resources": {"cpu": 8, "memory": 128}})',
        "Training(**JOB, shared_memory=16)",
        'Training(**{**JOB, "resources": {"cpu": 8, "memory": "1G", "nvidia.com/mig-1g.10gb": 1.5}}, shared_memory="8k")',  # noqa: E501
        'NodePool(self, "b", nodes=1, per_node={"cpu": 8, "memory": 400, "ephemeral-storage": "3000"})',
        'Tenant(self, "a", namespaces=["a"], guarantee={pool: resources(memory=64, **{"nvidia.com/gpu": 1.5})})',
    ),
    "a misspelt import": {
        "stacks/lab.py": stack().replace("training import *", "training import TrainJobb"),
    },
    "a folder of tenants named from elsewhere": {
        "stacks/lab.py": stack('load_tenants(self, "tenants")'),
        "stacks/tenants/low.yaml": "name: low\n",
    },
    "a file to include that is not there": body(
        "from cdk8s import Include",
        'Include(self.application("a"), "c", url="nope.yaml")',
    ),
    "a file to include, named from elsewhere": {
        "stacks/lab.py": stack(
            "from cdk8s import Include",
            'Include(self.application("a"), "b", url="claim.yaml")',
        ),
        "stacks/claim.yaml": "",
    },
    "an address to include that gives nothing": body(
        "from cdk8s import Include",
        'Include(self.application("a"), "c", url="http://127.0.0.1:9/x.yaml")',
    ),
}
