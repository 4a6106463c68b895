"""One table of exit codes in generator and trainer, and the policies that follow from it."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

import pytest
from pydantic import ValidationError

from tests.synthesis import Manifest
from tests.training.given import FORMS, manifests, outermost, pod_templates, trained, training
from trainer import doctor
from trainer import exits as theirs
from trainer.train import Parser
from trainshed.training import Mount
from trainshed.training import exits as ours

DISRUPTED = {"onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}


def test_generator_and_trainer_have_the_same_table() -> None:
    assert [asdict(entry) for entry in ours.TABLE] == theirs.as_rows()


def test_only_the_launcher_that_keeps_codes_has_rules_about_them() -> None:
    for form in FORMS:
        assert "exitCode" not in str(manifests(form))
        assert "onExitCodes" not in str(manifests(form))


@pytest.mark.parametrize("form", FORMS)
def test_the_launcher_is_the_command(form: str) -> None:
    for holder in trained(form, manifests(form, launcher="trainshed")):
        assert holder["command"] == ["python", "-m", "trainer", "launch"]
        assert holder["args"] == trained(form, manifests(form))[0]["args"]


def jobset(form: str, **more: Any) -> Manifest:
    """The JobSet's spec of a run behind the launcher."""
    made = manifests(form, launcher="trainshed", **more)
    found: Manifest = made[0]["spec"]["template"]["spec"] if form == "TrainJob" else made[0]["spec"]
    return found


def decide_job(rules: list[Manifest], code: int, *, disrupted: bool = False) -> tuple[str, str]:
    """(action, message) of kubernetes v1.36, `pod_failure_policy.go`; without a rule the failure counts."""
    for index, rule in enumerate(rules):
        wanted = rule.get("onExitCodes")
        hit = code in wanted["values"] if wanted else disrupted
        if hit:
            return rule["action"], f"Container node for pod a/b failed with exit code {code} matching " + (
                f"{rule['action']} rule at index {index}"
            )
    return "Count", ""


def decide_jobset(rules: list[Manifest], reason: str, message: str) -> str:
    """Action of JobSet v0.12.0, `failure_policy.go`: reason and any of the patterns; without a rule it restarts."""
    for rule in rules:
        reasons, patterns = rule.get("onJobFailureReasons", []), rule.get("onJobFailureMessagePatterns", [])
        if reasons and reason not in reasons:
            continue
        if patterns and not any(re.search(pattern, message) for pattern in patterns):
            continue
        return str(rule["action"])
    return "RestartJobSet"


@pytest.mark.parametrize("form", ["JobSet", "TrainJob"])
@pytest.mark.parametrize("entry", [entry for entry in theirs.TABLE if entry.code], ids=lambda entry: entry.name)
def test_a_gang_does_what_the_table_says(form: str, entry: theirs.Exit) -> None:
    spec = jobset(form)
    job = spec["replicatedJobs"][0]["template"]["spec"]
    assert job["backoffLimit"] == 0
    action, message = decide_job(job["podFailurePolicy"]["rules"], entry.code)
    # Ignore is about disrupted pods, which have a rule of their own; otherwise the failure counts.
    assert action == ("Count" if entry.job == "Ignore" else entry.job)
    reason = "PodFailurePolicy" if action == "FailJob" else "BackoffLimitExceeded"
    assert decide_jobset(spec["failurePolicy"]["rules"], reason, message) == entry.jobset
    # A disrupted pod restarts the gang without counting, whatever it left with.
    action, message = decide_job(job["podFailurePolicy"]["rules"], entry.code, disrupted=True)
    assert action == "FailJob"
    assert decide_jobset(spec["failurePolicy"]["rules"], "PodFailurePolicy", message) == (
        "RestartJobSetAndIgnoreMaxRestarts"
    )


def test_a_message_nobody_foresaw_restarts_and_counts() -> None:
    assert decide_jobset(jobset("JobSet")["failurePolicy"]["rules"], "PodFailurePolicy", "who knows") == "RestartJobSet"


def test_a_rule_index_of_two_digits_is_not_mistaken() -> None:
    rules = jobset("JobSet")["failurePolicy"]["rules"]
    assert decide_jobset(rules, "PodFailurePolicy", "matching FailJob rule at index 12") == "RestartJobSet"


def test_the_deadline_stays_final() -> None:
    rules = jobset("JobSet", deadline=60)["failurePolicy"]["rules"]
    assert decide_jobset(rules, "DeadlineExceeded", "") == "FailJobSet"


def test_an_indexed_job_does_not_count_preempted_peers() -> None:
    """Without a layer above, FailJob would be the end; so preemption is ignored and the pod made anew."""
    rules = outermost("IndexedJob", launcher="trainshed")["spec"]["podFailurePolicy"]["rules"]
    assert rules[0] == {"action": "Ignore", **DISRUPTED}
    wanted = {"FailJobSet": "FailJob", "RestartJobSet": "Count", "RestartJobSetAndIgnoreMaxRestarts": "Ignore"}
    for entry in theirs.TABLE:
        if entry.code:
            assert decide_job(rules, entry.code)[0] == wanted[entry.jobset], entry
            assert decide_job(rules, entry.code, disrupted=True)[0] == "Ignore"


def test_volcano_ends_what_no_restart_heals() -> None:
    policies = outermost("VolcanoJob", launcher="trainshed")["spec"]["policies"]
    by_code = [policy["exitCode"] for policy in policies if "exitCode" in policy]
    assert by_code == [entry.code for entry in theirs.TABLE if entry.jobset == "FailJobSet"]
    assert {policy["action"] for policy in policies if "exitCode" in policy} == {"TerminateJob"}
    assert policies[len(by_code) :] == outermost("VolcanoJob")["spec"]["policies"]


@pytest.mark.parametrize("form", FORMS)
def test_the_doctor_comes_first_with_the_runs_resources(form: str) -> None:
    made = manifests(
        form, launcher="trainshed", doctor=True, checkpoint=Mount(claim="checkpoints", path="/workspace/run")
    )
    for template in pod_templates(form, made):
        (doctor,) = template["spec"]["initContainers"]
        (node,) = template["spec"]["containers"]
        assert doctor["command"] == ["python", "-m", "trainer", "doctor"]
        assert doctor["args"] == ["--gpus", "8", "--processes", "8", "--folder", "/workspace/run"]
        assert doctor["securityContext"] == node["securityContext"]
        assert doctor["volumeMounts"] == node["volumeMounts"]
        assert doctor["resources"]["limits"] == {"cpu": "96", "memory": "400G", "nvidia.com/gpu": "8"}


def test_the_trainer_takes_the_doctors_options() -> None:
    made = manifests("JobSet", launcher="trainshed", doctor=True, gpus_per_node=0)
    (template,) = pod_templates("JobSet", made)
    parser = Parser()
    doctor.add_arguments(parser)
    options = parser.parse_args(template["spec"]["initContainers"][0]["args"])
    assert (options.gpus, options.processes, options.folder) == (0, 1, None)


def test_the_doctor_needs_the_trainers_image() -> None:
    with pytest.raises(ValidationError, match="is part of the trainer's image"):
        training(doctor=True)
