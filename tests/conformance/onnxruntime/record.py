"""Records what onnxruntime computes for the operators that it adds to those of ONNX, for the suite `contrib`:

    record.py ARCHIVE [OPERATOR…]

The cases of `cases.py` become models with dimension variables. A model whose operator has a kernel on the CPU is run for
several sizes, 0 and 1 among them; the shapes and types of its outputs are what was observed. A run that fails is left out.
Where no kernel exists, what onnxruntime itself infers while it loads the model is asked, size by size: a declared output
that differs is refused with the inferred one. Where it infers nothing either, only the schema is left, which is recorded as
a case without runs. ARCHIVE is a `tar.zst` with two entries for each case: the model, and its runs as JSON.

Every case is run in a process of its own, because some kernels abort on operands that they do not expect.
"""

import io
import json
import os
import re
import signal
import subprocess
import sys
import tarfile

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from cases import CASES

onnxruntime.set_default_logger_severity(4)
PINNED = "1.32.0"
SECONDS = 60
NO_SIZE = 7919
OTHER = {"float8e4m3fn": ml_dtypes.float8_e4m3fn, "bfloat16": ml_dtypes.bfloat16}
CODES = {name.lower(): code for name, code in TensorProto.DataType.items()}


def dtype_of(elem):
    return OTHER.get(elem) or helper.tensor_dtype_to_np_dtype(CODES[elem])


# --- models -----------------------------------------------------------------------------------------------------------


def parsed(text):
    """The inputs of a case: name, element type, dimensions."""
    found = []
    for part in text.split():
        if part == "-":
            found.append(None)
            continue
        name, elem, dims = re.fullmatch(r"(\w+):(\w+)\[(.*)\]", part).groups()
        dims = [int(d) if d.lstrip("-").isdigit() else d for d in dims.split(",") if d]
        found.append((name, elem, dims))
    return found


def model_of(case, declared=None, sizes=None):
    """The model of a case; with declared types of outputs, and with sizes in place of variables, if they are given."""
    inputs = parsed(case["inputs"])
    names, infos, tensors = [], [], []
    for item in inputs:
        if item is None:
            names.append("")
            continue
        name, elem, dims = item
        names.append(name)
        if name in case["constants"]:
            array = np.broadcast_to(np.asarray(case["constants"][name]), dims).astype(dtype_of(elem))
            tensors.append(numpy_helper.from_array(array, name))
            continue
        dims = [sizes[d] if sizes and isinstance(d, str) else d for d in dims]
        infos.append(helper.make_tensor_value_info(name, CODES[elem], dims))
    outputs = [output.split(":")[0] for output in case["outputs"].split(",")]
    node = helper.make_node(case["op"], names, outputs, domain=case["domain"])
    for key, value in sorted(case["attrs"].items()):
        node.attribute.append(helper.make_attribute(key, value))
    results = []
    for text in filter(None, case["outputs"].split(",")):
        name, _, elem = text.partition(":")
        info = onnx.ValueInfoProto(name=name)
        if elem:
            info = helper.make_tensor_value_info(name, CODES[elem], None)
        if declared:
            elem, dims = declared[name]
            info = helper.make_tensor_value_info(name, elem, dims)
        results.append(info)
    graph = helper.make_graph([node], "g", infos, results, tensors)
    imports = [helper.make_opsetid("", case["opset"])]
    if case["domain"]:
        imports.append(helper.make_opsetid(case["domain"], case["version"]))
    return helper.make_model(graph, opset_imports=imports, ir_version=10, producer_name="")


def names_of(case):
    return [text.split(":")[0] for text in case["outputs"].split(",") if text]


def variables(case):
    names = [d for item in parsed(case["inputs"]) if item for d in item[2] if isinstance(d, str)]
    return list(dict.fromkeys(names))


def bindings(case):
    """The sizes to try: the base, all 0, all 1, all larger, and each individually 0, 1 and larger."""
    names = variables(case)
    base = {name: case["sizes"].get(name, 2 + at % 4) for at, name in enumerate(names)}
    tried = [base, {n: 1 for n in names}, {n: 0 for n in names}, {n: s + 1 for n, s in base.items()}]
    for name in names:
        for size in (0, 1, base[name] + 3, 2 * base[name]):
            tried.append({**base, name: size})
    unique = []
    for sizes in tried:
        if sizes not in unique:
            unique.append(sizes)
    return unique if names else [{}]


# --- runs -------------------------------------------------------------------------------------------------------------


def feed(case, sizes, seed):
    rng = np.random.default_rng(seed)
    feeds = {}
    for name, elem, dims in filter(None, parsed(case["inputs"])):
        if name in case["constants"]:
            continue
        shape = [sizes.get(d, d) for d in dims]
        if name in case["data"]:
            feeds[name] = np.asarray(case["data"][name](shape, sizes), dtype_of(elem)).reshape(shape)
        elif elem == "string":
            feeds[name] = rng.choice(["a b", "hello", "x y z"], shape).astype(object)
        elif elem == "bool":
            feeds[name] = rng.integers(0, 2, shape).astype(bool)
        elif elem.startswith(("int", "uint")):
            feeds[name] = rng.integers(0, 2, shape).astype(dtype_of(elem))
        else:
            feeds[name] = rng.uniform(0.1, 1, shape).astype(dtype_of(elem))
    return feeds


def options_of():
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.add_session_config_entry("session.strict_shape_type_inference", "1")
    return options


def session_of(model):
    return onnxruntime.InferenceSession(model.SerializeToString(), options_of(), ["CPUExecutionProvider"])


