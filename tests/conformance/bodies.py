"""Records the function bodies of operators, for `cargo xtask conformance --suite bodies`.

    bodies.py FOLDER    writes FOLDER/<operator>-<version>/<opset>/<test>[-<type>].onnx

Pack it with `tar --sort=name --mtime=@0 --owner=0 --group=0 -C FOLDER -c . | zstd -19 > tests/conformance/bodies.tar.zst`.

The nodes are those of the official tests, in every version of their operator that has a body and with other element types. A
model has the node, with the outputs `k_...`, and a call of the body that the reference makes for it, with the outputs `b_...`.
Inputs that may have any value have no initializer; indices, sizes and other integers have one.
"""

import pathlib
import shutil
import sys

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import defs
from onnx import helper as h
from onnx import numpy_helper as nh
from onnx.backend.test.case.node import collect_testcases

# Operators whose integers are data, too.
INTEGERS = "CastLike CenterCropPad Clip DepthToSpace GreaterOrEqual LessOrEqual PRelu ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceSumSquare Relu SequenceMap Shrink SpaceToDepth".split()
# Operators whose floats have few valid values.
FIXED = ["Bernoulli", "Range"]
TYPES = {
    T.FLOAT: np.float32,
    T.DOUBLE: np.float64,
    T.FLOAT16: np.float16,
    T.BFLOAT16: ml_dtypes.bfloat16,
    T.INT8: np.int8,
    T.UINT8: np.uint8,
    T.INT16: np.int16,
    T.UINT16: np.uint16,
    T.INT32: np.int32,
    T.UINT32: np.uint32,
    T.INT64: np.int64,
    T.UINT64: np.uint64,
}
FLOATS = [T.FLOAT, T.DOUBLE, T.FLOAT16, T.BFLOAT16]


class Test:
    def __init__(self, name, node, values):
        self.name, self.node, self.values = name, node, values


def official():
    for case in collect_testcases(None):
        if case.model is None or len(case.model.graph.node) != 1 or case.name.endswith("_expanded"):
            continue
        names = [info.name for info in case.model.graph.input]
        yield Test(case.name.removeprefix("test_"), case.model.graph.node[0], dict(zip(names, case.data_sets[0][0])))


def own():
    """Nodes for versions that the official tests do not contain, and for cases that they omit."""
    f = lambda *shape: np.linspace(-2, 3, int(np.prod(shape)), dtype=np.float32).reshape(shape)
    yield Test("groups", h.make_node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=2), dict(x=f(5, 4, 3, 6), s=f(2), b=f(2)))
    yield Test("groups_epsilon", h.make_node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=3, epsilon=0.5), dict(x=f(1, 3, 5), s=f(3), b=f(3)))
    for name, numbers in dict(tenths=(0, 1, 0.1), down=(3, -3, -0.7), nothing=(1, 1, 1), beyond=(5, 1, 2), one=(2, 2.5, 1), ints=(0, 20, 3), ints_down=(9, -9, -4), large=(0, 40, 0.01)).items():
        yield Test(name, h.make_node("Range", ["a", "b", "c"], ["y"]), {k: np.float32(v) for k, v in zip("abc", numbers)})
    for op in ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"):
        axes = np.array([-1, 0], np.int64)
        yield Test("two_axes", h.make_node(op, ["x", "a"], ["y"], keepdims=0), dict(x=f(3, 2, 4), a=axes))
        yield Test("no_axes", h.make_node(op, ["x", "a"], ["y"], noop_with_empty_axes=1), dict(x=f(3, 2), a=axes[:0]))
        yield Test("scalar", h.make_node(op, ["x"], ["y"]), dict(x=f(1).reshape(())))
    for op in ("Softmax", "LogSoftmax"):
        yield Test("scalar", h.make_node(op, ["x"], ["y"], axis=0), dict(x=f(1)))
    yield Test("axes", h.make_node("MeanVarianceNormalization", ["x"], ["y"], axes=[-1]), dict(x=f(2, 3, 4)))
    yield Test("attributes", h.make_node("Selu", ["x"], ["y"], alpha=0.5, gamma=2.0), dict(x=f(2, 9)))
    yield Test("bias", h.make_node("Shrink", ["x"], ["y"], bias=0.25, lambd=0.75), dict(x=f(2, 9)))
    yield Test("alpha", h.make_node("Swish", ["x"], ["y"], alpha=2.5), dict(x=f(2, 9)))
    yield Test("alpha", h.make_node("Celu", ["x"], ["y"], alpha=0.5), dict(x=f(2, 9)))
    yield Test("seed", h.make_node("Bernoulli", ["x"], ["y"], seed=1.0, dtype=T.INT32), dict(x=np.float32([[0, 1, 0], [1, 1, 0]])))


