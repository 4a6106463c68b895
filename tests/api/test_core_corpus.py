"""No false alarms: what upstream ships of built-in kinds parses, reads back, and keeps Kubernetes' schema."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.api.told import told
from tests.oracle.core import core_errors, is_core
from tests.oracle.documents import documents
from trainshed.api.registry import model_for


def test_built_in_kinds_of_the_corpus_parse_and_read_back(shared: Path) -> None:
    seen: Counter[str] = Counter()
    alarms: list[str] = []
    for file in sorted((shared / "corpus").rglob("*.yaml")):
        for manifest in documents(file.read_text(encoding="utf-8")):
            api_version, kind = str(manifest.get("apiVersion")), str(manifest.get("kind"))
            model = model_for(api_version, kind)
            if model is None or not is_core(api_version, kind):
                continue
            seen[kind] += 1
            alarms += [f"{file.name}: {kind}: {line}" for line in told(model, manifest)]
            if not alarms:
                written = model.parse(manifest).manifest()
                alarms += [f"{file.name}: {kind}: written: {line}" for line in core_errors(written)]
                assert model.parse(written) == model.parse(manifest)
    assert alarms == []
    assert seen["Job"] >= 14, seen
    assert {"ConfigMap", "CronJob", "Namespace", "Service"} <= seen.keys()
