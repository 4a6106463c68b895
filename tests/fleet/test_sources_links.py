"""Symbolic links that lead nowhere."""

from __future__ import annotations

from pathlib import Path

from trainshed.fleet.reading import read


def test_a_link_to_itself_is_told_and_the_rest_is_read(tmp_path: Path) -> None:
    """The system refuses to follow it; that is a finding about the file, never a traceback."""
    (tmp_path / "self").symlink_to("self")
    (tmp_path / "self.yaml").symlink_to("self.yaml")
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", encoding="utf-8")

    reading = read([str(tmp_path)])

    assert [document.name for document in reading.documents] == ["a"]
    assert [finding.code for finding in reading.findings] == ["unreadable"]
