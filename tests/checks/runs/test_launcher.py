"""The trainer's launcher is torchrun to the rules, but for the codes it leaves with and the time it gives."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.checks.runs.worlds import codes
from tests.synthesis import Manifest
from tests.training.given import FORMS, manifests, trained

each_form = pytest.mark.parametrize("form", FORMS)


def made(form: str, **more: Any) -> list[Manifest]:
    """A run behind the launcher, as it is rendered."""
    return copy.deepcopy(manifests(form, launcher="trainshed", **more))


def change(form: str, run: list[Manifest], name: str, value: str) -> list[Manifest]:
    """Another value of a variable."""
    for holder in trained(form, run):
        for entry in holder["env"]:
            if entry["name"] == name:
                entry["value"] = value
    return run


@each_form
def test_what_is_rendered_is_left_alone(form: str) -> None:
    assert codes(*made(form)) == []
    assert codes(*made(form, doctor=True)) == []


@each_form
def test_the_same_codes_behind_torchrun_are_lost(form: str) -> None:
    run = made(form)
    for holder in trained(form, run):
        holder["command"] = ["torchrun"]
    assert set(codes(*run)) == {"torchrun-exit-code-lost"}


@each_form
def test_another_grace_period_than_the_pods(form: str) -> None:
    assert set(codes(*change(form, made(form), "TRAINSHED_GRACE_PERIOD", "240"))) == {"torchrun-launcher-grace"}


@each_form
def test_a_timeout_that_the_launcher_refuses(form: str) -> None:
    assert set(codes(*change(form, made(form), "PET_SHUTDOWN_TIMEOUT", "116"))) == {"torchrun-launcher-budget"}
    assert codes(*change(form, made(form), "PET_SHUTDOWN_TIMEOUT", "115")) == []
