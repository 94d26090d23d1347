"""Runs generated models with onnxruntime and observes every intermediate value, for `cargo xtask attack infer`.

Questions and answers have the form of `peer.py`: a question is JSON and the bytes of a model, an answer is JSON. A question is

    {"bindings": [{input: {"elem", "dims", "low", "high", "optional"}}], "data": number, "by": "runtime" | "reference"}

with the type and the range of each input, for each binding of the dimension variables. Each binding is run with several
sets of data; optional inputs (those with an initializer) are given in the last set only. All optimizations are disabled,
and every value of the main graph is an output. A node that onnxruntime refuses is removed together with all nodes that
depend on it, and the model is tried again:

    {"removed": {node: reason}, "load": null | text, "runs": [{"binding", "data", "error" | "values"}]}

where `values` maps each name to [element type, dims] or [element type, dims, elements], and sequences to {"sequence": [...]}.
With `by: reference`, the nodes are run one at a time by the evaluator of the reference; values that it cannot compute are
left out.
"""

import json
import os
import re
import warnings

import numpy as np
import onnx
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import onnxruntime

from peer import questions_in_json, send, send_version, time_limit

onnxruntime.set_default_logger_severity(4)
warnings.filterwarnings("ignore")
np.seterr(all="ignore")
# Seconds after which a model is given up, and after which the process ends.
PATIENCE, END = 4, 6
# Maximum number of elements of a value that are reported.
ELEMENTS = 64
WORDS = np.array(["a", "b", "ab", "1", ""], dtype=object)
# Maximum number of nodes that are removed from a model.
ROUNDS = 12


def array_of(spec, state, data):
    """One of several kinds of data: random numbers, the lowest number everywhere, other random numbers."""
    elem, dims = spec["elem"], spec["dims"]
    low, high = spec["low"], spec["high"]
    if elem == "string":
        return state.choice(WORDS, size=dims).astype(object).reshape(dims)
    dtype = helper.tensor_dtype_to_np_dtype(TensorProto.DataType.Value(elem.upper()))
    values = np.full(dims, low) if data == 1 else state.randint(low, high + 1, dims)
    return np.asarray(values).astype(dtype).reshape(dims)


def feeds_of(inputs, data):
    state = np.random.RandomState(1000 + data)
    feeds = {}
    for name, spec in inputs.items():
        value = array_of(spec, state, data)
        if not spec["optional"] or data == 2:
            feeds[name] = value
    return feeds


def seen(value):
    if isinstance(value, list):
        return {"sequence": [seen(np.asarray(item)) for item in value]}
    if value is None:
        return {"none": True}
    if not isinstance(value, np.ndarray):
        value = np.asarray(value)
    if value.dtype.kind in "OUS":
        return ["string", list(value.shape)]
    elem = TensorProto.DataType.Name(helper.np_dtype_to_tensor_dtype(value.dtype)).lower()
    if value.size > ELEMENTS or value.dtype.kind not in "biuf":
        return [elem, list(value.shape)]
    numbers = value.astype(np.float64 if value.dtype.kind == "f" else np.int64).reshape(-1).tolist()
    return [elem, list(value.shape), [number if number == number and abs(number) != float("inf") else None for number in numbers]]


def names_used(graph):
    names = {output.name for output in graph.output}
    for node in graph.node:
        names.update(node.input)
        for attribute in node.attribute:
            names |= names_used(attribute.g)
    return names


def node_uses(node):
    names = set(node.input)
    for attribute in node.attribute:
        names |= names_used(attribute.g)
    return names


def without(model, name):
    """Removes a node of the main graph and all nodes that depend on it."""
    gone, kept = set(), []
    for node in model.graph.node:
        if node.name == name or gone & node_uses(node):
            gone.update(filter(None, node.output))
        else:
            kept.append(node)
    if not gone:
        return False
    outputs = [output for output in model.graph.output if output.name not in gone]
    del model.graph.node[:], model.graph.output[:]
    model.graph.node.extend(kept)
    model.graph.output.extend(outputs)
    return True


def blamed(text, model):
    names = {node.name for node in model.graph.node}
    for found in re.findall(r"(?<![A-Za-z0-9])n\d+", text):
        if found in names:
            return found
    # Errors at loading may name outputs only.
    for found in re.findall(r"[A-Za-z_][A-Za-z0-9_]*", text):
        for node in model.graph.node:
            if found in node.output:
                return node.name
    return None


