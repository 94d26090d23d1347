"""What onnxruntime makes of a model and of simplified forms of it: nodes, fused kernels and run times, for the suite `runtime`.

Questions and answers have the form of `peer.py`. There are two questions:

    {"peer": name, "of": path, "to": path}
    {"measure": {name: path}, "seconds": limit, "values": [[name, kind, length]]}

The first one writes what another simplifier makes of a model, with a time limit. The second one loads each of the models with
the default options, one thread, and runs them alternately on the values whose messages follow. Its answer is, by name,
{"nodes": number in the graph that onnxruntime executes, "kernels": {operator: number}, "milliseconds": median}, or a text if
onnxruntime refuses the model.

`kernels` are those that only fusions of onnxruntime make, and operators that stand for several others, wherever they come from.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import onnx

import onnxruntime

from peer import KINDS, serve, to_python

onnxruntime.set_default_logger_severity(4)

# Standard operators that take the place of several nodes.
COMBINED = {
    "Attention",
    "Gelu",
    "GroupNormalization",
    "HardSigmoid",
    "HardSwish",
    "InstanceNormalization",
    "LayerNormalization",
    "LogSoftmax",
    "Mish",
    "RMSNormalization",
    "RotaryEmbedding",
    "SimplifiedLayerNormalization",
    "Softmax",
    "Swish",
}

# Conversions of the layout of images, which no node of the model asks for.
LAYOUT = {"ReorderInput", "ReorderOutput"}

# Seconds that another simplifier may take.
PATIENCE = 120

PEERS = {
    "onnxsim": "import onnxsim; made = onnxsim.simplify(model)[0]",
    "onnxslim": "import onnxslim; made = onnxslim.slim(model)",
}


def write_peer(name, of, to):
    """Runs a simplifier in a separate process, since some of them end it."""
    program = f"import sys, onnx; model = onnx.load(sys.argv[1]); {PEERS[name]}; onnx.save(made, sys.argv[2])"
    done = subprocess.run(
        [sys.executable, "-c", program, of, to], capture_output=True, timeout=PATIENCE, check=False
    )
    if done.returncode != 0:
        raise RuntimeError(f"{name} ended with {done.returncode}")


def nodes(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            for nested in [attribute.g, *attribute.graphs]:
                yield from nodes(nested)


def session(path):
    """A session, and the nodes of the graph that it executes."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        options.optimized_model_filepath = os.path.join(folder, "optimized.onnx")
        options.add_session_config_entry("session.optimized_model_external_initializers_file_name", "weights")
        made = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
        optimized = onnx.load(options.optimized_model_filepath, load_external_data=False)
    count, kernels = 0, {}
    for node in nodes(optimized.graph):
        count += node.op_type != "Constant"
        is_fused = node.domain.startswith("com.microsoft") or node.op_type in COMBINED
        if is_fused and node.op_type not in LAYOUT:
            kernels[node.op_type] = kernels.get(node.op_type, 0) + 1
    return made, count, kernels


def measure(paths, seconds, values):
    """Runs the models alternately, until the seconds are over or each has run 50 times."""
    results, sessions = {}, {}
    for name, path in paths.items():
        try:
            made, count, kernels = session(path)
            made.run(None, values)
            sessions[name] = made
            results[name] = {"nodes": count, "kernels": kernels}
        except Exception as error:  # Whatever onnxruntime raises is its answer.
            results[name] = f"{type(error).__name__}: {error}"[:300]
    times = {name: [] for name in sessions}
    end = time.perf_counter() + seconds
    rounds = 0
    while sessions and rounds < 50 and (rounds < 5 or time.perf_counter() < end):
        order = list(sessions) if rounds % 2 == 0 else list(sessions)[::-1]
        for name in order:
            start = time.perf_counter()
            sessions[name].run(None, values)
            times[name].append(time.perf_counter() - start)
        rounds += 1
    for name, measured in times.items():
        results[name]["milliseconds"] = statistics.median(measured) * 1e3
    return results


def answer(question, data):
    if "peer" in question:
        write_peer(question["peer"], question["of"], question["to"])
        return b"{}"
    at, values = 0, {}
    for name, kind, length in question["values"]:
        values[name] = to_python(kind, KINDS[kind].FromString(data[at : at + length]))
        at += length
    return json.dumps(measure(question["measure"], question["seconds"], values)).encode()


if __name__ == "__main__":
    serve(answer)
