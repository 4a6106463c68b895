"""The Service below which the pods of a Job resolve; JobSets, Volcano and StatefulSets have their own."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checks.runs.worlds import Manifest, codes, container, findings, run, service, torchrun


def job(**spec: Any) -> Manifest:
    return run("Job", container(torchrun("Job")), **spec)[1]


def probed() -> Manifest:
    return container(torchrun("Job"), readinessProbe={"exec": {"command": ["true"]}})


def test_the_older_label_is_as_good() -> None:
    assert codes(service(selector={"job-name": "sft"}), job()) == []


@pytest.mark.parametrize("selector", [{"job-name": "s-f-t"}, {"app": "sft"}, {}])
def test_a_selector_that_takes_other_pods(selector: dict[str, str]) -> None:
    (found,) = findings(service(selector=selector), job())
    assert found.code == "rendezvous-selector-mismatch"
    assert found.object is not None
    assert found.object.kind == "Service"


def test_a_subdomain_that_is_no_service() -> None:
    (found,) = findings(service("sft-net"), job())
    assert (found.code, found.severity) == ("rendezvous-service-missing", "error")
    assert "sft-net" in found.message


def test_a_service_of_another_namespace() -> None:
    other = service()
    other["metadata"]["namespace"] = "team-b"
    (found,) = findings(other, job())
    assert (found.code, found.severity) == ("rendezvous-service-missing", "error")
    assert "team-b" in found.message


def test_a_service_that_may_be_elsewhere() -> None:
    (found,) = findings(job())
    assert (found.code, found.severity) == ("rendezvous-service-missing", "warning")


def test_no_subdomain() -> None:
    broken = job()
    del broken["spec"]["template"]["spec"]["subdomain"]
    assert codes(service(), broken) == ["rendezvous-subdomain-missing"]


def test_a_service_with_a_cluster_ip() -> None:
    plain = service()
    del plain["spec"]["clusterIP"]
    assert codes(plain, job()) == ["rendezvous-service-not-headless"]


def test_readiness_before_names() -> None:
    pods = run("Job", probed())[1]
    hidden = service(publishNotReadyAddresses=False)
    assert codes(hidden, pods) == ["rendezvous-waits-for-readiness"]
    assert codes(service(), pods) == []


def test_readiness_in_a_jobset_and_in_volcano() -> None:
    probe: dict[str, Any] = {"readinessProbe": {"exec": {"command": ["true"]}}}
    (jobset,) = run("JobSet", container(torchrun("JobSet"), **probe))
    assert codes(jobset) == []
    jobset["spec"]["network"] = {"publishNotReadyAddresses": False}
    assert codes(jobset) == ["rendezvous-waits-for-readiness"]
    (volcano,) = run("VolcanoJob", container(torchrun("VolcanoJob"), **probe))
    assert codes(volcano) == ["rendezvous-waits-for-readiness"]
    volcano["spec"]["plugins"]["svc"] = ["--publish-not-ready-addresses=true"]
    assert codes(volcano) == []


def test_names_that_nobody_makes() -> None:
    (jobset,) = run("JobSet", container(torchrun("JobSet")))
    jobset["spec"]["network"] = {"enableDNSHostnames": False}
    (found,) = findings(jobset)
    assert (found.code, found.path) == ("rendezvous-dns-off", "spec.network.enableDNSHostnames")
    (volcano,) = run("VolcanoJob", container(torchrun("VolcanoJob")))
    volcano["spec"]["plugins"] = {"env": []}
    (found,) = findings(volcano)
    assert (found.code, found.path) == ("rendezvous-dns-off", "spec.plugins")


def test_a_subdomain_of_the_jobsets_own() -> None:
    (jobset,) = run("JobSet", container(torchrun("JobSet", endpoint="sft-node-0-0.net:29500")))
    jobset["spec"]["network"] = {"subdomain": "net"}
    assert codes(jobset) == []
    jobset["spec"]["network"] = {"subdomain": "other"}
    assert codes(jobset) == ["rendezvous-address-unresolved"]


def test_the_address_of_the_run_that_was_copied() -> None:
    (jobset,) = run("JobSet", container(torchrun("JobSet", endpoint="dpo-node-0-0.dpo:29500")))
    assert codes(jobset) == ["rendezvous-address-unresolved"]


def test_a_service_in_front_of_the_master() -> None:
    front = service("master", {"role": "master"}, ports=[{"port": 23456}])
    del front["spec"]["clusterIP"]
    pods = run("Job", container(torchrun("Job", endpoint="master:29500")))
    assert codes(front, *pods) == ["rendezvous-port-not-served"]
    front["spec"]["ports"][0]["port"] = 29500
    assert codes(front, *pods) == []


def test_pods_of_a_cronjob_have_no_fixed_names() -> None:
    body = {"schedule": "0 3 * * *", "jobTemplate": {"spec": job()["spec"]}}
    cron = {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "sft", "namespace": "team-a"},
        "spec": body,
    }
    assert "rendezvous-address-unresolved" in codes(service(), cron)


def test_pods_without_an_index_have_no_fixed_names() -> None:
    plain = job()
    del plain["spec"]["completionMode"]
    assert "rendezvous-address-unresolved" in codes(service(), plain)
