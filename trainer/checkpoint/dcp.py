"""The parts of torch.distributed.checkpoint in use, from the modules that define them, and two small readers."""

from __future__ import annotations

import warnings
from pathlib import Path

import torch
from torch import Tensor
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from torch.distributed.checkpoint.metadata import TensorStorageMetadata
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

__all__ = [
    "CheckpointException",
    "FileSystemReader",
    "FileSystemWriter",
    "load",
    "read_tensors",
    "save",
    "stored_tensors",
]

# One process alone is what `no_dist` asks for; torch 2.13 warns of it at every save and load.
warnings.filterwarnings("ignore", "torch.distributed is .*assuming the intent is to", UserWarning)


def stored_tensors(folder: Path) -> dict[str, TensorStorageMetadata]:
    """Size and type of each tensor in a state folder."""
    entries = FileSystemReader(folder).read_metadata().state_dict_metadata
    return {name: entry for name, entry in entries.items() if isinstance(entry, TensorStorageMetadata)}


def read_tensors(folder: Path, names: list[str]) -> dict[str, Tensor]:
    """These tensors, on the CPU; without a process group."""
    stored = stored_tensors(folder)
    target = {name: torch.empty(stored[name].size, dtype=stored[name].properties.dtype) for name in names}
    load(dict(target), storage_reader=FileSystemReader(folder), no_dist=True)
    return target
