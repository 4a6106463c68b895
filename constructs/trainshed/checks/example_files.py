"""The examples on the rules' pages: YAML files below `examples/CODE/`, which `trainshed check` and editors can open."""

from __future__ import annotations

from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).with_name("examples")
#: Sections of a page. `Baseline` is the state before the change, of rules that judge one.
SECTIONS: Final = ("Bad", "Good", "Baseline")


def path_of(code: str, section: str) -> Path | None:
    """The file, or the folder where the place of files matters, with the example; None where there is none."""
    place = FOLDER / code / section.lower()
    return next((path for path in (place.with_suffix(".yaml"), place) if path.exists()), None)


def examples(code: str) -> dict[str, str]:
    """The examples of a code by section. Of several files, each stands below a comment `# file: NAME`."""
    found = {section: path_of(code, section) for section in SECTIONS}
    return {section: _text(path) for section, path in found.items() if path}


def _text(path: Path) -> str:
    if path.is_file():
        return path.read_text(encoding="utf-8").strip()
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return "\n".join(f"# file: {file.relative_to(path).as_posix()}\n{_text(file)}" for file in files)
