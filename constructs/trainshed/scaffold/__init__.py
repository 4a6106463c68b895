"""`trainshed init`: a small repository that renders and verifies as it stands."""

from trainshed.scaffold.write import CannotInit, NotEmpty, write_scaffold

__all__ = ["CannotInit", "NotEmpty", "write_scaffold"]
