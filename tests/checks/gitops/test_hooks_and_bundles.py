"""Hooks that a default queue takes, placeholders for certificates, Services by whose name a run meets."""

from __future__ import annotations

import pytest

from tests.checks.gitops.worlds import HOOK, WAVE, Manifest, application, codes, findings, job, made, pod

KUEUE = "kueue.x-k8s.io/v1beta2"


def hook() -> Manifest:
    return job(annotations={HOOK: "PreSync"})


@pytest.mark.parametrize(("name", "namespace", "bad"), [("default", "team-a", True), ("gpu", "team-a", False)])
def test_a_hook_beside_a_local_queue(name: str, namespace: str, bad: bool) -> None:
    queue = made(KUEUE, "LocalQueue", {"clusterQueue": "all"}, name=name, namespace=namespace)
    assert ("argocd-queued-hook" in codes(queue, hook())) is bad
    assert "argocd-queued-hook" not in codes(queue, job())


def test_a_default_queue_of_another_namespace_takes_no_hook() -> None:
    queue = made(KUEUE, "LocalQueue", {"clusterQueue": "all"}, name="default", namespace="team-b")
    assert "argocd-queued-hook" not in codes(queue, hook())


def webhook(**client: object) -> Manifest:
    config = {"service": {"name": "webhook", "namespace": "queues"}} | client
    hooks = [
        {"name": "a.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None", "clientConfig": config}
    ]
    api = "admissionregistration.k8s.io/v1"
    return made(api, "ValidatingWebhookConfiguration", name="queues", namespace=None, webhooks=hooks)


@pytest.mark.parametrize(("bundle", "bad"), [("Cg==", True), ("", True), ("LS0tLS1CRUdJTi", False)])
def test_a_placeholder_for_a_bundle(bundle: str, bad: bool) -> None:
    assert ("argocd-bundle-placeholder" in codes(application(), webhook(caBundle=bundle))) is bad
    assert "argocd-bundle-placeholder" not in codes(webhook(caBundle=bundle))


def test_a_bundle_that_is_left_out_or_ignored() -> None:
    assert "argocd-bundle-placeholder" not in codes(application(), webhook())
    ignored = [{"group": "admissionregistration.k8s.io", "kind": "ValidatingWebhookConfiguration"}]
    placeholder = webhook(caBundle="Cg==")
    assert "argocd-bundle-placeholder" not in codes(application(ignoreDifferences=ignored), placeholder)


def test_a_definition_with_a_conversion_webhook() -> None:
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": {"caBundle": "Cg=="}}}
    spec = {"group": "example.com", "names": {"kind": "Ring", "plural": "rings"}, "scope": "Namespaced"}
    api = "apiextensions.k8s.io/v1"
    definition = made(
        api, "CustomResourceDefinition", spec | {"conversion": conversion}, "rings.example.com", namespace=None
    )
    definition["metadata"]["annotations"] = {WAVE: "-50"}
    assert "argocd-bundle-placeholder" in codes(definition)


def ring(selector: dict[str, str]) -> list[Manifest]:
    command = ["torchrun", "--nnodes=2", "--nproc-per-node=1", "--rdzv-backend=c10d", "--rdzv-id=sft"]
    command += ["--rdzv-endpoint=ring:29500", "train.py"]
    spec = {"completionMode": "Indexed", "completions": 2, "parallelism": 2}
    spec |= {"template": {"metadata": {"labels": {"app": "trainers"}}, "spec": pod(box={"command": command})}}
    service = made("v1", "Service", {"clusterIP": "None", "selector": selector}, name="ring")
    return [service, made("batch/v1", "Job", spec)]


@pytest.mark.parametrize(
    ("selector", "bad"),
    [
        ({"app": "trainers"}, False),
        ({"batch.kubernetes.io/job-name": "sft"}, False),
        ({"batch.kubernetes.io/job-completion-index": "0", "app": "trainers"}, False),
        ({"app": "trainesr"}, True),
        ({"batch.kubernetes.io/job-name": "pretrain"}, True),
        ({"app": "trainers", "tier": "gpu"}, False),
        ({"app": "master"}, False),
    ],
)
def test_a_service_by_whose_name_a_run_meets(selector: dict[str, str], bad: bool) -> None:
    found = [item for item in findings(*ring(selector)) if item.code == "rendezvous-service-selects-none"]
    assert bool(found) is bad
    if found:
        assert found[0].object is not None
        assert found[0].object.kind == "Service"


def test_a_service_of_another_run_answers() -> None:
    service, run = ring({"app": "master"})
    master = job()
    master["metadata"]["name"] = "master"
    master["spec"]["template"].setdefault("metadata", {})["labels"] = {"app": "master"}
    assert "rendezvous-service-selects-none" not in codes(service, run, master)
