"""What the process that judges and writes loads."""

from __future__ import annotations

import subprocess
import sys


def test_synth_starts_no_node_in_the_process_that_writes() -> None:
    """jsii starts Node when it is imported, and Node dies of an interrupt before the writer has told what it left."""
    modules = "trainshed.synthesis", "trainshed.gitops.failures", "trainshed.checks.rendered"
    script = f"import sys, {', '.join(modules)}; sys.exit('jsii' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
