"""`onnx` on this package. Each test runs in a separate process, since the native module is replaced before `onnx` is imported."""

from __future__ import annotations

import subprocess
import sys

import programs
import pytest
from replaced import HEADER, run, same


def test_the_native_module_is_replaced_before_onnx_is_imported() -> None:
    assert run("print(onnx.checker.C.__name__, onnxkit.compat.is_installed())") == "onnxkit.compat.checker True"
    program = "import onnx, onnxkit.compat\ntry:\n    onnxkit.compat.install()\nexcept ImportError as error:\n    print(error)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
    assert done.stdout.strip() == "onnx is imported already; call onnxkit.compat.install() before"


def test_models_and_parts_are_checked() -> None:
    program = f"""
    parse = onnx.parser.parse_model
    onnx.checker.check_model(parse('{HEADER} g (float[2] x) => (float[2] y) {{ y = Relu (x) }}'))
    refused = [
        lambda: onnx.checker.check_model(parse('{HEADER} g (float[2] x) => (float[2] y) {{ y = Rellu (x) }}')),
        lambda: onnx.checker.check_node(onnx.helper.make_node("Relu", ["x", "x"], ["y"])),
        lambda: onnx.checker.check_attribute(onnx.AttributeProto(name="a", type="INT", i=1, f=1.0)),
        lambda: onnx.checker.check_tensor(onnx.TensorProto(data_type=1, dims=[2], float_data=[1.0])),
        lambda: onnx.checker.check_value_info(onnx.ValueInfoProto(name="x")),
    ]
    onnx.checker.check_node(onnx.helper.make_node("Relu", ["x"], ["y"]))
    onnx.checker.check_attribute(onnx.AttributeProto(name="a", type="INT", i=1))
    for check in refused:
        try:
            check()
        except onnx.checker.ValidationError as error:
            print("refused")
    """
    assert run(program).splitlines() == ["refused"] * 5


def test_types_are_inferred_and_contradictions_raise() -> None:
    program = f"""
    model = onnx.parser.parse_model('{HEADER} g (float[N,4] x) => (y) {{ y = Concat <axis = 1> (x, x) }}')
    print(onnx.shape_inference.infer_shapes(model).graph.output[0].type.tensor_type.shape.dim[1].dim_value)
    wrong = onnx.parser.parse_model('{HEADER} g (float[2] x, float[3] z) => (y) {{ y = Add (x, z) }}')
    onnx.shape_inference.infer_shapes(wrong)
    try:
        onnx.shape_inference.infer_shapes(wrong, strict_mode=True)
    except onnx.shape_inference.InferenceError as error:
        print(error)
    """
    assert run(program).splitlines() == ["8", 'graph "g" / node #0 Add: sizes 2 and 3 do not broadcast']


def test_operators_with_inference_functions_of_python_are_inferred() -> None:
    program = """
    from onnx import defs, helper, TensorProto
    def infer(ctx):
        kind = ctx.get_input_type(0)
        kind.tensor_type.shape.dim[0].dim_value *= ctx.get_attribute("times").i
        ctx.set_output_type(0, kind)
    schema = defs.OpSchema(
        "Repeat", "own", 1,
        inputs=[defs.OpSchema.FormalParameter("x", "T")], outputs=[defs.OpSchema.FormalParameter("y", "T")],
        type_constraints=[("T", ["tensor(float)"], "")],
        attributes=[defs.OpSchema.Attribute("times", defs.OpSchema.AttrType.INT)],
    )
    schema.set_type_and_shape_inference_function(infer)
    defs.register_schema(schema)
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["": 21, "own": 1]> g (float[2] x) => (y) '
        '{ a = Relu (x) b = own.Repeat <times = 3> (a) y = Neg (b) }'
    )
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, check_type=True)
    print(inferred.graph.output[0].type.tensor_type.shape.dim[0].dim_value)
    try:
        onnx.checker.check_node(helper.make_node("Repeat", ["x"], ["y"], domain="own"), onnx.checker.DEFAULT_CONTEXT)
    except onnx.checker.ValidationError as error:
        print("no import")
    defs.deregister_schema("Repeat", 1, "own")
    print(defs.has("Repeat", "own"))
    """
    assert run(program).splitlines() == ["6", "no import", "False"]


