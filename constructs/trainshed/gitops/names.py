"""Names that the write half gives to things of its own."""

from __future__ import annotations

from typing import Final

#: The application that holds cluster-scoped and tenancy objects, and the one that holds Argo CD's own.
PLATFORM: Final = "platform"
ARGOCD: Final = "argocd"

#: Declared size of a node pool, on its ResourceFlavor: JSON `{"nodes": n, "perNode": {resource: quantity}}`.
CAPACITY_ANNOTATION: Final = "trainshed.dev/capacity"
