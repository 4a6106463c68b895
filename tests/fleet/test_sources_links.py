"""Symbolic links that lead nowhere, pipes that nobody writes to, paths that are none."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from trainshed.fleet import sources
from trainshed.fleet.reading import read

OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"


def test_a_link_to_itself_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    """The system refuses to follow it; that is a finding about the file, never a traceback."""
    (tmp_path / "self").symlink_to("self")
    (tmp_path / "self.yaml").symlink_to("self.yaml")
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", encoding="utf-8")

    reading = read([str(tmp_path)])

    assert [document.name for document in reading.documents] == ["a"]
    assert [finding.code for finding in reading.findings] == ["unreadable"]


def test_a_pipe_that_nobody_writes_to_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "PIPE_SECONDS", 0.1)
    os.mkfifo(tmp_path / "pipe")

    reading = read([str(tmp_path / "pipe")])

    assert [finding.message for finding in reading.findings] == [
        "cannot be read: nobody has written to the pipe for 0.1 seconds"
    ]
    assert reading.unreadable


def test_a_slow_writer_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "PIPE_SECONDS", 5)
    os.mkfifo(tmp_path / "pipe")

    def write() -> None:
        with (tmp_path / "pipe").open("w") as pipe:
            time.sleep(0.1)
            pipe.write(OBJECT[:20])
            pipe.flush()
            time.sleep(0.1)
            pipe.write(OBJECT[20:])

    writer = threading.Thread(target=write)
    writer.start()
    reading = read([str(tmp_path / "pipe")])
    writer.join()
    assert [document.name for document in reading.documents] == ["a"]
    assert reading.findings == []


def test_a_pipe_in_a_folder_is_passed_over(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "a.yaml").write_text(OBJECT)
    assert read([str(tmp_path)]).counts.files == 1


@pytest.mark.parametrize("path", ["", "a\0b", "x" * 5000])
def test_a_path_that_cannot_be_is_told(path: str) -> None:
    [finding] = read([path]).findings
    assert finding.code == "unreadable"
    assert str(finding.place)
