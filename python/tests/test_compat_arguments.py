"""Arguments of the functions of `onnx.onnx_cpp2py_export`: names, types and exceptions are those of the native module."""

from __future__ import annotations

import pytest
from replaced import run, same

# Prints how functions answer arguments of other types, too few and too many, and names of arguments.
CALLS = """
import os, tempfile
import onnx.onnx_cpp2py_export as native
from onnx import helper
model = onnx.parser.parse_model(
    '<ir_version: 10, opset_import: ["": 21, "own": 1]> g (float[2] x) => (float[2] y) { y = own.f (x) } '
    '<domain: "own", opset_import: ["": 21]> f (x) => (y) { y = Relu (x) }')
encoded, function, node, graph = (one.SerializeToString() for one in (model, model.functions[0], model.functions[0].node[0], model.graph))
attribute, tensor = helper.make_attribute("a", 1).SerializeToString(), helper.make_tensor("t", 1, [1], [1.0])
sparse = helper.make_sparse_tensor(tensor, helper.make_tensor("i", 7, [1], [0]), [3]).SerializeToString()
kind, port = helper.make_tensor_type_proto(1, [2]).SerializeToString(), helper.make_tensor_value_info("x", 1, [2]).SerializeToString()
context, scope = native.checker.CheckerContext(), native.checker.LexicalScopeContext()
context.ir_version, context.opset_imports = 10, {"": 21}
folder = tempfile.mkdtemp()
os.chdir(folder)
path, other = os.path.join(folder, "m.onnx"), os.path.join(folder, "o.onnx")
for name in (path, other): open(name, "wb").write(encoded)
FUNCTIONS = {
    "checker": [
        ("check_value_info", port, context), ("check_tensor", tensor.SerializeToString(), context), ("check_sparse_tensor", sparse, context),
        ("check_attribute", attribute, context, scope), ("check_node", node, context, scope), ("check_function", function, context, scope),
        ("check_graph", helper.make_graph([], "g", [], []).SerializeToString(), context, scope), ("check_model", encoded, False, False, False),
        ("check_model_path", path, False, False, False), ("_open_external_data", folder, "m.onnx", "t", True)],
    "version_converter": [("convert_version", encoded, 20)],
    "inliner": [("inline_local_functions", encoded, False), ("inline_selected_functions", encoded, [("own", "f")], False),
                ("inline_selected_functions2", encoded, [("own", "f")], False)],
    "shape_inference": [
        ("infer_shapes", encoded, False, False, False), ("infer_shapes_path", path, other, False, False, False),
        ("infer_function_output_types", function, [kind], [attribute])],
    "parser": [("parse_node", "y = Relu (x)"), ("parse_graph", "g () => () {}")],
    "printer": [("model_to_text", encoded), ("graph_to_text", graph), ("function_to_text", function), ("node_to_text", node)],
    "defs": [("has_schema", "Relu", 13, ""), ("get_schema", "Relu", 13, ""), ("set_domain_to_version", "z", 1, 2, 2), ("deregister_schema", "Q", 1, "z"),
             ("register_schema", native.defs.get_schema("Relu")), ("schema_version_map",), ("OpSchema", "Q", "z", 1, "doc")],
}
NAMES = ("bytes", "path", "model", "target", "op_type", "domain", "full_check", "check_type", "convert_version", "version", "node", "text")
OTHERS = {
    "none": None, "int": 3, "big": 1 << 40, "text": "x", "empty text": "", "bytes": b"x", "empty": b"", "bytearray": bytearray(encoded),
    "list": [1], "empty list": [], "tuple": (), "dict": {}, "float": 1.5, "bool": True, "message": onnx.ModelProto(), "set": {("a", "b")},
    "pairs": [("a", "b")], "lists": [["a", "b"]], "triples": [("a", "b", "c")], "half": "\\ud800",
}
# What is not compared. The versions of the default operator set stay. The reference has no adapters to some versions, refuses calls of
# functions if it checks all domains and needs types of operands for bodies of operators; it does not say that it could not save. Texts
# that are `None` crash it.
DIFFERENT = {
    ("set_domain_to_version", 0, "empty text"), ("convert_version", 1, "int"), ("convert_version", 1, "bool"), ("convert_version", 0, "empty"),
    ("check_model", 3, "bool"), ("check_model_path", 3, "bool"), ("inline_selected_functions2", 2, "bool"), ("infer_shapes_path", 1, "empty text"),
}
def answer(name, call, *args, **kwargs):
    try:
        result = type(call(*args, **kwargs)).__name__
    except Exception as error:
        # Subclasses for bytes that cannot be read and for refusals are compared as what they derive from.
        classes = [one.__name__ for one in type(error).__mro__]
        result = next(one for one in classes if one in KNOWN)
    print(name, result)
KNOWN = ("ValidationError", "InferenceError", "SchemaError", "RuntimeError", "ConvertError", "UnicodeDecodeError", "ValueError", "TypeError",
         "AttributeError", "Exception")
"""