def test_schemas_are_those_of_the_native_module() -> None:
    program = """
    schema = onnx.defs.get_schema("Conv", 11)
    print(schema.since_version, schema.min_input, schema.max_input, schema.attributes["group"].default_value.i)
    print([formal.name for formal in schema.inputs], onnx.defs.has("Convv"), onnx.defs.onnx_opset_version() >= 28)
    """
    assert run(program).splitlines() == ["11 2 3 1", "['X', 'W', 'B'] False True"]


def test_models_are_converted_and_refusals_have_both_classes() -> None:
    program = f"""
    model = onnx.parser.parse_model(
        '{HEADER} g (float[2,3] x) => (float[2,1] y) <int64[1] axes = {{1}}> {{ y = ReduceSum (x, axes) }}')
    print([node.op_type for node in onnx.version_converter.convert_version(model, 11).graph.node])
    back = onnx.version_converter.convert_version(onnx.version_converter.convert_version(model, 11), 13)
    print([node.op_type for node in back.graph.node])
    try:
        onnx.version_converter.convert_version(model, 99)
    except onnx.version_converter.ConvertError as error:
        print(isinstance(error, RuntimeError))
    """
    assert run(program).splitlines() == ["['ReduceSum']", "['Constant', 'ReduceSum']", "True"]


def test_nodes_that_are_not_valid_in_the_imported_version_are_those_of_a_later_one() -> None:
    program = """
    def converted(version, target, text):
        model = onnx.parser.parse_model('<ir_version: 3, opset_import: ["": %d]> g %s' % (version, text))
        try:
            graph = onnx.version_converter.convert_version(model, target).graph
            print(*(node.domain + node.op_type for node in graph.node))
        except onnx.version_converter.ConvertError as error:
            print("refused:", str(error).partition(": ")[2])

    rest = "float[5,2] f, float[5] d) => (float[5] c, float[5,2] e) { e = Add <broadcast = 1, axis = 0> (f, d) c = Add (a, b) }"
    converted(5, 8, "(float[5] a, float[1] b, " + rest)
    converted(5, 8, "(float[5] a, float[4] b, " + rest)
    converted(5, 8, "(float[2,3] x, float[3] s) => (float[2,3] y) { y = BatchNormalization (x, s, s, s, s) }")
    converted(6, 28, "(float[3,4] x, float[3,4] s) => (float[3,4] y) { y = PRelu (x, s) }")
    converted(6, 28, "(float[3,4] x, float[2,4] s) => (float[3,4] y) { y = PRelu (x, s) }")
    converted(5, 8, "(bool c, float[5] a, float[1] b) => (y) { y = If (c) <"
              "then_branch = t () => (float[5] u) { u = Add (a, b) }, else_branch = e () => (float[5] v) { v = Neg (a) }> }")
    """
    broadcast = "`a` and `b` have different shapes, which this version does not broadcast"
    add = "`Add` cannot be converted to version 7, on the way to version 8: "
    assert run(program).splitlines() == [
        "Unsqueeze Add Add", f"refused: {add}{broadcast}", "BatchNormalization", "PRelu",
        "refused: `PRelu` cannot be converted to version 7, on the way to version 28: the slope is not a list",
        f"refused: {add}{broadcast}",
    ]
    strict = run(program, install='onnxkit.compat.install(profile="spec")').splitlines()
    assert all(line.startswith("refused: ") for line in strict)


