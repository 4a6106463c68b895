"""A run as a TrainJob with its own TrainingRuntime."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

from constructs import Construct

from trainshed import naming
from trainshed.api import trainer as api
from trainshed.api.base import KubernetesObject, ObjectMeta
from trainshed.api.jobset import JobSetSpec
from trainshed.api.jobset_parts import Network, ReplicatedJob
from trainshed.api.types import DnsLabel, DnsSubdomain, LabelValue
from trainshed.faults import Fault
from trainshed.gitops.keys import OwnAnnotation, OwnLabel
from trainshed.naming_budgets import trainjob_name_errors
from trainshed.tenancy.kueue import LocalQueue
from trainshed.tenancy.pool import NodePool
from trainshed.tenancy.queue_ref import QueueRef
from trainshed.training.containers import NODE
from trainshed.training.description import Training
from trainshed.training.gang import gang_failure_policy, gang_job
from trainshed.training.pod import environment, pod_template
from trainshed.training.run import Run
from trainshed.training.torchrun import trainjob
from trainshed.training.volumes import Text

#: The port that Trainer v2.3.0 injects, whatever the runtime says.
TRAINER_PORT: Final = 29500
#: Trainer finds the job that trains by this label on the Job template, not on the pod's.
_TRAINER_STEP: Final = {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}


class TrainJob(Run):
    """A TrainJob and a namespaced TrainingRuntime beside it: restarts, grace period and volumes can only be set there.

    `runtime` is the runtime's name without its hash (default `<id>-runtime`); a change of the runtime makes a new one,
    since TrainJobs keep a snapshot of theirs while Kueue counts the live one. Runs of one application whose runtimes
    are equal, name and all, share one.
    """

    main_kind = "TrainJob"
    workload_kind: ClassVar[str] = "TrainJob"

    def __init__(
        self,
        scope: Construct,
        id: DnsLabel,
        training: Training,
        *,
        queue: QueueRef | LocalQueue,
        runtime: DnsSubdomain | None = None,
        labels: Mapping[OwnLabel, LabelValue] | None = None,
        annotations: Mapping[OwnAnnotation, Text] | None = None,
    ) -> None:
        super().__init__(scope, id, training, queue=queue, labels=labels, annotations=annotations)
        self.runtime = runtime or f"{id}-runtime"
        if training.port != TRAINER_PORT:
            self.fault(f"is {training.port}, but Trainer uses {TRAINER_PORT} always", field="port", fix="leave it out")

    def objects(self, name: str) -> list[KubernetesObject]:
        """The runtime, then the TrainJob."""
        spec = self._runtime_spec()
        runtime = api.TrainingRuntime(
            metadata=ObjectMeta(
                name=f"{self.runtime}-{naming.short_hash(spec.model_dump(by_alias=True, exclude_none=True))}",
                namespace=self.namespace,
            ),
            spec=spec,
        )
        wiring = trainjob(self.training)
        run = api.TrainJob(
            metadata=ObjectMeta(name=name, namespace=self.namespace, labels=self.queue_labels()),
            spec=api.TrainJobSpec(
                active_deadline_seconds=self.training.deadline,
                runtime_ref=api.RuntimeRef(
                    api_group="trainer.kubeflow.org", kind="TrainingRuntime", name=runtime.metadata.name or ""
                ),
                trainer=api.Trainer(
                    command=list(wiring.command),
                    args=wiring.args,
                    env=environment(self.training, name, wiring),
                    num_nodes=self.training.nodes,
                    num_proc_per_node=self.training.processes,
                    resources_per_node=api.ResourcesPerNode(
                        requests=self.training.node_resources, limits=self.training.node_resources
                    ),
                ),
            ),
        )
        return [runtime, run]

    def render(self) -> Iterable[KubernetesObject]:
        """The run, after its runtime unless an earlier run has made that one."""
        if not self._fits():
            return []
        runtime, run = self.marked(self.objects(self.name))
        key = f"{self.application.id}/{self.namespace}/{runtime.metadata.name}"
        return [runtime, run] if self.cluster.first(key, self) is self else [run]

    def name_errors(self, name: str) -> list[str]:
        """Jobs, pods and the headless Service of the JobSet that Trainer makes."""
        return trainjob_name_errors(name, self.training.nodes, (NODE,))

    def validate(self) -> Iterable[Fault]:
        """Also: Kueue's tolerations would replace the run's own (kueue#15161), so both together are refused."""
        yield from super().validate()
        pools = [pool for pool in self.cluster.all_of(NodePool) if pool.tolerate]
        tainted = sorted(pool.name for pool in pools if pool.taints)
        if self.training.tolerations and tainted:
            yield Fault(
                f"would be lost: Kueue replaces them by those of pool {', '.join(tainted)}",
                self.title,
                "tolerations",
                "leave them out: Kueue adds the pool's when it admits the run",
                self.place,
            )

    def _runtime_spec(self) -> api.TrainingRuntimeSpec:
        template = pod_template(self.training, self.id, None)
        by_code = self.training.keeps_exit_codes
        job = gang_job(template, None, _TRAINER_STEP, by_code=by_code)
        return api.TrainingRuntimeSpec(
            ml_policy=api.MLPolicy(num_nodes=self.training.nodes, torch=api.TorchPolicy()),
            template=api.JobSetTemplate(
                spec=JobSetSpec(
                    failure_policy=gang_failure_policy(self.training.retries, by_code=by_code),
                    network=Network(enable_dns_hostnames=True, publish_not_ready_addresses=True),
                    replicated_jobs=[ReplicatedJob(name=NODE, replicas=1, template=job)],
                )
            ),
        )
