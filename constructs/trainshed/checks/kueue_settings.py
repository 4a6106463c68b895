"""The settings of Kueue's manager, one by one: which there are, and which values it takes.

Sources: Kueue v0.19.2, `apis/config/v1beta2/configuration_types.go` and `pkg/config/validation.go`. The file is decoded
strictly, so a field that does not exist keeps the manager from starting as a wrong value does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from trainshed.faults import nearest
from trainshed.fleet.access import Node, dig, items, mapping, mappings, text

#: A name in a tree of fields with None below it takes anything: its own rules are elsewhere, or it is a map.
_Fields = dict[str, Any]
_FIELDS: Final[_Fields] = {
    "apiVersion": None,
    "kind": None,
    "metadata": None,
    "namespace": None,
    "webhook": dict.fromkeys(("port", "host", "certDir")),
    "metrics": dict.fromkeys(("bindAddress", "enableClusterQueueResources", "localQueueMetrics", "customLabels")),
    "health": dict.fromkeys(("healthProbeBindAddress", "readinessEndpointName", "livenessEndpointName")),
    "pprofBindAddress": None,
    "leaderElection": dict.fromkeys(
        (
            "leaderElect",
            "leaseDuration",
            "renewDeadline",
            "retryPeriod",
            "resourceLock",
            "resourceName",
            "resourceNamespace",
        )
    ),
    "controller": dict.fromkeys(("groupKindConcurrency", "cacheSyncTimeout")),
    "clientConnection": dict.fromkeys(("qps", "burst")),
    "manageJobsWithoutQueueName": None,
    "managedJobsNamespaceSelector": dict.fromkeys(("matchLabels", "matchExpressions")),
    "internalCertManagement": dict.fromkeys(("enable", "webhookServiceName", "webhookSecretName")),
    "waitForPodsReady": {
        "timeout": None,
        "blockAdmission": None,
        "recoveryTimeout": None,
        "requeuingStrategy": dict.fromkeys(
            ("timestamp", "backoffLimitCount", "backoffBaseSeconds", "backoffMaxSeconds")
        ),
    },
    "integrations": dict.fromkeys(("frameworks", "externalFrameworks", "labelKeysToCopy")),
    "multiKueue": {
        **dict.fromkeys(("gcInterval", "origin", "workerLostTimeout", "dispatcherName", "externalFrameworks")),
        "incrementalDispatcherConfig": {"stepSize": None},
        "clusterProfile": dict.fromkeys(("accessProviders", "credentialsProviders")),
    },
    "fairSharing": {"preemptionStrategies": None},
    "admissionFairSharing": dict.fromkeys(("usageHalfLifeTime", "usageSamplingInterval", "resourceWeights")),
    "resources": dict.fromkeys(
        ("excludeResourcePrefixes", "quotaCheckStrategy", "transformations", "deviceClassMappings")
    ),
    "featureGates": None,
    "objectRetentionPolicies": {"workloads": dict.fromkeys(("afterFinished", "afterDeactivatedByKueue"))},
    "visibilityServer": dict.fromkeys(("bindAddress", "bindPort")),
    "tls": dict.fromkeys(("minVersion", "cipherSuites", "curvePreferences")),
}
#: Fields of v1beta1 that have their own finding, or that are gone.
_GONE: Final = {
    ("integrations", "podOptions"): "select namespaces with managedJobsNamespaceSelector",
    ("queueVisibility",): "leave it out: the visibility API shows pending workloads",
}
_ENABLE: Final = (("waitForPodsReady", "enable"), ("fairSharing", "enable"))
_CHOICES: Final[dict[tuple[str, ...], tuple[str, ...]]] = {
    ("waitForPodsReady", "requeuingStrategy", "timestamp"): ("Eviction", "Creation"),
    ("resources", "quotaCheckStrategy"): ("BlockUndeclared", "IgnoreUndeclared"),
}
_NOT_NEGATIVE: Final = (
    ("waitForPodsReady", "requeuingStrategy", "backoffLimitCount"),
    ("waitForPodsReady", "requeuingStrategy", "backoffBaseSeconds"),
    ("waitForPodsReady", "requeuingStrategy", "backoffMaxSeconds"),
)
#: Durations, and whether 0 is one of them.
_DURATIONS: Final = {
    ("waitForPodsReady", "timeout"): False,
    ("waitForPodsReady", "recoveryTimeout"): True,
    ("multiKueue", "gcInterval"): True,
    ("multiKueue", "workerLostTimeout"): True,
    ("admissionFairSharing", "usageHalfLifeTime"): True,
    ("admissionFairSharing", "usageSamplingInterval"): False,
    ("objectRetentionPolicies", "workloads", "afterFinished"): True,
    ("objectRetentionPolicies", "workloads", "afterDeactivatedByKueue"): True,
}
_DURATION: Final = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")
_STRATEGIES: Final = ("LessThanOrEqualToFinalShare", "LessThanInitialShare")
_SUB_GATES: Final = "TAS"
_TAS: Final = "TopologyAwareScheduling"
_INCREMENTAL: Final = "kueue.x-k8s.io/multikueue-dispatcher-incremental"

#: What a fault says, and how it is mended.
Fault = tuple[str, str]


def setting_faults(data: Node) -> Iterator[Fault]:
    """What keeps the manager from starting with a Configuration of v1beta2."""
    yield from _unknown(data, _FIELDS, ())
    yield from _values(data)
    yield from _durations(data)
    yield from _sharing(data)
    yield from _transformations(data)
    yield from _others(data)


def _unknown(node: Node, known: _Fields, path: tuple[str, ...]) -> Iterator[Fault]:
    for key, value in node.items():
        here = (*path, str(key))
        if here in _ENABLE:
            continue
        if key not in known:
            fix = _GONE.get(here) or nearest(str(key), known) or "leave it out"
            yield f"{'.'.join(here)} is no field of the Configuration: the manager does not start", fix
        elif isinstance(known[key], dict) and isinstance(value, dict):
            yield from _unknown(value, known[key], here)


def _values(data: Node) -> Iterator[Fault]:
    for path, choices in _CHOICES.items():
        value = dig(data, *path)
        if value is not None and value not in choices:
            yield f'{".".join(path)} is "{value}", which is none of {", ".join(choices)}', f"write {choices[0]}"
    for path in _NOT_NEGATIVE:
        value = dig(data, *path)
        if isinstance(value, int) and value < 0:
            yield f"{'.'.join(path)} is {value}, below 0", "write a number from 0"


def _durations(data: Node) -> Iterator[Fault]:
    for path, zero in _DURATIONS.items():
        value = dig(data, *path)
        if value is None:
            continue
        name, written = ".".join(path), str(value)
        example = 'write one with a unit, such as "30m"'
        if not isinstance(value, str) or not _is_duration(written):
            yield f"{name} is {written}, which is no duration", example
        elif written.startswith("-"):
            yield f"{name} is {written}, below 0", example
        elif not zero and not re.search("[1-9]", written):
            yield f"{name} is {written}, and must be above 0", example


def _is_duration(written: str) -> bool:
    rest = written.lstrip("+-")
    return rest == "0" or (bool(rest) and not _DURATION.sub("", rest))


def _sharing(data: Node) -> Iterator[Fault]:
    written = dig(data, "fairSharing", "preemptionStrategies")
    if not isinstance(written, list) or not written:
        return
    if written not in ([_STRATEGIES[0]], [_STRATEGIES[1]], list(_STRATEGIES)):
        listed = ", ".join(map(str, written))
        message = f"fairSharing.preemptionStrategies is [{listed}], which the manager does not take"
        yield message, f"write [{', '.join(_STRATEGIES)}], or one of the two alone"


def _transformations(data: Node) -> Iterator[Fault]:
    seen: set[str] = set()
    for path, entry in mappings(data, "resources", "transformations"):
        where, name = f"resources.transformations[{path}]", text(entry, "input")
        if name and name in seen:
            yield f"{where}: input {name} is transformed twice", "write all its outputs in one entry"
        seen.add(name)
        strategy = entry.get("strategy")
        if strategy is not None and strategy not in ("Retain", "Replace"):
            yield f'{where}: strategy is "{strategy}", neither Retain nor Replace', "write Retain or Replace"


def _others(data: Node) -> Iterator[Fault]:
    gates = mapping(data, "featureGates")
    if gates.get(_TAS) is False:
        on = sorted(str(name) for name, value in gates.items() if str(name).startswith(_SUB_GATES) and value is True)
        if on:
            yield f"feature gate {on[0]} needs {_TAS}, which is off", f"switch {_TAS} on, or {on[0]} off"
    if dig(data, "multiKueue", "incrementalDispatcherConfig") is not None:
        dispatcher = text(data, "multiKueue", "dispatcherName")
        if dispatcher != _INCREMENTAL:
            message = f'multiKueue.incrementalDispatcherConfig is for another dispatcher than "{dispatcher}"'
            yield message, f"write dispatcherName: {_INCREMENTAL}, or leave the block out"
    if text(data, "tls", "minVersion") == "VersionTLS13" and items(data, "tls", "cipherSuites"):
        yield "tls.cipherSuites cannot go with minVersion VersionTLS13", "leave cipherSuites out"
    for name, weight in mapping(data, "admissionFairSharing", "resourceWeights").items():
        if isinstance(weight, int | float) and weight < 0:
            yield f"admissionFairSharing.resourceWeights[{name}] is {weight}, below 0", "write 0 or more"
