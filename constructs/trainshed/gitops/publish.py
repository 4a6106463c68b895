"""Where a complete set of files goes: `dist/`, the cdk8s CLI's scratch folder, or whoever runs the app in-process.

The cdk8s CLI removes its output folder before it starts the app (cdk8s-cli 2.207.60, `lib/cli/cmds/synth.js`), so a
failing app would leave no `dist/` at all. Therefore `cdk8s.yaml` names a scratch folder below `.cdk8s/` as output, and
what arrives there complete is published to the folder of the same name beside it: `.cdk8s/dist` → `dist`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from trainshed.gitops.tree import write_tree

Files = Mapping[str, str]
SCRATCH = ".cdk8s"

_receivers: list[Callable[[Files], None]] = []


@contextmanager
def received_by(receiver: Callable[[Files], None]) -> Iterator[None]:
    """Within this context `publish()` hands the files to `receiver` and writes nothing itself."""
    _receivers.append(receiver)
    try:
        yield
    finally:
        _receivers.remove(receiver)


def publish(files: Files) -> None:
    """Writes `files` to the folder that the caller of the app asked for. Raises Faults, having changed nothing."""
    if _receivers:
        _receivers[-1](files)
        return
    outdir = Path(os.environ.get("CDK8S_OUTDIR", "dist"))
    published = _published_beside(outdir)
    if published is not None:
        write_tree(published, files)
    write_tree(outdir, files)


def _published_beside(outdir: Path) -> Path | None:
    """`dist` for `.cdk8s/dist`; None for any other output folder."""
    return outdir.parent.parent / outdir.name if outdir.parent.name == SCRATCH else None