def ran(case, session, sizes, seed):
    """What was observed with these sizes."""
    outputs = names_of(case)
    types = {output.name: output.type for output in session.get_outputs()}
    values = session.run(outputs, feed(case, sizes, seed))
    found = {}
    for name, value in zip(outputs, values):
        if isinstance(value, np.ndarray):
            elem = types[name][len("tensor("):-1]
            # What kernels return can differ from what is declared.
            if elem not in OTHER and value.dtype != object:
                code = helper.np_dtype_to_tensor_dtype(value.dtype)
                elem = TensorProto.DataType.Name(code).lower()
            found[name] = [elem, list(value.shape)]
    return found


# --- what is inferred on loading --------------------------------------------------------------------------------------


def refused(case, declared, sizes):
    try:
        session_of(model_of(case, declared, sizes))
    except Exception as error:
        return str(error)
    return ""


def asked(case, sizes):
    """The types and shapes that onnxruntime infers for the outputs; nothing for those that it does not infer."""
    names = names_of(case)
    declared = {name: [TensorProto.FLOAT, None] for name in names}
    for _ in range(len(names) + 1):  # One type that differs is named each time.
        text = refused(case, declared, sizes)
        match = re.search(r"output arg \((\w+)\).*expected type \(tensor\((\w+)\)\)", text)
        if not match:
            break
        declared[match[1]][0] = CODES[match[2]]
    if "Type Error" in text or ("implementation for" not in text and "ShapeInference" in text):
        return None, text
    found = {}
    for name in names:
        rank = None
        for guess in (0, 9):
            trial = {n: list(d) for n, d in declared.items()}
            trial[name][1] = [NO_SIZE] * guess
            match = re.search(r"inferred=(\d+) declared", refused(case, trial, sizes))
            if match:
                rank = int(match[1])
                break
        if rank is None:
            continue
        dims = [None] * rank
        for axis in range(rank):
            trial = {n: list(d) for n, d in declared.items()}
            trial[name][1] = [f"any{at}" for at in range(rank)]
            trial[name][1][axis] = NO_SIZE
            match = re.search(r"Inferred=(\d+) Declared=7919", refused(case, trial, sizes))
            dims[axis] = int(match[1]) if match else None
        found[name] = [TensorProto.DataType.Name(declared[name][0]).lower(), dims]
    return found, text


def answers(case, start):
    """How a case is answered, and then one answer for each of its bindings from `start` on."""
    try:
        session, how = session_of(model_of(case)), "run"
    except Exception as error:
        text = str(error)
        if "NOT_IMPLEMENTED" not in text and "implementation for" not in text:
            yield {"problem": text[:300]}
            return
        session, how = None, "declared"
    tried = bindings(case)
    if how == "declared":
        tried = tried[:12]
    for at, sizes in list(enumerate(tried))[start:]:
        if how == "declared" and any(sizes[name] < least for name, least in case["least"].items() if name in sizes):
            continue
        yield {"at": at}
        try:
            values, problem = (ran(case, session, sizes, at), "") if session else asked(case, sizes)
        except Exception as error:  # A run that fails is left out.
            values, problem = None, str(error)
        yield {"how": how, "run": {"bindings": sizes, "values": values}} if values else {"problem": problem[:300]}


def recorded(case):
    """All answers; if a process ends early, another one continues after the sizes at which it ended."""
    result, start = {"how": "schema", "runs": [], "problem": ""}, 0
    while True:
        lines, last = apart(case, start), None
        for line in lines:
            last = line
            if "run" in line:
                result["how"] = line["how"]
                result["runs"].append(line["run"])
            elif "problem" in line:
                result["problem"] = result["problem"] or line["problem"]
        if not last or "at" not in last:
            return result
        start = last["at"] + 1
        result["problem"] = result["problem"] or "the process ended early"


def apart(case, start):
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(SECONDS)
        with os.fdopen(writing, "w", encoding="utf-8") as pipe:
            for answer in answers(case, start):
                pipe.write(json.dumps(answer) + "\n")
                pipe.flush()
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return [json.loads(line) for line in text.splitlines()]


def add(archive, name, data):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    archive.addfile(info, io.BytesIO(data))


def main(path, *wanted):
    if onnxruntime.__version__ != PINNED:
        sys.exit(f"the cases are pinned to onnxruntime {PINNED}, this is {onnxruntime.__version__}")
    buffer, counts, numbers = io.BytesIO(), {}, {}
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for case in CASES:
            if wanted and case["op"] not in wanted:
                continue
            key = f"{case['domain'] or 'ai.onnx'}/{case['op']}"
            numbers[key] = numbers.get(key, -1) + 1
            result = recorded(case)
            problem = result.pop("problem", "")
            counts[result["how"]] = counts.get(result["how"], 0) + 1
            print(f"{key}/{numbers[key]}: {result['how']}, {len(result['runs'])} runs {problem}", file=sys.stderr)
            stem = f"{key}/{numbers[key]}"
            add(archive, f"{stem}.onnx", model_of(case).SerializeToString(deterministic=True))
            add(archive, f"{stem}.truth.json", json.dumps(result, separators=(",", ":")).encode())
    data = subprocess.run(["zstd", "-19", "--stdout"], input=buffer.getvalue(), stdout=subprocess.PIPE, check=True).stdout
    with open(path, "wb") as file:
        file.write(data)
    print(f"{len(CASES)} cases: {counts}, {len(data)} bytes", file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
