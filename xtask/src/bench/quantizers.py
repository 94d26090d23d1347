"""Quantizers side by side on real models: this project's command and `onnxruntime.quantization`, with the same inputs for calibration.

    quantizers.py COMMAND FOLDER MODEL... [--samples N] [--only static,dynamic,weights4]

COMMAND is the command `onnx` of this project; FOLDER takes inputs and results. Models need the numbers of their weights. Prints a line of
JSON for each model and kind:

    {"model": name, "kind": "static" | "dynamic" | "weights4", "float_ms": time of the model,
     "ours" | "theirs": {"seconds": time of the tool, "mb": its peak memory, "bytes": size of the result, "snr": of the output that loses
     most in decibels, "ms": time of a run, "failed": reason}}

Outputs are compared in onnxruntime, on inputs that the calibration did not see. Times of runs are the least of several, interleaved, on one
thread. The tools of onnxruntime run in a process of their own, so that its memory can be measured; its start and imports count, as those of
the command do.
"""

import argparse
import json
import os
import subprocess
import sys
import time

import numpy
import onnx

THEIRS = """
import sys, numpy, os, glob
kind, model, out, folder = sys.argv[1:5]
from onnxruntime import quantization as q
if kind == "static":
    class Reader(q.CalibrationDataReader):
        def __init__(self): self.files = iter(sorted(glob.glob(os.path.join(folder, "*.npz"))))
        def get_next(self):
            file = next(self.files, None)
            return None if file is None else dict(numpy.load(file))
    q.quantize_static(model, out, Reader(), quant_format=q.QuantFormat.QDQ, per_channel=True,
                      activation_type=q.QuantType.QUInt8, weight_type=q.QuantType.QInt8)
elif kind == "dynamic":
    q.quantize_dynamic(model, out, weight_type=q.QuantType.QInt8, per_channel=True, op_types_to_quantize=["MatMul", "Gemm"])
else:
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
    import onnx
    quantizer = MatMulNBitsQuantizer(onnx.load(model), block_size=32, is_symmetric=False)
    quantizer.process()
    quantizer.model.save_model_to_file(out)
"""


# Sizes of free dimensions that are tried in turn: of texts, of images, of sound.
SIZES = (8, 64, 1600)


def inputs(session, seed, size):
    """Generated inputs: a batch of two, a size of the other free dimensions, numbers that every operator takes."""
    random = numpy.random.default_rng(seed)
    values, sizes = {}, {}

    def extent(axis, dim):
        if isinstance(dim, int) and dim > 0:
            return dim
        # Exporters call the number of tokens in the cache and in the input so: it is their sum.
        whole = 2 * size if str(dim).startswith("total") else size
        return sizes.setdefault(dim, 2 if axis == 0 else whole)

    for port in session.get_inputs():
        shape = [extent(axis, dim) for axis, dim in enumerate(port.shape)]
        if "int" in port.type:
            high = 2 if any(word in port.name for word in ("mask", "type")) else 50
            kind = numpy.int64 if "int64" in port.type else numpy.int32
            values[port.name] = random.integers(0, high, shape).astype(kind)
        elif "bool" in port.type:
            values[port.name] = numpy.ones(shape, bool)
        else:
            values[port.name] = random.standard_normal(shape).astype(numpy.float32)
    return values


def size_for(session):
    """The first size with which a model runs."""
    for size in SIZES[:-1]:
        try:
            session.run(None, inputs(session, 0, size))
        except Exception:
            continue
        return size
    return SIZES[-1]


