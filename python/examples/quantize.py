"""Quantizes convolutions and products with constant weights to 8 bits: `python quantize.py IN OUT`.

`QuantizeLinear` and `DequantizeLinear` are around the operators: activations are `uint8` with one scale, weights `int8` with a
scale for each channel. The ranges of activations are those of runs on generated inputs; pass samples of your data instead.
"""

import sys
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

import onnxkit as ox


def ranges(model: ox.Model, samples: Iterable[Mapping[str, Any]]) -> dict[str, tuple[float, float]]:
    """The least and the greatest number of each value of the main graph; 0 is among them, so that padding is exact."""
    found: dict[str, tuple[float, float]] = {}
    evaluator = ox.Evaluator(model)
    for sample in samples:
        for name, value in {**sample, **evaluator.run(dict(sample), inner=True)}.items():
            if isinstance(value, ox.Tensor) and value.dtype == ox.DType.FLOAT and value.size:
                array = value.numpy()
                least, greatest = found.get(name, (0.0, 0.0))
                found[name] = min(least, float(array.min())), max(greatest, float(array.max()))
    return found


def quantized(weight: Any, axis: int) -> tuple[Any, Any]:
    """A weight in 8 bits, and the scale of each channel."""
    others = tuple(index for index in range(weight.ndim) if index != axis)
    scale = np.maximum(np.abs(weight).max(axis=others) / 127.0, np.finfo(np.float32).tiny).astype(np.float32)
    shape = [-1 if index == axis else 1 for index in range(weight.ndim)]
    return np.round(weight / scale.reshape(shape)).astype(np.int8), scale


def channel_axis(node: ox.Node) -> int | None:
    """The axis of the channels of the weight, if the node is one that is quantized."""
    if node.op_type == "Conv":
        return 0
    if node.op_type == "Gemm" and not node.attrs.get("transA", 0):
        return 0 if node.attrs.get("transB", 0) else 1
    return 1 if node.op_type == "MatMul" else None


def quantize(model: ox.Model, samples: Iterable[Mapping[str, Any]] | None = None) -> int:
    """Quantizes in place, and returns how many nodes."""
    ox.run_passes(model, ["folded-constants"])
    found = ranges(model, samples if samples is not None else [ox.inputs(model, seed=seed) for seed in range(3)])
    narrow: dict[ox.Value, ox.Value] = {}
    count = 0
    for node in model.graph:
        axis = channel_axis(node)
        if node.domain or axis is None or node.inputs[0].name not in found:
            continue
        x, tensor = node.inputs[0], node.inputs[1].const_value
        if tensor is None or tensor.dtype != ox.DType.FLOAT or (node.op_type != "Conv" and len(tensor.shape) != 2):
            continue
        graph = node.graph
        if x not in narrow:
            least, greatest = found[x.name]
            scale = max((greatest - least) / 255.0, float(np.finfo(np.float32).tiny))
            size, zero = graph.constant(np.float32(scale)), graph.constant(np.uint8(round(-least / scale)))
            code = ox.ops.QuantizeLinear(graph, x, size, zero, _before=node)
            narrow[x] = ox.ops.DequantizeLinear(graph, code, size, zero, _before=node)
        codes, scales = quantized(tensor.numpy(), axis)
        back = ox.ops.DequantizeLinear(graph, graph.constant(codes), graph.constant(scales), axis=axis, _before=node)
        node.replace_input_with(0, narrow[x])
        node.replace_input_with(1, back)
        count += 1
    model.cleanup()
    return count


if __name__ == "__main__":
    loaded = ox.load(sys.argv[1])
    print(quantize(loaded), "nodes are quantized")
    loaded.save(sys.argv[2])
