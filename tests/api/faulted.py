"""What a person reads about a broken manifest."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ValidationError

from trainshed.api.explain import faults_of


def faulted(model: type[BaseModel], data: Any) -> list[str]:
    """Each mistake as `path: what is wrong; what would be right`; empty for good data."""
    try:
        model.model_validate(data)
    except ValidationError as error:
        return [str(fault) for fault in faults_of(error, model=model)]
    return []
