"""Fields of a runtime's JobSet that do not go with TrainJobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.rule import Issue, rule
from trainshed.checks.trainer_common import jobs, runtimes
from trainshed.fleet.access import dig, mapping, mappings, text, whole
from trainshed.fleet.finding import Severity
from trainshed.fleet.paths import Path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "trainer"


@rule("trainer-runtime-ttl", severity="error", family=FAMILY, targets=("trainer",))
def runtime_ttl(fleet: Fleet) -> Iterator[Issue]:
    """A runtime's JobSet deletes itself after it has ended.

    Why: Up to 2.3 Trainer makes the JobSet of a TrainJob anew when it is gone: a failed run starts again after each
    TTL, for ever (trainer#3779).
    Fix: Remove ttlSecondsAfterFinished; delete TrainJobs.
    Bad:
        apiVersion: trainer.kubeflow.org/v1alpha1
        kind: ClusterTrainingRuntime
        metadata: {name: ddp}
        spec:
          mlPolicy: {numNodes: 1, torch: {}}
          template:
            spec:
              ttlSecondsAfterFinished: 3600
              replicatedJobs:
              - name: node
                template:
                  metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
                  spec:
                    template: {spec: {restartPolicy: Never, containers: [{name: node, image: trainer}]}}
    Good:
        apiVersion: trainer.kubeflow.org/v1alpha1
        kind: ClusterTrainingRuntime
        metadata: {name: ddp}
        spec:
          mlPolicy: {numNodes: 1, torch: {}}
          template:
            spec:
              replicatedJobs:
              - name: node
                template:
                  metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
                  spec:
                    template: {spec: {restartPolicy: Never, containers: [{name: node, image: trainer}]}}
    """
    for runtime in runtimes(fleet):
        at: Path = ("spec", "template", "spec", "ttlSecondsAfterFinished")
        places = [at, *((*job.path, "template", "spec", at[-1]) for job in jobs(runtime))]
        for place in places:
            if dig(runtime.manifest, *place) is not None:
                message = "after it the JobSet is deleted, and Trainer makes it again: the run starts over"
                yield Issue(runtime, place, message, "remove ttlSecondsAfterFinished")


@rule("trainer-initializers-in-gang", severity="error", family=FAMILY, targets=("trainer",))
def initializers_in_gang(fleet: Fleet) -> Iterator[Issue]:
    """A gang waits for pods that are made only after others of it have ended.

    Why: With a podGroupPolicy the gang's minMember counts the pods of all jobs. Jobs with dependsOn have none until the
    job before them has ended, which cannot start before the gang is complete.
    Fix: Leave the initializers out of this runtime: an init container, or data prepared on a claim.
    Bad:
        apiVersion: trainer.kubeflow.org/v1alpha1
        kind: ClusterTrainingRuntime
        metadata: {name: ddp}
        spec:
          mlPolicy: {numNodes: 1, torch: {}}
          podGroupPolicy: {volcano: {}}
          template:
            spec:
              replicatedJobs:
              - name: dataset-initializer
                template:
                  metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: dataset-initializer}}
                  spec:
                    template:
                      spec:
                        schedulerName: volcano
                        restartPolicy: Never
                        containers: [{name: dataset-initializer, image: trainer}]
              - name: node
                dependsOn: [{name: dataset-initializer, status: Complete}]
                template:
                  metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
                  spec:
                    template:
                      spec: {schedulerName: volcano, restartPolicy: Never, containers: [{name: node, image: trainer}]}
    Good:
        apiVersion: trainer.kubeflow.org/v1alpha1
        kind: ClusterTrainingRuntime
        metadata: {name: ddp}
        spec:
          mlPolicy: {numNodes: 1, torch: {}}
          podGroupPolicy: {volcano: {}}
          template:
            spec:
              replicatedJobs:
              - name: node
                template:
                  metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
                  spec:
                    template:
                      spec: {schedulerName: volcano, restartPolicy: Never, containers: [{name: node, image: trainer}]}
    """
    for runtime in runtimes(fleet):
        if not mapping(runtime.manifest, "spec", "podGroupPolicy"):
            continue
        for job in jobs(runtime):
            for index, needed in mappings(job.item, "dependsOn"):
                name = text(needed, "name")
                message = f'the gang counts the pods of "{job.name}", which are made only after "{name}"'
                message += " has ended" if needed.get("status") == "Complete" else " is ready"
                at = (*job.path, "dependsOn", index)
                related = (("the gang", runtime, ("spec", "podGroupPolicy")),)
                yield Issue(
                    runtime, at, message, "leave podGroupPolicy out, or prepare the data elsewhere", None, related
                )


@rule("trainer-gang-scheduler", severity="warning", family=FAMILY, targets=("trainer",))
def gang_scheduler(fleet: Fleet) -> Iterator[Issue]:
    """A runtime makes PodGroups, and its pods go to the default scheduler.

    Why: podGroupPolicy only makes a PodGroup. Trainer does not set schedulerName; unless Volcano (or the scheduler with
    Coscheduling) is the cluster's default scheduler, the pods are placed one by one and the group is ignored.
    Fix: Write schedulerName in the pod templates of the runtime; TrainJobs cannot set it.
    Bad:
        apiVersion: trainer.kubeflow.org/v1alpha1
        kind: ClusterTrainingRuntime
        metadata: {name: ddp}
        spec:
          mlPolicy: {numNodes: 1, torch: {}}
          podGroupPolicy: {volcano: {}}
          template:
            spec:
              replicatedJobs:
              - name: node
                template:
                  metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
                  spec:
                    template: {spec: {restartPolicy: Never, containers: [{name: node, image: trainer}]}}
    Good:
        apiVersion: trainer.kubeflow.org/v1alpha1
        kind: ClusterTrainingRuntime
        metadata: {name: ddp}
        spec:
          mlPolicy: {numNodes: 1, torch: {}}
          podGroupPolicy: {volcano: {}}
          template:
            spec:
              replicatedJobs:
              - name: node
                template:
                  metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
                  spec:
                    template:
                      spec: {schedulerName: volcano, restartPolicy: Never, containers: [{name: node, image: trainer}]}
    """
    for runtime in runtimes(fleet):
        policy = mapping(runtime.manifest, "spec", "podGroupPolicy")
        source = next((name for name in ("volcano", "coscheduling") if isinstance(policy.get(name), dict)), "")
        for job in jobs(runtime) if source else ():
            scheduler = text(job.spec, "schedulerName")
            if scheduler in ("", "default-scheduler") or (source == "volcano" and scheduler != "volcano"):
                has = f'is "{scheduler}"' if scheduler else "is not written"
                message = (
                    f'schedulerName of "{job.name}" {has}, and only a scheduler that knows {source} gangs heeds the'
                )
                message += " PodGroup"
                wanted = "volcano" if source == "volcano" else "the scheduler that runs Coscheduling"
                severity: Severity | None = "error" if scheduler == "default-scheduler" else None
                at = (*job.spec_path, "schedulerName")
                related = (("the gang", runtime, ("spec", "podGroupPolicy")),)
                yield Issue(runtime, at, message, f"write schedulerName: {wanted}", severity, related)


@rule("trainer-replicas", severity="error", family=FAMILY, targets=("trainer",))
def replicas(fleet: Fleet) -> Iterator[Issue]:
    """A job of a runtime has several replicas.

    Why: Trainer and Kueue count a job's pods without its replicas: quota and gangs are too small (trainer#2318).
    Fix: Leave replicas out; numNodes, or parallelism and completions, say how many pods there are.
    Bad:
        apiVersion: trainer.kubeflow.org/v1alpha1
        kind: ClusterTrainingRuntime
        metadata: {name: mpi}
        spec:
          mlPolicy: {numNodes: 2, mpi: {mpiImplementation: OpenMPI}}
          template:
            spec:
              replicatedJobs:
              - name: launcher
                template:
                  metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
                  spec:
                    template: {spec: {restartPolicy: Never, containers: [{name: node, image: trainer}]}}
              - name: node
                replicas: 4
                template:
                  spec:
                    template: {spec: {restartPolicy: Never, containers: [{name: node, image: trainer}]}}
    Good:
        apiVersion: trainer.kubeflow.org/v1alpha1
        kind: ClusterTrainingRuntime
        metadata: {name: mpi}
        spec:
          mlPolicy: {numNodes: 4, mpi: {mpiImplementation: OpenMPI}}
          template:
            spec:
              replicatedJobs:
              - name: launcher
                template:
                  metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
                  spec:
                    template: {spec: {restartPolicy: Never, containers: [{name: node, image: trainer}]}}
              - name: node
                template:
                  spec:
                    template: {spec: {restartPolicy: Never, containers: [{name: node, image: trainer}]}}
    """
    for runtime in runtimes(fleet):
        for job in jobs(runtime):
            count = whole(job.item, "replicas")
            if count is not None and count > 1 and not job.step:
                message = f'"{job.name}" has {count} replicas, and Trainer and Kueue count one'
                yield Issue(runtime, (*job.path, "replicas"), message, "leave replicas out and use numNodes")
