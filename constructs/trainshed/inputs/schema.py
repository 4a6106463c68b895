"""JSON Schemas of the YAML inputs, for editors."""

from __future__ import annotations

import json

from trainshed.inputs.tenant_files import TenantFile

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MODELS = {"tenant": TenantFile}


def schema_text(what: str) -> str:
    """The JSON Schema (2020-12) of an input as text. Raises KeyError for an unknown one; `MODELS` names them."""
    schema = {"$schema": DIALECT, **MODELS[what].model_json_schema(by_alias=True)}
    return json.dumps(schema, indent=2, ensure_ascii=False)
