"""The wire format of protobuf, as far as messages are put into others and taken out again.

The native module reads and writes whole models. A standalone node, graph or tensor is put into a model for it, without
decoding.
"""

from __future__ import annotations

from onnxkit import _core
from onnxkit._errors import LimitError, LoadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

# Numbers of fields of the messages of ONNX.
MODEL_IR_VERSION, MODEL_GRAPH, MODEL_OPSET_IMPORT, MODEL_FUNCTIONS = 1, 7, 8, 25
GRAPH_NODE, GRAPH_NAME, GRAPH_INPUT, GRAPH_OUTPUT = 1, 2, 11, 12
NODE_OUTPUT, NODE_OP_TYPE, NODE_ATTRIBUTE, NODE_DOMAIN = 2, 4, 5, 7
ATTRIBUTE_NAME, ATTRIBUTE_TENSOR, ATTRIBUTE_TYPE, ATTRIBUTE_SPARSE_TENSOR = 1, 5, 20, 22
OPSET_DOMAIN, OPSET_VERSION = 1, 2


class WireError(ValueError):
    """Bytes that are not a message of protobuf."""


def loaded(encoded: bytes) -> _core.Model:
    """The model of bytes. Bytes that cannot be read are a `ValueError` in all functions of the reference."""
    try:
        return _core.loads(encoded)
    except (LoadError, LimitError) as error:
        raise WireError(str(error)) from None


def decoded(kind: Any, encoded: bytes) -> Any:
    """The message of a class of protobuf."""
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped, unused-ignore]

    try:
        return kind.FromString(encoded)
    except DecodeError as error:
        raise WireError(str(error)) from None


def varint(value: int) -> bytes:
    """An integer of variable length; negative ones have the ten bytes of their two's complement."""
    value &= (1 << 64) - 1
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def number(field: int, value: int) -> bytes:
    """A field that is an integer."""
    return varint(field << 3) + varint(value)


def message(field: int, *parts: bytes) -> bytes:
    """A field that is a message or a string, made of parts."""
    return varint(field << 3 | 2) + varint(sum(map(len, parts))) + b"".join(parts)


def text(field: int, value: str) -> bytes:
    """A field that is a string."""
    return message(field, value.encode())


def _read_varint(data: memoryview, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise WireError("the bytes end within an integer")
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at += 1
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data: bytes | memoryview) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of a message: their numbers, and integers or bytes, which are not copied."""
    data = memoryview(data)
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = _read_varint(data, at)
            yield tag >> 3, value
            continue
        if kind == 2:
            size, at = _read_varint(data, at)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            raise WireError(f"the wire type {kind} does not exist")
        if at + size > len(data):
            raise WireError("the bytes end within a field")
        yield tag >> 3, data[at : at + size]
        at += size


def all_of(data: bytes | memoryview, field: int) -> list[memoryview]:
    """The messages or strings of a repeated field."""
    return [value for found, value in fields(data) if found == field and isinstance(value, memoryview)]


def one_of(data: bytes | memoryview, field: int) -> memoryview:
    """The message or string of a field; empty if it is absent."""
    return next(iter(all_of(data, field)), memoryview(b""))


def text_of(data: bytes | memoryview, field: int) -> str:
    """The string of a field; empty if it is absent."""
    return bytes(one_of(data, field)).decode(errors="surrogateescape")


def number_of(data: bytes | memoryview, field: int) -> int:
    """The integer of a field with its sign; 0 if it is absent."""
    value = next((value for found, value in fields(data) if found == field and isinstance(value, int)), 0)
    return value - (1 << 64) if value >> 63 else value


def opset_imports(versions: Mapping[str, int]) -> bytes:
    """The imports of operator sets of a model."""
    return b"".join(
        message(MODEL_OPSET_IMPORT, text(OPSET_DOMAIN, domain), number(OPSET_VERSION, version))
        for domain, version in versions.items()
    )


def model(ir_version: int, versions: Mapping[str, int], graph: bytes, functions: bytes = b"") -> bytes:
    """A model of a graph, which is an encoded `GraphProto`, and encoded fields of functions."""
    return number(MODEL_IR_VERSION, ir_version) + opset_imports(versions) + message(MODEL_GRAPH, graph) + functions
