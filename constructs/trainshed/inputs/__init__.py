"""YAML inputs for people who do not write Python."""

from trainshed.inputs.tenant_files import load_tenants

__all__ = ["load_tenants"]