def formals_of(schema, node):
    return [schema.inputs[min(k, len(schema.inputs) - 1)].type_str for k in range(len(node.input))]


def with_type(test, schema, elem):
    """The values of a test with another element type; `None` if the operator does not have it."""
    allowed = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    name = f"tensor({h.tensor_dtype_to_string(elem).removeprefix('TensorProto.').lower()})"
    formals = formals_of(schema, test.node)
    if not formals or name not in allowed.get(formals[0], []):
        return None
    values = {}
    for formal, key in zip(formals, test.node.input):
        value = test.values.get(key)
        if not isinstance(value, np.ndarray | np.generic) or value.dtype == object:
            if value is not None:
                return None
            continue
        is_float = h.np_dtype_to_tensor_dtype(value.dtype) in FLOATS
        if formal == formals[0] or (is_float and elem in FLOATS and name in allowed.get(formal, [])):
            given, value = value, np.asarray(value).astype(TYPES[elem])
            if schema.name in FIXED and elem not in FLOATS and (value != given).any():
                return None
        values[key] = value
    return values


def body(schema, opset, node, types):
    if schema.has_function:
        data = schema.get_function_with_opset_version(opset)
    else:
        types = [types[key].SerializeToString() if key else b"" for key in node.input]
        data = schema.get_context_dependent_function_with_opset_version(opset, node.SerializeToString(), types)
    return onnx.FunctionProto.FromString(data) if data else None


def type_of(value):
    if isinstance(value, list):
        return h.make_sequence_type_proto(type_of(value[0]))
    if isinstance(value, onnx.TensorProto):
        return h.make_tensor_type_proto(value.data_type, value.dims)
    value = np.asarray(value)
    elem = T.STRING if value.dtype == object else h.np_dtype_to_tensor_dtype(value.dtype)
    return h.make_tensor_type_proto(elem, value.shape)


def named(value, name):
    tensor = onnx.TensorProto()
    tensor.CopyFrom(value if isinstance(value, onnx.TensorProto) else nh.from_array(np.asarray(value), name))
    tensor.name = name
    return tensor


def renamed(node, prefix):
    call = onnx.NodeProto()
    call.CopyFrom(node)
    del call.output[:]
    call.output.extend(prefix + name if name else "" for name in node.output)
    return call


def is_data(schema, node, key, value):
    kind = type_of(value).tensor_type.elem_type
    formals = formals_of(schema, node)
    is_first = formals[list(node.input).index(key)] == formals[0]
    return schema.name not in FIXED and (kind in FLOATS or (schema.name in INTEGERS and is_first and kind in TYPES))