def test_elements_that_leave_64_bits_are_refused_with_data_propagation() -> None:
    program = f"""
    model = onnx.parser.parse_model('''{HEADER} g (float[1] x) => (float[N] y)
        <int64[1] a = {{{{4611686018427387904}}}}, int64[1] b = {{{{2}}}}> {{{{ n = Mul (a, b) y = Expand (x, n) }}}}''')
    onnx.shape_inference.infer_shapes(model, strict_mode=True)
    onnx.shape_inference.infer_shapes(model, data_prop=True)
    try:
        onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    except onnx.shape_inference.InferenceError as error:
        print(error)
    """.replace("{{", "{").replace("}}", "}")
    assert run(program) == 'graph "g" / node #0 Mul: an element of the result does not fit in 64 bits'


def test_bytes_that_cannot_be_read_are_a_value_error_everywhere() -> None:
    program = """
    from onnx import onnx_cpp2py_export as native
    context, scope = native.checker.CheckerContext(), native.checker.LexicalScopeContext()
    context.ir_version, context.opset_imports = 10, {"": 21}
    calls = [
        native.shape_inference.infer_shapes, lambda data: native.inliner.inline_local_functions(data, False), native.printer.model_to_text,
        native.printer.graph_to_text, native.printer.function_to_text, native.printer.node_to_text,
        lambda data: native.checker.check_model(data, False, False, False),
        lambda data: native.version_converter.convert_version(data, 20),
        lambda data: native.inliner.inline_selected_functions(data, [("own", "one")], False),
        lambda data: native.inliner.inline_selected_functions2(data, [("own", "one")], False),
        lambda data: native.shape_inference.infer_function_output_types(data, [], []),
        lambda data: native.checker.check_node(data, context, scope), lambda data: native.checker.check_graph(data, context, scope),
        lambda data: native.checker.check_function(data, context, scope), lambda data: native.checker.check_attribute(data, context, scope),
        lambda data: native.checker.check_tensor(data, context), lambda data: native.checker.check_sparse_tensor(data, context),
        lambda data: native.checker.check_value_info(data, context),
    ]
    for call in calls:
        for data in (b"\\x08", b"\\x0b", b"\\x0a\\x05a"):
            try:
                call(data)
            except ValueError:
                continue
            print(call, data, "is accepted")
    """
    assert run(program) == ""


