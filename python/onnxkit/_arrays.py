"""Elements between Python, NumPy and tensors. NumPy is imported only where an array is asked for."""

from __future__ import annotations

import array as _array
from math import isinf, prod

from ._core import DType, Tensor

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
    "uint32": "I", "int64": "q", "uint64": "Q",
}


def _module(name: str) -> Any:
    """NumPy or `ml_dtypes`, which are not installed with this package unless that is asked for."""
    from importlib import import_module

    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ModuleNotFoundError(f"arrays need {name}, which is not installed: `pip install 'onnxkit[numpy]'`", name=name) from None


def numpy_dtype(name: str) -> Any:
    """The data type of NumPy or `ml_dtypes` of a name."""
    numpy = _module("numpy")

    if name in ("object", "str"):
        return numpy.dtype(object)
    try:
        return numpy.dtype(name)
    except TypeError:
        ml_dtypes = _module("ml_dtypes")

        return numpy.dtype(getattr(ml_dtypes, name))


def array(tensor: Any, name: str, bits: int, shape: tuple[int, ...]) -> Any:
    """The array of a tensor; it shares the memory unless several elements are in a byte."""
    numpy = _module("numpy")

    dtype = numpy_dtype(name)
    raw = numpy.frombuffer(tensor, dtype=numpy.uint8)
    if bits >= 8:
        return raw.view(dtype).reshape(shape)
    made = numpy.empty(prod(shape), dtype)
    for start in range(0, len(raw), _BYTES):
        codes = _unpacked(raw[start : start + _BYTES], bits)
        part = made[start * 8 // bits :][: len(codes)]
        # The last byte can have bits of no element.
        codes = codes[: len(part)]
        if name.startswith("int"):
            sign = 1 << (bits - 1)
            part[:] = (codes.view(numpy.int8) ^ sign) - sign
        else:
            part[:] = codes if name.startswith("uint") else codes.view(dtype)
    return made.reshape(shape)


# Bytes and elements between two looks for signals, which NumPy does not look for. The bytes are whole groups of elements of 6 bits.
_BYTES = 3 << 18
_ELEMENTS = 1 << 20


def _unpacked(raw: Any, bits: int) -> Any:
    """The codes of elements that are narrower than a byte, each in a byte."""
    numpy = _module("numpy")

    if bits == 6:
        codes = numpy.unpackbits(raw, bitorder="little")
        return numpy.packbits(codes[: len(codes) // 6 * 6].reshape(-1, 6), axis=1, bitorder="little").reshape(-1)
    steps = numpy.arange(0, 8, bits, dtype=numpy.uint8)
    return ((raw[:, None] >> steps) & ((1 << bits) - 1)).astype(numpy.uint8).reshape(-1)


def _in_parts(values: Any, dtype: Any, convert: Any) -> Any:
    """An array of what a function makes of parts of another one."""
    numpy = _module("numpy")

    flat = values.reshape(-1)
    made = numpy.empty(flat.shape, dtype)
    for start in range(0, len(flat), _ELEMENTS):
        made[start : start + _ELEMENTS] = convert(flat[start : start + _ELEMENTS])
    return made.reshape(values.shape)


def string_array(items: list[str], shape: tuple[int, ...]) -> Any:
    """An array of strings."""
    numpy = _module("numpy")

    made = numpy.empty(len(items), dtype=object)
    made[:] = items
    return made.reshape(shape)


def pack(values: Any, dtype: DType | None, shape: Sequence[int] | None) -> tuple[DType, list[int], Any]:
    """The element type, the sizes, and a buffer (or strings) of what was given."""
    if dtype is not None and _is_bytes(values):
        if shape is None:
            raise TypeError("bytes are the elements as a model file has them; pass their shape as well: `Tensor(data, dtype, shape)`")
        if dtype == DType.STRING:
            raise TypeError("strings are not elements of bytes; pass a list of strings")
        return dtype, list(shape), values.tobytes() if isinstance(values, memoryview) and not values.c_contiguous else values
    if isinstance(values, Tensor):
        # NumPy takes the buffer of a tensor, which has bytes for the types that NumPy has not.
        values = values.numpy()
    if hasattr(values, "__array__") or type(values).__module__ == "numpy":
        return _of_numpy(values, dtype, shape)
    if isinstance(values, (bytes, bytearray, memoryview, _array.array)) or _has_buffer(values):
        return _of_buffer(memoryview(values), dtype, shape)
    if hasattr(values, "__dlpack__"):
        numpy = _module("numpy")

        return _of_numpy(numpy.from_dlpack(values), dtype, shape)
    return _of_list(values, dtype, shape)


def _is_bytes(values: Any) -> bool:
    """Whether an object holds bytes, and not numbers of a type."""
    if isinstance(values, memoryview):
        return values.format in ("B", "c") and not isinstance(values.obj, _array.array) and not hasattr(values.obj, "__array__")
    return isinstance(values, (bytes, bytearray)) or type(values).__module__ == "mmap"


def _has_buffer(values: Any) -> bool:
    try:
        memoryview(values)
    except TypeError:
        return False
    return True


def _of_buffer(view: memoryview, dtype: DType | None, shape: Sequence[int] | None) -> tuple[DType, list[int], Any]:
    letter = view.format.lstrip("@=<")
    found = _FORMATS.get(letter)
    # The size of some formats depends on the machine.
    if found is None or view.itemsize * 8 != DType(found).bits:
        raise TypeError(f"buffers of the format {view.format!r} have no element type; pass an array of NumPy")
    sizes = list(shape) if shape is not None else list(view.shape or ())
    if dtype is None or dtype == found:
        # The native module copies memory that something can write. A view that skips elements is copied in their order.
        return DType(found), sizes, view if view.c_contiguous else view.tobytes()
    if letter.startswith("Z"):
        numpy = _module("numpy")

        return _of_numpy(numpy.asarray(view), dtype, shape)
    import struct

    numbers = struct.unpack(f"{view.nbytes // view.itemsize}{letter}", view.tobytes())
    made, _, packed = _of_list(numbers, dtype, None)
    return made, sizes, packed


def _of_numpy(values: Any, dtype: DType | None, shape: Sequence[int] | None) -> tuple[DType, list[int], Any]:
    numpy = _module("numpy")

    if numpy.ma.is_masked(values):
        raise TypeError("a tensor has no masked elements; replace them first, with `values.filled(...)`")
    made = numpy.asarray(values)
    if made.dtype.kind in "OUST":
        return _of_texts(made, dtype, shape)
    if made.dtype.kind not in "biufc":
        # Raises for times and records, which NumPy would convert to numbers.
        DType(made.dtype.name)
    if dtype == DType.STRING:
        raise TypeError(f"an array of {made.dtype.name} is not one of strings")
    if dtype is not None and made.dtype.name != dtype.numpy_name:
        made = _converted(made, dtype)
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


def _of_texts(made: Any, dtype: DType | None, shape: Sequence[int] | None) -> tuple[DType, list[int], Any]:
    """The strings of an array of strings or of objects."""
    flat = made.reshape(-1).tolist()
    if not all(isinstance(item, (str, bytes)) for item in flat):
        raise TypeError("an array of objects that are not strings has no element type; convert it with `astype` first")
    if dtype is not None and dtype != DType.STRING:
        raise TypeError(f"strings are not elements of the type {dtype}")
    items = [item.decode() if isinstance(item, bytes) else item for item in flat]
    return DType.STRING, list(shape) if shape is not None else list(made.shape), items


def _converted(made: Any, dtype: DType) -> Any:
    """An array of another type, as NumPy converts it, if all elements have a value there.

    A remainder of an integer, and the infinity of a large number, are wrong numbers without a trace.
    """
    if made.dtype.kind == "c" and dtype not in (DType.COMPLEX64, DType.COMPLEX128):
        raise TypeError(f"complex numbers are not elements of the type {dtype}")
    return _in_parts(made, numpy_dtype(dtype.numpy_name), lambda part: _converted_part(part, dtype))


def _converted_part(made: Any, dtype: DType) -> Any:
    numpy = _module("numpy")

    if made.dtype.kind == "V":
        # The types of `ml_dtypes` have no extrema and not all conversions; all of their elements are in `float32`.
        made = made.astype(numpy.float32)
    if dtype.is_integer():
        if made.size:
            least, greatest = _range(dtype)
            # `int` drops the fraction, as the conversion does, and refuses infinities and NaN.
            if int(made.min()) < least or int(made.max()) > greatest:
                raise _out_of_range(dtype)
        return made.astype(numpy_dtype(dtype.numpy_name))
    with numpy.errstate(over="ignore", invalid="ignore"):
        converted = made.astype(numpy_dtype(dtype.numpy_name))
    if dtype != DType.BOOL and not numpy.array_equal(numpy.isfinite(made), numpy.isfinite(converted)):
        raise _out_of_range(dtype)
    return converted


def _range(dtype: DType) -> tuple[int, int]:
    """The least and the greatest integer of a type."""
    bits = dtype.bits or 8
    return (0, (1 << bits) - 1) if dtype.text.startswith("u") else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def _out_of_range(dtype: DType) -> OverflowError:
    span = ": {} to {}".format(*_range(dtype)) if dtype.is_integer() else ""
    return OverflowError(f"elements are out of the range of {dtype}{span}")


def _packed(values: Any, bits: int) -> Any:
    """The bytes of elements that are narrower than a byte."""
    numpy = _module("numpy")

    is_integer = values.dtype.kind in "iu" or values.dtype.name.startswith(("int", "uint"))
    made = numpy.empty(-(-len(values) * bits // 8), numpy.uint8)
    for start in range(0, len(values), _ELEMENTS):
        part = values[start : start + _ELEMENTS]
        codes = (part.astype(numpy.int8) if is_integer else part).view(numpy.uint8) & ((1 << bits) - 1)
        flat = numpy.unpackbits(codes.reshape(-1, 1), axis=1, bitorder="little")[:, :bits].reshape(-1)
        packed = numpy.packbits(flat, bitorder="little")
        made[start * bits // 8 :][: len(packed)] = packed
    return made


def _of_list(values: Any, dtype: DType | None, shape: Sequence[int] | None) -> tuple[DType, list[int], Any]:
    sizes: list[int] = []
    flat: list[Any] = []
    _flatten(values, 0, sizes, flat)
    texts = [isinstance(item, str) for item in flat]
    if any(texts) and not (all(texts) and dtype in (None, DType.STRING)):
        raise TypeError(f"strings are not elements of a tensor of {dtype or 'numbers'}")
    if any(hasattr(item, "dtype") for item in flat):
        # Scalars and arrays of NumPy have types, which are not those of numbers of Python.
        numpy = _module("numpy")

        items = numpy.array([item.numpy() if isinstance(item, Tensor) else item for item in flat])
        return _of_numpy(items.reshape(*sizes, *items.shape[1:]), dtype, shape)
    if dtype is None:
        dtype = _kind_of(flat)
    if shape is not None:
        sizes = list(shape)
    if dtype == DType.STRING:
        if not all(texts):
            raise TypeError(f"{flat[texts.index(False)]!r} is not a string")
        return dtype, sizes, flat
    numbers = (int, float, complex) if dtype in (DType.COMPLEX64, DType.COMPLEX128) else int if dtype.is_integer() else (int, float)
    for item in flat:
        if not isinstance(item, numbers):
            raise TypeError(f"{item!r} is not an element of a tensor of {dtype}; pass an array, a buffer, numbers, or lists of numbers")
    if dtype == DType.BOOL:
        return dtype, sizes, bytes([bool(item) for item in flat])
    code = _CODES.get(dtype.numpy_name)
    if code is None and dtype.is_integer() and prod(sizes) == len(flat) and min(sizes, default=0) >= 0:
        return dtype, sizes, _packed_integers(flat, dtype)
    if code is None:
        numpy = _module("numpy")

        return _of_numpy(numpy.array(flat, dtype=None if flat else numpy.float32), dtype, sizes)
    return dtype, sizes, memoryview(_numbers(flat, code, dtype)).cast("B")


def _packed_integers(flat: list[int], dtype: DType) -> bytes:
    """Integers of which several are in a byte."""
    least, greatest = _range(dtype)
    if flat and (min(flat) < least or max(flat) > greatest):
        raise _out_of_range(dtype)
    bits = dtype.bits or 8
    count, mask = 8 // bits, (1 << bits) - 1
    packed = bytearray(-(-len(flat) // count))
    for index, item in enumerate(flat):
        packed[index // count] |= (item & mask) << (index % count * bits)
    return bytes(packed)


def _kind_of(flat: list[Any]) -> DType:
    """The element type of numbers or strings of Python."""
    for kind, dtype in ((bool, DType.BOOL), (int, DType.INT64), (str, DType.STRING)):
        if flat and all(isinstance(item, kind) for item in flat):
            return dtype
    return DType.FLOAT


# Arrays of NumPy have at most as many axes.
_MOST_AXES = 64
# What the native loops of Python take at a time: signals are looked for, and other threads run, between them.
_PART = 1 << 16


def _numbers(flat: list[Any], code: str, dtype: DType) -> _array.array[Any]:
    """Numbers as they are in memory."""
    made = _array.array(code)
    for start in range(0, len(flat), _PART):
        part = flat[start : start + _PART]
        try:
            numbers = _array.array(code, part)
        except OverflowError:
            raise _out_of_range(dtype) from None
        if code == "f" and any(map(isinf, numbers)) and list(map(isinf, numbers)) != list(map(isinf, part)):
            raise _out_of_range(dtype)
        made.extend(numbers)
    return made


def _flatten(values: Any, depth: int, sizes: list[int], flat: list[Any]) -> None:
    """The sizes and the elements of nested lists, which have the same lengths and the same depth everywhere."""
    if isinstance(values, (list, tuple, range)):
        if depth >= _MOST_AXES:
            raise ValueError(f"the lists are nested more than {_MOST_AXES} times; a list that contains itself has no elements")
        if len(sizes) <= depth and not flat:
            sizes.append(len(values))
        elif len(sizes) <= depth or sizes[depth] != len(values):
            raise ValueError("the lists have different lengths or depths")
        for item in values:
            _flatten(item, depth + 1, sizes, flat)
    elif depth != len(sizes):
        raise ValueError("the lists have different lengths or depths")
    else:
        flat.append(values)
