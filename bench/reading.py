"""How long the reader takes beside PyYAML's C loader on the same bytes: `python bench/reading.py [OBJECTS]`."""

from __future__ import annotations

import gc
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

from trainshed.fleet.reading import read

_QUEUE = """apiVersion: kueue.x-k8s.io/v1beta2
kind: LocalQueue
metadata:
  name: queue-{i}
  namespace: tenant-{t}
  annotations:
    argocd.argoproj.io/sync-wave: '2'
spec:
  clusterQueue: queue-{t}
"""
_BINDING = """apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: edit-{i}
  namespace: tenant-{t}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: edit
subjects:
- apiGroup: rbac.authorization.k8s.io
  kind: Group
  name: team-{t}
"""
_JOB = """apiVersion: batch/v1
kind: Job
metadata:
  name: train-{i}
  namespace: tenant-{t}
  labels:
    kueue.x-k8s.io/queue-name: queue-{t}
spec:
  parallelism: 2
  completions: 2
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: trainer
        image: registry.example.com/llm/trainer:1.4.2
        command: [python, -m, train]
        env:
        - name: SEED
          value: "{i}"
        resources:
          limits: {{cpu: '32', memory: 256Gi, nvidia.com/gpu: 8}}
"""


def objects(count: int) -> Iterator[str]:
    """`count` small objects, a third of them Jobs."""
    for index in range(count):
        yield (_QUEUE, _BINDING, _JOB)[index % 3].format(i=index, t=index // 10)


def best(work: Callable[[], object], rounds: int = 5) -> float:
    """The shortest of `rounds` runs, in seconds."""
    times = []
    for _ in range(rounds):
        gc.collect()
        start = time.perf_counter()
        result = work()
        times.append(time.perf_counter() - start)
        del result
    return min(times)


def main() -> None:
    """Prints seconds and ratios."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for index, text in enumerate(objects(count)):
            application = folder / "many" / f"app-{index // 100}"
            application.mkdir(parents=True, exist_ok=True)
            (application / f"{index}.yaml").write_text(text)
        one = folder / "one.yaml"
        one.write_text("---\n".join(objects(count)))
        data = one.read_text()
        loader = best(lambda: list(yaml.load_all(data, Loader=yaml.CSafeLoader)))
        reading = read([str(one)])
        rows = {
            "PyYAML CSafeLoader": loader,
            "read, one file": best(lambda: read([str(one)])),
            f"read, {count} files": best(lambda: read([str(folder / "many")])),
            "duplicates": best(reading.duplicates),
            "a place in every object": best(lambda: [d.place(("metadata", "name")) for d in reading.documents], 2),
        }
    for label, seconds in rows.items():
        print(f"{label:28} {seconds:7.3f} s  {seconds / loader:5.2f} x")


if __name__ == "__main__":
    main()
