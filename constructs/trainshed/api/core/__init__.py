"""core/v1: the pod template and everything in it, and the plain kinds beside it."""
