"""Elements between Python, NumPy and tensors. NumPy is imported only where an array is asked for."""

from __future__ import annotations

import array as _array

from ._core import DType

# `typing` is not imported at run time: it takes longer than this package. Type checkers know this name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# The formats of the buffer protocol, and of `array`.
_FORMATS = {
    "f": "float32", "d": "float64", "e": "float16", "b": "int8", "B": "uint8", "h": "int16", "H": "uint16",
    "i": "int32", "I": "uint32", "l": "int64", "L": "uint64", "q": "int64", "Q": "uint64", "?": "bool",
    "Zf": "complex64", "Zd": "complex128",
}
_CODES = {
    "float32": "f", "float64": "d", "int8": "b", "uint8": "B", "int16": "h", "uint16": "H", "int32": "i",
    "uint32": "I", "int64": "q", "uint64": "Q", "bool": "B",
}
_PACKED = {"int4": 4, "uint4": 4, "int2": 2, "uint2": 2, "float4_e2m1fn": 4}


def numpy_dtype(name: str) -> Any:
    """The data type of NumPy or `ml_dtypes` of a name."""
    import numpy

    if name in ("object", "str"):
        return numpy.dtype(object)
    try:
        return numpy.dtype(name)
    except TypeError:
        import ml_dtypes

        return numpy.dtype(getattr(ml_dtypes, name))


def array(tensor: Any, name: str, bits: int, shape: tuple[int, ...]) -> Any:
    """The array of a tensor; it shares the memory unless several elements are in a byte."""
    import numpy

    dtype = numpy_dtype(name)
    raw = numpy.frombuffer(tensor, dtype=numpy.uint8)
    if bits >= 8:
        return raw.view(dtype).reshape(shape)
    count = 1
    for size in shape:
        count *= size
    if bits == 6:
        return _unpacked6(raw, count).view(dtype).reshape(shape)
    steps = numpy.arange(0, 8, bits, dtype=numpy.uint8)
    codes = ((raw[:, None] >> steps) & ((1 << bits) - 1)).reshape(-1)[:count]
    if name.startswith("int"):
        sign = 1 << (bits - 1)
        codes = (codes.astype(numpy.int8) ^ sign) - sign
    elif name.startswith("uint"):
        codes = codes.astype(numpy.uint8)
    else:
        return codes.astype(numpy.uint8).view(dtype).reshape(shape)
    return codes.astype(dtype).reshape(shape)


def _unpacked6(raw: Any, count: int) -> Any:
    import numpy

    bits = numpy.unpackbits(raw, bitorder="little")[: count * 6].reshape(-1, 6)
    return numpy.packbits(bits, axis=1, bitorder="little").reshape(-1)


def string_array(items: list[str], shape: tuple[int, ...]) -> Any:
    """An array of strings."""
    import numpy

    made = numpy.empty(len(items), dtype=object)
    made[:] = items
    return made.reshape(shape)


def pack(values: Any, dtype: DType | None, shape: Sequence[int] | None) -> tuple[DType, list[int], Any]:
    """The element type, the sizes, and a buffer (or strings) of what was given."""
    if isinstance(values, (bytes, bytearray)) and dtype is not None and shape is not None:
        return dtype, list(shape), values
    if hasattr(values, "__array__") or type(values).__module__ == "numpy":
        return _of_numpy(values, dtype, shape)
    if isinstance(values, (bytes, bytearray, memoryview, _array.array)) or _has_buffer(values):
        view = memoryview(values)
        found = _FORMATS.get(view.format.lstrip("@=<"))
        if found is None:
            raise TypeError(f"buffers of the format {view.format!r} have no element type; pass an array of NumPy")
        if not view.c_contiguous:
            view = memoryview(view.tobytes()).cast("B")
            return (dtype or DType(found)), list(shape or ()), view
        sizes = list(shape) if shape is not None else list(view.shape or ())
        if dtype is None or dtype == found:
            return DType(found), sizes, view
        return _of_list(view.tolist(), dtype, shape)
    if hasattr(values, "__dlpack__"):
        import numpy

        return _of_numpy(numpy.from_dlpack(values), dtype, shape)
    return _of_list(values, dtype, shape)


def _has_buffer(values: Any) -> bool:
    try:
        memoryview(values)
    except TypeError:
        return False
    return True


def _of_numpy(values: Any, dtype: DType | None, shape: Sequence[int] | None) -> tuple[DType, list[int], Any]:
    import numpy

    made = numpy.asarray(values)
    if made.dtype.kind in "OUS":
        sizes = list(shape) if shape is not None else list(made.shape)
        items = [item.decode() if isinstance(item, bytes) else str(item) for item in made.reshape(-1).tolist()]
        return DType.STRING, sizes, items
    if dtype is not None and made.dtype.name != dtype.numpy_name:
        made = made.astype(numpy_dtype(dtype.numpy_name))
    kind = dtype if dtype is not None else DType(made.dtype.name)
    if made.dtype.byteorder == ">":
        made = made.astype(made.dtype.newbyteorder("<"))
    if shape is not None:
        made = made.reshape(tuple(shape))
    sizes = list(made.shape)
    made = numpy.ascontiguousarray(made)
    bits = kind.bits or 8
    if bits < 8:
        return kind, sizes, _packed(made.reshape(-1), bits)
    # `ml_dtypes` has no buffers: their bytes have.
    return kind, sizes, made.reshape(-1).view(numpy.uint8)


def _packed(values: Any, bits: int) -> bytes:
    import numpy

    if values.dtype.kind in "iu" or values.dtype.name.startswith(("int", "uint")):
        codes = values.astype(numpy.int8).view(numpy.uint8) & ((1 << bits) - 1)
    else:
        codes = values.view(numpy.uint8) & ((1 << bits) - 1)
    flat = numpy.unpackbits(codes.reshape(-1, 1), axis=1, bitorder="little")[:, :bits].reshape(-1)
    return numpy.packbits(flat, bitorder="little").tobytes()


def _of_list(values: Any, dtype: DType | None, shape: Sequence[int] | None) -> tuple[DType, list[int], Any]:
    sizes: list[int] = []
    flat: list[Any] = []
    _flatten(values, 0, sizes, flat)
    if dtype is None:
        if flat and all(isinstance(item, bool) for item in flat):
            dtype = DType.BOOL
        elif all(isinstance(item, int) for item in flat) and flat:
            dtype = DType.INT64
        elif flat and all(isinstance(item, str) for item in flat):
            dtype = DType.STRING
        else:
            dtype = DType.FLOAT
    if shape is not None:
        sizes = list(shape)
    if dtype == DType.STRING:
        return dtype, sizes, [str(item) for item in flat]
    code = _CODES.get(dtype.numpy_name)
    if code is None:
        import numpy

        return _of_numpy(numpy.array(flat).astype(numpy_dtype(dtype.numpy_name)).reshape(sizes), dtype, None)
    return dtype, sizes, memoryview(_array.array(code, flat)).cast("B")


def _flatten(values: Any, depth: int, sizes: list[int], flat: list[Any]) -> None:
    if isinstance(values, (list, tuple, range)):
        if len(sizes) <= depth:
            sizes.append(len(values))
        elif sizes[depth] != len(values):
            raise ValueError("the lists have different lengths")
        for item in values:
            _flatten(item, depth + 1, sizes, flat)
    else:
        flat.append(values)
