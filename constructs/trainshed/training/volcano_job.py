"""A run as a Volcano Job with the pytorch plugin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

from constructs import Construct

from trainshed.api.base import KubernetesObject, ObjectMeta
from trainshed.api.types import DnsLabel, LabelValue
from trainshed.api.volcano import Job, JobSpec, LifecyclePolicy, TaskSpec
from trainshed.faults import Fault
from trainshed.gitops.keys import OwnAnnotation, OwnLabel
from trainshed.naming_budgets import volcano_job_name_errors
from trainshed.tenancy.queue_ref import QueueRef
from trainshed.tenancy.volcano import VolcanoQueue
from trainshed.training import exits
from trainshed.training.description import Training
from trainshed.training.pod import pod_template
from trainshed.training.run import RUN_LABEL, Run
from trainshed.training.torchrun import volcano_job
from trainshed.training.volumes import Text

MASTER: Final = "master"
WORKER: Final = "worker"
SCHEDULER: Final = "volcano"


class VolcanoJob(Run):
    """A gang of one master and `nodes - 1` workers. An evicted or failed pod restarts the whole gang, at most
    `retries` times, which here count evictions too; the job is complete when the master is. Behind the trainer's
    launcher an exit code that no restart heals ends the job at once.

    `priority` is a PriorityClass here. Every default of Volcano's webhooks is written out, since they do not run again
    when Argo CD updates the object, which is then refused (Volcano v1.15.1, `/jobs/validate` on UPDATE).
    """

    main_kind = "Job"
    workload_kind: ClassVar[str] = "VolcanoJob"

    def __init__(
        self,
        scope: Construct,
        id: DnsLabel,
        training: Training,
        *,
        queue: VolcanoQueue,
        namespace: DnsLabel,
        labels: Mapping[OwnLabel, LabelValue] | None = None,
        annotations: Mapping[OwnAnnotation, Text] | None = None,
    ) -> None:
        place = QueueRef(queue.name, namespace, queue, queue.runs)
        super().__init__(scope, id, training, queue=place, labels=labels, annotations=annotations)
        if training.topology is not None:
            self.fault("is Kueue's, and has no effect on a Volcano Job", field="topology", fix="leave it out")
        if training.deadline is not None:
            self.fault("has no effect on a Volcano Job", field="deadline", fix="leave it out")

    def objects(self, name: str) -> list[KubernetesObject]:
        """One Job of batch.volcano.sh."""
        training = self.training
        tasks = [self._task(name, MASTER, 1, [LifecyclePolicy(event="TaskCompleted", action="CompleteJob")])]
        if training.nodes > 1:
            tasks.append(self._task(name, WORKER, training.nodes - 1, None))
        pytorch = [f"--master={MASTER}", f"--worker={WORKER}", f"--port={training.port}"]
        return [
            Job(
                metadata=ObjectMeta(name=name, namespace=self.namespace, labels={RUN_LABEL: self.id}),
                spec=JobSpec(
                    scheduler_name=SCHEDULER,
                    min_available=training.nodes,
                    tasks=tasks,
                    policies=_policies(training),
                    plugins={"pytorch": pytorch, "svc": ["--publish-not-ready-addresses=true"]},
                    queue=self.queue.name,
                    max_retry=max_retry(training),
                    priority_class_name=training.priority,
                ),
            )
        ]

    def name_errors(self, name: str) -> list[str]:
        """Pods, and the Service of the svc plugin."""
        tasks = [(MASTER, 1), *([(WORKER, self.training.nodes - 1)] if self.training.nodes > 1 else [])]
        return volcano_job_name_errors(name, tasks, service=True)

    def validate(self) -> Iterable[Fault]:
        """Names within their budgets; the queue takes jobs."""
        yield from self._name_faults()
        children = [
            item.name
            for item in self.cluster.components
            if isinstance(item, VolcanoQueue) and item.parent is self.queue.component
        ]
        if children:
            yield self._told(
                f'queue "{self.queue.name}" has children, and only leaf queues take jobs',
                "queue",
                f"use {', '.join(children)}",
            )

    def _task(self, run: str, task: str, replicas: int, policies: list[LifecyclePolicy] | None) -> TaskSpec:
        template = pod_template(self.training, run, volcano_job(self.training), kueue=False)
        if template.spec is not None:
            spec = template.spec.model_copy(update={"scheduler_name": SCHEDULER})
            template = template.model_copy(update={"spec": spec})
        return TaskSpec(
            name=task,
            replicas=replicas,
            min_available=replicas,
            template=template,
            policies=policies,
            max_retry=max_retry(self.training),
        )


def _policies(training: Training) -> list[LifecyclePolicy]:
    """The first match decides, and a failed pod brings its exit code along (Volcano v1.15.1, `applyPolicies`)."""
    fatal = exits.FATAL if training.keeps_exit_codes else []
    return [
        *(LifecyclePolicy(exit_code=code, action="TerminateJob") for code in fatal),
        LifecyclePolicy(event="PodEvicted", action="RestartJob"),
        LifecyclePolicy(event="PodFailed", action="RestartJob"),
    ]


def max_retry(training: Training) -> int:
    """Volcano v1.15.1 counts a restart first and then fails the job whose count has reached `maxRetry`; 0 means 3."""
    return training.retries + 1
