"""Secrets whose values are not encoded as their field wants them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from trainshed.checks.rule import Issue, rule
from trainshed.fleet.access import mapping

if TYPE_CHECKING:
    from trainshed.fleet.fleet import Fleet

#: What other tools put in before the object is applied: vault plugins, SOPS, envsubst, Helm.
_FILLED: Final = ("<", "{{", "$", "ENC[", "vault:", "ref+")


@rule("rendering-secret-not-base64", severity="error", family="rendering")
def not_base64(fleet: Fleet) -> Iterator[Issue]:
    """A value in a Secret's `data` is not base64.

    Why: The API server decodes `data` and refuses the Secret: "illegal base64 data at input byte 4". Plain text belongs
    into `stringData`.
    Fix: Write the value in `stringData`, or encode it.
    """
    for document in fleet.of(("", "Secret")):
        for key, value in mapping(document.manifest, "data").items() if document.judged else ():
            if not isinstance(value, str) or value.lstrip().startswith(_FILLED):
                continue
            try:
                base64.b64decode("".join(value.split()), validate=True)
            except (binascii.Error, ValueError):
                message = f'the value of "{key}" is not base64, which data holds'
                yield Issue(document, ("data", key), message, "move it to stringData, or encode it")
