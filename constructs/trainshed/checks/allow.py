"""The annotation `trainshed.dev/allow: code[, code]`: what an object's owner knows and wants."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from trainshed.checks.options import Options
from trainshed.faults import nearest
from trainshed.fleet.document import Document
from trainshed.fleet.finding import Finding, ObjectRef
from trainshed.naming import ALLOW_ANNOTATION

_PATH: Final = ("metadata", "annotations", ALLOW_ANNOTATION)


class Allowances:
    """The codes that objects allow, and which of them were needed.

    The annotation stands in the metadata of the object that a finding is about, for a workload not in its pod template:
    the template belongs to the pods, and a change there restarts them.
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        self._codes: dict[tuple[str, ObjectRef], dict[str, Document]] = {}
        self._used: set[tuple[str, ObjectRef, str]] = set()
        for document in documents:
            if written := document.annotations.get(ALLOW_ANNOTATION):
                codes = [code for code in re.split(r"[,\s]+", written) if code]
                self._codes.setdefault((document.file, document.ref), {}).update(dict.fromkeys(codes, document))

    def allows(self, finding: Finding) -> bool:
        """Whether the object of `finding` allows its code; remembers that it did."""
        if finding.object is None or finding.place is None:
            return False
        key = (finding.place.file, finding.object)
        if finding.code not in self._codes.get(key, ()):
            return False
        self._used.add((*key, finding.code))
        return True

    def findings(self, known: Iterable[str], options: Options) -> Iterator[Finding]:
        """Allowed codes that nothing was found for, and codes that do not exist. Ask after the last `allows`."""
        known = frozenset(known)
        for (file, ref), codes in self._codes.items():
            for code, document in codes.items():
                if code not in known:
                    fix = nearest(code, known) or "see `trainshed explain` for all codes"
                    message = f'{ALLOW_ANNOTATION} names "{code}", which is no code'
                    yield document.finding("allow-unknown-code", "warning", message, fix, _PATH)
                elif options.wants(code) and document.judged and (file, ref, code) not in self._used:
                    message = f"{ALLOW_ANNOTATION} allows {code}, but nothing of that code is found here any more"
                    yield document.finding("allow-unused", "warning", message, f"remove {code} from it", _PATH)
