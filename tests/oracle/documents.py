"""YAML as Kubernetes reads it (sigs.k8s.io/yaml): YAML 1.1 booleans and integers, but no dates and no base 60."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml


class KubernetesLoader(yaml.CSafeLoader):
    """CSafeLoader without timestamps and sexagesimal numbers, which Go's reader leaves as strings."""


KubernetesLoader.yaml_implicit_resolvers = {
    first: [
        (tag, re.compile(r"(?!.*:)" + pattern.pattern, re.X) if tag.endswith((":int", ":float")) else pattern)
        for tag, pattern in resolvers
        if not tag.endswith(":timestamp")
    ]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def documents(text: str) -> Iterator[dict[str, Any]]:
    """The mappings of a YAML stream; empty documents are passed over."""
    for document in yaml.load_all(text, KubernetesLoader):
        if isinstance(document, dict):
            yield document
