"""Applications that go while they have objects in the cluster, and objects that go to another Application."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.checks.gitops.worlds import Manifest, application, dumped, job, made
from trainshed.checks.engine import check
from trainshed.checks.options import Options
from trainshed.fleet.finding import Finding

REMOVED, MOVED = "change-application-removed", "change-application-moved"
SHARED: dict[str, Any] = {"syncPolicy": {"syncOptions": ["FailOnSharedResource=true"]}}
FINALIZER = "resources-finalizer.argocd.argoproj.io"
GIT = "https://git.example.com/a.git"
Files = dict[str, list[Manifest]]


def application_set(*generators: Manifest, name: str = "lab-{{ .path.basename }}", **spec: Any) -> Manifest:
    source = {"repoURL": GIT, "path": "{{ .path.path }}", "targetRevision": "main"}
    more = spec.pop("app", {})
    template = {"metadata": {"name": name}, "spec": {"project": "lab", "source": source} | more}
    written = {"goTemplate": True, "generators": list(generators), "template": template} | spec
    return made("argoproj.io/v1alpha1", "ApplicationSet", written, "lab", namespace="argocd")


def directories(*paths: str, without: str = "") -> Manifest:
    written: list[Manifest] = [{"path": path} for path in paths]
    return {"git": {"directories": [*written, *([{"path": without, "exclude": True}] if without else [])]}}


KEEPS: dict[str, Any] = {"syncPolicy": {"preserveResourcesOnDeletion": True}}
RUN = {"dist/lab/team-a/job.yaml": [job()]}
SETTINGS = made("v1", "ConfigMap", name="settings", data={"a": "b"})
OTHERS: Files = {"dist/lab/platform/settings.yaml": [made("v1", "ConfigMap", name="a", namespace="platform")]}
BOTH = directories("dist/lab/platform", "dist/lab/team-a")
ONE = directories("dist/lab/platform")


def written(folder: Path, files: Files) -> Path:
    for name, objects in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dumped(*objects), encoding="utf-8")
    return folder


def changed(folder: Path, before: Files, after: Files) -> list[Finding]:
    old, new = (written(folder / name, files | OTHERS) for name, files in (("old", before), ("new", after)))
    found = check([str(new)], Options(), baseline=str(old)).findings
    return [one for one in found if one.code in (REMOVED, MOVED)]


def sets(before: Manifest, after: Manifest | None) -> tuple[Files, Files]:
    place = "dist/lab/argocd/set.yaml"
    return {place: [before]}, {place: [after]} if after else {}


class TestRemoved:
    def test_with_the_last_run_of_its_folder(self, tmp_path: Path) -> None:
        before, after = sets(application_set(BOTH, **KEEPS), application_set(ONE, **KEEPS))
        (found,) = changed(tmp_path, before | RUN, after)
        assert (found.code, found.severity) == (REMOVED, "warning")
        assert found.message == (
            'Application "lab-team-a" of dist/lab/team-a is removed by this change: Argo CD leaves Job team-a/sft in '
            "the cluster (preserveResourcesOnDeletion), "
            "and nothing in Git knows of them: runs go on and keep their GPUs"
        )
        assert found.fix == (
            "keep it, and an object in its folder, until these have been pruned; or delete them first (kubectl delete)"
        )
        assert found.place is not None
        assert found.place.file.endswith("new/dist/lab/argocd/set.yaml")

    def test_runs_are_named_first(self, tmp_path: Path) -> None:
        before, after = sets(application_set(BOTH, **KEEPS), application_set(ONE, **KEEPS))
        maps = [made("v1", "ConfigMap", name=name) for name in "bcde"]
        (found,) = changed(tmp_path, before | RUN | {"dist/lab/team-a/a.yaml": maps}, after)
        assert (
            "leaves Job team-a/sft, ConfigMap team-a/b, ConfigMap team-a/c and 2 more in the cluster" in found.message
        )

    @pytest.mark.parametrize(("objects", "severity"), [([job()], "warning"), ([SETTINGS], "info")])
    def test_takes_everything_along_unless_it_is_told_to_leave_it(
        self, objects: list[Manifest], severity: str, tmp_path: Path
    ) -> None:
        before, after = sets(application_set(BOTH), application_set(ONE))
        (found,) = changed(tmp_path, before | {"dist/lab/team-a/a.yaml": objects}, after)
        assert "Argo CD deletes" in found.message
        assert found.severity == severity

    @pytest.mark.parametrize("mode", ["create-only", "create-update"])
    def test_is_no_matter_for_a_set_that_deletes_none(self, mode: str, tmp_path: Path) -> None:
        spec: dict[str, Any] = {"syncPolicy": {"applicationsSync": mode}}
        before, after = sets(application_set(BOTH, **spec), application_set(ONE, **spec))
        assert changed(tmp_path, before | RUN, after) == []

    def test_while_its_files_stay(self, tmp_path: Path) -> None:
        before, after = sets(application_set(BOTH, **KEEPS), application_set(ONE, **KEEPS))
        (found,) = changed(tmp_path, before | RUN, after | RUN)
        assert found.code == REMOVED

    @pytest.mark.parametrize(
        "generator", [BOTH, directories("dist/lab/*"), directories("*/*/*", without="dist/lab/argocd")]
    )
    def test_by_the_folder_alone(self, generator: Manifest, tmp_path: Path) -> None:
        """A directory that Git does not have gives no Application."""
        both = sets(application_set(generator, **KEEPS), application_set(generator, **KEEPS))
        (found,) = changed(tmp_path, both[0] | RUN, both[1])
        assert 'Application "lab-team-a"' in found.message

    @pytest.mark.parametrize(
        "generator", [BOTH, directories("dist/lab/*"), directories("dist/lab/*", without="dist/lab/team-a")]
    )
    def test_is_not_told_of_one_that_stays_or_never_was(self, generator: Manifest, tmp_path: Path) -> None:
        both = sets(application_set(generator, **KEEPS), application_set(generator, **KEEPS))
        rest = {"dist/lab/team-a/settings.yaml": [SETTINGS]}
        assert changed(tmp_path, both[0] | RUN | rest, both[1] | rest) == []

    def test_of_a_list_generator(self, tmp_path: Path) -> None:
        def listed(*teams: str) -> Manifest:
            elements = [{"team": team} for team in teams]
            source = {"repoURL": GIT, "path": "dist/lab/{{ .team }}"}
            return application_set(
                {"list": {"elements": elements}}, name="{{ .team }}", app={"source": source}, **KEEPS
            )

        before, after = sets(listed("platform", "team-a"), listed("platform"))
        (found,) = changed(tmp_path, before | RUN, after)
        assert 'Application "team-a" of dist/lab/team-a' in found.message

    def test_with_its_set(self, tmp_path: Path) -> None:
        before, after = sets(application_set(directories("dist/lab/team-a"), **KEEPS), None)
        (found,) = changed(tmp_path, before | RUN, after)
        assert found.place is not None
        assert "old/dist/lab/argocd/set.yaml" in found.place.file

    @pytest.mark.parametrize("finalizer", [FINALIZER, f"{FINALIZER}/background", None])
    def test_that_was_written_itself(self, finalizer: str | None, tmp_path: Path) -> None:
        app = application()
        if finalizer:
            app["metadata"]["finalizers"] = [finalizer]
        (found,) = changed(tmp_path, {"apps/runs.yaml": [app], "dist/runs/job.yaml": [job()]}, {})
        assert ("Argo CD deletes Job" in found.message) == (finalizer is not None)
        assert ("has no finalizer" in found.message) == (finalizer is None)

    def test_that_is_never_pruned(self, tmp_path: Path) -> None:
        app = application()
        app["metadata"]["annotations"] = {"argocd.argoproj.io/sync-options": "Prune=false"}
        assert changed(tmp_path, {"apps/runs.yaml": [app], "dist/runs/job.yaml": [job()]}, {}) == []

    def test_is_found_from_a_revision_and_a_folder_below_the_repository(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before, after = sets(application_set(BOTH, **KEEPS), application_set(ONE, **KEEPS))
        written(tmp_path, before | RUN | OTHERS)
        author = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
        for command in (["init", "-q"], ["add", "."], [*author, "commit", "-qm", "a"]):
            subprocess.run(["git", *command], cwd=tmp_path, check=True)
        (tmp_path / "dist/lab/team-a/job.yaml").unlink()
        written(tmp_path, after)
        for folder, path in ((".", "dist"), ("dist", "lab"), ("dist/lab", ".")):
            monkeypatch.chdir(tmp_path / folder)
            assert [one.code for one in check([path], Options(), baseline="HEAD").findings if "change" in one.code] == [
                REMOVED
            ]


class TestMoved:
    BEFORE, AFTER = directories("dist/lab/team-a"), directories("dist/lab/team-b")
    RUN_B: Files = {"dist/lab/team-b/job.yaml": [job()]}

    def test_to_one_that_refuses_what_others_own(self, tmp_path: Path) -> None:
        before, after = sets(application_set(self.BEFORE, app=SHARED), application_set(self.AFTER, app=SHARED))
        (found,) = changed(tmp_path, before | RUN, after | self.RUN_B)
        assert (found.code, found.severity) == (MOVED, "warning")
        assert found.message == (
            'Application "lab-team-b" takes over Job team-a/sft from "lab-team-a": while the live objects name the old '
            "one in their tracking id, its syncs fail (FailOnSharedResource)"
        )

    def test_to_one_that_takes_it_is_a_note(self, tmp_path: Path) -> None:
        before, after = sets(application_set(self.BEFORE), application_set(self.AFTER))
        (found,) = changed(tmp_path, before | RUN, after | self.RUN_B)
        assert (found.code, found.severity) == (MOVED, "info")

    def test_to_a_folder_of_the_same_application(self, tmp_path: Path) -> None:
        before, after = sets(application_set(self.BEFORE, name="a"), application_set(self.AFTER, name="a"))
        assert changed(tmp_path, before | RUN, after | self.RUN_B) == []

    def test_by_another_name_of_the_application(self, tmp_path: Path) -> None:
        before, after = sets(application_set(self.BEFORE, name="a"), application_set(self.BEFORE, name="b"))
        (found,) = changed(tmp_path, before | RUN, after | RUN)
        assert found.code == MOVED

    def test_to_another_file_of_its_folder(self, tmp_path: Path) -> None:
        both = sets(application_set(self.BEFORE), application_set(self.BEFORE))
        assert changed(tmp_path, both[0] | RUN, both[1] | {"dist/lab/team-a/renamed.yaml": [job()]}) == []
