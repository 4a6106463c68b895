"""Train a causal language model by DistributedDataParallel, in a cluster that may take the GPUs back at any time."""

__version__ = "0.1.0"
