"""Checks and runs generated models with the reference implementation, one after the other, for the suite `smith`.

Questions and answers have the form of `peer.py`: a question is JSON and the bytes of a model, an answer is JSON. A question
asks for runs:

    {"runs": [{"inputs": {name: type}}], "by": "evaluator" | "runtime"}

where a type is [element type, sizes], or {"sequence": type}, {"optional": type}, {"map": [key, type]}. The answer says what
the checker finds, and the element types and sizes of the values of each run:

    {"check": null | text, "runs": [{name: [element type, sizes]}], "failed": {operator: text}, "seconds": number}

The evaluator runs node by node: one that fails leaves its outputs out. What it cannot run is run with onnxruntime, where
that is installed; `by: runtime` asks that alone.
"""

import json
import warnings

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from peer import serve, time_limit, without_overloads

try:
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
except ImportError:
    onnxruntime = None

warnings.filterwarnings("ignore")
np.seterr(all="ignore")
# Seconds that a model may take, before the run is given up, and before the process is.
PATIENCE = 5
END = 12
WORDS = ["a", "b", "ab", "cat", "dog", "été", "1", "0.5"]


def numbers(elem, sizes, state):
    """Small numbers of an element type."""
    if elem == "string":
        return state.choice(np.array(WORDS, dtype=object), size=sizes).astype(object).reshape(sizes)
    dtype = helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(elem.upper()))
    if elem == "bool":
        return state.randint(0, 2, sizes).astype(dtype)
    if elem.startswith(("int", "uint")):
        return state.randint(0, 2 if elem.endswith(("int2", "int4")) else 3, sizes).astype(dtype)
    values = state.rand(*sizes) * 2 - 0.5 if sizes else np.array(state.rand())
    return np.asarray(values).astype(dtype).reshape(sizes)


def value_of(ty, state):
    if isinstance(ty, list):
        return numbers(ty[0], ty[1], state)
    (kind, inner), *_ = ty.items()
    if kind == "sequence":
        return [value_of(inner, state) for _ in range(2)]
    if kind == "optional":
        return value_of(inner, state)
    keys = WORDS[:3] if inner[0] == "string" else [0, 1, 2]
    values = [value_of(inner[1], state) for _ in keys]
    return {key: value.item() if np.ndim(value) == 0 else value for key, value in zip(keys, values)}


def seen(value):
    """The description of an array in a file."""
    if value.dtype.kind in "OUS":
        return ["string", list(value.shape)]
    dtype = helper.np_dtype_to_tensor_dtype(value.dtype)
    return [TensorProto.DataType.Name(dtype).lower(), list(value.shape)]


def evaluator_of(model, failed):
    """An evaluator of the nodes that it knows."""
    known = onnx.ModelProto()
    known.CopyFrom(model)
    nodes = list(model.graph.node)
    try:
        return ReferenceEvaluator(known)
    except Exception:  # It says no to the whole model because of one node.
        pass
    good = []
    for node in nodes:
        del known.graph.node[:]
        known.graph.node.append(node)
        try:
            ReferenceEvaluator(known)
            good.append(node)
        except Exception as error:
            failed[node.op_type] = f"{type(error).__name__}: {error}"[:200]
    del known.graph.node[:]
    known.graph.node.extend(good)
    try:
        return ReferenceEvaluator(known)
    except Exception as error:
        failed["*"] = f"{type(error).__name__}: {error}"[:200]
        return None


def evaluate(evaluator, feeds, failed):
    results = {"": None} | evaluator.rt_inits_ | feeds
    for node in evaluator.rt_nodes_:
        if any(name not in results for name in node.input):
            continue
        inputs = [results[name] for name in node.input]
        try:
            outputs = node.run(*inputs, context=results) if node.need_context() else node.run(*inputs)
        except TimeoutError:
            raise
        except Exception as error:
            failed[node.op_type] = f"{type(error).__name__}: {error}"[:200]
            continue
        results.update(zip(node.output, outputs))
    return {
        name: seen(value)
        for name, value in results.items()
        if name and name not in feeds and isinstance(value, np.ndarray)
    }


def names_used(graph):
    """The names that nodes of a graph use, those of nested graphs included."""
    names = {output.name for output in graph.output}
    for node in graph.node:
        names.update(node.input)
        for attribute in node.attribute:
            names |= names_used(attribute.g)
    return names


def run_with_runtime(model, feeds):
    """The values that onnxruntime gives, in between as well."""
    if onnxruntime is None:
        return {}
    open_model = onnx.ModelProto()
    open_model.CopyFrom(model)
    # It refuses inputs of types that it does not know, used or not.
    used = names_used(model.graph)
    inputs = [entry for entry in model.graph.input if entry.name in used]
    del open_model.graph.input[:]
    open_model.graph.input.extend(inputs)
    del open_model.graph.sparse_initializer[:]
    # Newer versions of the format are not known everywhere, and say nothing about the operators.
    open_model.ir_version = min(open_model.ir_version, 10)
    there = {output.name for output in open_model.graph.output}
    for node in open_model.graph.node:
        for name in node.output:
            if name and name not in there:
                open_model.graph.output.append(onnx.ValueInfoProto(name=name))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(
        open_model.SerializeToString(), options, ["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    wanted = {entry.name for entry in session.get_inputs()}
    results = session.run(names, {name: value for name, value in feeds.items() if name in wanted})
    return {name: seen(value) for name, value in zip(names, results) if isinstance(value, np.ndarray)}


def runs_of(model, question, failed):
    by_runtime = question["by"] == "runtime"
    evaluator = None if by_runtime else evaluator_of(model, failed)
    found = []
    for index, run in enumerate(question["runs"]):
        state = np.random.RandomState(index)
        feeds = {name: value_of(ty, state) for name, ty in run["inputs"].items()}
        values = {}
        if evaluator is not None:
            values = evaluate(evaluator, feeds, failed)
        # The runtime does not end where a window moves over nothing.
        is_empty = any(0 in getattr(feed, "shape", ()) for feed in feeds.values())
        if (by_runtime or failed) and not is_empty:
            try:
                values = run_with_runtime(model, feeds) | values
            except TimeoutError:
                raise
            except Exception as error:
                failed["runtime"] = f"{type(error).__name__}: {error}"[:200]
        found.append(values)
    return found


def answer_to(question, data):
    answer = {"check": None, "runs": [], "failed": {}}
    try:
        onnx.checker.check_model(data, full_check=True)
    except Exception as error:  # Whatever is raised is the answer.
        answer["check"] = f"{type(error).__name__}: {error}"
    try:
        with time_limit(PATIENCE, END):
            if question["runs"]:
                model = without_overloads(onnx.load_model_from_string(data))
                answer["runs"] = runs_of(model, question, answer["failed"])
    except Exception as error:  # Inputs that cannot be made, or no more patience.
        answer["failed"]["*"] = f"{type(error).__name__}: {error}"[:200]
    return json.dumps(answer).encode()


serve(answer_to)
