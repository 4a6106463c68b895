"""Which findings need not be told where another code says more about the same cause."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from trainshed.fleet.finding import RANK, Finding

#: The codes that a code makes needless on the same field of the same object, as a consequence or a vaguer word of it.
OVERRULES: Final[dict[str, frozenset[str]]] = {
    "change-removes-referenced": frozenset(
        {"argocd-project-missing", "kueue-admission-check-missing", "kueue-check-parameters-missing"}
        | {
            "kueue-flavor-missing",
            "kueue-local-queue-missing",
            "kueue-priority-class-missing",
            "kueue-topology-missing",
        }
        | {"reference-priority-class", "reference-role", "reference-service-account", "reference-volume-source"}
        | {"volcano-parent-missing", "volcano-queue-missing", "trainer-runtime-missing"}
    ),
    "gang-api-version": frozenset({"schema-version"}),
    "kueue-quota-unit": frozenset({"argocd-quantity-not-canonical"}),
    "lws-restart-policy": frozenset({"schema-rule"}),
    "lws-sizes": frozenset({"schema-bounds", "schema-rule"}),
    "rendezvous-rank-without-index": frozenset({"rendezvous-variable-unknown"}),
    "security-pod-security": frozenset(
        {"security-capabilities", "security-host-namespaces", "security-host-path", "security-host-port"}
        | {"security-privileged"}
    ),
    "security-unknown-level": frozenset({"schema-rule"}),
}


def told_once(findings: Iterable[Finding]) -> list[Finding]:
    """The findings without those that another one, at least as severe, makes needless.

    Hand it what is to be shown: where the one that says more is ignored or allowed, the other stays.
    """
    findings = list(findings)
    overruled: dict[tuple[object, ...], dict[str, int]] = defaultdict(dict)
    for finding in findings:
        for code in OVERRULES.get(finding.code, ()):
            ranks = overruled[_field(finding)]
            ranks[code] = min(RANK[finding.severity], ranks.get(code, len(RANK)))
    if not overruled:
        return findings
    return [one for one in findings if RANK[one.severity] < overruled.get(_field(one), {}).get(one.code, len(RANK))]


def _field(finding: Finding) -> tuple[object, ...]:
    return finding.object, finding.path, finding.place and finding.place.file, finding.place and finding.place.line
