"""Sound stacks with a place for each argument of what people write in them, and values that fit hardly anywhere."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

from tests.synthesis import NODE
from trainshed import gitops, tenancy, training
from trainshed.faults import Faults
from trainshed.gitops import App, Cluster, Repository
from trainshed.tenancy import ClusterQueue, External, Namespace, NodePool, QueueRef, VolcanoQueue, nodes, resources
from trainshed.training import Training

URL: Final = "https://git.example.com/platform/clusters.git"
JOB: Final[dict[str, Any]] = {
    "nodes": 2,
    "gpus_per_node": 8,
    "image": "registry.example.com/trainer:1",
    "script": "/opt/train.py",
    "resources": {"cpu": 88, "memory": "360G"},
}


def odd_values(pool: Any) -> dict[str, Any]:
    """By name, for messages of tests."""
    return {
        "None": None,
        "True": True,
        "-1": -1,
        "0": 0,
        "1": 1,
        "7.5": 7.5,
        "huge": 10**30,
        "very huge": 10**5000,
        "1e300": 1e300,
        "nan": float("nan"),
        "empty": "",
        "blank": " ",
        "NUL": "\x00",
        "surrogate": "\ud800",
        "line break": "a\nb",
        "capitals": "A_B",
        "slash": "a/b",
        "dots": "../..",
        "long": "x" * 300,
        "word": "word",
        "system": "kube-system",
        "bytes": b"a",
        "list": [],
        "list of None": [None],
        "list of NUL": ["\x00"],
        "list of surrogates": ["\ud800"],
        "mapping of surrogates": {"A": "\ud800"},
        "list of words": ["word", "word"],
        "tuple": (),
        "set": {"a"},
        "mapping": {},
        "mapping of NUL": {"\x00": "\x00"},
        "mapping of None": {None: None},
        "mapping of words": {"word": "word"},
        "mapping of objects": {"cpu": object()},
        "object": object(),
        "class": object,
        "generator": (letter for letter in "ab"),
        "function": odd_values,
        "pool": pool,
        "share": nodes(0),
        "shares": {pool: nodes(0)},
        "many": {pool: nodes(2**31 - 1)},
        "amounts": {pool: resources(**{"nvidia.com/gpu": 2})},
        "strange shares": {pool: resources(**{f"x.example/{'x' * 20}": 10**15})},
        "share of None": {pool: None},
        "external": External(""),
        "strange external": External(None),  # type: ignore[arg-type]
        "queue": QueueRef("\x00", None),  # type: ignore[arg-type]
    }


def _run(kind: str) -> Callable[[Any, Any], dict[str, Any]]:
    return lambda cluster, pool: {"id": "r", "training": Training(**JOB), "queue": QueueRef("llm", "a")}


#: What is made, and sound arguments for it, by the cluster and its pool.
SOUND: Final[Mapping[str, Callable[[Any, Any], dict[str, Any]]]] = {
    "NodePool": lambda cluster, pool: {"id": "p", "nodes": 2, "per_node": NODE},
    "Cohort": lambda cluster, pool: {"id": "c"},
    "ClusterQueue": lambda cluster, pool: {"id": "q", "quota": {pool: nodes(1)}},
    "LocalQueue": lambda cluster, pool: {"id": "l", "namespace": "a", "cluster_queue": External("q")},
    "WorkloadPriorityClass": lambda cluster, pool: {"id": "w", "value": 3},
    "ResourceFlavor": lambda cluster, pool: {"id": "f"},
    "Topology": lambda cluster, pool: {"id": "t", "levels": ["kubernetes.io/hostname"]},
    "ProvisioningRequestConfig": lambda cluster, pool: {"id": "v", "provisioning_class": "queued.example.com"},
    "MultiKueueCluster": lambda cluster, pool: {"id": "m", "kubeconfig_secret": "secret"},
    "MultiKueueConfig": lambda cluster, pool: {"id": "n", "clusters": [External("worker")]},
    "AdmissionCheck": lambda cluster, pool: {"id": "k", "controller": "example.com/check"},
    "Namespace": lambda cluster, pool: {"id": "s"},
    "Tenant": lambda cluster, pool: {"id": "a", "namespaces": ["a"], "guarantee": {pool: nodes(1)}},
    "VolcanoQueue": lambda cluster, pool: {"id": "o", "capability": {pool: nodes(1)}},
    "VolcanoScheduler": lambda cluster, pool: {},
    "TrainJob": _run("TrainJob"),
    "JobSet": _run("JobSet"),
    "IndexedJob": _run("IndexedJob"),
    "VolcanoJob": lambda cluster, pool: {
        "id": "r",
        "training": Training(**JOB),
        "queue": VolcanoQueue(cluster, "vq", capability={pool: nodes(1)}),
        "namespace": "a",
    },
    "Application": lambda cluster, pool: {"id": "tools"},
    "Cluster": lambda cluster, pool: {"name": "other"},
    "Repository": lambda cluster, pool: {"url": URL},
    "App": lambda cluster, pool: {},
    "Training": lambda cluster, pool: dict(JOB),
    "Mount": lambda cluster, pool: {"claim": "data", "path": "/data"},
    "SecretEnv": lambda cluster, pool: {"secret": "s", "key": "k"},
    "ConfigMapEnv": lambda cluster, pool: {"config_map": "c", "key": "k"},
    "FieldEnv": lambda cluster, pool: {"field": "spec.nodeName"},
    "ConfigMapMount": lambda cluster, pool: {"config_map": "c", "path": "/c"},
    "SecretMount": lambda cluster, pool: {"secret": "s", "path": "/s"},
    "Scratch": lambda cluster, pool: {"path": "/scratch", "size": "1Ti"},
    "TopologyRequest": lambda cluster, pool: {"level": "host"},
    "Share": lambda cluster, pool: {"nodes": 1},
}
#: What a Training holds, and where.
HELD: Final[Mapping[str, Callable[[Any], dict[str, Any]]]] = {
    "Mount": lambda part: {"checkpoint": part},
    "ConfigMapMount": lambda part: {"volumes": [part]},
    "SecretMount": lambda part: {"volumes": [part]},
    "Scratch": lambda part: {"volumes": [part]},
    "SecretEnv": lambda part: {"env": {"A": part}},
    "ConfigMapEnv": lambda part: {"env": {"A": part}},
    "FieldEnv": lambda part: {"env": {"A": part}},
    "TopologyRequest": lambda part: {"topology": part},
}
_FORMS: Final = ("TrainJob", "JobSet", "IndexedJob", "VolcanoJob")


def kind_of(name: str) -> Any:
    """The class of that name."""
    return next(vars(part)[name] for part in (gitops, tenancy, training) if name in vars(part))


def arguments(name: str) -> list[str]:
    """The arguments that one can give."""
    kind = kind_of(name)
    fields = getattr(kind, "model_fields", None)
    if fields is not None:
        return list(fields)
    return [word for word in inspect.signature(kind.__init__).parameters if word not in ("self", "scope")]


def outcome(name: str, changed: Mapping[str, str]) -> Mapping[str, str] | Faults:
    """What a stack gives in which arguments of `name` have odd values (by their names): files, or Faults."""

    class Lab(Cluster):
        def __init__(self, app: App) -> None:
            super().__init__(app, "lab")
            pool = NodePool(self, "pool", nodes=4, per_node=NODE, labels={"a": "b"}, topology=["host"])
            odd = odd_values(pool)
            given = {**SOUND[name](self, pool), **{word: odd[value] for word, value in changed.items()}}
            _make(self, app, pool, name, given)

    try:
        app = App(repository=Repository(URL))
        app.build(Lab)
        return app.files()
    except Faults as found:
        return found


def _make(lab: Cluster, app: App, pool: NodePool, name: str, given: dict[str, Any]) -> None:
    kind = kind_of(name)
    if name in ("Repository", "App"):
        kind(**given)
    elif name == "Cluster":
        made = kind(app, **given)
        Namespace(made, "a")
    elif name == "Share":
        ClusterQueue(lab, "q", quota={pool: kind(**given)})
    elif name == "Training" or name in HELD:
        part = kind(**given)
        training = part if name == "Training" else Training(**JOB, **HELD[name](part))
        queue = VolcanoQueue(lab, "vq", capability={pool: nodes(1)})
        for form in _FORMS[: 3 if name == "TopologyRequest" else 4]:  # topology is Kueue's
            where = {"queue": queue, "namespace": "a"} if form == "VolcanoJob" else {"queue": QueueRef("llm", "a")}
            kind_of(form)(lab, "run", training, **where)
    else:
        kind(lab, **given)
