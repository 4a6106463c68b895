"""API objects: exact, typed copies of Kubernetes kinds, one module per group.

They know their schema and their own rules, nothing else.
"""
