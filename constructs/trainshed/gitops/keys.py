"""Keys of labels and annotations that people may write, and those that are somebody else's."""

from __future__ import annotations

from typing import Annotated, Final

from trainshed.api.types import LabelKey, Str, shaped
from trainshed.naming import ALLOW_ANNOTATION, label_key_error

#: Domains of keys that are rendered from something else, and whose they are.
_OWNERS: Final = {
    "trainshed.dev": "Trainshed's",
    "kueue.x-k8s.io": "Kueue's",
    "argocd.argoproj.io": "Argo CD's",
    "jobset.sigs.k8s.io": "JobSet's",
    "trainer.kubeflow.org": "Trainer's",
    "batch.kubernetes.io": "the Job controller's",
    "volcano.sh": "Volcano's",
    "pod-security.kubernetes.io": "the API server's",
}
#: Labels without a domain that the Job controller writes on its pods.
_JOB_LABELS: Final = ("controller-uid", "job-name")
_INSTEAD: Final = {
    ALLOW_ANNOTATION: 'call .allow("<code>") on the component',
    "kueue.x-k8s.io/queue-name": "pass the queue",
    "kueue.x-k8s.io/priority-class": "give the training a priority",
    "kueue.x-k8s.io/podset-required-topology": "give the training a topology",
    "kueue.x-k8s.io/podset-preferred-topology": "give the training a topology",
}
#: Kueue's keys are the platform's to choose on namespaces, whose labels its configuration selects by.
_NAMESPACES: Final = ("kueue.x-k8s.io",)


def reserved_error(key: str) -> str:
    """What is wrong with a key that is rendered from something else, or is a controller's to write."""
    domain, slash, _ = key.rpartition("/")
    if key in _JOB_LABELS:
        domain, slash = "batch.kubernetes.io", "/"
    for owned, whose in _OWNERS.items():
        if slash and (domain == owned or domain.endswith(f".{owned}")):
            return f'"{key}" is {whose}; {_INSTEAD.get(key, "leave it out")}'
    return ""


def _namespace_error(key: str) -> str:
    domain = key.rpartition("/")[0]
    if domain == "pod-security.kubernetes.io":
        return f'"{key}" is set already; write the level as pod_security'
    if key == "kubernetes.io/metadata.name":
        return f'"{key}" is the API server\'s; leave it out'
    return "" if domain in _NAMESPACES else reserved_error(key)


def _annotation_error(key: str) -> str:
    return label_key_error(key.lower())


#: Keys of labels and annotations of runs and their pods, and of labels of namespaces.
OwnLabel = Annotated[LabelKey, shaped(reserved_error)]
OwnAnnotation = Annotated[Str, shaped(_annotation_error), shaped(reserved_error)]
NamespaceLabel = Annotated[LabelKey, shaped(_namespace_error)]