def test_printed_texts_are_those_of_the_reference() -> None:
    program = r"""
    import numpy as np
    from onnx import TensorProto, helper

    random = np.random.default_rng(7)
    single = random.integers(0, 2**32, 500, dtype=np.uint32).view(np.float32)
    double = random.integers(0, 2**63, 500, dtype=np.uint64).view(np.float64)
    plain = random.integers(-10**9, 10**9, 500) * 10.0 ** random.integers(-12, 12, 500)
    special = [0.0, -0.0, 1.0, 1e5, 1e4, 1e-4, 1e-5, 0.1, 1 / 3, 123456790528.0, 3e38, 5e-324, np.nan, np.inf, -np.inf]
    tensors = [
        helper.make_tensor("a b", TensorProto.FLOAT, [500], single), helper.make_tensor("d", TensorProto.DOUBLE, [500], double),
        helper.make_tensor("p", TensorProto.FLOAT, [500], plain.astype(np.float32)),
        helper.make_tensor("q", TensorProto.DOUBLE, [515], [*plain, *special]),
        helper.make_tensor("r", TensorProto.FLOAT, [500], single.tobytes(), raw=True),
        helper.make_tensor("s", TensorProto.STRING, [3], [b"a", b'q"', "\u00e9".encode()]),
    ]
    external = onnx.TensorProto(name="e", data_type=1, dims=[2], data_location=TensorProto.EXTERNAL)
    external.external_data.add(key="location", value="w.bin")
    kinds = [code for code in TensorProto.DataType.values() if code]
    empty = [onnx.TensorProto(name=f"t{code}", data_type=code, dims=[0]) for code in kinds]
    raw = [onnx.TensorProto(name=f"r{code}", data_type=code, dims=[0], raw_data=b"") for code in kinds]
    narrow = [onnx.TensorProto(name=f"n{code}", data_type=code, dims=[3], int32_data=[1, 2, 3]) for code in kinds]
    inner = helper.make_graph(
        [helper.make_node("Neg", ["a"], ["b"], name="")], "inner", [], [helper.make_tensor_value_info("b", 1, [2])],
        [helper.make_tensor("q", 1, [1], [1.5])], value_info=[helper.make_tensor_value_info("v", 7, [])])
    outer = helper.make_graph([helper.make_node("If", ["c"], ["k"], then_branch=inner, a=1)], "t", [], [])
    sequence = helper.make_sequence_type_proto(helper.make_optional_type_proto(helper.make_tensor_type_proto(1, ["N"])))
    node = helper.make_node(
        "If", ["c", "", "x.y"], ["u", "v w"], name="n 1", domain="my.d", overload="o", then_branch=inner, else_branch=outer,
        graphs=[inner, inner], alpha=1.5, ints=[1, 2], floats=[0.1, 1e10], s='x"\\\n', ss=["a", "b"], ty=sequence,
        t=helper.make_tensor("tt", 7, [], [5]), ts=[helper.make_tensor("", 1, [1], [2.0])])
    node.attribute.add(name="ref", type=2, ref_attr_name="z")
    for code in onnx.AttributeProto.AttributeType.values():
        node.attribute.add(name=f"e{code}", type=code)
    function = helper.make_function(
        "d", "F f", ["x"], ["y"], [node], [helper.make_opsetid("", 17), helper.make_opsetid("d", 1)], ["a", "b"])
    ports = [helper.make_tensor_value_info(f"x{code}", code, ["a", 1, None, "a b"]) for code in kinds] + [
        helper.make_tensor_value_info("no shape", 1, None), onnx.ValueInfoProto(name="no type"),
        helper.make_value_info("m", helper.make_map_type_proto(7, sequence)),
        helper.make_value_info("sp", helper.make_sparse_tensor_type_proto(1, [2, 3]))]
    opaque = onnx.ValueInfoProto(name="o")
    opaque.type.opaque_type.domain, opaque.type.opaque_type.name = "d", "n"
    graph = helper.make_graph([node], "g", [*ports, opaque], [], [*tensors, external, *empty, *raw, *narrow])
    model = helper.make_model(
        graph, functions=[function, function], producer_name="p", producer_version="", model_version=3, doc_string='d"', domain="dd")
    helper.set_model_props(model, {"a": "b", "c": "d"})
    wrong = helper.make_graph([], "w", [], [], [onnx.TensorProto(name="w", data_type=1, dims=[2], raw_data=bytes(4))])
    parts = [model, function, graph, node, onnx.ModelProto(), onnx.GraphProto(), onnx.FunctionProto(), onnx.NodeProto(), wrong]
    for part in parts:
        try:
            print(ascii(onnx.printer.to_text(part)))
        except onnx.shape_inference.InferenceError:
            print("refused")
    """
    ours = run(program, install="onnxkit.compat.install(reference_texts=True)").splitlines()
    assert ours == run(program, install="").splitlines()
    assert len(ours) == 9 and ours[-1] == "refused"


def test_functions_are_inlined() -> None:
    program = """
    model = onnx.parser.parse_model('''
    <ir_version: 10, opset_import: ["": 21, "own": 1]>
    g (float[2] x) => (float[2] y) { a = own.one (x) y = own.two (a) }
    <domain: "own", opset_import: ["": 21]> one (x) => (y) { y = Relu (x) }
    <domain: "own", opset_import: ["": 21]> two (x) => (y) { y = Neg (x) }''')
    def ops(model): return [node.op_type for node in model.graph.node]
    print(ops(onnx.inliner.inline_local_functions(model)))
    print(ops(onnx.inliner.inline_selected_functions(model, [("own", "one")])))
    print(ops(onnx.inliner.inline_selected_functions(model, [("own", "one")], exclude=True)))
    two = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) { a = Softsign (x) y = Softplus (a) }')
    def select(ids, exclude): return ops(onnx.inliner.inline_selected_functions(two, ids, exclude, True))
    print(select([], False), "Softsign" in select([], True))
    try:
        select([("", "Softsign")], False)
    except RuntimeError as error:
        print(error)
    """
    assert run(program).splitlines() == [
        "['Relu', 'Neg']", "['Relu', 'two']", "['one', 'Neg']", "['Softsign', 'Softplus'] False",
        "operators are replaced by their bodies all or not at all; Softplus would be, too",
    ]


