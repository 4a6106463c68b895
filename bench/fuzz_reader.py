"""Random and mutated inputs for the reader: `python bench/fuzz_reader.py [COUNT [SEED]]`.

Every input must come back as a reading, with every document's places, spellings and duplicates asked for, in bounded
time. Prints the number of crashes and the slowest input; a crash's input is kept beside the working directory.
"""

from __future__ import annotations

import io
import json
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from trainshed.fleet.reading import read

SEEDS = (
    "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  labels: {x: on, 'y': 07}\nspec:\n  - &a {k: 12:30}\n  - *a\n",
    "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: b}\n- kind: x\n",
    '{"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "a\\ud83d\\ude00"}, "x": [1.5, null]}]}\n',
    "%YAML 1.1\n---\na: |\n  text\nb: >-\n  folded\n...\n---\n? [k]\n: !!binary aGk=\n<<: {c: .inf}\n",
    "apiVersion: v1\nkind: Secret\nmetadata: {name: '{{ .Values.x }}'}\nsops: {mac: 'ENC[AES256_GCM]'}\n",
    "base: &b {x: 1}\napiVersion: v1\nkind: ConfigMap\ndata:\n  <<: [*b, *b]\n  x: 2\n  x: 3\n",
)
TOKENS = (
    *(
        "---",
        "...",
        "\n",
        "\n  ",
        "- ",
        ": ",
        "? ",
        "&a ",
        "*a",
        "<<: ",
        "{",
        "}",
        "[",
        "]",
        "'",
        '"',
        "|",
        ">",
        "#",
        "%",
    ),
    *(
        "\t",
        "!!int ",
        "!x ",
        "{{ .Values.x }}",
        "${X}",
        "\\ud800",
        "\ufeff",
        "\u2028",
        "\x85",
        "\r",
        "\0",
        "é",
        "😀",
        "~",
    ),
    *(".nan", "0x", "9" * 60, "[" * 40, "apiVersion: v1\n", "kind: List\n", "items:\n", "metadata:\n", "name: "),
    *("sops:\n", ",", "@", "`", "2026-01-31", "<<<<<<< HEAD\n"),
)


def mutated(rng: random.Random) -> bytes:
    """A seed with tokens inserted, stretches dropped, doubled or swapped, and bytes flipped."""
    text = "".join(rng.choices(SEEDS, k=rng.choice((1, 1, 1, 2, 3))))
    for _ in range(rng.randint(1, 8)):
        at, to = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
        change = rng.randrange(4)
        if change == 0:
            text = text[:at] + rng.choice(TOKENS) + text[at:]
        elif change == 1:
            text = text[:at] + text[min(to, at + 20) :]
        elif change == 2:
            text = text[:to] + text[at:to] + text[to:]
        else:
            text = text[:at] + "".join(rng.choices(TOKENS, k=3)) + text[to:]
    data = bytearray(text[:4000].encode("utf-8", "surrogatepass"))
    for _ in range(rng.choice((0, 0, 0, 1, 3))):
        if data:
            data[rng.randrange(len(data))] = rng.randrange(256)
    return bytes(data)


def noise(rng: random.Random) -> bytes:
    """Random bytes."""
    return rng.randbytes(rng.randint(0, 200))


def words(rng: random.Random) -> bytes:
    """Random YAML tokens."""
    return "".join(rng.choices(TOKENS, k=rng.randint(1, 40))).encode("utf-8", "surrogatepass")


MAKERS: tuple[Callable[[random.Random], bytes], ...] = (mutated, mutated, mutated, words, noise)


def exercise(data: bytes) -> Counter[str]:
    """Reads `data` and asks for everything that a reading can tell; returns the codes found."""
    reading = read(["-"], io.BytesIO(data))
    findings = reading.findings + reading.duplicates()
    for document in reading.documents:
        pending: list[tuple[tuple[str | int, ...], object]] = [((), document.manifest)]
        while pending:
            path, node = pending.pop()
            document.place(path)
            document.place(path, value=True)
            document.raw(path)
            if isinstance(node, dict):
                pending.extend(((*path, key), value) for key, value in list(node.items())[:8])
            elif isinstance(node, list):
                pending.extend(((*path, index), value) for index, value in enumerate(node[:8]))
        document.place(("no", 0, "such"))
        json.dumps(document.manifest, allow_nan=False).encode()
    for finding in findings:
        json.dumps(finding.to_json(), ensure_ascii=False).encode()
        if finding.place:
            reading.line(finding.place)
    return Counter(finding.code for finding in findings)


def main() -> int:
    """Runs COUNT inputs; returns 1 if one crashed."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    found: Counter[str] = Counter()
    crashes, slowest = 0, 0.0
    for _ in range(count):
        data = rng.choice(MAKERS)(rng)
        start = time.perf_counter()
        try:
            found += exercise(data)
        except Exception:
            crashes += 1
            Path(f"fuzz-crash-{crashes}.bin").write_bytes(data)
            traceback.print_exc()
        slowest = max(slowest, time.perf_counter() - start)
        if crashes >= 20:
            break
    print(f"{count} inputs, {crashes} crashes, slowest {slowest * 1000:.0f} ms")
    print(", ".join(f"{code} {number}" for code, number in found.most_common()))
    return 1 if crashes else 0


if __name__ == "__main__":
    sys.exit(main())
