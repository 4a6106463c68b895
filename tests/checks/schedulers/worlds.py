"""Small worlds with other gang schedulers than Kueue, from YAML text."""

from __future__ import annotations

import io
import textwrap
from typing import Final

from trainshed.checks import all_rules
from trainshed.checks.rule import RULES
from trainshed.fleet.finding import Finding
from trainshed.fleet.fleet import Fleet
from trainshed.fleet.reading import read

_MODULES: Final = ("volcano_", "kai_", "yunikorn_", "coscheduling_", "gang_")
POD: Final = "{restartPolicy: Never, containers: [{name: a, image: t}]}"
GPUS: Final = "{restartPolicy: Never, containers: [{name: a, image: t, resources: {limits: {nvidia.com/gpu: 8}}}]}"


def fleet(*texts: str) -> Fleet:
    """The fleet of these YAML texts."""
    text = "\n---\n".join(textwrap.dedent(text) for text in texts)
    reading = read(["-"], io.BytesIO(text.encode()))
    assert not [finding for finding in reading.findings if finding.severity == "error"], reading.findings
    return Fleet(reading.documents)


def findings(*texts: str, infos: bool = False) -> list[Finding]:
    """What the rules on gang schedulers find."""
    all_rules.load()
    world = fleet(*texts)
    rules = [rule for rule in RULES.values() if rule.function.__module__.rpartition(".")[2].startswith(_MODULES)]
    assert len(rules) > 50
    found = [issue.finding(rule) for rule in rules for issue in rule.function(world)]
    return sorted(finding for finding in found if infos or finding.severity != "info")


def codes(*texts: str, infos: bool = False) -> list[str]:
    """Their codes."""
    return sorted(finding.code for finding in findings(*texts, infos=infos))


def volcano_queue(name: str, **spec: object) -> str:
    """A Volcano Queue; values as YAML."""
    written = "".join(f", {field}: {value}" for field, value in spec.items())
    return (
        "apiVersion: scheduling.volcano.sh/v1beta1\nkind: Queue\n"
        f"metadata: {{name: {name}}}\nspec: {{weight: 1{written}}}\n"
    )


def kai_queue(name: str, parent: str = "", gpu: str = "{quota: -1, limit: -1, overQuotaWeight: 1}", **more: str) -> str:
    """A KAI Queue with unlimited cpu and memory unless `more` says otherwise."""
    unlimited = "{quota: -1, limit: -1, overQuotaWeight: 1}"
    resources = {"cpu": unlimited, "memory": unlimited, "gpu": gpu} | more
    listed = ", ".join(f"{field}: {value}" for field, value in resources.items() if value)
    above = f"parentQueue: {parent}, " if parent else ""
    return (
        "apiVersion: scheduling.run.ai/v2\nkind: Queue\n"
        f"metadata: {{name: {name}}}\nspec: {{{above}resources: {{{listed}}}}}\n"
    )


def vcjob(spec: str = "", tasks: str = "", name: str = "sft") -> str:
    """A Volcano Job with one task of two pods; `spec` adds or replaces fields."""
    tasks = tasks or f"- {{name: node, replicas: 2, template: {{spec: {POD}}}}}"
    body = textwrap.indent(textwrap.dedent(spec).strip() + "\ntasks:\n" + textwrap.dedent(tasks), "  ")
    return (
        f"apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {{name: {name}, namespace: a}}\nspec:\n{body}\n"
    )


def pod(metadata: str, scheduler: str = "", gpus: int = 0, name: str = "probe") -> str:
    """A Pod; `metadata` is what follows its name and namespace."""
    named = f"schedulerName: {scheduler}, " if scheduler else ""
    limits = f", resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}" if gpus else ""
    return (
        f"apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: a, {metadata}}}\n"
        f"spec: {{{named}restartPolicy: Never, containers: [{{name: a, image: t{limits}}}]}}\n"
    )


def yunikorn(queues: str, partition: str = "") -> str:
    """YuniKorn's ConfigMap with these children of root."""
    inner = textwrap.indent(textwrap.dedent(queues).strip(), "          ")
    more = textwrap.indent(textwrap.dedent(partition).strip(), "      ")
    return (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yunikorn-configs, namespace: yunikorn}\ndata:\n"
        f"  queues.yaml: |\n    partitions:\n    - name: default\n{more}\n"
        f"      queues:\n      - name: root\n        submitacl: '*'\n        queues:\n{inner}\n"
    )


def volcano_conf(actions: str, *tiers: str) -> str:
    """Volcano's scheduler configuration; each tier is a list of plugins as YAML."""
    listed = "".join(f"    - plugins: {tier}\n" for tier in tiers)
    return (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: volcano-scheduler-configmap, namespace: volcano-system}\n"
        f'data:\n  volcano-scheduler.conf: |\n    actions: "{actions}"\n    tiers:\n{listed}'
    )
