"""The names that a pod template gives other objects of its namespace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from trainshed.checks.pods import containers
from trainshed.fleet.access import Node, dig, mapping, mappings, text
from trainshed.fleet.once import once
from trainshed.fleet.paths import Path
from trainshed.fleet.workload import PodSet


class Reference(NamedTuple):
    """One name in a pod template: `path` in the template, what it names, and the `key` wanted of it, if any."""

    path: Path
    kind: str
    name: str
    key: str = ""
    key_path: Path = ()


@once
def references(pod_set: PodSet) -> list[Reference]:
    """ConfigMaps, Secrets and claims that the pod cannot start without; what is marked optional is left out."""
    return [
        *_volumes(pod_set),
        *(one for path, container in containers(pod_set) for one in _environment(path, container)),
    ]


def _volumes(pod_set: PodSet) -> Iterator[Reference]:
    for index, secret in mappings(pod_set.spec, "imagePullSecrets"):
        if name := text(secret, "name"):
            yield Reference(("spec", "imagePullSecrets", index, "name"), "Secret", name)
    for index, volume in mappings(pod_set.spec, "volumes"):
        at: Path = ("spec", "volumes", index)
        if name := text(volume, "persistentVolumeClaim", "claimName"):
            yield Reference((*at, "persistentVolumeClaim", "claimName"), "PersistentVolumeClaim", name)
        yield from _volume((*at, "configMap"), "ConfigMap", dig(volume, "configMap"), "name")
        yield from _volume((*at, "secret"), "Secret", dig(volume, "secret"), "secretName")
        for position, source in mappings(volume, "projected", "sources"):
            within: Path = (*at, "projected", "sources", position)
            yield from _volume((*within, "configMap"), "ConfigMap", dig(source, "configMap"), "name")
            yield from _volume((*within, "secret"), "Secret", dig(source, "secret"), "name")


def _volume(path: Path, kind: str, source: object, field: str) -> Iterator[Reference]:
    name = text(source, field)
    if not name or dig(source, "optional") is True:
        return
    yield Reference((*path, field), kind, name)
    for index, item in mappings(source, "items"):
        if key := text(item, "key"):
            yield Reference((*path, field), kind, name, key, (*path, "items", index, "key"))


def _environment(path: Path, container: Node) -> Iterator[Reference]:
    for index, variable in mappings(container, "env"):
        given = mapping(variable, "valueFrom")
        for field, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")) if given else ():
            source = mapping(given, field)
            name = text(source, "name")
            if name and source.get("optional") is not True:
                at = (*path, "env", index, "valueFrom", field)
                yield Reference((*at, "name"), kind, name, text(source, "key"), (*at, "key"))
    for index, entry in mappings(container, "envFrom"):
        for field, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
            source = mapping(entry, field)
            if (name := text(source, "name")) and source.get("optional") is not True:
                yield Reference((*path, "envFrom", index, field, "name"), kind, name)
