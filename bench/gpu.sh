#!/bin/sh
# The GPU bar of the trainer: 124M, bf16, torch.compile, one H100 or H200. Target 40 % of the bfloat16 peak, floor 35 %.
# Ten minutes at most: packs a text, trains 60 steps of 0.5 M tokens for each micro-batch that is tried, prints the best.
# Run from the repository's root in an environment with CUDA PyTorch: PYTHON=python3 OUT=build/gpu sh bench/gpu.sh
# Without a GPU, DEVICE=cpu goes the same way with a tiny model, so that only the figures are missing; SETTINGS adds options.
set -eu
PYTHON=${PYTHON:-python3}
OUT=${OUT:-build/gpu}
DEVICE=${DEVICE:-cuda}
if [ "$DEVICE" = cuda ]; then
    # The vocabulary is GPT-2's, so that the head is as wide as in the published figures.
    PRESET=124m VOCAB=50257 LENGTH=1024 ROWS=512 STEPS=${STEPS:-60} EVERY=10 MICRO_ROWS=${MICRO_ROWS:-32 64}
else
    PRESET=tiny VOCAB=320 LENGTH=64 ROWS=8 STEPS=${STEPS:-12} EVERY=2 MICRO_ROWS=${MICRO_ROWS:-4 8}
fi
mkdir -p "$OUT"
rm -rf "$OUT/data" "$OUT"/run-*
export PYTHONPATH=. TRAINSHED_TERMINATION_LOG=/dev/null
"$PYTHON" - "$DEVICE" <<'PY'
import sys

import torch

if sys.argv[1] == "cuda":
    if not torch.cuda.is_available():
        sys.exit("no GPU is visible")
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}")
PY
"$PYTHON" -c 'from pydoc_data.topics import topics; print("\n\n".join(topics[n] for n in sorted(topics)))' > "$OUT/topics.txt"
"$PYTHON" -m trainer data pack "$OUT/topics.txt" --output "$OUT/data" > /dev/null
for rows in $MICRO_ROWS; do
    # shellcheck disable=SC2086
    timeout "${LIMIT:-240}" "$PYTHON" -m trainer launch --nproc-per-node 1 trainer/ddp.py \
        --set run.dir="$OUT/run-$rows" --set run.steps="$STEPS" --set run.device="$DEVICE" --set data.train="$OUT/data" \
        --set model.preset="$PRESET" --set model.vocab="$VOCAB" --set data.seq_len="$LENGTH" --set speed.compile=model \
        --set batch.rows="$ROWS" --set batch.micro_rows="$rows" --set log.every="$EVERY" --set checkpoint.every=100000 \
        --set optim.warmup_steps=10 --set preempt.enforce=false ${SETTINGS:-} > "$OUT/run-$rows.log" 2>&1 ||
        { echo "micro-batch $rows left with $?:"; tail -5 "$OUT/run-$rows.log"; }
done
"$PYTHON" - "$OUT" "$DEVICE" <<'PY'
import json
import statistics
import sys
from pathlib import Path

PEAK, TARGET, FLOOR = 989e12, 0.40, 0.35
out, device = Path(sys.argv[1]), sys.argv[2]
best = None
for file in sorted(out.glob("run-*/metrics.jsonl")):
    steps = [json.loads(line) for line in file.read_text().splitlines() if '"event":"step"' in line][2:]
    if steps:
        speed = statistics.median(step["tokens_per_second"] for step in steps)
        found = [step["mfu"] for step in steps if step["mfu"] is not None]
        mfu = statistics.median(found) if found else None
        told = "none" if mfu is None else f"{mfu:.1%}"
        print(f"{file.parent.name}: {speed:,.0f} tokens/s, MFU {told}, loss {steps[-1]['loss']}")
        best = max(best or (0, 0), (mfu or 0, speed))
if best is None:
    sys.exit("no run took enough steps; see the logs")
if device != "cuda":
    print(f"the way is free; the share of {PEAK / 1e12:.0f} TFLOPS (target {TARGET:.0%}, floor {FLOOR:.0%}) needs a GPU")
elif not best[0]:
    sys.exit("the trainer does not know this device's peak, so there is no share of it")
else:
    verdict = "PASS" if best[0] >= TARGET else "above the floor" if best[0] >= FLOOR else "UNDER the floor"
    print(f"best MFU {best[0]:.1%} of {PEAK / 1e12:.0f} TFLOPS: {verdict} (target {TARGET:.0%}, floor {FLOOR:.0%})")
    sys.exit(best[0] < FLOOR)
PY
