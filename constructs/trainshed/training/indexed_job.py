"""A run as an Indexed Job with a headless Service."""

from __future__ import annotations

from typing import ClassVar

from trainshed.api.base import KubernetesObject, ObjectMeta
from trainshed.api.batch import Job, JobSpec
from trainshed.api.core.service import Service, ServiceSpec
from trainshed.api.job_policies import PodFailurePolicy, PodFailurePolicyRule
from trainshed.naming_budgets import indexed_job_name_errors
from trainshed.training import exits
from trainshed.training.description import Training
from trainshed.training.gang import disruption_rule, exit_rule
from trainshed.training.pod import pod_template
from trainshed.training.run import Run
from trainshed.training.torchrun import indexed_job


class IndexedJob(Run):
    """A plain Job whose pods find each other through a headless Service of the same name.

    There is no gang restart: pods are replaced one by one, and the peers of a failed pod fail in their next collective
    and are replaced too, so each of `retries` costs up to one failure a node. Behind the trainer's launcher, peers of a
    preempted pod save, leave as preempted, and do not count; what no restart heals fails the Job at once. Prefer
    JobSet or TrainJob where they are installed.
    """

    main_kind = "Job"
    workload_kind: ClassVar[str] = "Job"

    def objects(self, name: str) -> list[KubernetesObject]:
        """The Service, then the Job."""
        training = self.training
        template = pod_template(training, name, indexed_job(training, name))
        if template.spec is not None:
            template = template.model_copy(update={"spec": template.spec.model_copy(update={"subdomain": name})})
        service = Service(
            metadata=ObjectMeta(name=name, namespace=self.namespace),
            spec=ServiceSpec(
                cluster_ip="None",
                publish_not_ready_addresses=True,  # rank 0 must resolve before anything is ready
                selector={"batch.kubernetes.io/job-name": name},
            ),
        )
        job = Job(
            metadata=ObjectMeta(name=name, namespace=self.namespace, labels=self.queue_labels()),
            spec=JobSpec(
                active_deadline_seconds=training.deadline,
                backoff_limit=training.nodes * training.retries,
                completion_mode="Indexed",
                completions=training.nodes,
                parallelism=training.nodes,
                pod_failure_policy=PodFailurePolicy(rules_=_rules(training)),
                pod_replacement_policy="Failed",
                template=template,
            ),
        )
        return [service, job]

    def name_errors(self, name: str) -> list[str]:
        """The pods' hostnames and the Service."""
        return indexed_job_name_errors(name, self.training.nodes, service=True)


def _rules(training: Training) -> list[PodFailurePolicyRule]:
    """The disrupted pod comes first: whatever it left with, it was not its fault."""
    first = disruption_rule("Ignore")
    if not training.keeps_exit_codes:
        return [first]
    return [first, exit_rule("Ignore", exits.PREEMPTED), exit_rule("FailJob", exits.FATAL)]