def session(path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def measured(command, out):
    """Runs a tool: its seconds and peak memory, or why it failed.

    `time` starts it: a process that this one starts itself has at least the peak memory of this one before it becomes the tool.
    """
    figures = out + ".time"
    for path in (out, figures):
        if os.path.exists(path):
            os.remove(path)
    start = time.perf_counter()
    command = ["/usr/bin/time", "-q", "-f", "%U %S %M", "-o", figures, *command]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    seconds = time.perf_counter() - start
    if done.returncode != 0 or not os.path.exists(out):
        return {"failed": done.stderr.decode(errors="replace").strip()[-300:]}
    with open(figures) as file:
        user, system, kilobytes = file.read().split()
    return {
        "seconds": round(seconds, 2),
        "cpu": round(float(user) + float(system), 2),
        "mb": round(int(kilobytes) / 1024),
        "bytes": os.path.getsize(out),
    }


def ratio(before, after):
    """The least ratio of signal to noise of the outputs."""
    least = float("inf")
    for one, two in zip(before, after):
        if getattr(one, "dtype", None) is None or one.dtype.kind != "f":
            continue
        if one.shape != two.shape:
            return None
        one, two = one.astype(float), two.astype(float)
        finite = numpy.isfinite(one) & numpy.isfinite(two)
        noise = ((one - two)[finite] ** 2).sum()
        if noise > 0:
            signal = (one[finite] ** 2).sum()
            least = min(least, 10 * numpy.log10(signal / noise) if signal > 0 else -999.0)
    return round(min(least, 999.0), 1)


def compare(command, folder, model, kind, samples):
    name = os.path.basename(model).removesuffix(".onnx")
    original = session(model)
    data = os.path.join(folder, name + ".inputs")
    os.makedirs(data, exist_ok=True)
    size = size_for(original)
    for seed in range(samples):
        numpy.savez(os.path.join(data, f"{seed}.npz"), **inputs(original, seed, size))
    held = [inputs(original, 1000 + seed, size) for seed in range(3)]
    row = {"model": name, "kind": kind}
    ours, theirs = (os.path.join(folder, f"{name}.{kind}.{side}.onnx") for side in ("ours", "theirs"))
    options = {
        "static": ["--to", "uint8", "--calibrate", data, "--per-channel", "--target", "onnxruntime"],
        "dynamic": ["--to", "int8", "--dynamic", "--per-channel"],
        "weights4": ["--to", "uint4", "--weights-only", "--form", "operator", "--target", "onnxruntime", "--block", "32"],
    }[kind]
    if kind == "dynamic" and "Conv" in {node.op_type for node in onnx.load(model, load_external_data=False).graph.node}:
        # Theirs is restricted to products, too: few runtimes are faster with integers in convolutions.
        options += ["--except", "Conv()"]
    row["ours"] = measured([command, "quantize", model, *options, "-o", ours, "--force"], ours)
    row["theirs"] = measured([sys.executable, "-W", "ignore", "-c", THEIRS, kind, model, theirs, data], theirs)
    sessions = {"float": original}
    for side, path in (("ours", ours), ("theirs", theirs)):
        if "failed" in row[side]:
            continue
        try:
            sessions[side] = session(path)
            ratios = [ratio(original.run(None, feeds), sessions[side].run(None, feeds)) for feeds in held]
            row[side]["snr"] = min(ratios) if None not in ratios else None
        except Exception as error:
            row[side]["failed"] = str(error)[:300]
            sessions.pop(side, None)
    times = {side: [] for side in sessions}
    for _ in range(9):
        for side, one in sessions.items():
            start = time.perf_counter()
            one.run(None, held[0])
            times[side].append((time.perf_counter() - start) * 1000)
    row["float_ms"] = round(min(times["float"]), 2)
    for side in ("ours", "theirs"):
        if side in times:
            row[side]["ms"] = round(min(times[side]), 2)
    return row


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("command")
    parser.add_argument("folder")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--samples", type=int, default=8)
    parser.add_argument("--only", default="static,dynamic,weights4")
    arguments = parser.parse_args()
    os.makedirs(arguments.folder, exist_ok=True)
    for model in arguments.models:
        for kind in arguments.only.split(","):
            try:
                row = compare(arguments.command, arguments.folder, model, kind, arguments.samples)
            except Exception as error:
                row = {"model": model, "kind": kind, "failed": str(error)[:300]}
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
