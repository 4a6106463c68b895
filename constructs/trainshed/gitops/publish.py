"""Where a complete set of files goes: `dist/`, the cdk8s CLI's scratch folder, or whoever runs the app in-process.

The cdk8s CLI removes its output folder before it starts the app (cdk8s-cli 2.207.60, `lib/cli/cmds/synth.js`), so a
failing app would leave no `dist/` at all. Therefore `cdk8s.yaml` names a scratch folder below `.cdk8s/` as output, and
what arrives there complete is published to the folder of the same name beside it: `.cdk8s/dist` → `dist`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from trainshed.faults import Place
from trainshed.gitops.app_config import published_beside
from trainshed.gitops.tree import write_tree

#: Named, not imported: layers point one way, and the judge of manifests stands above what makes them.
_JUDGE = "trainshed.checks.rendered"


class File(NamedTuple):
    """A file of `dist/`: its text, the manifest in it, and where in the stacks that was made."""

    text: str
    manifest: Mapping[str, Any]
    place: Place | None = None


#: By POSIX path below `dist/`.
Files = Mapping[str, File]

#: How often something was published by this process.
count = 0
_receivers: list[Callable[[Files], None]] = []


@contextmanager
def received_by(receiver: Callable[[Files], None]) -> Iterator[None]:
    """Within this context `publish()` hands the files to `receiver`, and neither judges nor writes them itself."""
    _receivers.append(receiver)
    try:
        yield
    finally:
        _receivers.remove(receiver)


def publish(files: Files, folder: Path) -> None:
    """Judges `files`, and writes them to where the caller of the app in `folder` asked for.

    Raises Faults, having changed nothing, for errors that the check finds, and for what cannot be written.
    """
    global count
    if _receivers:
        _receivers[-1](files)
    else:
        outdir = folder / os.environ.get("CDK8S_OUTDIR", "dist")
        published = published_beside(outdir)
        import_module(_JUDGE).approve(files, published or outdir)
        texts = texts_of(files)
        write_tree(outdir, texts)
        if published is not None:
            write_tree(published, texts)
    count += 1


def texts_of(files: Files) -> dict[str, str]:
    """What is written."""
    return {path: file.text for path, file in files.items()}
