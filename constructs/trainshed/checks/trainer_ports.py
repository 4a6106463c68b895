"""What Trainer overwrites in a runtime, and runtimes that go away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.rule import Issue, rule
from trainshed.checks.trainer_common import jobs, policy_of, runtimes, users
from trainshed.fleet.access import mappings, strings, text, whole

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "trainer"
_PORT: Final = 29500


@rule("trainer-port", severity="warning", family=FAMILY, targets=("trainer",))
def port(fleet: Fleet) -> Iterator[Issue]:
    """Trainer overwrites a port of the training container.

    Why: The torch policy adds the port 29500 without a name and merges it into the list by number or by name: a port of
    your own without a name becomes 29500, and a 29500 with a name loses it. Probes and Services that use it break.
    Fix: Leave 29500 out, and give every other port a name.
    """
    for runtime in runtimes(fleet):
        for job in jobs(runtime) if policy_of(runtime) == "torch" else ():
            if job.step != "trainer":
                continue
            for index, container in mappings(job.spec, "containers"):
                if text(container, "name") != "node":
                    continue
                for number, item in mappings(container, "ports"):
                    own, name = whole(item, "containerPort"), text(item, "name")
                    at = (*job.spec_path, "containers", index, "ports", number)
                    if own == _PORT and name:
                        message = f'Trainer adds port 29500 by itself, and this one loses its name "{name}"'
                        yield Issue(runtime, at, message, "leave port 29500 out")
                    elif own != _PORT and not name:
                        message = f"Trainer's port 29500 takes the place of port {own}, as neither has a name"
                        yield Issue(runtime, at, message, "give the port a name")


@rule("trainer-deprecated-runtime", severity="info", family=FAMILY, targets=("trainer",))
def deprecated_runtime(fleet: Fleet) -> Iterator[Issue]:
    """A TrainJob uses a runtime that its owners call deprecated.

    Why: The label `trainer.kubeflow.org/support: deprecated` announces that the runtime goes away; Trainer warns too.
    Fix: Use the runtime that replaces it.
    """
    using = users(fleet)
    for runtime in runtimes(fleet):
        if strings(runtime.manifest, "metadata", "labels").get("trainer.kubeflow.org/support") == "deprecated":
            for job in using.get(id(runtime), []):
                message = f'{runtime.kind} "{runtime.name}" is marked as deprecated'
                related = (("the label", runtime, ("metadata", "labels")),)
                yield Issue(job, ("spec", "runtimeRef", "name"), message, "use another runtime", None, related)
