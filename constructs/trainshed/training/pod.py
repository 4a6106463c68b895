"""The pod of one node of a run, the same for every way to run it.

Defaults: non-root with a read-only root and a writable /tmp, sized /dev/shm, requests equal to limits, restarts left to
the layer that restarts the gang, no service-account token, a grace period to save in.
"""

from __future__ import annotations

from typing import Final, cast

from trainshed.api.core.affinity import Toleration
from trainshed.api.core.container import Container
from trainshed.api.core.env import EnvVar
from trainshed.api.core.pod import PodSpec, PodTemplateSpec
from trainshed.api.core.refs import LocalObjectReference
from trainshed.api.core.resources import ResourceRequirements
from trainshed.api.core.security import PodSecurityContext, SeccompProfile
from trainshed.api.meta import TemplateMeta
from trainshed.tenancy.pool import level_label
from trainshed.training.containers import DOCTOR, NODE, beside, confined
from trainshed.training.description import TopologyRequest, Training
from trainshed.training.torchrun import Wiring
from trainshed.training.variables import env_var
from trainshed.training.volumes import volume_mounts, volumes

_TOPOLOGY: Final = "kueue.x-k8s.io/podset-{}-topology"


def pod_template(training: Training, run: str, wiring: Wiring | None, *, kueue: bool = True) -> PodTemplateSpec:
    """The pod template of one node. `wiring` None leaves command, arguments and environment to another object."""
    topology = topology_annotations(training.topology) if kueue else {}
    annotations = {**training.pod_annotations, **topology} or None
    labels = dict(training.pod_labels) or None
    return PodTemplateSpec(
        metadata=TemplateMeta(labels=labels, annotations=annotations) if labels or annotations else None,
        spec=pod_spec(training, run, wiring),
    )


def pod_spec(training: Training, run: str, wiring: Wiring | None) -> PodSpec:
    """The pod of one node."""
    return PodSpec(
        automount_service_account_token=False,
        containers=[_container(training, run, wiring)],
        enable_service_links=False,
        init_containers=_before(training) or None,
        image_pull_secrets=[LocalObjectReference(name=name) for name in training.image_pull_secrets] or None,
        node_selector=dict(training.node_selector) or None,
        restart_policy="Never",
        security_context=PodSecurityContext(
            fs_group=training.user,
            fs_group_change_policy="OnRootMismatch",
            run_as_group=training.user,
            run_as_non_root=True,
            run_as_user=training.user,
            seccomp_profile=SeccompProfile(type="RuntimeDefault"),
        ),
        service_account_name=training.service_account,
        termination_grace_period_seconds=training.grace_period,
        tolerations=cast("list[Toleration]", training.tolerations) or None,
        volumes=volumes(training.mounts, training.shm),
    )


def environment(training: Training, run: str, wiring: Wiring) -> list[EnvVar]:
    """The wiring's variables, Trainshed's own, then the person's in the order given."""
    own = [
        EnvVar(name="TRAINSHED_RUN", value=run),
        EnvVar(name="TRAINSHED_GRACE_PERIOD", value=str(training.grace_period)),
        EnvVar(name="HOME", value="/tmp"),  # caches of torch.compile and Triton go below HOME; the root is read-only
    ]
    if training.checkpoint is not None:
        own.append(EnvVar(name="TRAINSHED_CHECKPOINT_DIR", value=f"{training.checkpoint.path.rstrip('/')}/{run}"))
    return [*wiring.env, *own, *(env_var(name, value) for name, value in training.env.items())]


def node_resources(training: Training) -> ResourceRequirements:
    """Requests equal limits: the pod is Guaranteed, and GPUs may not be requested otherwise."""
    return ResourceRequirements(requests=training.node_resources, limits=training.node_resources)


def topology_annotations(request: TopologyRequest | None) -> dict[str, str]:
    """Kueue's pod-set annotation; it belongs on the pod template."""
    if request is None:
        return {}
    return {_TOPOLOGY.format("required" if request.required else "preferred"): level_label(request.level)}


def _container(training: Training, run: str, wiring: Wiring | None) -> Container:
    return Container(
        name=NODE,
        image=training.image,
        image_pull_policy=training.image_pull_policy,
        command=list(wiring.command) if wiring else None,
        args=wiring.args if wiring else None,
        env=environment(training, run, wiring) if wiring else None,
        resources=node_resources(training) if wiring else None,
        security_context=confined(),
        volume_mounts=volume_mounts(training.mounts),
    )


def _before(training: Training) -> list[Container]:
    """Sidecars first: what the others fetch may have to go through them."""
    mounts = volume_mounts(training.mounts)
    first, then = cast("list[Container]", training.sidecars), cast("list[Container]", training.init_containers)
    return [
        *(beside(container, mounts, sidecar=True) for container in first),
        *([_doctor(training)] if training.doctor else []),
        *(beside(container, mounts) for container in then),
    ]


def _doctor(training: Training) -> Container:
    """Looks at the node alone, so it needs no wiring, which in a TrainJob only the container `node` gets. It has the
    run's resources: the pod needs no more, since init containers end before."""
    folder = ["--folder", training.checkpoint.path] if training.checkpoint else []
    return Container(
        name=DOCTOR,
        image=training.image,
        image_pull_policy=training.image_pull_policy,
        command=["python", "-m", "trainer", "doctor"],
        args=["--gpus", str(training.gpus_per_node), "--processes", str(training.processes), *folder],
        env=[EnvVar(name="HOME", value="/tmp")],
        resources=node_resources(training),
        security_context=confined(),
        volume_mounts=volume_mounts(training.mounts),
    )