@pytest.mark.parametrize("kind", ["graph", "function", "node"])
def test_parts_are_printed_and_parsed_again(kind: str) -> None:
    texts = {
        "graph": "g (float[N] x) => (float[N] y) { y = Relu (x) }",
        "function": '<domain: "own", opset_import: ["": 21]> f (x) => (y) { y = Relu (x) }',
        "node": "y = Relu (x)",
    }
    program = f"""
    part = onnx.parser.parse_{kind}({texts[kind]!r})
    text = onnx.printer.to_text(part)
    print(onnx.parser.parse_{kind}(text) == part)
    try:
        onnx.parser.parse_{kind}("?")
    except onnx.parser.ParseError:
        print("refused")
    """
    assert run(program).splitlines() == ["True", "refused"]


def test_all_elements_of_tensors_are_printed() -> None:
    program = """
    from onnx import TensorProto, helper
    tensor = helper.make_tensor("w", TensorProto.INT64, [1000], list(range(1000)))
    text = onnx.printer.to_text(helper.make_graph([], "g", [], [], [tensor]))
    print(list(onnx.parser.parse_graph(text).initializer[0].int64_data) == list(range(1000)))
    """
    assert run(program) == "True"


def test_texts_of_the_reference_are_used_when_asked_for() -> None:
    program = """
    from onnx import TensorProto, helper
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT6E2M3, dims=[1], raw_data=b"\\x40")
    try:
        onnx.checker.check_tensor(tensor)
    except onnx.checker.ValidationError as error:
        print(error)
    print(onnx.printer.to_text(helper.make_graph([], "g", [], [], [helper.make_tensor("w", TensorProto.FLOAT16, [2], [1, 2])])))
    """
    ours = run(program)
    # Elements of narrow types are bit patterns, as the parser of the reference reads them.
    assert "padding" in ours and "float16[2] w = {15360, 16384}" in ours
    theirs = run(program, install="onnxkit.compat.install(reference_texts=True)")
    assert "non-zero padding bits in its packed FLOAT6" in theirs and "float16[2] w =  {15360,16384}" in theirs


def test_external_data_is_opened_within_the_folder_only() -> None:
    program = """
    import os, tempfile
    folder = tempfile.mkdtemp()
    open(os.path.join(folder, "w"), "wb").write(b"1234")
    os.symlink("w", os.path.join(folder, "link"))
    file = onnx.checker.C._open_external_data(folder, "w", "t", True)
    print(os.read(file, 4))
    for location in ("", "/etc/passwd", "../w", "link", "missing"):
        try:
            onnx.checker.C._open_external_data(folder, location, "t", True)
        except onnx.checker.ValidationError:
            print("refused")
    """
    assert run(program).splitlines() == ["b'1234'"] + ["refused"] * 5


def test_the_page_is_right() -> None:
    done = subprocess.run([sys.executable, programs.__file__, "compat.md"], capture_output=True, text=True, timeout=100)
    assert done.stdout.endswith(" examples, 0 failed\n") and done.stdout[0] != "0", done.stdout + done.stderr


def test_the_profile_decides_what_strict_inference_refuses() -> None:
    program = """
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["": 21]> g (float[2,4] x, int64[2] i) => (y) { y = GatherElements (x, i) }')
    try:
        onnx.shape_inference.infer_shapes(model, strict_mode=True)
        print("accepted")
    except onnx.shape_inference.InferenceError:
        print("refused")
    """
    assert run(program) == "accepted"
    assert run(program, install='onnxkit.compat.install(profile="spec")') == "refused"


