"""A run as a JobSet."""

from __future__ import annotations

from typing import ClassVar

from trainshed.api import jobset as api
from trainshed.api.base import KubernetesObject, ObjectMeta
from trainshed.api.jobset import JobSetSpec
from trainshed.api.jobset_parts import Network, ReplicatedJob
from trainshed.naming_budgets import jobset_name_errors
from trainshed.training.containers import NODE
from trainshed.training.gang import gang_failure_policy, gang_job
from trainshed.training.pod import pod_template
from trainshed.training.run import Run
from trainshed.training.torchrun import jobset


class JobSet(Run):
    """One replicated job `node` with a pod per node: a world is one Job, so that Kueue suspends it at once."""

    main_kind = "JobSet"
    workload_kind: ClassVar[str] = "JobSet"

    def objects(self, name: str) -> list[KubernetesObject]:
        """One JobSet."""
        template = pod_template(self.training, name, jobset(self.training, name))
        by_code = self.training.keeps_exit_codes
        job = gang_job(template, self.training.nodes, by_code=by_code)
        if self.training.deadline and job.spec:
            job = job.model_copy(
                update={"spec": job.spec.model_copy(update={"active_deadline_seconds": self.training.deadline})}
            )
        return [
            api.JobSet(
                metadata=ObjectMeta(name=name, namespace=self.namespace, labels=self.queue_labels()),
                spec=JobSetSpec(
                    failure_policy=gang_failure_policy(
                        self.training.retries, deadline=bool(self.training.deadline), by_code=by_code
                    ),
                    network=Network(enable_dns_hostnames=True, publish_not_ready_addresses=True),
                    replicated_jobs=[ReplicatedJob(name=NODE, replicas=1, template=job)],
                ),
            )
        ]

    def name_errors(self, name: str) -> list[str]:
        """Jobs, pods and the headless Service that JobSet derives."""
        return jobset_name_errors(name, NODE, 1, self.training.nodes)
