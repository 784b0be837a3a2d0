"""JSON as a Go program has it after decoding into its structs and encoding these again; and the kubelet's checksum of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

TEXT, FLAG, NUMBER, RAW = str, bool, int, object  # RAW: runtime.RawExtension, any JSON as it is.
_ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


@dataclass(frozen=True)
class List:
    element: GoType


@dataclass(frozen=True)
class Map:
    element: GoType


@dataclass(frozen=True)
class Field:
    """Of a struct. `optional` is what Go's tag calls omitempty; an absent pointer is nil, and not the type's zero."""

    name: str
    type: GoType
    pointer: bool = False
    optional: bool = False


@dataclass(frozen=True)
class Struct:
    fields: Sequence[Field]


GoType = type | List | Map | Struct


class CannotDecode(Exception):
    """Go's decoder would refuse it."""


def struct(*fields: Field) -> Struct:
    return Struct(fields)


def through_go(kind: GoType, value: Any) -> Any:
    """What is left of `value`, in the order of Go's declarations. Fields that the struct lacks are lost."""
    if value is None:
        return _zero(kind)
    _check(kind, value)
    if isinstance(kind, List):
        return [through_go(kind.element, item) for item in value]
    if isinstance(kind, Map):
        return {key: through_go(kind.element, value[key]) for key in sorted(value)}
    if isinstance(kind, Struct):
        return _through_struct(kind, value)
    return value


def encode(value: Any) -> str:
    """Compact, with what HTML gives a meaning escaped."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return "".join(_ESCAPED.get(character, character) for character in text)


def checksum(value: Any) -> int:
    """FNV-1a, 32 bits, of the text that go-spew prints for the bytes of the JSON: `([]uint8)[123 34 125]`."""
    text = f"([]uint8)[{' '.join(str(byte) for byte in encode(value).encode())}]"
    result = 0x811C9DC5
    for byte in text.encode():
        result = (result ^ byte) * 0x01000193 & 0xFFFFFFFF
    return result


def _through_struct(kind: Struct, value: dict[str, Any]) -> dict[str, Any]:
    left: dict[str, Any] = {}
    for field in kind.fields:
        found = value.get(field.name)
        if field.pointer and found is None:
            if not field.optional:
                left[field.name] = None
            continue
        result = through_go(field.type, found)
        # A struct is never empty to Go.
        if not (field.optional and not field.pointer and not result and not isinstance(field.type, Struct)):
            left[field.name] = result
    return left


def _check(kind: GoType, value: Any) -> None:
    wanted = kind if isinstance(kind, type) else list if isinstance(kind, List) else dict
    if not isinstance(value, wanted) or (kind is NUMBER and isinstance(value, bool)):
        raise CannotDecode(f"{value!r} is not a {wanted.__name__}")


def _zero(kind: GoType) -> Any:
    if isinstance(kind, Struct):
        return _through_struct(kind, {})
    if isinstance(kind, (List, Map)) or kind is RAW:
        return None
    return kind()
