"""Two objects with one identity clash in one cluster, and only there."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from trainshed.fleet.reading import read

QUEUE = "apiVersion: kueue.x-k8s.io/{v}\nkind: ClusterQueue\nmetadata: {{name: q}}\nspec: {{cohortName: {c}}}\n"


def queue(cohort: str = "a", version: str = "v1beta2") -> str:
    """A ClusterQueue `q`."""
    return QUEUE.format(c=cohort, v=version)


def test_a_second_definition_points_at_the_first() -> None:
    reading = read(["-"], io.BytesIO(f"{queue()}---\n{queue('b', 'v1beta1')}".encode()))
    (finding,) = reading.duplicates()
    assert (finding.code, finding.severity) == ("duplicate-object", "error")
    assert "ClusterQueue/q is defined twice" in finding.message
    assert finding.place is not None
    assert finding.place.line == 8
    assert finding.related[0][1].line == 3
    (finding,) = read(["-"], io.BytesIO(f"{queue()}---\n{queue()}".encode())).duplicates()
    assert finding.severity == "warning"


@pytest.mark.parametrize(
    ("files", "paths", "clashes"),
    [
        (["dist/one/q.yaml", "dist/two/q.yaml"], ["dist"], 1),  # two applications of one cluster
        (["dist/c1/app/q.yaml", "dist/c2/app/q.yaml"], ["dist"], 0),  # two clusters
        (["dist/c1/app/q.yaml", "dist/c1/other/q.yaml"], ["dist"], 1),
        (["c1/q.yaml", "c2/q.yaml"], ["c1", "c2"], 0),
        (["c1/q.yaml", "c2/q.yaml"], ["c1/q.yaml", "c2/q.yaml"], 1),
        (["base/q.yaml", "overlay/kustomization.yaml", "overlay/q.yaml"], ["."], 0),
    ],
)
def test_worlds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: list[str], paths: list[str], clashes: int
) -> None:
    monkeypatch.chdir(tmp_path)
    for index, name in enumerate(files):
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("resources: []\n" if path.name.startswith("kust") else queue(f"c{index}"))
    reading = read(paths)
    assert len(reading.duplicates()) == clashes
    assert len(reading.duplicates(lambda document: "")) == sum("kust" not in name for name in files) - 1


def test_generated_names_and_namespaces_do_not_clash() -> None:
    texts = ["metadata: {generateName: a-}"] * 2 + [f"metadata: {{name: x, namespace: {n}}}" for n in ("a", "b")]
    text = "---\n".join(f"apiVersion: batch/v1\nkind: Job\n{meta}\n" for meta in texts)
    assert read(["-"], io.BytesIO(text.encode())).duplicates() == []
