"""Every rule there is: importing this module registers them all. The list is explicit; a test keeps it complete."""

from __future__ import annotations

import sys
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

#: Modules of `trainshed.checks` that register rules.
MODULES: Final[tuple[str, ...]] = ()

_OTHERS: Final = frozenset({"all_rules", "allow", "command", "config", "engine", "fleets", "rule", "options", "docs"})


def load() -> None:
    """Imports all rule modules."""
    import trainshed.checks

    found = [module.name for module in iter_modules(trainshed.checks.__path__) if not module.ispkg]
    for name in [*MODULES, *(name for name in found if name not in _OTHERS and not name.startswith("schema"))]:
        try:
            import_module(f"trainshed.checks.{name}")
        except Exception as error:
            print(f"checks/{name}.py cannot be imported: {type(error).__name__}: {error}", file=sys.stderr)
