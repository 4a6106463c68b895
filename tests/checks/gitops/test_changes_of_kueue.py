"""Queues, flavors, namespaces and runtimes that change under what the repository does not show."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checks.gitops.test_changes import changed, cluster_queue, local_queue, platform
from tests.checks.gitops.worlds import KINDS, NAMESPACE, OPTIONS, Manifest, codes, dumped, findings, job, made, pod
from trainshed.checks.engine import check
from trainshed.checks.options import Options
from trainshed.fleet.finding import Finding
from trainshed.target import Target

FLAVOR = platform("ResourceFlavor", "h100", {"nodeLabels": {"a": "b"}})
NAMESPACED = made("v1", "Namespace", name=NAMESPACE, namespace=None)


def told(code: str, *objects: Manifest, before: list[Manifest]) -> list[Finding]:
    return [one for one in findings(*objects, before=before) if one.code == code]


class TestLocalQueues:
    CODE = "change-removed-local-queue"

    def test_that_go_while_their_cluster_queue_stays(self) -> None:
        stays = [FLAVOR, cluster_queue()]
        (found,) = told(self.CODE, *stays, before=[*stays, local_queue()])
        assert found.severity == "warning"
        assert "LocalQueue team-a/train is removed by this change, and its ClusterQueue gpus stays" in found.message

    def test_that_get_another_name(self) -> None:
        stays = [FLAVOR, cluster_queue()]
        assert told(self.CODE, *stays, local_queue(name="q2"), before=[*stays, local_queue()])

    def test_that_are_drained_or_go_with_their_cluster_queue_or_namespace(self) -> None:
        stays = [FLAVOR, cluster_queue()]
        drained = changed(local_queue(), "spec.stopPolicy", "HoldAndDrain")
        assert told(self.CODE, *stays, before=[*stays, drained]) == []
        assert told(self.CODE, FLAVOR, before=[*stays, local_queue()]) == []
        assert told(self.CODE, *stays, before=[*stays, local_queue(), NAMESPACED]) == []
        assert told(self.CODE, *stays, before=[FLAVOR, cluster_queue(stopPolicy="HoldAndDrain"), local_queue()]) == []

    def test_that_a_run_still_names_are_another_code(self) -> None:
        run = job(labels={"kueue.x-k8s.io/queue-name": "train"})
        stays = [FLAVOR, cluster_queue(), run]
        assert "change-removes-referenced" in codes(*stays, before=[*stays, local_queue()])
        assert told(self.CODE, *stays, before=[*stays, local_queue()]) == []


class TestFlavors:
    CODE = "change-removed-flavor"

    def test_that_a_queue_no_longer_has(self) -> None:
        other = platform("ResourceFlavor", "a100", {"nodeLabels": {"a": "c"}})
        (found,) = told(self.CODE, other, cluster_queue("a100"), before=[other, FLAVOR, cluster_queue()])
        assert found.severity == "warning"
        assert found.message == (
            'ResourceFlavor "h100" of ClusterQueue gpus is removed by this change: what runs in it keeps its nodes and '
            "is no longer counted"
        )

    def test_that_get_another_name(self) -> None:
        renamed = platform("ResourceFlavor", "h100-sxm", {"nodeLabels": {"a": "b"}})
        (found,) = told(self.CODE, renamed, cluster_queue("h100-sxm"), before=[FLAVOR, cluster_queue()])
        assert found.message.endswith(', and flavor "h100-sxm" of the same nodeLabels offers them again')

    def test_that_nothing_runs_in(self) -> None:
        assert told(self.CODE, cluster_queue("a100"), before=[FLAVOR, cluster_queue("a100")]) == []
        assert told(self.CODE, NAMESPACED, before=[FLAVOR, cluster_queue()]) == [], "change-removed-queue tells of it"
        drained = cluster_queue(stopPolicy="HoldAndDrain")
        assert told(self.CODE, cluster_queue("a100"), before=[FLAVOR, drained]) == []

    def test_that_a_queue_still_names_are_another_code(self) -> None:
        assert "change-removes-referenced" in codes(cluster_queue(), before=[FLAVOR, cluster_queue()])
        assert told(self.CODE, cluster_queue(), before=[FLAVOR, cluster_queue()]) == []


@pytest.mark.parametrize(("option", "severity"), [("Prune=confirm", "info"), ("Delete=false", "info"), ("", "warning")])
def test_a_namespace_that_goes_is_told(option: str, severity: str) -> None:
    other = made("v1", "Namespace", name="zebra", namespace=None)
    gone = made("v1", "Namespace", name=NAMESPACE, namespace=None, annotations={OPTIONS: option})
    (found,) = told("change-removed-namespace", other, before=[other, gone])
    assert found.severity == severity


class TestRuntimes:
    CODE = "change-edited-runtime"
    runtime, run = KINDS["TrainJob"](pod())

    def edited(self) -> Manifest:
        path = "spec.template.spec.replicatedJobs.0.template.spec.backoffLimit"
        return changed(self.runtime, path, 3)

    def test_that_a_train_job_was_made_from(self) -> None:
        (found,) = told(self.CODE, self.edited(), self.run, before=[self.runtime, self.run])
        assert found.severity == "info"
        assert 'TrainJob "sft", which was made from it, keeps what it has' in found.message

    def test_hang_before_trainer_kept_a_snapshot(self, tmp_path: Path) -> None:
        (tmp_path / "old.yaml").write_text(dumped(self.runtime, self.run))
        (tmp_path / "new.yaml").write_text(dumped(self.edited(), self.run))
        options = Options(target=Target(trainer="2.2"))
        report = check([str(tmp_path / "new.yaml")], options, baseline=str(tmp_path / "old.yaml"))
        (found,) = (one for one in report.findings if one.code == self.CODE)
        assert found.severity == "warning"
        assert "hangs when it is suspended or resumed" in found.message

    def test_that_only_new_train_jobs_name(self) -> None:
        assert told(self.CODE, self.edited(), self.run, before=[self.runtime]) == []
        assert told(self.CODE, self.edited(), before=[self.runtime, self.run]) == []

    def test_whose_labels_change(self) -> None:
        labelled = changed(self.runtime, "metadata.labels", {"a": "b"})
        assert told(self.CODE, labelled, self.run, before=[self.runtime, self.run]) == []
