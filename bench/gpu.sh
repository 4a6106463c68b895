#!/bin/sh
# The GPU bar of the trainer: 124M, bf16, torch.compile, one H100 or H200. Target 40 % of the bfloat16 peak, floor 35 %.
# Ten minutes at most: packs a text, trains 60 steps of 0.5 M tokens for each micro-batch that is tried, prints the best.
# Run from the repository's root in an environment with CUDA PyTorch: PYTHON=python3 OUT=build/gpu sh bench/gpu.sh
set -eu
PYTHON=${PYTHON:-python3}
OUT=${OUT:-build/gpu}
STEPS=${STEPS:-60}
mkdir -p "$OUT"
export PYTHONPATH=. TRAINSHED_TERMINATION_LOG=/dev/null
"$PYTHON" -c 'import sys, torch; sys.exit(0 if torch.cuda.is_available() else "no GPU is visible")'
"$PYTHON" -c 'from pydoc_data.topics import topics; print("\n\n".join(topics[n] for n in sorted(topics)))' > "$OUT/topics.txt"
rm -rf "$OUT/data"
"$PYTHON" -m trainer data pack "$OUT/topics.txt" --output "$OUT/data" > /dev/null
for rows in ${MICRO_ROWS:-32 64}; do
    rm -rf "$OUT/run-$rows"
    # The vocabulary is GPT-2's, so that the head is as wide as in the published figures.
    timeout "${LIMIT:-240}" "$PYTHON" -m trainer launch --nproc-per-node 1 trainer/ddp.py \
        --set run.dir="$OUT/run-$rows" --set run.steps="$STEPS" --set run.device=cuda --set data.train="$OUT/data" \
        --set model.preset=124m --set model.vocab=50257 --set data.seq_len=1024 --set speed.compile=model \
        --set batch.rows=512 --set batch.micro_rows="$rows" --set log.every=10 --set checkpoint.every=100000 \
        --set optim.warmup_steps=10 --set preempt.enforce=false > "$OUT/run-$rows.log" 2>&1 || tail -5 "$OUT/run-$rows.log"
done
"$PYTHON" - "$OUT" <<'PY'
import json
import statistics
import sys
from pathlib import Path

best = None
for file in sorted(Path(sys.argv[1]).glob("run-*/metrics.jsonl")):
    steps = [json.loads(line) for line in file.read_text().splitlines() if '"event":"step"' in line][2:]
    if steps:
        speed, mfu = (statistics.median(s[key] or 0 for s in steps) for key in ("tokens_per_second", "mfu"))
        print(f"{file.parent.name}: {speed:,.0f} tokens/s, MFU {mfu:.1%}, loss {steps[-1]['loss']}")
        best = max(best or 0, mfu)
if best is None:
    sys.exit("no run took a step; see the logs")
print(f"best MFU {best:.1%}: {'PASS (target 40 %)' if best >= 0.4 else 'above the floor of 35 %' if best >= 0.35 else 'UNDER the floor of 35 %'}")
PY