def model(schema, opset, node, values):
    """The model of a node and its body; a reason if there is none."""
    types = {key: type_of(value) for key, value in values.items()}
    single = h.make_graph([node], "g", [onnx.ValueInfoProto(name=k, type=t) for k, t in types.items()], [onnx.ValueInfoProto(name=o) for o in node.output if o])
    imports = [h.make_opsetid("", opset if schema.domain == "" else 26)]
    if schema.domain:
        imports.append(h.make_opsetid(schema.domain, opset))
    alone = h.make_model(single, opset_imports=imports, ir_version=13)
    if not schema.deprecated:
        onnx.checker.check_node(node, context(imports))
        onnx.shape_inference.infer_shapes(alone, check_type=True, strict_mode=True)
    function = body(schema, opset, node, types)
    if function is None:
        raise ValueError("no body")
    function.domain = "bodies"
    call = renamed(node, "b_")
    call.domain = "bodies"
    known = [*function.attribute, *(a.name for a in function.attribute_proto)]
    kept = [a for a in node.attribute if a.name in known]
    # A body takes all its attributes from the call, also those with a default.
    defaults = [schema.attributes[name].default_value for name in function.attribute]
    kept += [a for a in defaults if a.type and a.name not in {k.name for k in kept}]
    if "" not in {i.domain for i in function.opset_import}:
        function.opset_import.append(imports[0])
    del call.attribute[:]
    call.attribute.extend(kept)
    nodes, inputs, initializers = [], [], []
    for key, value in values.items():
        parts = value if isinstance(value, list) else [value]
        names = [f"{key}_{k}" for k in range(len(parts))] if isinstance(value, list) else [key]
        if isinstance(value, list):
            nodes.append(h.make_node("SequenceConstruct", names, [key]))
        for name, part in zip(names, parts):
            inputs.append(onnx.ValueInfoProto(name=name, type=type_of(part)))
            if not is_data(schema, node, key, part):
                initializers.append(named(part, name))
    nodes += [renamed(node, "k_"), call]
    outputs = [onnx.ValueInfoProto(name=prefix + o) for o in node.output if o for prefix in ("k_", "b_")]
    graph = h.make_graph(nodes, "g", inputs, outputs, initializers)
    return h.make_model(graph, opset_imports=[*imports, h.make_opsetid("bodies", 1)], functions=[function], ir_version=13)


def context(imports):
    context = onnx.checker.C.CheckerContext()
    context.ir_version = 13
    context.opset_imports = {i.domain: i.version for i in imports}
    return context


def main():
    out = pathlib.Path(sys.argv[1])
    shutil.rmtree(out, ignore_errors=True)
    tests = {}
    for test in [*official(), *own()]:
        tests.setdefault((test.node.domain, test.node.op_type), []).append(test)
    schemas = [s for s in defs.get_all_schemas_with_history() if s.has_function or s.has_context_dependent_function]
    total = 0
    for schema in sorted(schemas, key=lambda s: (s.domain, s.name, s.since_version)):
        count, reasons = 0, set()
        opsets = sorted({*schema.function_opset_versions, *schema.context_dependent_function_opset_versions})
        for opset in opsets:
            for test in tests.get((schema.domain, schema.name), []):
                # Operators with many tests have other types in some of them.
                number = tests[schema.domain, schema.name].index(test)
                is_typed = len(tests[schema.domain, schema.name]) < 50 or number % 4 == 0
                variants = {"": test.values}
                if is_typed and schema.name not in ("CastLike", "SequenceMap"):
                    variants |= {"-" + T.DataType.Name(e).lower(): with_type(test, schema, e) for e in TYPES}
                seen = set()
                for suffix, values in variants.items():
                    if values is None:
                        continue
                    key = tuple(str(type_of(v)) for v in values.values())
                    if key in seen:
                        continue
                    seen.add(key)
                    try:
                        data = model(schema, opset, test.node, values).SerializeToString()
                    except Exception as error:
                        reasons.add(str(error)[:120].replace("\n", " "))
                        continue
                    path = out / f"{schema.name}-{schema.since_version}/{opset}/{test.name}{suffix}.onnx"
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(data)
                    count += 1
        total += count
        print(schema.name, schema.since_version, opsets, count, *sorted(reasons))
    print(total, "models")


main()
