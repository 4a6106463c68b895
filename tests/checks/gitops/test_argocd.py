"""Argo CD: order, hooks, words, lifetime, drift and projects, beyond the examples of the rules."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checks.gitops.worlds import (
    HOOK,
    KINDS,
    NAMESPACE,
    OPTIONS,
    WAVE,
    Manifest,
    application,
    codes,
    findings,
    in_files,
    job,
    made,
    pod,
)

QUEUE = {"kueue.x-k8s.io/queue-name": "train"}


def wave(number: int | str) -> dict[str, str]:
    return {WAVE: str(number)}


def config(name: str = "settings", **fields: Any) -> Manifest:
    return made("v1", "ConfigMap", name=name, data={"epochs": "3"}, **fields)


def queue(name: str = "train", parent: str = "", **fields: Any) -> Manifest:
    spec = {"weight": 1, "reclaimable": True} | ({"parent": parent} if parent else {})
    return made("scheduling.volcano.sh/v1beta1", "Queue", spec, name, namespace=None, **fields)


def volcano(**fields: Any) -> Manifest:
    (run,) = KINDS["VolcanoJob"](pod())
    run["spec"]["queue"] = "train"
    run["metadata"] |= fields
    return run


class TestWaves:
    @pytest.mark.parametrize("given", ["first", "1.5", " 1", "--5", "0x1", ""])
    def test_what_is_no_integer(self, given: str) -> None:
        assert codes(config(annotations={WAVE: given})) == {"argocd-wave-not-integer"}

    @pytest.mark.parametrize("given", ["0", "-10", "+5", "007"])
    def test_what_is_one(self, given: str) -> None:
        assert codes(config(annotations={WAVE: given})) == set()

    @pytest.mark.parametrize("kind", ["Pod", "Job", "Deployment", "StatefulSet"])
    @pytest.mark.parametrize("needed", ["ConfigMap", "Secret", "ServiceAccount", "PersistentVolumeClaim"])
    def test_a_healthy_wave_cannot_need_a_later_one(self, kind: str, needed: str) -> None:
        (run,) = KINDS[kind](_needing(needed))
        later = _object(needed, wave(5))
        assert codes(run, later) == {"argocd-needed-in-later-wave"}
        assert codes(run, _object(needed, wave(-5))) == set()

    @pytest.mark.parametrize("kind", ["JobSet", "VolcanoJob", "PyTorchJob"])
    def test_kinds_without_health_do_not_hold_a_sync(self, kind: str) -> None:
        assert codes(*KINDS[kind](_needing("ConfigMap")), _object("ConfigMap", wave(5))) == set()

    def test_a_namespace_comes_before_what_is_in_it(self) -> None:
        namespace = made("v1", "Namespace", name=NAMESPACE, namespace=None, annotations=wave(0))
        assert codes(namespace, config(annotations=wave(-1))) == {"argocd-namespace-in-later-wave"}
        assert codes(namespace, config(annotations=wave(0))) == set()

    def test_a_queued_job_holds_all_later_waves(self) -> None:
        run = job(labels=QUEUE, annotations=wave(1))
        assert codes(run, config(annotations=wave(2))) == {"argocd-queued-run-holds-sync"}
        assert codes(run, config(annotations=wave(1)), config("other", annotations=wave(-4))) == set()

    @pytest.mark.parametrize("kind", ["JobSet", "TrainJob"])
    def test_queued_runs_without_health_do_not(self, kind: str) -> None:
        objects = KINDS[kind](pod())
        objects[-1]["metadata"]["labels"] = QUEUE
        assert codes(*objects, config(annotations=wave(9))) == set()

    def test_jobs_without_a_queue_do_not(self) -> None:
        assert codes(job(annotations=wave(1)), config(annotations=wave(2))) == set()

    def test_other_applications_have_waves_of_their_own(self) -> None:
        files = {"lab/platform/a.yaml": [config(annotations=wave(5))], "lab/runs/b.yaml": [job(labels=QUEUE)]}
        assert {item.code for item in in_files(files) if item.severity != "info"} == set()
        files = {"lab/runs/a.yaml": [config(annotations=wave(5))], "lab/runs/b.yaml": [job(labels=QUEUE)]}
        assert {item.code for item in in_files(files) if item.severity != "info"} == {"argocd-queued-run-holds-sync"}

    def test_runtimes_of_another_application_are_not_compared(self) -> None:
        runtime, run = KINDS["TrainJob"](pod())
        runtime["metadata"]["annotations"] = wave(5)
        assert codes(runtime, run) == {"argocd-runtime-after-trainjob"}
        files = {"lab/platform/a.yaml": [runtime], "lab/runs/b.yaml": [run]}
        assert "argocd-runtime-after-trainjob" not in {item.code for item in in_files(files)}


class TestVolcanoQueues:
    def test_in_one_wave_the_job_is_first(self) -> None:
        assert codes(queue(annotations=wave(0)), volcano()) == {"argocd-queue-after-job"}
        assert codes(queue(annotations=wave(-1)), volcano()) == set()

    def test_without_argocd_the_order_of_the_file_holds(self) -> None:
        assert codes(queue(), volcano()) == set()

    def test_parents_have_a_wave_of_their_own(self) -> None:
        child = queue("train", "research", annotations=wave(-1))
        assert codes(queue("research", annotations=wave(-1)), child) == {"argocd-queue-before-parent"}
        assert codes(queue("research", annotations=wave(-2)), child) == set()


class TestHooks:
    @pytest.mark.parametrize("hook", ["Presync", "presync", "PreSync,PostSnyc", "Before"])
    def test_types_that_do_not_exist(self, hook: str) -> None:
        assert codes(job(annotations={HOOK: hook})) == {"argocd-unknown-hook"}

    @pytest.mark.parametrize("hook", ["PreSync", "Sync,PostSync", "Skip", "SyncFail", "PostDelete"])
    def test_types_that_do(self, hook: str) -> None:
        assert codes(job(annotations={HOOK: hook})) == set()

    def test_helm_hooks(self) -> None:
        assert codes(job(annotations={"helm.sh/hook": "pre-install,post-upgrade"})) == set()
        assert codes(job(annotations={"helm.sh/hook": "preinstall"})) == {"argocd-unknown-hook"}

    def test_delete_policies(self) -> None:
        key = "argocd.argoproj.io/hook-delete-policy"
        assert codes(job(annotations={HOOK: "PreSync", key: "HookSucceeded,BeforeHookCreation"})) == set()
        assert codes(job(annotations={HOOK: "PreSync", key: "HookSuceeded"})) == {"argocd-unknown-hook"}

    @pytest.mark.parametrize("hook", [{HOOK: "PreSync"}, {"helm.sh/hook": "pre-upgrade"}])
    @pytest.mark.parametrize("needed", ["ConfigMap", "Secret", "ServiceAccount", "PersistentVolumeClaim"])
    def test_early_hooks_have_nothing_of_the_sync(self, hook: dict[str, str], needed: str) -> None:
        run = job(_needing(needed), annotations=hook)
        assert codes(run, _object(needed, {})) == {"argocd-hook-needs-later-object"}
        assert codes(run, _object(needed, hook | wave(-5))) == set()
        assert codes(job(_needing(needed), annotations={HOOK: "PostSync"}), _object(needed, {})) == set()

    def test_early_hooks_have_no_namespace_of_the_sync(self) -> None:
        namespace = made("v1", "Namespace", name=NAMESPACE, namespace=None)
        assert codes(namespace, job(annotations={HOOK: "PreSync"})) == {"argocd-namespace-in-later-wave"}

    @pytest.mark.parametrize("kind", ["Job", "JobSet", "TrainJob", "PyTorchJob", "CronJob"])
    def test_queued_hooks_of_all_kinds(self, kind: str) -> None:
        objects = KINDS[kind](pod())
        run = objects[-1]
        run["metadata"]["annotations"] = {HOOK: "PreSync"}
        (run["spec"]["jobTemplate"].setdefault("metadata", {}) if kind == "CronJob" else run["metadata"])["labels"] = (
            QUEUE
        )
        assert "argocd-queued-hook" in codes(*objects)

    def test_runs_as_hooks(self) -> None:
        gpus = pod(box={"resources": {"limits": {"nvidia.com/gpu": "1"}}})
        hook = {HOOK: "PostSync"}
        assert codes(job(gpus, annotations=hook)) == {"argocd-run-as-hook"}
        assert codes(job(gpus, annotations=hook, more={"activeDeadlineSeconds": 900})) == set()
        assert codes(job(annotations=hook)) == set()
        (run,) = KINDS["JobSet"](pod())
        run["metadata"]["annotations"] = hook
        assert codes(run) == {"argocd-run-as-hook"}


class TestLifetime:
    @pytest.mark.parametrize("seconds", [0, 600, 86400])
    def test_a_run_that_deletes_itself(self, seconds: int) -> None:
        assert codes(job(more={"ttlSecondsAfterFinished": seconds})) == {"argocd-ttl-recreates"}

    @pytest.mark.parametrize("kind", ["JobSet", "VolcanoJob"])
    def test_of_other_kinds(self, kind: str) -> None:
        (run,) = KINDS[kind](pod())
        run["spec"]["ttlSecondsAfterFinished"] = 600
        assert codes(run) == {"argocd-ttl-recreates"}
        (run,) = KINDS["PyTorchJob"](pod())
        run["spec"]["runPolicy"] = {"ttlSecondsAfterFinished": 600}
        assert codes(run) == {"argocd-ttl-recreates"}

    def test_what_is_not_in_git_may(self) -> None:
        more = {"ttlSecondsAfterFinished": 600}
        owner = [{"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": "1", "controller": True}]
        assert codes(job(more=more, ownerReferences=owner)) == set()
        assert codes(job(more=more, uid="8d0b1c5a-0000-4000-8000-000000000000")) == set()
        (nightly,) = KINDS["CronJob"](pod())
        nightly["spec"]["jobTemplate"]["spec"] |= more
        assert codes(nightly) == set()
        assert codes(job(more=more, annotations={HOOK: "PreSync"})) == set()

    def test_generate_name(self) -> None:
        run = job()
        run["metadata"]["generateName"] = f"{run['metadata'].pop('name')}-"
        assert codes(run) == {"argocd-generate-name"}
        run["metadata"]["annotations"] = {HOOK: "Sync"}
        assert codes(run) == set()

    @pytest.mark.parametrize("kind", ["Job", "JobSet", "VolcanoJob"])
    def test_replace_without_force(self, kind: str) -> None:
        (run,) = KINDS[kind](pod())
        run["metadata"]["annotations"] = {OPTIONS: "Replace=true"}
        assert codes(run) == {"argocd-replace-without-force"}
        run["metadata"]["annotations"] = {OPTIONS: "Force=true, Replace=true"}
        assert codes(run) == set()


class TestWords:
    @pytest.mark.parametrize("option", ["Prune=fasle", "Prune", "Repalce=true", "ServerSideApply=yes", "Delete=never"])
    def test_options_that_do_nothing(self, option: str) -> None:
        assert codes(config(annotations={OPTIONS: option})) == {"argocd-unknown-sync-option"}

    @pytest.mark.parametrize(
        "option", ["Prune=false,Delete=confirm", " PruneLast=true , Validate=false", "Prune=confirm"]
    )
    def test_options_that_do(self, option: str) -> None:
        assert codes(config(annotations={OPTIONS: option})) == set()

    def test_options_of_applications_and_sets(self) -> None:
        assert codes(application(syncPolicy={"syncOptions": ["ServerSideAply=true"]})) == {"argocd-unknown-sync-option"}
        policy = {"syncOptions": ["PrunePropagationPolicy=foreground", "CreateNamespace=true"]}
        assert codes(application(syncPolicy=policy)) == set()
        template = {
            "metadata": {"name": "x"},
            "spec": application()["spec"] | {"syncPolicy": {"syncOptions": ["X=true"]}},
        }
        spec = {"generators": [{"list": {"elements": []}}], "template": template}
        assert "argocd-unknown-sync-option" in codes(made("argoproj.io/v1alpha1", "ApplicationSet", spec))

    def test_options_in_the_wrong_place(self) -> None:
        assert codes(config(annotations={OPTIONS: "CreateNamespace=true"})) == {"argocd-option-of-the-application"}

    @pytest.mark.parametrize(
        "key", ["argocd.argoproj.io/sync-waves", "argocd.argoproj.io/syncwave", "argoproj.io/sync-wave"]
    )
    def test_misspelt_annotations(self, key: str) -> None:
        assert codes(config(annotations={key: "5"})) == {"argocd-annotation-without-effect"}

    def test_labels_that_were_to_be_annotations(self) -> None:
        assert codes(config(labels={WAVE: "5"})) == {"argocd-annotation-without-effect"}

    @pytest.mark.parametrize(
        "key",
        [
            "argocd.argoproj.io/compare-options",
            "argocd.argoproj.io/manifest-generate-paths",
            "notifications.argoproj.io/subscribe.on-sync-failed.slack",
            "argocd-image-updater.argoproj.io/image-list",
            "link.argocd.argoproj.io/external-link",
        ],
    )
    def test_annotations_that_others_read(self, key: str) -> None:
        assert codes(config(annotations={key: "x"})) == set()


class TestDrift:
    def cluster_queue(self, quota: object) -> Manifest:
        resources = [{"name": "example.com/credit", "nominalQuota": quota}]
        group = {"coveredResources": ["example.com/credit"], "flavors": [{"name": "h100", "resources": resources}]}
        spec = {"namespaceSelector": {}, "resourceGroups": [group]}
        return made("kueue.x-k8s.io/v1beta2", "ClusterQueue", spec, namespace=None)

    @pytest.mark.parametrize("quota", ["1024Mi", "12000m", "0.5", "1000", "1.0", "+5"])
    def test_quotas_that_come_back_in_another_form(self, quota: str) -> None:
        assert "argocd-quantity-not-canonical" in codes(self.cluster_queue(quota))

    @pytest.mark.parametrize("quota", ["1Gi", "12", "500m", "1k", "0", 12])
    def test_quotas_that_do_not(self, quota: object) -> None:
        assert "argocd-quantity-not-canonical" not in codes(self.cluster_queue(quota))

    def test_an_amount_beyond_the_maximum_is_not_to_be_written_as_the_maximum(self) -> None:
        found = findings(self.cluster_queue("16Ei"))
        (drift,) = [item for item in found if item.code == "argocd-quantity-not-canonical"]
        assert "beyond the maximum" in drift.message
        assert "9223372036854775807" not in drift.fix

    @pytest.mark.parametrize("kind", ["JobSet", "TrainJob", "LeaderWorkerSet"])
    def test_pod_templates_of_custom_resources_under_argocd(self, kind: str) -> None:
        spec = pod(box={"resources": {"limits": {"memory": "2048Mi"}}})
        assert codes(*KINDS[kind](spec), application()) == {"argocd-quantity-not-canonical"}
        assert codes(job(spec), application()) == set()  # built-in kinds are compared by value

    @pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "LeaderWorkerSet"])
    def test_replicas_under_an_autoscaler(self, kind: str) -> None:
        (server,) = KINDS[kind](pod())
        reference = {"apiVersion": server["apiVersion"], "kind": kind, "name": "sft"}
        scaler = made("autoscaling/v2", "HorizontalPodAutoscaler", {"maxReplicas": 4, "scaleTargetRef": reference})
        assert codes(server, scaler) == set()
        server["spec"]["replicas"] = 2
        assert codes(server, scaler) == {"argocd-autoscaled-replicas"}
        group = server["apiVersion"].partition("/")[0]
        ignored = [{"group": group, "kind": kind, "jsonPointers": ["/spec/replicas"]}]
        assert codes(server, scaler, application(ignoreDifferences=ignored)) == {"argocd-ignored-field-applied"}
        respected = {"syncOptions": ["RespectIgnoreDifferences=true"]}
        assert codes(server, scaler, application(ignoreDifferences=ignored, syncPolicy=respected)) == set()
        by_jq = [{"group": "*", "kind": "*", "jqPathExpressions": [".spec.replicas"]}]
        assert codes(server, scaler, application(ignoreDifferences=by_jq)) == {"argocd-ignored-field-applied"}

    def test_objects_without_a_namespace(self) -> None:
        namespace = made("v1", "Namespace", name="team-b", namespace=None)
        lost = config(namespace=None)
        assert codes(namespace, lost) == set(), "nothing says that anything belongs there"
        assert codes(namespace, lost, config("other", namespace="team-b")) == {"argocd-namespace-omitted"}
        assert codes(namespace, lost, application()) == {"argocd-namespace-omitted"}
        there = application(destination={"server": "https://kubernetes.default.svc", "namespace": "team-b"})
        assert codes(namespace, lost, there) == set()

    @pytest.mark.parametrize(
        ("source", "told"),
        [
            ({"path": "vendor/kueue"}, True),
            ({"path": "vendor/kueue-v0.19.2"}, True),
            ({"chart": "volcano", "targetRevision": "1.15.1"}, True),
            ({"repoURL": "https://github.com/kubernetes-sigs/jobset.git", "path": "config/default"}, True),
            ({"path": "clusters/lab/kueue-queues"}, False),
            ({"path": "dist/runs"}, False),
            ({"chart": "kueue", "targetRevision": "0.19.2", "helm": {"skipCrds": True}}, False),
        ],
    )
    def test_large_crds(self, source: Manifest, told: bool) -> None:
        app = application(source={"repoURL": "https://git.example.com/x.git", "targetRevision": "main"} | source)
        assert ("argocd-large-crds-client-side" in codes(app)) is told
        app["spec"]["syncPolicy"] = {"syncOptions": ["ServerSideApply=true"]}
        assert codes(app) == set()


class TestProjects:
    def project(self, **spec: Any) -> Manifest:
        anything = {"sourceRepos": ["*"], "destinations": [{"server": "*", "namespace": f"{NAMESPACE}*"}]}
        return made("argoproj.io/v1alpha1", "AppProject", anything | spec, "team-a", namespace="argocd")

    @pytest.mark.parametrize(
        ("limits", "refused"),
        [
            ({}, False),
            ({"namespaceResourceWhitelist": [{"group": "batch", "kind": "Job"}]}, False),
            ({"namespaceResourceWhitelist": [{"group": "*", "kind": "*"}]}, False),
            ({"namespaceResourceWhitelist": [{"group": "batch", "kind": "CronJob"}]}, True),
            ({"namespaceResourceBlacklist": [{"group": "batch", "kind": "*"}]}, True),
            ({"destinations": [{"server": "*", "namespace": "team-b"}]}, True),
        ],
    )
    def test_kinds_and_namespaces(self, limits: Manifest, refused: bool) -> None:
        inside = application(project="team-a")
        found = codes(self.project(**limits), inside, job())
        assert ("argocd-project-refuses-kind" in found) is refused

    def test_cluster_scoped_kinds_need_a_word(self) -> None:
        inside = application(project="team-a")
        flavor = made("kueue.x-k8s.io/v1beta2", "ResourceFlavor", {}, "h100", namespace=None)
        assert codes(self.project(), inside, flavor) == {"argocd-project-refuses-kind"}
        allowed = [{"group": "kueue.x-k8s.io", "kind": "*", "name": "h*"}]
        assert codes(self.project(clusterResourceWhitelist=allowed), inside, flavor) == set()

    def test_folders_belong_to_their_applications(self) -> None:
        inside = application(project="team-a")
        flavor = made("kueue.x-k8s.io/v1beta2", "ResourceFlavor", {}, "h100", namespace=None)
        files = {"argocd/a.yaml": [self.project(), inside], "platform/b.yaml": [flavor], "runs/c.yaml": [job()]}
        assert {item.code for item in in_files(files)} == set()
        files["runs/d.yaml"] = [flavor | {"metadata": {"name": "other"}}]
        assert {item.code for item in in_files(files)} == {"argocd-project-refuses-kind"}


def _needing(kind: str) -> Manifest:
    """A pod spec that cannot start without the object of this kind called `it`."""
    if kind == "ServiceAccount":
        return pod(serviceAccountName="it")
    if kind == "PersistentVolumeClaim":
        return pod(volumes=[{"name": "it", "persistentVolumeClaim": {"claimName": "it"}}])
    source = "configMapRef" if kind == "ConfigMap" else "secretRef"
    return pod(box={"envFrom": [{source: {"name": "it"}}]})


def _object(kind: str, annotations: dict[str, str]) -> Manifest:
    claim = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Ti"}}}
    return made("v1", kind, claim if kind == "PersistentVolumeClaim" else None, "it", annotations=annotations)


def test_every_finding_says_what_to_do() -> None:
    for finding in findings(queue(annotations=wave(0)), volcano(), config(annotations={OPTIONS: "X"})):
        assert finding.message
        assert finding.fix


def test_one_object_without_a_namespace_among_others() -> None:
    lost = config("lost", namespace=None)
    assert codes(config("a"), config("b"), lost) == {"argocd-namespace-omitted"}
    assert codes(config("a"), lost) == set()
    assert codes(config("a"), config("b", namespace="team-b"), lost) == set()
    assert codes(lost, config("other", namespace=None)) == set()


class TestProjectsOfSets:
    def set_of(self, project: str, repository: str = "https://git.example.com/platform.git") -> Manifest:
        spec = application()["spec"] | {"project": project}
        spec["source"] = {"repoURL": repository, "path": "{{ .path.path }}"}
        directories = {"git": {"repoURL": repository, "revision": "main", "directories": [{"path": "dist/runs"}]}}
        template = {"metadata": {"name": "{{ .path.basename }}"}, "spec": spec}
        return made(
            "argoproj.io/v1alpha1", "ApplicationSet",
            {"goTemplate": True, "generators": [directories], "template": template},
            "runs", namespace="argocd",
        )  # fmt: skip

    def project(self, namespace: str = "argocd", **spec: Any) -> Manifest:
        repositories = {"sourceRepos": ["https://git.example.com/platform.git"]}
        anywhere = {"destinations": [{"server": "*", "namespace": "*"}]}
        return made("argoproj.io/v1alpha1", "AppProject", repositories | anywhere | spec, "team-a", namespace=namespace)

    def test_the_right_ones(self) -> None:
        assert codes(self.project(), self.set_of("team-a")) == set()

    def test_a_project_that_does_not_exist(self) -> None:
        assert codes(self.project(), self.set_of("taem-a")) == {"argocd-project-missing"}
        assert codes(self.project(), self.set_of("{{ .path.basename }}")) == set()

    def test_a_repository_that_is_not_allowed(self) -> None:
        other = self.set_of("team-a", "https://git.example.com/other.git")
        assert codes(self.project(), other) == {"argocd-project-refuses"}

    def test_a_project_in_another_namespace(self) -> None:
        assert codes(self.project("arogcd"), application(project="team-a")) == {"argocd-project-missing"}

    def test_folders_of_a_set(self) -> None:
        denied = self.project(namespaceResourceBlacklist=[{"group": "batch", "kind": "Job"}])
        files = {"argocd/a.yaml": [denied, self.set_of("team-a")], "runs/b.yaml": [job()]}
        assert {item.code for item in in_files(files)} == {"argocd-project-refuses-kind"}

    @pytest.mark.parametrize(("kind", "wrong"), [("LocalQueues", True), ("localqueue", True), ("LocalQueue", False)])
    def test_kinds_that_do_not_exist(self, kind: str, wrong: bool) -> None:
        denied = self.project(namespaceResourceBlacklist=[{"group": "kueue.x-k8s.io", "kind": kind}])
        assert codes(denied) == ({"argocd-project-unknown-kind"} if wrong else set())
