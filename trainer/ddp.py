"""The script that every rank runs; `trainer launch` and plain `torchrun` can both start it by its path."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

# Started by path, Python puts this folder first; inside the package that lets `data` or `model` hide other modules.
if (HERE / "exits.py").exists():
    sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != HERE]
    sys.path.insert(0, str(HERE.parent))

from trainer.train import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
