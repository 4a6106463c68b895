"""Traps of rendering in fields: file modes in the wrong base, images that got lost, namespaces where none belongs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.api.registry import scope_of
from trainshed.checks.pods import containers, issue, named, pod_sets
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import mapping, mappings, whole
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

FAMILY: Final = "rendering traps"
#: Decimal numbers that are allowed as modes (at most 511) and are written by people who mean the octal one. Beyond
#: 511 the API server refuses them.
_MEANT_OCTAL: Final = frozenset({400, 440, 444, 500})
#: What leaves the image to whatever uses it.
_TEMPLATES: Final = frozenset({"ClusterTrainingRuntime", "JobTemplate", "PodTemplate", "TrainingRuntime"})
#: Built-in kinds without a namespace that have no model here.
_CLUSTER_SCOPED: Final = frozenset({
    ("", "Node"), ("", "PersistentVolume"),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    ("apiregistration.k8s.io", "APIService"),
    ("networking.k8s.io", "IngressClass"),
    ("node.k8s.io", "RuntimeClass"),
    ("rbac.authorization.k8s.io", "ClusterRole"), ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("resource.k8s.io", "DeviceClass"),
    ("storage.k8s.io", "CSIDriver"), ("storage.k8s.io", "StorageClass"),
    ("topology.volcano.sh", "HyperNode"),
})  # fmt: skip


@rule("rendering-mode-decimal", severity="error", family=FAMILY)
def mode_decimal(fleet: Fleet) -> Iterator[Issue]:
    """A file mode is the decimal number that looks like the octal one.

    Why: JSON and YAML 1.2 have no octal 0400, and a zero gets lost on the way. Decimal 400 is octal 0620: its owner may
    write, its group, too, and a program that wants a private key refuses the file.
    Fix: Write the decimal number of the mode (256 for 0400, 288 for 0440, 292 for 0444, 320 for 0500), or the octal one
    with its zero in YAML.
    """
    for _, pod_set in pod_sets(fleet):
        for path, mode in _modes(pod_set):
            if mode not in _MEANT_OCTAL:
                continue
            document, written = pod_set.at(path)
            spelling = document.raw(written)
            if spelling is None or spelling.text.strip("\"'") == str(mode):
                message = f"{path[-1]} {mode} is decimal, and octal 0{mode:o} as a mode"
                yield issue(pod_set, path, message, f"did you mean octal 0{mode}? Write {int(str(mode), 8)}")


def _modes(pod_set: PodSet) -> Iterator[tuple[Path, int]]:
    for index, volume in mappings(pod_set.spec, "volumes"):
        for kind in ("configMap", "downwardAPI", "projected", "secret"):
            source = mapping(volume, kind)
            at: Path = ("spec", "volumes", index, kind)
            if (mode := whole(source, "defaultMode")) is not None:
                yield (*at, "defaultMode"), mode
            for position, item in mappings(source, "items"):
                if (mode := whole(item, "mode")) is not None:
                    yield (*at, "items", position, "mode"), mode


@rule("rendering-image-missing", severity="error", family=FAMILY)
def image_missing(fleet: Fleet) -> Iterator[Issue]:
    """A container has no image, or one with blanks around it.

    Why: The API server takes many kinds with such a template, and then refuses their pods; with a value that was not
    set a template renders to nothing.
    Fix: Write the image.
    """
    for workload, pod_set in pod_sets(fleet):
        if workload.kind == "SparkApplication":  # its operator has an image of its own
            continue
        described = workload.parts_known and workload.kind not in _TEMPLATES
        for path, container in containers(pod_set):
            image = container.get("image")
            document, written = pod_set.at(path)
            if isinstance(image, str) and image != image.strip():
                message = f"the image of {named(container)} has blanks around it"
                yield Issue(document, (*written, "image"), message, f'write "{image.strip()}"')
            elif described and not image and mapping(document.manifest, *written).get("name") == container.get("name"):
                yield Issue(document, (*written, "image"), f"{named(container)} has no image", "write the image")


@rule("rendering-namespace-without-effect", severity="warning", family=FAMILY)
def namespace_without_effect(fleet: Fleet) -> Iterator[Issue]:
    """An object that belongs to no namespace names one.

    Why: A Chart's or a kustomization's namespace also lands on cluster-scoped kinds. The API server drops it; tools
    that compare text see a difference for ever, and readers think that two namespaces could have one each.
    Fix: Leave `metadata.namespace` out.
    """
    for document in fleet.documents:
        if document.namespace is None or not document.judged or (document.group, document.kind) not in _CLUSTER_SCOPED:
            continue
        if scope_of(document.api_version, document.kind) is None:
            message = f"{document.kind} belongs to no namespace, and this one names {document.namespace}"
            yield Issue(document, ("metadata", "namespace"), message, "leave the namespace out")


@rule("rendering-variable-without-source", severity="warning", family=FAMILY)
def variable_without_source(fleet: Fleet) -> Iterator[Issue]:
    """An environment variable's `valueFrom` is null.

    Why: The API server drops a null, and the variable is empty: a token or address that a template did not find is
    missed only when the program needs it.
    Fix: Write the source (`secretKeyRef`, `configMapKeyRef`, `fieldRef`), or leave the variable out.
    """
    for _, pod_set in pod_sets(fleet):
        for path, container in containers(pod_set):
            for index, entry in mappings(container, "env"):
                if "valueFrom" in entry and entry["valueFrom"] is None and entry.get("value") is None:
                    message = f'variable "{entry.get("name")}" of {named(container)} has no source: it is empty'
                    where: Path = (*path, "env", index, "valueFrom")
                    yield issue(pod_set, where, message, "write the source, or leave the variable out")
