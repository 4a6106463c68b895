"""The benchmark compares like with like: all sides make the same objects. How fast they are is nobody's test."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bench.agreement import Disagreement, compare, objects_in


def test_all_sides_make_the_same_objects(root: Path) -> None:
    if not (root / "build" / "node" / "node_modules" / "cdk8s").is_dir():
        pytest.skip("cdk8s for Node is not installed; `make test` does it")
    command = [sys.executable, "-m", "bench", "--tenants", "10", "--runs", "1", "--json"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout)
    sides = ["trainshed", "trainshed, checked", "cdk8s Python", "cdk8s TypeScript"]
    assert [row["side"] for row in results["measures"]] == sides
    # 11 a tenant: a ClusterQueue, and five in each of two namespaces; and flavor, cohort, priority class.
    assert {row["objects"] for row in results["measures"]} == {10 * 11 + 3}
    assert results["verdicts"] == []  # the bars are set for 1,000 tenants


def written(folder: Path, **files: str) -> Path:
    folder.mkdir()
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


ONE = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n"


def test_a_difference_is_found(tmp_path: Path) -> None:
    ours = objects_in(written(tmp_path / "ours", a=ONE))
    compare("ours", ours, "same", objects_in(written(tmp_path / "same", a=ONE)))
    with pytest.raises(Disagreement, match="differs"):
        compare("ours", ours, "other", objects_in(written(tmp_path / "other", a=f"{ONE}data: {{}}\n")))
    with pytest.raises(Disagreement, match="only one"):
        compare("ours", ours, "none", objects_in(written(tmp_path / "none")))


def test_an_object_has_a_file_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(Disagreement, match="holds 2 objects"):
        objects_in(written(tmp_path / "two", a=f"{ONE}---\n{ONE}"))
    with pytest.raises(Disagreement, match="in another file too"):
        objects_in(written(tmp_path / "twice", a=ONE, b=ONE))
