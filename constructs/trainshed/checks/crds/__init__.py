"""Custom resources against their CustomResourceDefinitions: structural schema and CEL rules, as the API server does.

After k8s.io/apiextensions-apiserver v0.36: drop nulls, apply defaults, refuse unknown fields, validate, check lists,
then evaluate the rules. Not imitated: cost limits, ratcheting.
"""
