"""Schemas of the native module: their texts, and their bodies."""

from __future__ import annotations

from replaced import run, same


def test_all_operators_have_a_text() -> None:
    assert run("""
    import onnx.defs
    schemas = onnx.defs.get_all_schemas_with_history()
    print([schema.name for schema in schemas if not schema.doc.endswith(".")])
    # No text is of an operator that does not exist, or of a version in which nothing changed.
    from onnxkit.compat import _descriptions
    known = {(schema.domain, schema.name, schema.since_version) for schema in schemas}
    texts = [(*name, since) for name, versions in _descriptions._known().items() for since, _ in versions]
    print([one for one in texts if one[2] > 1 and one not in known or not any(one[:2] == other[:2] for other in known)])
    """).splitlines() == ["[]", "[]"]


def test_texts_are_not_those_of_the_specification() -> None:
    count = """
    import onnx.defs
    {}
    """
    texts = "print([(s.name, s.since_version, s.doc) for s in onnx.defs.get_all_schemas_with_history() if s.doc])"
    program = count.format(texts)
    ours, reference = ({text for *_, text in eval(run(program, install=one))} for one in ("onnxkit.compat.install()", ""))
    assert not {text.strip().rstrip(".").lower() for text in ours} & {text.strip().rstrip(".").lower() for text in reference}


def test_bodies_refer_to_attributes() -> None:
    found = run("""
    import onnx.defs
    for name, version in (("Celu", 28), ("Celu", 12), ("Elu", 22), ("Relu", 14), ("ReduceL1", 18), ("Shrink", 9), ("Gelu", 20), ("Add", 14)):
        schema = onnx.defs.get_schema(name, version)
        print(name, schema.has_function, schema.has_context_dependent_function, schema.function_opset_versions)
    """).splitlines()
    assert found == [
        "Celu True False [28]", "Celu False True []", "Elu True False [18]", "Relu True False [18]", "ReduceL1 True False [18]",
        "Shrink False True []", "Gelu False True []", "Add False False []",
    ]


def test_bodies_compute_what_operators_do() -> None:
    assert run("""
    import numpy, onnx.defs
    from onnx import TensorProto, helper
    from onnx.reference import ReferenceEvaluator
    x = numpy.array([-3.0, -0.5, 0.0, 0.25, 4.0], dtype=numpy.float32)
    for name, version, attributes in (
        ("Celu", 28, {"alpha": 2.0}), ("Celu", 28, {}), ("Elu", 22, {"alpha": 0.5}), ("Selu", 22, {}), ("HardSigmoid", 22, {"beta": 0.1}),
        ("LeakyRelu", 16, {"alpha": 0.3}), ("ThresholdedRelu", 22, {}), ("Swish", 24, {"alpha": 2.0}), ("Relu", 14, {}), ("Softplus", 1, {}),
    ):
        schema = onnx.defs.get_schema(name, version)
        body = schema.function_body
        assert body.name == name and {one.name for one in body.attribute_proto} | set(body.attribute) == set(schema.attributes)
        results = []
        for domain, functions in (("", []), ("own", [body])):
            body.domain = domain
            node = helper.make_node(name, ["x"], ["y"], domain=domain, **attributes)
            ports = [helper.make_tensor_value_info(one, TensorProto.FLOAT, [5]) for one in "xy"]
            graph = helper.make_graph([node], "g", ports[:1], ports[1:])
            imports = [*body.opset_import, helper.make_opsetid("own", 1)]
            model = helper.make_model(graph, functions=functions, opset_imports=imports, ir_version=10)
            onnx.checker.check_model(model)
            results += ReferenceEvaluator(model).run(None, {"x": x})
        numpy.testing.assert_allclose(*results, rtol=1e-5, atol=1e-6)
    print("done")
    """) == "done"


def test_conversions_of_scans_without_shapes() -> None:
    assert same("""
    model = onnx.parser.parse_model('''<ir_version: 8, opset_import: ["": 8, "own": 1]>
    g (float[1,2] s, float[1,3,2] raw) => (float[1,2] y, float[1,3,2] z) {
        x = own.Op (raw)
        y, z = Scan <num_scan_inputs = 1, body = b (float[2] a, float[2] b) => (float[2] c, float[2] d) {
            c = Add (a, b)
            d = Identity (c)
        }> (, s, x)
    }''')
    import onnx.version_converter
    converted = onnx.version_converter.convert_version(model, 9)
    print(converted.opset_import[0].version, [node.op_type for node in converted.graph.node].count("Scan"))
    """) == "9 1"