@pytest.mark.parametrize("module", ["checker", "version_converter", "inliner", "shape_inference", "parser", "printer", "defs"])
def test_arguments_of_other_types_are_refused_as_by_the_native_module(module: str) -> None:
    program = CALLS + f"""
for name, *args in FUNCTIONS[{module!r}]:
    call = getattr(native.{module}, name)
    for count in range(len(args) + 2):
        answer(f"{{name}} {{count}}", call, *[*args, None][:count])
    for keyword in NAMES:
        answer(f"{{name}} {{keyword}}=", call, *args[1:], **{{keyword: args[0] if args else None}})
    for index in range(len(args)):
        for what, other in OTHERS.items():
            if (name, index, what) not in DIFFERENT and ({module!r}, what) != ("parser", "none"):
                answer(f"{{name}} {{index}} {{what}}", call, *args[:index], other, *args[index + 1:])
"""
    found = same(program).splitlines()
    assert len(found) > 20 and sum(line.endswith("TypeError") for line in found) > len(found) // 2


def test_contexts_and_schemas_have_the_attributes_of_the_native_module() -> None:
    program = CALLS + """
def put(make, name, value):
    one = make()
    setattr(one, name, value)
    return getattr(one, name)
for what, value in OTHERS.items():
    answer(f"ir_version {what}", put, native.checker.CheckerContext, "ir_version", value)
    answer(f"opset_imports {what}", put, native.checker.CheckerContext, "opset_imports", value)
answer("bogus", put, native.checker.CheckerContext, "bogus", 1)
answer("argument", native.checker.CheckerContext, 1)
defs = native.defs
schema = lambda: defs.OpSchema("Q", "z", 1)
formal = lambda: defs.OpSchema.FormalParameter("x", "T")
attribute = lambda: defs.OpSchema.Attribute("a", defs.OpSchema.AttrType.INT)
for make, names in ((schema, "name domain doc file line since_version deprecated min_input attributes inputs support_level has_function"),
                    (formal, "name type_str types option min_arity description"), (attribute, "name type required description default_value")):
    for name in names.split():
        for value in ("q", 1):
            answer(f"{name} = {value}", put, make, name, value)
for what, value in OTHERS.items():
    if what != "message":
        answer(f"attribute {what}", defs.OpSchema.Attribute, "a", value)
    answer(f"formal {what}", defs.OpSchema.FormalParameter, "x", value)
    answer(f"constraint {what}", defs.OpSchema.TypeConstraintParam, "T", value)
    answer(f"infinite {what}", defs.OpSchema.is_infinite, value)
for version in (-1, 0, 1, 5, 13, 28, 99, (1 << 31) - 1):
    for domain in ("", "ai.onnx", "z", "ai.onnx.ml"):
        answer(f"{version} {domain}", defs.get_schema, "Relu", version, domain)
        print(defs.has_schema("Relu", version, domain), defs.has_schema("Relu", domain), defs.has_schema("Relu", domain=domain))
"""
    assert len(same(program).splitlines()) > 150


