"""What there is to say about one code."""

from __future__ import annotations

from typing import Final, NamedTuple

from trainshed.fleet.finding import Severity

#: Sections that hold YAML, and what stands above them.
_EXAMPLES: Final = {
    "Baseline": "Before the change",
    "Bad": "Reported",
    "Good": "Right",
}


class Page(NamedTuple):
    """What there is to say about a code. `sections`: `Summary`, `Why`, `Fix`, and of rules `Bad`, `Good`…"""

    code: str
    severity: Severity
    family: str
    sections: dict[str, str]

    @property
    def summary(self) -> str:
        """One sentence."""
        return self.sections["Summary"]

    def markdown(self, *, level: int = 3) -> str:
        """The page as Markdown; `level` is that of its heading."""
        parts = [f"{'#' * level} {self.code}", f"*{self.severity}* · {self.family}", self.summary]
        for name in ("Why", "Fix"):
            if told := self.sections.get(name):
                parts.append(f"**{name}.** {told}")
        for name, caption in _EXAMPLES.items():
            if text := self.sections.get(name):
                parts.append(f"{caption}:\n\n```yaml\n{text}\n```")
        return "\n\n".join(parts)
