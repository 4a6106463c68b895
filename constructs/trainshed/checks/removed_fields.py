"""Fields and values that a release renamed or removed: since when, and what to write instead.

Sources: Kueue v0.19.2 `apis/kueue/v1beta1/*_conversion.go`; Kubeflow Trainer v2.3.0 release notes of 2.1 to 2.3.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from trainshed.api.mistakes import Mistake


class Removed(NamedTuple):
    """`message` continues the field's name: "was renamed in …"; `fix` says what to write."""

    message: str
    fix: str


_PATCHES: Final = "runtimePatches[].trainingRuntimeSpec.template.spec.replicatedJobs[].template.spec.template"
_KUEUE: Final = "Kueue's v1beta2 (served since 0.15)"

#: By the model that the field was part of and the field's name.
FIELDS: Final[dict[tuple[str, str], Removed]] = {
    ("ClusterQueueSpec", "cohort"): Removed(f"was renamed in {_KUEUE}", "write cohortName"),
    ("ClusterQueueSpec", "admissionChecks"): Removed(
        f"was removed in {_KUEUE}", "list the names in admissionChecksStrategy.admissionChecks: [{name: …}]"
    ),
    ("CohortSpec", "parent"): Removed("was renamed in Kueue's v1beta1", "write parentName"),
    ("CohortSpec", "cohortName"): Removed("is a field of ClusterQueue", "name the parent in parentName"),
    ("CohortSpec", "cohort"): Removed("is no field of Cohort", "name the parent in parentName"),
    ("ClusterQueueSpec", "parentName"): Removed("is a field of Cohort", "name the cohort in cohortName"),
    ("AdmissionCheckSpec", "retryDelayMinutes"): Removed(
        f"was removed in {_KUEUE}, and nothing read it before",
        "remove it; ProvisioningRequestConfig has retryStrategy",
    ),
    ("MultiKueueClusterSpec", "kubeConfig"): Removed(f"was moved in {_KUEUE}", "write it in clusterSource.kubeConfig"),
    ("MultiKueueClusterSpec", "clusterProfileRef"): Removed(
        f"was moved in {_KUEUE}", "write it in clusterSource.clusterProfileRef"
    ),
    ("TrainJobSpec", "podTemplateOverrides"): Removed(
        "was removed in Trainer 2.2", f"write runtimePatches: the pod's fields go into {_PATCHES}.spec"
    ),
    ("TrainJobSpec", "podSpecOverrides"): Removed(
        "was removed in Trainer 2.2", f"write runtimePatches: the pod's fields go into {_PATCHES}.spec"
    ),
    ("TrainJobSpec", "labels"): Removed(
        "was removed in Trainer 2.2", "write runtimePatches[].trainingRuntimeSpec.template.metadata.labels"
    ),
    ("TrainJobSpec", "annotations"): Removed(
        "was removed in Trainer 2.2", "write runtimePatches[].trainingRuntimeSpec.template.metadata.annotations"
    ),
    ("TorchPolicy", "numProcPerNode"): Removed(
        "was removed in Trainer 2.2: torch has no number of processes in a runtime",
        "write spec.trainer.numProcPerNode in the TrainJob, or leave it out: the GPUs requested decide",
    ),
    ("TorchPolicy", "elasticPolicy"): Removed(
        "was removed in Trainer 2.2: TrainJobs are not elastic",
        "remove it; spec.trainer.numNodes is the number of pods",
    ),
    ("TorchPolicy", "numNodes"): Removed("is a field of mlPolicy, not of mlPolicy.torch", "write it in mlPolicy"),
    ("MLPolicy", "numProcPerNode"): Removed(
        "is no field of mlPolicy", "write spec.trainer.numProcPerNode in the TrainJob (mpi and flux have their own)"
    ),
}

#: By the field's name and the value it had.
VALUES: Final[dict[tuple[str, str], Removed]] = {
    ("whenCanBorrow", "Borrow"): Removed(f'is "Borrow", which {_KUEUE} renamed', "write MayStopSearch"),
    ("whenCanPreempt", "Preempt"): Removed(f'is "Preempt", which {_KUEUE} renamed', "write MayStopSearch"),
}


def removed(mistake: Mistake) -> Removed | None:
    """What to say instead of the schema's words; None for a mistake that is none of these."""
    field = mistake.path[-1] if mistake.path else ""
    if mistake.kind == "extra_forbidden" and mistake.owner is not None:
        return FIELDS.get((mistake.owner.__name__, str(field)))
    if mistake.kind == "literal_error" and isinstance(mistake.value, str):
        return VALUES.get((str(field), mistake.value))
    if field == "numProcPerNode" and _is_word(mistake.value):
        return Removed(
            f'is "{mistake.value}"; since Trainer 2.2 it is a whole number',
            'write the number of processes, or leave it out: that is what "auto" meant',
        )
    return None


def _is_word(value: Any) -> bool:
    return isinstance(value, str) and value in ("auto", "gpu", "cpu")