def session_of(model):
    open_model = onnx.ModelProto()
    open_model.CopyFrom(model)
    there = {output.name for output in open_model.graph.output}
    for node in open_model.graph.node:
        for name in node.output:
            if name and name not in there:
                open_model.graph.output.append(onnx.ValueInfoProto(name=name))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(open_model.SerializeToString(), options, ["CPUExecutionProvider"])


def run_once(session, inputs, data):
    feeds = feeds_of(inputs, data)
    wanted = {entry.name for entry in session.get_inputs()} | {
        entry.name for entry in session.get_overridable_initializers()
    }
    names = [output.name for output in session.get_outputs()]
    feeds = {name: value for name, value in feeds.items() if name in wanted}
    results = session.run(names, feeds)
    # What explains a deviation may be the size of an input.
    return {name: seen(value) for name, value in [*feeds.items(), *zip(names, results)]}


def observe(model, question):
    """Removes what is refused at loading or with the first binding, then runs everything."""
    answer = {"removed": {}, "load": None, "runs": []}
    bindings = question["bindings"]
    for _ in range(ROUNDS):
        try:
            session = session_of(model)
            if bindings:
                run_once(session, bindings[0], 0)
            break
        except TimeoutError:
            raise
        except Exception as error:
            name = blamed(str(error), model)
            if name is None or not question["repair"] or not without(model, name):
                answer["load"] = str(error)[:300]
                return answer
            answer["removed"][name] = str(error)[:300]
    else:
        answer["load"] = "too many nodes are refused"
        return answer
    for index, inputs in enumerate(bindings):
        for data in range(question["data"]):
            run = {"binding": index, "data": data}
            try:
                run["values"] = run_once(session, inputs, data)
            except TimeoutError:
                raise
            except Exception as error:
                run["error"] = str(error)[:300]
            answer["runs"].append(run)
    return answer


def evaluate(model, inputs, data):
    """The values that the evaluator of the reference computes, node by node."""
    results = {"": None} | feeds_of(inputs, data)
    alone = onnx.ModelProto()
    alone.CopyFrom(model)
    nodes = list(model.graph.node)
    del alone.graph.node[:]
    base = ReferenceEvaluator(alone)
    results = {"": None} | base.rt_inits_ | results
    made, failed = {}, {}
    for node in nodes:
        if any(name not in results for name in node_uses(node) if name in made or name in node.input):
            continue
        del alone.graph.node[:]
        alone.graph.node.append(node)
        try:
            [runner] = ReferenceEvaluator(alone).rt_nodes_
            given = [results[name] for name in node.input]
            outputs = runner.run(*given, context=results) if runner.need_context() else runner.run(*given)
        except TimeoutError:
            raise
        except Exception as error:
            failed[node.name] = f"{type(error).__name__}: {error}"[:200]
            continue
        for name, value in zip(node.output, outputs):
            if name:
                results[name] = made[name] = value
    return {name: seen(value) for name, value in made.items()}, failed


def reference(model, question):
    runs, failed = [], {}
    for index, inputs in enumerate(question["bindings"]):
        for data in range(question["data"]):
            values, problems = evaluate(model, inputs, data)
            failed.update(problems)
            runs.append({"binding": index, "data": data, "values": values})
    return {"runs": runs, "failed": failed, "removed": {}, "load": None}


def answer_to(question, data):
    try:
        with time_limit(PATIENCE, END):
            model = onnx.load_model_from_string(data)
            return reference(model, question) if question["by"] == "reference" else observe(model, question)
    except Exception as error:
        return {"removed": {}, "load": f"{type(error).__name__}: {error}"[:300], "runs": []}


def main():
    """Serves in a child process. One that ends without an answer, as onnxruntime crashed, is replaced."""
    send_version()
    while True:
        child = os.fork()
        if child == 0:
            for question, data in questions_in_json():
                send(True, json.dumps(answer_to(question, data)).encode())
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status == 0:
            return
        crash = {"removed": {}, "load": f"the runtime ended with status {status}", "crash": True, "runs": []}
        send(True, json.dumps(crash).encode())


main()
