"""Typed GitOps for shared GPU training clusters.

Layers, each importing only from those before it: value types (`faults`, `quantity`, `naming`, `target`), `api`,
`gitops`, `tenancy`, `training`, `inputs`, `cli`.
"""

__version__ = "0.1.0"
