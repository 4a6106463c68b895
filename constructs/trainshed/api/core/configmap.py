"""core/v1 ConfigMap.

Rules: kubernetes v1.36, `pkg/apis/core/validation/validation.go`, `ValidateConfigMap`.
"""

import base64
import binascii
from collections.abc import Iterator
from typing import Annotated, ClassVar, Final, Literal

from trainshed.api.base import Broken, KubernetesObject
from trainshed.api.core.shapes import key_error
from trainshed.api.types import Bool, Str, shaped

ConfigKey = Annotated[Str, shaped(key_error)]

#: Bytes that all values together may have (`MaxSecretSize`).
SIZE_MAX: Final = 1024 * 1024


class ConfigMap(KubernetesObject):
    """Text and bytes by key. With `immutable: true`, its data never changes again, and neither does that field."""

    namespaced: ClassVar[bool] = True

    api_version: Literal["v1"] = "v1"
    kind: Literal["ConfigMap"] = "ConfigMap"
    binary_data: dict[ConfigKey, Str] | None = None
    data: dict[ConfigKey, Str] | None = None
    immutable: Bool | None = None

    def rules(self) -> Iterator[Broken]:
        """Base64, no key in both maps, and 1 MiB of values in all."""
        size = sum(len(text.encode()) for text in (self.data or {}).values())
        for key, text in (self.binary_data or {}).items():
            if key in (self.data or {}):
                yield Broken(f"data[{key}]", "the key is in binaryData too", "keep one of them")
            try:
                size += len(base64.b64decode("".join(text.split()), validate=True))
            except binascii.Error:
                yield Broken(f"binaryData[{key}]", "is not base64")
        if size > SIZE_MAX:
            yield Broken("", f"the values have {size} bytes, {size - SIZE_MAX} more than the {SIZE_MAX} allowed")
