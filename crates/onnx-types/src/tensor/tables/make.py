"""Writes storage.txt to this directory: how `onnx.helper` stores the same elements raw and in a typed field.

One line for each tensor: type, number of elements, raw bytes, typed field, bytes of its packed wire form, and the values
as `numpy_helper` reads them (complex numbers as real part, imaginary part). Run with onnx 1.23.2:  python make.py
"""

import pathlib

import numpy as np
from onnx import TensorProto, helper, numpy_helper

FIELDS = {4: "float_data", 5: "int32_data", 7: "int64_data", 10: "double_data", 11: "uint64_data"}


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if not data[at - 1] & 0x80:
            return value, at


def packed_field(tensor):
    """The number and contents of the only packed data field of a tensor."""
    data, at = tensor.SerializeToString(), 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            _, at = varint(data, at)
            continue
        length, at = varint(data, at)
        if tag >> 3 in FIELDS:
            return tag >> 3, data[at : at + length]
        at += length
    raise ValueError("no packed field")


def lines():
    samples = {
        "b": [0, 1, 1, 0, 1],
        "i": [-1, 0, 1, -2, 1],
        "u": [1, 0, 3, 2, 3],
        "f": [0.5, -1.0, 2.0, 0.0, 1.5],
        "e": [0.5, 1.0, 2.0, 4.0, 0.25],
        "c": [0.5 - 1j, 2 + 0.25j, 1j, -3.0, 8.0],
    }
    for name, code in TensorProto.DataType.items():
        if name in ("UNDEFINED", "STRING"):
            continue
        dtype = helper.tensor_dtype_to_np_dtype(code)
        key = "e" if "E8M0" in name else {"B": "b", "I": "i", "U": "u", "C": "c"}.get(name[0], "f")
        if name == "BFLOAT16":
            key = "f"
        for count in range(1, 6):
            array = np.array(samples[key][:count]).astype(dtype)
            raw = numpy_helper.from_array(array).raw_data
            typed = helper.make_tensor("", code, [count], array)
            number, wire = packed_field(typed)
            read = numpy_helper.to_array(typed)
            wide = read.astype(np.complex128 if key == "c" else np.float64)
            values = " ".join(repr(float(v)) for v in wide.view(np.float64))
            yield f"{name} {count} {raw.hex()} {FIELDS[number]} {wire.hex()} {values}"


(pathlib.Path(__file__).parent / "storage.txt").write_text("\n".join(lines()) + "\n")
