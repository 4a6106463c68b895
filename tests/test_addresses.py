"""Addresses that Kubernetes, registries and Argo CD take are taken here; what they would refuse is told."""

from __future__ import annotations

import pytest

from trainshed.addresses import folder_error, image_error, repository_error, revision_error, server_error, text_error

HEX = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    "image",
    [
        "ubuntu",
        "ubuntu:24.04",
        "library/ubuntu:Latest_1-2",
        "localhost/trainer",
        "localhost:5000/trainer:1",
        "registry.example.com/team/trainer:1.0.0",
        "Registry.Example.com:5000/a/b__c/d--e.f/trainer",
        "[fd00::1]:5000/trainer:1",
        f"registry.example.com/trainer@sha256:{HEX}",
        f"registry.example.com/trainer:1@sha256:{HEX}",
    ],
)
def test_an_image_that_a_runtime_pulls(image: str) -> None:
    assert image_error(image) == ""


@pytest.mark.parametrize(
    ("image", "told"),
    [
        ("", "is empty"),
        (" trainer", "has a blank in it"),
        ("trainer:1\n", "has a blank in it"),
        ("trainer\x00", "has the control character U+0000"),
        ("Trainer:1", 'capitals; write "trainer"'),
        ("registry.example.com/Team/trainer", 'capitals; write "team/trainer"'),
        ("docker://trainer:1", 'begins with "docker://"'),
        ("trainer:", 'its tag "" is wrong'),
        ("trainer:-1", 'its tag "-1" is wrong'),
        ("trainer:" + "a" * 129, "its tag"),
        ("trainer@sha256:12", "its digest"),
        ("trainer@", "its digest"),
        ("registry..example.com/trainer", "is no host"),
        ("-registry.example.com/trainer", "is no host"),
        ("a//b", "no reference to an image"),
        ("a/", "no reference to an image"),
        ("a..b", "no reference to an image"),
        (HEX, "no reference to an image"),
        ("a/" * 150 + "a", "more than the 255 allowed"),
    ],
)
def test_an_image_that_none_pulls(image: str, told: str) -> None:
    assert told in image_error(image)


@pytest.mark.parametrize(
    "url",
    [
        "https://git.example.com/platform/clusters.git",
        "http://git.example.com:3000/clusters",
        "https://organization@dev.azure.com/organization/project/_git/clusters",
        "ssh://git@git.example.com:7999/platform/clusters.git",
        "git@git.example.com:platform/clusters.git",
        "git@git.example.com:clusters",
    ],
)
def test_a_repository_that_argo_cd_reads(url: str) -> None:
    assert repository_error(url) == ""


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("", "is empty"),
        ("https://git.example.com/a b.git", "has a blank in it"),
        ("https://git.example.com/a\x1b.git", "control character"),
        ("https://git.example.com", "no address of a Git repository"),
        ("git.example.com/clusters", "no address of a Git repository"),
        ("../clusters", "no address of a Git repository"),
        ("file:///srv/clusters", "no address that Argo CD reads Git from"),
        ("git://git.example.com/clusters", "no address that Argo CD reads Git from"),
        ("https://git.example.com/clusters?token=hunter2", 'has a "?"'),
    ],
)
def test_a_repository_that_argo_cd_does_not_read(url: str, told: str) -> None:
    assert told in repository_error(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://user:hunter2@git.example.com/clusters.git",
        "https://:hunter2@git.example.com/clusters.git",
        "ssh://git:hunter2@git.example.com/clusters.git",
        "https://ghp_hunter2@github.com/a/b.git",
        "https://user:hunter2@host with blank/clusters.git",
        "ftp://user:hunter2@git.example.com/clusters.git",
    ],
)
def test_a_password_is_refused_and_never_repeated(url: str) -> None:
    assert repository_error(url)
    assert "hunter2" not in repository_error(url)


def test_servers_folders_and_revisions() -> None:
    sound = (
        (
            server_error,
            ("https://kubernetes.default.svc", "https://10.0.0.1:6443", "https://example.com/k8s/clusters/c-1"),
        ),
        (folder_error, ("dist", "clusters/dist")),
        (revision_error, ("main", "v1.2.3", ">= 1.0 < 2", "release/1", "HEAD")),
        (text_error, ("", "a\tb\nc", "é 漢 🚀")),
    )
    bad = (
        (server_error, ("", "kubernetes", "https://a b", "https://me:hunter2@example.com")),
        (folder_error, ("", "/dist", "../dist", "dist/", "./dist", "dist/*", "a b")),
        (revision_error, ("", " main", "-f", "ma\x00in")),
        (text_error, ("\x00", "\x1b[31m", "\x85", "\ud800")),
    )
    assert [(error, text) for error, texts in sound for text in texts if error(text)] == []
    assert [(error, text) for error, texts in bad for text in texts if not error(text)] == []
