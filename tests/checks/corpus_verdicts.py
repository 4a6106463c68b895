"""What check says of upstream's own sample manifests, where it says more than nothing: the codes and why.

`upstream` is the verdict of the tables beside the samples (SOURCE.md, INDEX.md), or of the projects' own sources.
"""

from __future__ import annotations

from typing import NamedTuple


class Verdict(NamedTuple):
    """`errors` and `warnings` are the codes that check gives; `reason` says why that is right."""

    upstream: str
    errors: frozenset[str]
    warnings: frozenset[str]
    reason: str


def _error(upstream: str, reason: str, *codes: str) -> Verdict:
    return Verdict(upstream, frozenset(codes), frozenset(), reason)


def _warning(upstream: str, reason: str, *codes: str) -> Verdict:
    return Verdict(upstream, frozenset(), frozenset(codes), reason)


_GENERATED = _error(
    "valid for kubectl create; kept as a negative case for GitOps",
    "apply finds objects by name: Argo CD takes generateName in hooks only (argo-cd#1639)",
    "argocd-generate-name",
)

_NO_OBJECT = _error(
    "a configuration file of the scheduler, to be put into a ConfigMap",
    "by itself it is no Kubernetes object, and a check that judged nothing does not end well",
    "nothing-checked",
)

VERDICTS: dict[str, Verdict] = {
    "kueue/admin/minimal-cq.yaml": _error(
        "passes the CRD's structural schema (no webhook run)",
        "an excerpt: onFlavors names a flavor, and the ClusterQueue has none; Kueue's webhook refuses that (W14)",
        "schema-rule",
    ),
    "kueue/admin/shared-quota-sample-job.yaml": _GENERATED,
    "kueue/admission-fs/lq-a-simple-job.yaml": _GENERATED,
    "kueue/dra/sample-dra-rct-job.yaml": _GENERATED,
    "kueue/jobs/sample-jobset.yaml": _GENERATED,
    "kueue/tas/sample-job-preferred.yaml": _GENERATED,
    "kueue/tas/sample-job-required.yaml": _GENERATED,
    "kueue/serving-workloads/sample-leaderworkerset-tas.yaml": _error(
        "passes the CRD's structural schema (no pod validation run)",
        "requests nvidia.com/gpu without a limit: the API server refuses such pods",
        "schema-rule",
    ),
    "kueue/trainjob-docs/trainjob-doc-block-2.yaml": _error(
        "an excerpt of a documentation page, for an earlier Trainer",
        "resourcesPerNode requests nvidia.com/gpu without a limit: the API server refuses such pods",
        "resources-extended-limit",
    ),
    "kueue/trainjob-docs/trainjob-doc-block-3.yaml": _error(
        "an excerpt of a documentation page, for an earlier Trainer",
        "mlPolicy.torch.numProcPerNode is gone since Trainer 2.2; the API server drops or refuses it",
        "schema-unknown-field",
    ),
    "schedulers/volcano/docs-pytorch-plugin-00.yaml": _warning(
        "accept; warn: minAvailable 1 of 3 pods, so no gang; no policy for a failed worker",
        "the same two warnings",
        "volcano-gang-incomplete",
        "volcano-no-failure-policy",
    ),
    "schedulers/volcano/volcano-scheduler.conf": _NO_OBJECT,
    "schedulers/yunikorn/core-queues.yaml": _NO_OBJECT,
    "schedulers/volcano/invalid-duplicated-policy-event.yaml": _error(
        "reject (event listed twice among the job's policies)", "the same", "schema-rule"
    ),
    "schedulers/volcano/invalid-duplicated-task-name.yaml": _error(
        "reject (task name not unique)", "the same", "schema-rule"
    ),
    "workloads/jobset/config-samples_batch_v1alpha2_jobset.yaml": _error(
        "INVALID: spec is null (upstream scaffold placeholder)", "the same", "schema-type"
    ),
    "workloads/jobset/pytorch_resnet-cifar10_resnet.yaml": _warning(
        "schema OK",
        "torchrun runs without --nnodes in four pods that name one address: each trains by itself, from an image "
        "called latest",
        "torchrun-image-moves",
        "torchrun-nodes-missing",
    ),
    "workloads/jobset/simple_ttl-after-finished.yaml": _error(
        "schema OK",
        "right with kubectl, wrong in Git: Argo CD runs it again when the TTL has deleted it (argo-cd#8586)",
        "argocd-ttl-recreates",
    ),
    "workloads/trainer/04-volcano-integration.yaml": _error(
        "schema OK (runtime + TrainJob); needs Volcano",
        "Trainer does not write schedulerName, and the sample neither: the PodGroup is there, the default scheduler "
        "places the pods one by one",
        "trainer-gang-scheduler-name",
    ),
    "workloads/trainer/05-multi-step.yaml": _error(
        "schema OK; the TrainJob is refused by Trainer's webhook: no volumeMount called initializer",
        "the same; and TrainJob and runtime are in one wave, where Argo CD goes by name: the TrainJob is first",
        "argocd-runtime-after-trainjob",
        "trainer-initializer",
    ),
}
