"""Writes decode.txt and encode.txt to this directory: results of `ml_dtypes` and `onnx.numpy_helper` for narrow floats.

Run with onnx 1.23.2 and ml_dtypes installed:  python make.py
"""

import pathlib

import ml_dtypes
import numpy as np
from onnx import numpy_helper

FORMATS = {
    "e4m3fn": (ml_dtypes.float8_e4m3fn, 8),
    "e4m3fnuz": (ml_dtypes.float8_e4m3fnuz, 8),
    "e5m2": (ml_dtypes.float8_e5m2, 8),
    "e5m2fnuz": (ml_dtypes.float8_e5m2fnuz, 8),
    "e2m1": (ml_dtypes.float4_e2m1fn, 4),
    "e2m3": (ml_dtypes.float6_e2m3fn, 6),
    "e3m2": (ml_dtypes.float6_e3m2fn, 6),
    "e8m0": (ml_dtypes.float8_e8m0fnu, 8),
}


def bits(values):
    return np.asarray(values, dtype=np.float32).view(np.uint32)


def decode():
    for name, (dtype, width) in FORMATS.items():
        codes = np.arange(1 << width, dtype=np.uint8).view(dtype)
        yield name + " " + " ".join(f"{b:08x}" for b in bits(codes.astype(np.float32)))


def inputs():
    seeds = [0.0, 2.0**-149, 2.0**-127, 1.5 * 2.0**-127, 2.0**-126, 1.17e-38, 3.4e38, 1.75 * 2.0**127, np.inf, np.nan]
    seeds += [m * 2.0**e for e in range(-19, 4, 2) for m in (1.0, 1.25, 1.375)]
    seeds += [1.0625, 1.125, 1.1875, 1.5, 1.75, 2.5, 3.25, 5.0, 7.0, 7.25, 7.75, 8.0, 26.0, 28.0, 30.0, 31.0, 32.0]
    seeds += [232.0, 240.0, 244.0, 248.0, 256.0, 448.0, 464.0, 480.0, 57344.0, 60000.0, 61440.0, 65536.0, 1e6]
    seen = set()
    for seed in seeds:
        base = np.float32(seed)
        near = [base, np.nextafter(base, np.float32(0)), np.nextafter(base, np.float32(np.inf))]
        for value in near:
            for b in (int(bits(value)), int(bits(value)) | 0x80000000):
                if b not in seen:
                    seen.add(b)
                    yield b


def encode():
    columns = []
    values = np.array(list(inputs()), dtype=np.uint32).view(np.float32)
    for name, (dtype, _) in FORMATS.items():
        if name == "e8m0":
            for mode in ("up", "down", "nearest"):
                for saturate in (True, False):
                    cast = numpy_helper.to_float8e8m0(values, saturate, mode)
                    columns.append((f"e8m0:{mode}:{int(saturate)}", cast))
            continue
        columns.append((f"{name}:1", numpy_helper.saturate_cast(values, dtype)))
        if dtype.__name__.startswith("float8"):
            columns.append((f"{name}:0", values.astype(dtype)))
    yield "f32 " + " ".join(name for name, _ in columns)
    codes = [column.view(np.uint8) for _, column in columns]
    for i, b in enumerate(bits(values)):
        yield f"{b:08x} " + " ".join(f"{column[i]:02x}" for column in codes)


here = pathlib.Path(__file__).parent
with np.errstate(all="ignore"):
    (here / "decode.txt").write_text("\n".join(decode()) + "\n")
    (here / "encode.txt").write_text("\n".join(encode()) + "\n")
