"""The pod of one node of a run, the same for every way to run it.

Defaults: non-root with a read-only root and a writable /tmp, sized /dev/shm, requests equal to limits, restarts left to
the layer that restarts the gang, no service-account token, a grace period to save in.
"""

from __future__ import annotations

from typing import Final, cast

from trainshed.api.core.affinity import Toleration
from trainshed.api.core.container import Container, VolumeMount
from trainshed.api.core.env import EnvVar, EnvVarSource
from trainshed.api.core.pod import PodSpec, PodTemplateSpec
from trainshed.api.core.refs import LocalObjectReference, SecretKeySelector
from trainshed.api.core.resources import ResourceRequirements
from trainshed.api.core.security import Capabilities, PodSecurityContext, SeccompProfile, SecurityContext
from trainshed.api.core.volume import EmptyDirVolumeSource, PersistentVolumeClaimVolumeSource, Volume
from trainshed.api.meta import TemplateMeta
from trainshed.tenancy.pool import level_label
from trainshed.training.description import Mount, SecretEnv, TopologyRequest, Training
from trainshed.training.torchrun import NODE, Wiring

_TOPOLOGY: Final = "kueue.x-k8s.io/podset-{}-topology"


def pod_template(training: Training, run: str, wiring: Wiring | None, *, kueue: bool = True) -> PodTemplateSpec:
    """The pod template of one node. `wiring` None leaves command, arguments and environment to another object."""
    annotations = topology_annotations(training.topology) if kueue else {}
    return PodTemplateSpec(
        metadata=TemplateMeta(annotations=annotations) if annotations else None,
        spec=pod_spec(training, run, wiring),
    )


def pod_spec(training: Training, run: str, wiring: Wiring | None) -> PodSpec:
    """The pod of one node."""
    return PodSpec(
        automount_service_account_token=False,
        containers=[_container(training, run, wiring)],
        enable_service_links=False,
        init_containers=[_doctor(training)] if training.doctor else None,
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
        volumes=_volumes(training),
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
    return [*wiring.env, *own, *(_env_var(name, value) for name, value in training.env.items())]


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
        security_context=_confined(),
        volume_mounts=_mounts(training),
    )


def _doctor(training: Training) -> Container:
    """Looks at the node alone, so it needs no wiring, which in a TrainJob only the container `node` gets. It has the
    run's resources: the pod needs no more, since init containers end before."""
    folder = ["--folder", training.checkpoint.path] if training.checkpoint else []
    return Container(
        name="doctor",
        image=training.image,
        image_pull_policy=training.image_pull_policy,
        command=["python", "-m", "trainer", "doctor"],
        args=["--gpus", str(training.gpus_per_node), "--processes", str(training.processes), *folder],
        env=[EnvVar(name="HOME", value="/tmp")],
        resources=node_resources(training),
        security_context=_confined(),
        volume_mounts=_mounts(training),
    )


def _confined() -> SecurityContext:
    return SecurityContext(
        allow_privilege_escalation=False,
        capabilities=Capabilities(drop=["ALL"]),
        read_only_root_filesystem=True,
    )


def _mounts(training: Training) -> list[VolumeMount]:
    return [
        VolumeMount(name="shm", mount_path="/dev/shm"),
        VolumeMount(name="tmp", mount_path="/tmp"),
        *(_mount(index, mount) for index, mount in enumerate(training.mounts)),
    ]


def _volumes(training: Training) -> list[Volume]:
    shm = EmptyDirVolumeSource(medium="Memory", size_limit=training.shm)
    claims = [
        Volume(
            name=f"claim-{index}",
            persistent_volume_claim=PersistentVolumeClaimVolumeSource(
                claim_name=mount.claim, read_only=mount.read_only or None
            ),
        )
        for index, mount in enumerate(training.mounts)
    ]
    return [Volume(name="shm", empty_dir=shm), Volume(name="tmp", empty_dir=EmptyDirVolumeSource()), *claims]


def _mount(index: int, mount: Mount) -> VolumeMount:
    return VolumeMount(
        name=f"claim-{index}", mount_path=mount.path, read_only=mount.read_only or None, sub_path=mount.sub_path
    )


def _env_var(name: str, value: str | SecretEnv) -> EnvVar:
    if isinstance(value, str):
        return EnvVar(name=name, value=value)
    key = SecretKeySelector(name=value.secret, key=value.key)
    return EnvVar(name=name, value_from=EnvVarSource(secret_key_ref=key))
