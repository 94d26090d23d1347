"""Loads models with onnxruntime, for `loading.py`: a question is a line of JSON, `[path, whether to run it, too]`, an answer the message of
onnxruntime as JSON, empty if there is none. Inputs of a run are ones; dimensions without a size are 2.
"""

import json
import os
import sys

import numpy as np

import onnxruntime

onnxruntime.set_default_logger_severity(4)

NUMPY = {
    "float": np.float32, "double": np.float64, "float16": np.float16, "bool": np.bool_, "string": np.object_,
    **{f"{sign}int{bits}": np.dtype(f"{sign}int{bits}") for sign in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip


def value(entry):
    inner = entry.type.removeprefix("seq(").removeprefix("tensor(").rstrip(")")
    sizes = [size if isinstance(size, int) else 2 for size in entry.shape] if entry.type.startswith("tensor(") else [2]
    made = np.full(sizes, "1", object) if inner == "string" else np.ones(sizes, NUMPY[inner])
    return [made] if entry.type.startswith("seq(") else made


def answer(path, run):
    try:
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    except Exception as error:
        return str(error) or type(error).__name__
    if not run:
        return ""
    try:
        feeds = {entry.name: value(entry) for entry in session.get_inputs()}
    except KeyError:
        return "not fed"
    try:
        session.run(None, feeds)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


# onnxruntime itself writes to standard output.
out = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
for line in sys.stdin:
    print(json.dumps(answer(*json.loads(line))), file=out, flush=True)
