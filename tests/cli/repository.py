"""Small repositories of their own, in which the real commands run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

CONFIG = "language: python\napp: python -m stacks\noutput: .cdk8s/dist\n"
#: What every stack here begins with; its body starts at line 20, column 9.
HEAD = '''"""A cluster with one pool of three 8-GPU nodes."""

from pathlib import Path

import trainshed.api.kueue as api
from trainshed.gitops import App, Application, Cluster
from trainshed.inputs import load_tenants
from trainshed.tenancy import *
from trainshed.training import *

NODE = {"cpu": 96, "memory": "400G", "nvidia.com/gpu": 8}
JOB = dict(nodes=2, gpus_per_node=8, image="i:1", script="/a.py", resources={"cpu": 96, "memory": "400G"})


class Lab(Cluster):
    def __init__(self, app: App) -> None:
        super().__init__(app, "lab")
        pool = NodePool(self, "h100", nodes=3, per_node=NODE)
        cohort = Cohort(self, "shared")
'''
MAIN = """from trainshed.gitops import faults_reported

with faults_reported():
    from stacks.lab import Lab
    from trainshed.gitops import App

    app = App()
    app.build(Lab)
    app.synth()
"""


def stack(*lines: str) -> str:
    """A stack whose body is these lines."""
    return HEAD + "".join(f"        {line}\n" for line in lines)


class Repository:
    """A folder with cdk8s.yaml, stacks/, and whatever else is written into it."""

    def __init__(self, folder: Path, files: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.write({"cdk8s.yaml": CONFIG, "stacks/__init__.py": "", "stacks/__main__.py": MAIN, **(files or {})})

    def write(self, files: dict[str, str]) -> None:
        """Writes files below the folder."""
        for path, text in files.items():
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")

    def run(self, *command: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        """Runs a command in the folder, as from a shell that knows nothing of the tests."""
        kept = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "CDK8S_OUTDIR")}
        return subprocess.run(
            command, cwd=self.folder, env={**kept, **(env or {})}, capture_output=True, text=True, timeout=120
        )

    def trainshed(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs `trainshed …`."""
        return self.run(sys.executable, "-m", "trainshed.cli", *arguments)

    def state(self, folder: str = "dist") -> dict[str, tuple[object, ...]]:
        """Content, inode and mtime of every file of `dist/`, and its folders."""
        found: dict[str, tuple[object, ...]] = {}
        for path in sorted((self.folder / folder).rglob("*")):
            status = path.lstat()
            content = path.read_bytes() if path.is_file() else b""
            found[path.relative_to(self.folder).as_posix()] = (content, status.st_ino, status.st_mtime_ns)
        return found
