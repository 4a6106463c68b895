"""Complete a CycloneDX SBOM of Python packages: the image's own name, and Debian's packages.

`cyclonedx-py environment` knows what pip installed. What else is in the image came from the base, and dpkg knows that.
Runs inside the build, on the base's Python, with nothing but the standard library.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

FORMAT = "${db:Status-Abbrev}\t${Package}\t${Version}\t${Architecture}\n"


def complete(bom: dict[str, Any], listing: str, distribution: str, version: str) -> dict[str, Any]:
    """`bom` without its time, and with Debian's packages of `listing` (lines of `dpkg-query -f FORMAT`), sorted."""
    lines = [line.split("\t") for line in listing.splitlines()]
    debian = [
        {
            "type": "library",
            "bom-ref": f"deb/{name}@{release}",
            "name": name,
            "version": release,
            "purl": f"pkg:deb/debian/{name}@{quote(release, safe='')}?arch={architecture}&distro={distribution}",
        }
        for status, name, release, architecture in sorted(lines)
        if status.startswith("ii")
    ]
    metadata = {
        **{key: value for key, value in bom.get("metadata", {}).items() if key != "timestamp"},
        "component": {"type": "container", "bom-ref": "image", "name": "trainshed-trainer", "version": version},
    }
    return {**bom, "metadata": metadata, "components": [*bom.get("components", []), *debian]}


def main() -> None:
    """`sbom.py IN OUT VERSION`."""
    source, target, version = sys.argv[1:]
    release = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    listing = subprocess.run(["dpkg-query", "-W", "-f", FORMAT], check=True, capture_output=True, text=True).stdout
    distribution = release.get("VERSION_CODENAME", "unknown").strip('"')
    made = complete(json.loads(Path(source).read_text()), listing, distribution, version)
    Path(target).write_text(json.dumps(made, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