def test_conversions_are_refused_on_request_that_the_reference_cannot_make() -> None:
    program = """
    model = onnx.parser.parse_model(
        '<ir_version: 13, opset_import: ["": 28]> g (float16[2] x) => (float16[2] y) { y = Celu (x) }')
    try:
        print(onnx.version_converter.convert_version(model, 27).opset_import[0].version)
    except onnx.version_converter.ConvertError as error:
        print(error)
    """
    assert run(program) == "27"
    limited = run(program, install="onnxkit.compat.install(reference_limits=True)")
    assert limited == "Celu of tensor(float16) has no adapter to version 27"


def test_defaults_of_inputs_are_constants_of_conversions_and_are_no_inputs_afterwards() -> None:
    program = """
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["": 21]> g (float[2,3] x, int64[1] axes) => (float[2,1] y) '
        '<int64[1] axes = {1}> { y = ReduceSum (x, axes) }')
    print([port.name for port in onnx.version_converter.convert_version(model, 11).graph.input])
    """
    assert run(program) == "['x']"


@pytest.mark.parametrize("install", ["onnxkit.compat.install()", ""])
def test_the_backend_runs_models_and_nodes(install: str) -> None:
    program = """
    import numpy as np, onnxkit.backend as backend
    model = onnx.parser.parse_model(
        '<ir_version: 10, opset_import: ["": 21]> g (float[2] x, float[2] w) => (float[2] y, float[2] z) '
        '<float[2] w = {1, 2}> { y = Add (x, w) z = Neg (x) }')
    x = np.array([3, 4], dtype=np.float32)
    for inputs in ([x], x, {"x": x}, [x, np.zeros(2, dtype=np.float32)]):
        print([output.tolist() for output in backend.prepare(model).run(inputs)])
    node = onnx.helper.make_node("SequenceAt", ["s", "i"], ["y"])
    print(backend.run_node(node, [[x, x + 1], np.array(1, dtype=np.int64)])[0].tolist())
    print(backend.supports_device("CPU"), backend.supports_device("CUDA:0"))
    """
    assert run(program, install=install).splitlines() == [
        "[[4.0, 6.0], [-3.0, -4.0]]", "[[4.0, 6.0], [-3.0, -4.0]]", "[[4.0, 6.0], [-3.0, -4.0]]",
        "[[3.0, 4.0], [-3.0, -4.0]]", "[4.0, 5.0]", "True False",
    ]


def test_models_with_fields_that_exclude_each_other_are_refused() -> None:
    program = f"""
    model = onnx.parser.parse_model('{HEADER} g (float[1] x) => (float[1] y) <float[1] w = {{1}}> {{ y = Add (x, w) }}')
    onnx.checker.check_model(model)
    model.graph.initializer[0].raw_data = bytes(4)
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError:
        print("refused")
    """
    assert run(program) == "refused"


def test_schemas_have_the_facts_of_the_reference() -> None:
    facts = """
    import onnx.defs
    for schema in sorted(onnx.defs.get_all_schemas_with_history(), key=lambda one: (one.domain, one.name, one.since_version)):
        formals = [(one.name, one.type_str, int(one.option), one.is_homogeneous, one.min_arity, sorted(one.types))
                   for one in (*schema.inputs, *schema.outputs)]
        attributes = [(one.name, int(one.type), one.required, one.default_value.SerializeToString())
                      for one in sorted(schema.attributes.values(), key=lambda one: one.name)]
        bounds = schema.min_input, schema.max_input, schema.min_output, schema.max_output
        print(schema.domain, schema.name, schema.since_version, schema.deprecated, bounds, formals, attributes)
    """
    ours, theirs = run(facts).splitlines(), run(facts, install="").splitlines()
    assert len(ours) > 600 and ours == theirs


def test_schemas_state_how_gradients_pass() -> None:
    program = """
    for schema in sorted(onnx.defs.get_all_schemas_with_history(), key=lambda one: (one.domain, one.name, one.since_version)):
        letters = [formal.differentiation_category.name for formal in (*schema.inputs, *schema.outputs)]
        print(schema.domain, schema.name, schema.since_version, *letters)
    """
    assert "Conv 22 Differentiable" in same(program)
