"""Templates of ApplicationSets: in the language that the set is told to use."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from trainshed.checks.argocd import APPLICATION_SET, FAMILY
from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import dig
from trainshed.fleet.paths import Path

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

_EXPRESSION: Final = re.compile(r"\{\{-?([^{}]*?)-?\}\}")
#: A parameter as the old templates write it: `path.basename`, `name`, `values.team`, `path[0]`.
_BARE: Final = re.compile(r"[A-Za-z_][\w-]*(\[\d+\])?(\.[\w\-\[\]]+)*")
#: Parameters that generators give (argo-cd 3.5, `docs/operator-manual/applicationset/Generators*.md`).
_PARAMETERS: Final = frozenset(
    {
        "path", "name", "nameNormalized", "server", "metadata", "values", "project", "cluster", "index", "number",
        "branch", "branch_slug", "head_sha", "head_short_sha", "target_branch", "organization", "repository", "url",
        "sha", "short_sha", "labels", "namespace",
    }
)  # fmt: skip
_DEEPEST: Final = 20
_LONGEST: Final = 5_000


@rule("argocd-applicationset-template", severity="error", family=FAMILY)
def application_set_template(fleet: Fleet) -> Iterator[Issue]:
    """An ApplicationSet's template is in the other of its two languages.

    Why: With `goTemplate: true` parameters begin with a dot: `{{.path.basename}}`; `{{path.basename}}` is a function
    that does not exist, and no Application is made. Without it only `{{path.basename}}` is replaced, and
    `{{.path.basename}}` stays as it is in names and paths.
    Fix: Write parameters with a dot and `goTemplate: true`, or both without.
    """
    for document in fleet.of(APPLICATION_SET):
        go = dig(document.manifest, "spec", "goTemplate") is True
        template = dig(document.manifest, "spec", "template")
        for path, value in _strings(template, ("spec", "template"), 0):
            if "{{" not in value or len(value) > _LONGEST:
                continue
            found = next((text.strip() for text in _EXPRESSION.findall(value) if _foreign(text.strip(), go)), None)
            if found is None:
                continue
            shown = f"{{{{{found}}}}}"
            if go:
                message = f"{shown} is no parameter with goTemplate: true: rendering fails, and nothing is made"
                fix = f"write {{{{.{found}}}}}"
            else:
                message = f"{shown} is not replaced without goTemplate: true"
                fix = "write spec.goTemplate: true, or the parameter without the dot"
            yield Issue(document, path, message, fix)
            break


def _foreign(expression: str, go: bool) -> bool:
    if not go:
        return expression.startswith((".", "$", "index ", "default "))
    match = _BARE.fullmatch(expression)
    return match is not None and re.split(r"[.\[]", expression, maxsplit=1)[0] in _PARAMETERS


def _strings(node: Any, path: Path, depth: int) -> Iterator[tuple[Path, str]]:
    if isinstance(node, str):
        yield path, node
    elif depth < _DEEPEST and isinstance(node, dict):
        for key, value in node.items():
            yield from _strings(value, (*path, key), depth + 1)
    elif depth < _DEEPEST and isinstance(node, list):
        for index, value in enumerate(node):
            yield from _strings(value, (*path, index), depth + 1)
