"""Names: shapes, hashes, and the budgets of derived names."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainshed import naming
from trainshed import naming_budgets as budgets

LABELS = st.from_regex(r"[a-z]([-a-z0-9]{0,80}[a-z0-9])?", fullmatch=True)


@pytest.mark.parametrize("name", ["a", "a-1", "1a", "a" * 63])
def test_good_dns1123_labels(name: str) -> None:
    assert naming.dns1123_label_error(name) == ""


@pytest.mark.parametrize("name", ["", "A", "a.b", "-a", "a-", "a_b", "a" * 64, "ä", "a\n"])
def test_bad_dns1123_labels(name: str) -> None:
    assert naming.dns1123_label_error(name)


def test_a_dns1035_label_starts_with_a_letter() -> None:
    assert naming.dns1035_label_error("a1") == ""
    assert "starting with a letter" in naming.dns1035_label_error("1a")


def test_a_subdomain_may_have_dots_and_253_characters() -> None:
    assert naming.dns1123_subdomain_error("a.b-c.1") == ""
    assert naming.dns1123_subdomain_error("a" * 253) == ""
    assert naming.dns1123_subdomain_error("a" * 254) == "it has 254 characters, 1 more than the 253 allowed"
    assert naming.dns1123_subdomain_error("a..b")


@pytest.mark.parametrize("value", ["", "A_b.c-1", "a" * 63])
def test_good_label_values(value: str) -> None:
    assert naming.label_value_error(value) == ""


@pytest.mark.parametrize("value", ["-a", "a b", "a" * 64, "a/b"])
def test_bad_label_values(value: str) -> None:
    assert naming.label_value_error(value)


@pytest.mark.parametrize("key", ["a", "kueue.x-k8s.io/queue-name", "A_b.c"])
def test_good_label_keys(key: str) -> None:
    assert naming.label_key_error(key) == ""


@pytest.mark.parametrize("key", ["", "/a", "a/", "a/b/c", "A.io/b", "x" * 64])
def test_bad_label_keys(key: str) -> None:
    assert naming.label_key_error(key)


def test_a_hash_ignores_key_order_but_nothing_else() -> None:
    assert naming.short_hash({"a": 1, "b": [1, 2]}) == naming.short_hash({"b": [1, 2], "a": 1})
    assert naming.short_hash({"b": [1, 2]}) != naming.short_hash({"b": [2, 1]})
    assert naming.short_hash("1") != naming.short_hash(1)
    with pytest.raises(TypeError):
        naming.short_hash(object())


def test_a_hash_is_the_same_in_another_process() -> None:
    code = "from trainshed.naming import short_hash; print(short_hash({'b': ['ä', 1], 'a': None}))"
    env = {"PYTHONHASHSEED": "7", "PYTHONPATH": os.pathsep.join(sys.path)}
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)
    assert told.stdout.strip() == naming.short_hash({"a": None, "b": ["ä", 1]}) == "chxnjcjn"


@given(LABELS, st.integers(min_value=10, max_value=63))
def test_a_truncated_label_is_a_label_within_the_limit(name: str, limit: int) -> None:
    short = naming.truncated(name, limit)
    assert len(short) <= limit
    assert naming.dns1035_label_error(short) == ""
    assert (short == name) == (len(name) <= limit)


@given(LABELS, LABELS)
def test_two_names_stay_two(one: str, other: str) -> None:
    if one != other:
        assert naming.truncated(one + "x" * 20, 20) != naming.truncated(other + "x" * 20, 20)


def test_no_room_for_a_name_is_an_error() -> None:
    with pytest.raises(ValueError, match="no room"):
        naming.truncated("long-enough-to-cut", 9)


@given(LABELS, st.integers(min_value=20, max_value=63))
def test_a_suffix_is_kept_whole(name: str, limit: int) -> None:
    made = naming.suffixed(name, "c4x9z2bb", limit)
    assert made.endswith("-c4x9z2bb")
    assert len(made) <= limit
    assert naming.dns1035_label_error(made) == ""


COUNTS = st.integers(min_value=1, max_value=2000)
JOBS = st.sampled_from(["node", "launcher", "model-initializer", "dataset-initializer", "w"])


@given(JOBS, COUNTS, st.none() | COUNTS, st.lists(st.sampled_from(["data", "checkpoints"])))
def test_the_jobset_budget_is_the_longest_name_that_passes(
    job: str, replicas: int, completions: int | None, claims: list[str]
) -> None:
    budget = budgets.budget_jobset(job, replicas, completions, claims)
    assert budgets.jobset_name_errors("a" * budget, job, replicas, completions, claims) == []
    assert budgets.jobset_name_errors("a" * (budget + 1), job, replicas, completions, claims)


@given(COUNTS, st.lists(JOBS, min_size=1, unique=True))
def test_the_trainjob_budget_is_the_longest_name_that_passes(num_nodes: int, jobs: list[str]) -> None:
    budget = budgets.budget_trainjob(num_nodes, jobs)
    assert budgets.trainjob_name_errors("a" * budget, num_nodes, jobs) == []
    assert budgets.trainjob_name_errors("a" * (budget + 1), num_nodes, jobs)


@pytest.mark.parametrize(
    ("num_nodes", "jobs", "budget"),
    [
        (1, ["node"], 48),
        (10, ["node"], 48),
        (11, ["node"], 47),
        (100, ["node"], 47),
        (1000, ["node"], 46),
        (2, ["launcher", "node"], 44),
        (2, ["model-initializer", "node"], 35),
        (2, ["dataset-initializer", "model-initializer", "node"], 33),
    ],
)
def test_known_trainjob_budgets(num_nodes: int, jobs: list[str], budget: int) -> None:
    assert budgets.budget_trainjob(num_nodes, jobs) == budget


@given(COUNTS)
def test_the_indexed_job_budget_is_the_longest_name_that_passes(completions: int) -> None:
    budget = budgets.budget_indexed_job(completions)
    assert budgets.indexed_job_name_errors("a" * budget, completions, service=True) == []
    assert budgets.indexed_job_name_errors("a" * (budget + 1), completions)


@given(COUNTS)
def test_the_lws_budget_is_the_longest_name_that_passes(replicas: int) -> None:
    budget = budgets.budget_lws(replicas)
    assert budgets.lws_name_errors("a" * budget, replicas) == []
    assert budgets.lws_name_errors("a" * (budget + 1), replicas)
    assert budget + 1 + len(str(replicas - 1)) == 52


@given(st.lists(st.tuples(JOBS, COUNTS), min_size=1), st.booleans())
def test_the_volcano_budget_is_the_longest_name_that_passes(tasks: list[tuple[str, int]], service: bool) -> None:
    budget = budgets.budget_volcano_job(tasks)
    assert budgets.volcano_job_name_errors("a" * budget, tasks, service) == []
    assert budgets.volcano_job_name_errors("a" * (budget + 1), tasks, service)


@pytest.mark.parametrize("subdomain", [None, "workers"])
def test_the_coordinator_budget_is_the_longest_name_that_passes(subdomain: str | None) -> None:
    budget = budgets.budget_coordinator("node", 0, 12, subdomain)
    assert budgets.coordinator_label_errors("a" * budget, "node", 0, 12, subdomain) == []
    assert budgets.coordinator_label_errors("a" * (budget + 1), "node", 0, 12, subdomain)


def test_a_cronjob_has_52_characters() -> None:
    assert budgets.cronjob_name_errors("a" * 52) == []
    assert budgets.cronjob_name_errors("a" * 55) == [
        f'its Jobs, named like "{"a" * 55}-29000000", leave it 52 characters: 3 too many'
    ]


def test_an_error_says_which_name_and_by_how_much() -> None:
    name = "a" * 50
    assert budgets.trainjob_name_errors(name, 12) == [
        f'its pod "{name}-node-0-11-abcde" has 66 characters, 3 more than the 63 allowed'
    ]
    assert budgets.jobset_name_errors("a" * 60, "node", 3) == [
        f'its Job "{"a" * 60}-node-2" has 67 characters, 4 more than the 63 allowed'
    ]
    assert budgets.jobset_name_errors("a" * 60, "n", 1, None, ["data"]) == [
        f'its Job "{"a" * 60}-n-0" has 64 characters, 1 more than the 63 allowed',
        f'its volume claim "data-{"a" * 60}" has 65 characters, 2 more than the 63 allowed',
    ]


def test_a_service_name_starts_with_a_letter() -> None:
    assert budgets.indexed_job_name_errors("1a", 2) == []
    assert budgets.indexed_job_name_errors("1a", 2, service=True) == [
        'its Service "1a" is not a DNS-1035 label: lower-case letters, digits and "-", starting with a letter'
    ]
    assert budgets.volcano_job_name_errors("1a", [("w", 1)]) == []
    assert budgets.volcano_job_name_errors("1a", [("w", 1)], service=True)


def test_every_broken_task_of_a_volcano_job_is_told() -> None:
    errors = budgets.volcano_job_name_errors("a" * 60, [("master", 1), ("worker", 200)])
    assert [error.split('"')[1][60:] for error in errors] == ["-master-0", "-worker-199"]
