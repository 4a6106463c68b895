"""Service accounts and their rights, Pod Security levels, secrets in Git, scripts and modes in ConfigMaps."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checks.gitops.worlds import KINDS, NAMESPACE, Manifest, codes, findings, job, made, pod

RBAC = "rbac.authorization.k8s.io/v1"
SECRET = "0123456789abcdef0123456789abcdef01234567"
RESTRICTED = {
    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
}
LOCKED = {"securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}


def binding(role: str, *subjects: Manifest, kind: str = "RoleBinding") -> Manifest:
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
    namespace = NAMESPACE if kind == "RoleBinding" else None
    return made(RBAC, kind, name="runs", namespace=namespace, roleRef=reference, subjects=list(subjects))


def account(name: str) -> Manifest:
    return {"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}


def without_switch(**spec: Any) -> Manifest:
    return {key: value for key, value in pod(**spec).items() if key != "automountServiceAccountToken"}


class TestTokens:
    @pytest.mark.parametrize(
        "kind", ["Pod", "Job", "CronJob", "JobSet", "TrainJob", "VolcanoJob", "PyTorchJob", "RayJob"]
    )
    def test_of_the_default_account(self, kind: str) -> None:
        assert "security-default-token" in codes(*KINDS[kind](pod(automountServiceAccountToken=True)))
        assert codes(*KINDS[kind](without_switch())) == set(), "most manifests leave the default"

    def test_of_an_account_of_its_own(self) -> None:
        assert codes(job(pod(automountServiceAccountToken=True, serviceAccountName="writer"))) == set()

    def test_in_a_pod_that_is_strict_otherwise(self) -> None:
        strict = without_switch(box=LOCKED, **RESTRICTED)
        assert codes(job(strict)) == {"security-default-token"}
        off = made("v1", "ServiceAccount", name="default", automountServiceAccountToken=False)
        assert codes(job(strict), off) == set()
        assert codes(job(strict | {"serviceAccountName": "writer"})) == set()

    def test_that_grant_something(self) -> None:
        granted = binding("edit", account("default"))
        assert codes(job(without_switch()), granted) == {"security-default-token", "security-rights-for-everybody"}
        assert codes(job(), granted) == {"security-rights-for-everybody"}


class TestRights:
    @pytest.mark.parametrize(
        "subject",
        [
            account("default"),
            {"kind": "Group", "name": "system:serviceaccounts:team-a", "apiGroup": "rbac.authorization.k8s.io"},
            {"kind": "Group", "name": "system:authenticated", "apiGroup": "rbac.authorization.k8s.io"},
            {"kind": "User", "name": "system:anonymous", "apiGroup": "rbac.authorization.k8s.io"},
        ],
    )
    def test_for_everybody(self, subject: Manifest) -> None:
        assert codes(binding("edit", subject)) == {"security-rights-for-everybody"}
        assert codes(binding("system:discovery", subject, kind="ClusterRoleBinding")) == set()

    @pytest.mark.parametrize("kind", ["Job", "JobSet", "TrainJob", "CronJob", "VolcanoJob", "Pod"])
    def test_of_an_administrator(self, kind: str) -> None:
        objects = KINDS[kind](pod(serviceAccountName="launcher"))
        admin = binding("cluster-admin", account("launcher"), kind="ClusterRoleBinding")
        assert codes(*objects, admin) == {"security-run-with-all-rights"}
        assert codes(*objects, binding("view", account("launcher"))) == set()

    def test_of_a_role_with_everything(self) -> None:
        rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
        role = made(RBAC, "ClusterRole", name="power", namespace=None, rules=rules)
        run = job(pod(serviceAccountName="launcher"))
        assert codes(role, run, binding("power", account("launcher"))) == {"security-run-with-all-rights"}

    def test_of_an_operator(self) -> None:
        operator = KINDS["Deployment"](pod(serviceAccountName="operator"))
        admin = binding("cluster-admin", account("operator"), kind="ClusterRoleBinding")
        assert codes(*operator, admin) == set()


class TestLevels:
    @staticmethod
    def namespace(level: str) -> Manifest:
        labels = {"pod-security.kubernetes.io/enforce": level}
        return made("v1", "Namespace", name=NAMESPACE, namespace=None, labels=labels)

    @pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "TrainingRuntime"])
    def test_refuse_in_every_kind(self, kind: str) -> None:
        rdma = pod(box={"securityContext": {"capabilities": {"add": ["IPC_LOCK"]}}})
        assert "security-pod-security" in codes(self.namespace("baseline"), *KINDS[kind](rdma))
        assert "security-pod-security" not in codes(self.namespace("privileged"), *KINDS[kind](rdma))

    @pytest.mark.parametrize(
        "spec",
        [
            pod(hostNetwork=True),
            pod(volumes=[{"name": "h", "hostPath": {"path": "/data", "type": "Directory"}}]),
            pod(box={"ports": [{"containerPort": 1, "hostPort": 1}]}),
            pod(initContainers=[{"name": "i", "image": "x:1", "securityContext": {"privileged": True}}]),
        ],
    )
    def test_baseline(self, spec: Manifest) -> None:
        assert "security-pod-security" in codes(self.namespace("baseline"), job(spec))

    def test_restricted(self) -> None:
        assert "security-pod-security" in codes(self.namespace("restricted"), job())
        assert codes(self.namespace("restricted"), job(pod(box=LOCKED, **RESTRICTED))) == set()

    @pytest.mark.parametrize(
        ("context", "told", "fix"),
        [
            ({"runAsUser": 0}, "runs as user 0", "write another runAsUser, such as 10001, and runAsNonRoot: true"),
            ({"runAsUser": 0, "runAsNonRoot": True}, "runs as user 0", "write another runAsUser, such as 10001"),
            ({"runAsUser": 10001}, "may run as root", "write runAsNonRoot: true"),
        ],
    )
    def test_one_root_is_told_once(self, context: Manifest, told: str, fix: str) -> None:
        strict = {
            "securityContext": LOCKED["securityContext"] | {"seccompProfile": {"type": "RuntimeDefault"}} | context
        }
        all_found = findings(self.namespace("restricted"), job(pod(box=strict)))
        (found,) = (finding for finding in all_found if finding.code == "security-pod-security")
        assert found.fix == fix
        assert told in found.message

    def test_that_do_not_exist(self) -> None:
        assert "security-unknown-level" in codes(self.namespace("strict"))


class TestSecretsInGit:
    def test_in_the_open(self) -> None:
        assert codes(made("v1", "Secret", stringData={"api-key": SECRET})) == {"security-secret-in-git"}
        encoded = "MDEyMzQ1Njc4OWFiY2RlZg=="
        assert codes(made("v1", "Secret", data={"api-key": encoded})) == {"security-secret-in-git"}

    @pytest.mark.parametrize(
        "fields",
        [
            {},
            {"data": {"api-key": ""}},
            {"stringData": {"api-key": "<set by hand>"}},
            {"stringData": {"api-key": "${API_KEY}"}},
            {"data": {"tls.crt": "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="}},
            {"data": {"api-key": "MDEyMzQ1Njc4OWFiY2RlZg=="}, "uid": "8d0b1c5a-0000-4000-8000-000000000000"},
        ],
    )
    def test_not_in_the_open(self, fields: Manifest) -> None:
        assert codes(made("v1", "Secret", **fields)) == set()

    @pytest.mark.parametrize(
        ("data", "told"),
        [
            ({"WANDB_API_KEY": SECRET}, True),
            ({"config.yaml": f"wandb:\n  api_key: {SECRET}\n"}, True),
            ({"train.env": f"export HF_TOKEN='{SECRET}'\n"}, True),
            ({"HF_HOME": "/cache/hf", "MAX_TOKENS": "131072000"}, False),
            ({"config.yaml": "pad_token: <|endoftext|>\nmax_new_tokens: 131072\n"}, False),
            ({"config.yaml": "token: ${HF_TOKEN}\npassword: $(cat /run/secrets/pw)\n"}, False),
            ({"readme.md": "The token of the service account is described in section 12.4.\n"}, False),
        ],
    )
    def test_config_maps(self, data: Manifest, told: bool) -> None:
        assert ("security-secret-in-configmap" in codes(made("v1", "ConfigMap", data=data))) is told

    def test_a_secret_is_not_repeated_in_the_report(self) -> None:
        run = job(pod(box={"env": [{"name": "WANDB_API_KEY", "value": SECRET}], "args": [f"--api-key={SECRET}"]}))
        told = findings(
            run, made("v1", "Secret", stringData={"k": SECRET}), made("v1", "ConfigMap", data={"TOKEN": SECRET})
        )
        assert len(told) >= 4
        assert not any(SECRET in item.message + item.fix for item in told)


class TestScripts:
    @pytest.mark.parametrize(
        ("value", "code"),
        [
            ("#!/bin/bash\nset -e\npython x.py\n", ""),
            ("\n#!/bin/bash\nset -e\n", "rendering-shebang-not-first"),
            ("   #!/bin/bash\nset -e\n", "rendering-shebang-not-first"),
            ("\ufeff#!/bin/bash\nset -e\n", "rendering-shebang-not-first"),
            ("#!/bin/bash\r\nset -e\r\n", "rendering-script-crlf"),
            ("#!/bin/bash set -e python x.py\n", "rendering-script-on-one-line"),
            ("#!/usr/bin/env bash\n", ""),
            ("#!/bin/bash -eu\n", ""),
            ("#!/usr/bin/env -S python -u -O\n", ""),
            ("echo one \n#!/bin/bash is a comment here\n", ""),
        ],
    )
    def test_in_config_maps(self, value: str, code: str) -> None:
        assert codes(made("v1", "ConfigMap", data={"launch.sh": value})) == ({code} if code else set())

    def test_data_with_crlf_is_no_script(self) -> None:
        assert codes(made("v1", "ConfigMap", data={"table.csv": "a,b\r\n1,2\r\n"})) == set()


class TestModes:
    @pytest.mark.parametrize(
        ("spelling", "wrong"),
        [
            ("400", True),
            ("440", True),
            ("444", True),
            ("0400", False),
            ("256", False),
            ("0o444", False),
            ("420", False),
        ],
    )
    def test_of_volumes(self, spelling: str, wrong: bool) -> None:
        text = f"""
apiVersion: batch/v1
kind: Job
metadata: {{name: sft, namespace: team-a}}
spec:
  template:
    spec:
      restartPolicy: Never
      containers: [{{name: node, image: trainer, volumeMounts: [{{name: v, mountPath: /v}}]}}]
      volumes:
      - name: v
        projected: {{sources: [{{secret: {{name: key}}}}], defaultMode: {spelling}}}
"""
        assert ("rendering-mode-decimal" in codes(text=text)) is wrong


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("rbac.authorization.k8s.io/v1", "ClusterRole"),
        ("storage.k8s.io/v1", "StorageClass"),
        ("v1", "PersistentVolume"),
    ],
)
def test_namespaces_where_none_belongs(api_version: str, kind: str) -> None:
    more: Manifest = {"provisioner": "x.example.com"} if kind == "StorageClass" else {}
    spec = None
    if kind == "PersistentVolume":
        spec = {
            "accessModes": ["ReadWriteMany"],
            "capacity": {"storage": "1Ti"},
            "nfs": {"path": "/x", "server": "nfs"},
        }
    assert codes(made(api_version, kind, spec, **more)) == {"rendering-namespace-without-effect"}
    assert codes(made(api_version, kind, spec, namespace=None, **more)) == set()