def test_schemas_are_copies_that_do_not_change_the_registry() -> None:
    program = """
    from onnx import defs
    schema = defs.get_schema("Relu")
    schema.name = "Other"
    schema.inputs.clear()
    schema.attributes["bogus"] = None
    again = defs.get_schema("Relu")
    print(again.name, len(again.inputs), list(again.attributes))
    made = defs.OpSchema("Own", "own", 1)
    try:
        defs.C.register_schema(made)
    except defs.SchemaError:
        print("no versions")
    defs.C.set_domain_to_version("own", 1, 1)
    defs.register_schema(made)
    made.name = "Other"
    print(defs.has("Own", "own"), defs.has("Other", "own"))
    model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 0]> g (float[2] x) => (float[2] y) { y = Relu (x) }')
    try:
        # The registry has this operator already; the attempt leaves nothing.
        defs.register_schema(defs.get_schema("Relu"))
    except defs.SchemaError:
        print("exists")
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError:
        print("refused")
    """
    assert same(program).splitlines() == ["Relu 1 []", "no versions", "True False", "exists", "refused"]


def test_inference_rules_are_those_of_the_reference() -> None:
    program = """
    from onnx import defs
    schemas = defs.get_all_schemas_with_history()
    for one in sorted(schemas, key=lambda one: (one.domain, one.name, one.since_version)):
        print(one.domain, one.name, one.since_version, one.has_type_and_shape_inference_function)
    """
    assert len(same(program).splitlines()) > 600


def test_odd_models_are_answered_in_the_same_way() -> None:
    program = CALLS + """
parts = {"graph": onnx.parser.parse_graph("g (float[2] x) => (float[2] y) { y = Relu (x) }")}
def made(**facts): return onnx.ModelProto(**{**parts, **facts}).SerializeToString()
def imports(*pairs): return [helper.make_opsetid(*pair) for pair in pairs]
cases = {
    "empty": b"", "version only": onnx.ModelProto(ir_version=10).SerializeToString(), "no version": made(opset_import=imports(("", 21))),
    "no import": made(ir_version=10), "newer": made(ir_version=99, opset_import=imports(("", 21))), "cut off": encoded[:-3],
    "garbage": b"\\xff" * 20, "other message": node, "alias": made(ir_version=10, opset_import=imports(("ai.onnx", 21))),
    **{f"set {version}": made(ir_version=10, opset_import=imports(("", version))) for version in (-1, 0, 1, 99, 1 << 40)},
    "twice": made(ir_version=10, opset_import=imports(("", 21), ("", 20))),
}
for name, case in cases.items():
    answer(f"check {name}", native.checker.check_model, case)
    answer(f"full {name}", native.checker.check_model, case, True)
    answer(f"infer {name}", native.shape_inference.infer_shapes, case)
    answer(f"strict {name}", native.shape_inference.infer_shapes, case, True, True, True)
    answer(f"inline {name}", native.inliner.inline_local_functions, case, True)
    answer(f"select {name}", native.inliner.inline_selected_functions, case, [], False)
    answer(f"print {name}", native.printer.model_to_text, case)
"""
    assert len(same(program).splitlines()) > 90


def test_parts_of_text_that_are_missing_are_refused() -> None:
    program = """
    C = onnx.parser.C
    for parse in (C.parse_node, C.parse_graph, C.parse_function, C.parse_model):
        for text in ("", " ", "}", "y = ", "# nothing", "g"):
            print(parse.__name__, repr(text), parse(text)[0])
    """
    assert "True" not in same(program)


def test_text_that_would_be_lost_is_refused() -> None:
    program = """
    C = onnx.parser.C
    for parse, text in ((C.parse_node, "y = Relu (x)"), (C.parse_graph, "g () => () { }"), (C.parse_function, '<domain: "d"> f () => () { }')):
        print([parse(text + rest)[0] for rest in ("", " # comment", " " + text, " garbage", "}")])
    """
    assert run(program).splitlines() == ["[True, True, False, False, False]"] * 3


def test_refusals_of_conversions_have_a_message() -> None:
    program = """
    model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) { y = Relu (x) }')
    for target in (-1, 0, 99):
        try:
            onnx.version_converter.convert_version(model, target)
        except onnx.version_converter.ConvertError as error:
            print(error)
    """
    assert all(f"no version {target}" in line for target, line in zip((-1, 0, 99), run(program).splitlines(), strict=True))
