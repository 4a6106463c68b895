"""docs/argocd.md says what the objects carry."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.docs.pages import Page
from trainshed.gitops.waves import WAVES, WORKLOAD_WAVE, sync_options


@pytest.fixture(scope="module")
def page(root: Path) -> Page:
    return Page.read(root / "docs/argocd.md")


def test_the_table_of_waves_is_that_of_the_writer(page: Page) -> None:
    kinds: dict[int, list[str]] = defaultdict(list)
    for (_, kind), wave in WAVES.items():
        kinds[wave].append(kind)
    rows = [f"| {wave} | {', '.join(sorted(kinds[wave]))} |" for wave in sorted(kinds)]

    assert re.findall(r"^\| -\d+ \| .*$", page.text, re.M) == rows
    assert f"| {WORKLOAD_WAVE} | runs, and every other kind |" in page.text


def test_the_kinds_said_to_wait_for_a_confirmation_are_those_that_do(page: Page) -> None:
    runs = [("batch", "Job"), ("jobset.x-k8s.io", "JobSet"), ("trainer.kubeflow.org", "TrainJob")]
    (told,) = (part for part in page.prose.split("\n\n") if part.startswith("Namespace, PersistentVolumeClaim"))
    said = set(re.findall(r"\b[A-Z]\w+", re.sub(r"`[^`]*`|\. What.*", "", told, flags=re.S)))

    assert said == {kind for group, kind in [*WAVES, *runs] if "Prune=confirm" in sync_options(group, kind)}
