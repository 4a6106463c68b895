"""The table of dropped fields says exactly where our pod template and Volcano's schema differ."""

from __future__ import annotations

import re
from pathlib import Path

from tests.api.parity import Parity
from tests.oracle.crd import crds
from trainshed.api.volcano import Job
from trainshed.api.volcano.template import UNKNOWN_FIELDS


def test_dropped_fields_are_those_that_the_schema_lacks(shared: Path) -> None:
    parity = Parity()
    schema = crds()["batch.volcano.sh/v1alpha1", "Job"].schema
    parity.compare(schema, Job, "Job", skip=frozenset({"apiVersion", "kind", "metadata", "status"}))
    found: dict[str, set[str]] = {}
    for line in parity.differences:
        if match := re.fullmatch(r".*\.(\w+): (\w+) has this field, the schema does not", line):
            found.setdefault(match[2], set()).add(re.sub(r"(?=[A-Z])", "_", match[1]).lower())
    assert found == {model: set(fields) for model, fields in UNKNOWN_FIELDS.items()}
