"""Why a mistake in dist/ may rightly bring no error and no warning, or is a gap of the check."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

Sort = Literal["same meaning", "a choice", "not in the input", "a note says it", "gap"]


class Reason(NamedTuple):
    """For mistakes of `kind` whose file or text has one of `where` in it; an empty `where` is all of them."""

    kind: str
    where: tuple[str, ...]
    sort: Sort
    why: str


REASONS: Final[tuple[Reason, ...]] = (
    Reason("a string is a number", ("WorkloadPriorityClass",), "a choice", "another priority is as good"),
    Reason("a count is one too many", ("numNodes",), "a choice", "the run still fits, by borrowing"),
    Reason("a quota is a tenth", (), "a choice", "the run is still admitted, by borrowing from the cohort"),
    Reason("a queue label is gone", (), "a note says it", "kueue-run-without-queue: it may be meant"),
    Reason("an object is gone", ("Application",), "a choice", "nothing refers to an Application or to a set of them"),
    Reason("an object is gone", ("LimitRange", "RoleBinding"), "a choice", "nothing refers to it"),
    Reason("an object is gone", ("the TrainJob", "the JobSet", "the Job is"), "a choice", "a run is retired"),
    Reason("an object is gone", ("LocalQueue",), "a choice", "no run of the input uses it"),
    Reason("an object is gone", ("Cohort",), "same meaning", "a cohort without limits needs no object"),
    Reason("an object is gone", ("ResourceFlavor",), "a note says it", "kueue-flavor-missing: it may stand elsewhere"),
    Reason("an object is gone", ("Namespace",), "not in the input", "namespaces are often made elsewhere"),
    Reason("an object is gone", ("Queue.test",), "a note says it", "volcano-queue-missing: it may stand elsewhere"),
    Reason("an object is gone", ("ConfigMap",), "not in the input", "Volcano has a configuration of its own"),
    Reason("a name is misspelt", ("Application",), "a choice", "nothing refers to that name"),
    Reason("a name is misspelt", ("LimitRange", "RoleBinding", "LocalQueue"), "a choice", "nothing refers to it"),
    Reason("a name is misspelt", ("ConfigMap",), "not in the input", "only Volcano's chart knows the name"),
    Reason("a namespace is misspelt", ("volcano-system",), "not in the input", "no Namespace of the input is like it"),
    Reason("a name is upper case", ("RoleBinding",), "a choice", "names of RBAC objects may have capitals"),
    Reason("readiness is waited for", (), "same meaning", "no pod has a readiness probe: ready is running"),
    Reason("a topology level is misspelt", (), "not in the input", "which labels nodes have, only nodes show"),
    Reason("a project's namespace is misspelt", ("namespace-3",), "a choice", "no run is in that namespace"),
    Reason("a project's namespace is misspelt", (), "not in the input", "no namespace of the input is like it"),
    Reason("a namespace is missing", ("lab/",), "not in the input", "one or no object beside it that has one"),
    Reason("a run is a hook", ("TrainingRuntime",), "same meaning", "a runtime is there before its run either way"),
    Reason("a run is in an early wave", (), "same meaning", "no health holds the sync, and its queue is elsewhere"),
    Reason("no completion index", ("JobSet",), "same meaning", "JobSet's default is Indexed"),
)


def reason_for(kind: str, file: str, told: str) -> Reason | None:
    """The first reason that fits a mistake."""
    for reason in REASONS:
        fits = not reason.where or any(word in file or word in told for word in reason.where)
        if reason.kind == kind and fits:
            return reason
    return None
