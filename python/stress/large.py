"""Time and memory for a model with 3 GB of external data, whose file is sparse: `python large.py [FOLDER]`.

Each operation runs in a separate process, after a load.
"""

from __future__ import annotations

import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

LAYERS = 48
SIDE = 4096


def write(folder: str) -> str:
    """Writes the model: products and activations, with a weight of 64 MiB each."""
    import onnx
    from onnx import TensorProto, helper

    weights, nodes, length = [], [], SIDE * SIDE * 4
    for layer in range(LAYERS):
        tensor = TensorProto(name=f"w{layer}", data_type=TensorProto.FLOAT, dims=[SIDE, SIDE], data_location=TensorProto.EXTERNAL)
        for key, value in (("location", "weights.data"), ("offset", layer * length), ("length", length)):
            tensor.external_data.add(key=key, value=str(value))
        weights.append(tensor)
        last = "x" if layer == 0 else f"r{layer - 1}"
        nodes += [
            helper.make_node("MatMul", [last, f"w{layer}"], [f"m{layer}"]),
            helper.make_node("Identity", [f"m{layer}"], [f"i{layer}"]),
            helper.make_node("Relu", [f"i{layer}"], [f"r{layer}"]),
        ]
    ports = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", SIDE]) for name in ("x", f"r{LAYERS - 1}")]
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], weights)
    path = os.path.join(folder, "model.onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10), path)
    with open(os.path.join(folder, "weights.data"), "wb") as file:
        file.truncate(LAYERS * length)
    return path


def operation(name: str, path: str) -> None:
    """Does one operation, and prints its time and the peak of resident memory of the process."""
    import onnxkit as ox

    folder = pathlib.Path(path).parent
    start, processor = time.perf_counter(), time.process_time()
    model = ox.load(path)
    if name != "open":
        start, processor = time.perf_counter(), time.process_time()
        if name == "check":
            assert ox.check(model).ok
        elif name == "infer":
            assert ox.infer(model).shape(model.graph.outputs[0]) == ("N", SIDE)
        elif name == "simplify":
            assert ox.simplify(model).nodes_after == 2 * LAYERS
        elif name == "simplify, proved":
            assert ox.simplify(model, prove=True).nodes_after == 2 * LAYERS
        elif name == "extract half":
            assert len(ox.extract(model, None, [f"r{LAYERS // 2 - 1}"])) == 3 * LAYERS // 2
        elif name == "hash":
            ox.hash(model)
        elif name == "read one weight":
            assert model.graph["w7"].const_value.numpy().sum() == 0
        elif name == "save next to it":
            model.save(folder / "again.onnx")
        elif name == "save elsewhere":
            (folder / "else").mkdir(exist_ok=True)
            assert model.save(folder / "else" / "model.onnx") == LAYERS * SIDE * SIDE * 4
    took, used = time.perf_counter() - start, time.process_time() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with open("/proc/self/status") as status:
        own = next((line.split()[1] for line in status if line.startswith("RssAnon")), "0")
    print(f"| {name} | {took * 1e3:,.1f} | {used * 1e3:,.1f} | {peak / 1024:,.0f} | {int(own) / 1024:,.0f} |", flush=True)


NAMES = [
    "open", "check", "infer", "simplify", "simplify, proved", "extract half", "read one weight", "hash", "save next to it",
    "save elsewhere",
]


def main() -> None:
    """Runs all operations."""
    if len(sys.argv) == 3:
        operation(*sys.argv[1:])
        return
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if sys.argv[1:] else None) as folder:
        path = write(folder)
        print("| 3 GB of external data | ms | ms of the processor | MiB resident at most, mapped weights included | private MiB at the end |")
        print("|---|---|---|---|---|", flush=True)
        for name in NAMES:
            subprocess.run([sys.executable, __file__, name, path], check=True)


if __name__ == "__main__":
    main()
