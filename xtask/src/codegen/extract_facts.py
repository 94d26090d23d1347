"""Writes the operator facts of the installed `onnx` package as two JSON files.

Run by `cargo xtask codegen --extract`, with the pinned version and the folder to write to as arguments. The facts are
what a schema declares (names, arities, types, attributes, function bodies); documentation strings are left out. The
order of everything is fixed, so that two runs give the same bytes and a new ONNX version gives a readable difference.
"""

import hashlib
import json
import pathlib
import sys

PINNED, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])

try:
    import onnx
    import numpy
except ImportError as error:
    sys.exit(f"{error}: install it with `pip install onnx=={PINNED}`, or name another interpreter in ONNX_PYTHON")
if onnx.__version__ != PINNED:
    sys.exit(
        f"the facts are pinned to onnx {PINNED}, {sys.executable} has {onnx.__version__}: "
        f"install it with `pip install onnx=={PINNED}`, or name another interpreter in ONNX_PYTHON"
    )

from onnx import checker, defs, helper, onnx_cpp2py_export  # noqa: E402

UNBOUNDED = 2147483647
SCHEMAS = sorted(defs.get_all_schemas_with_history(), key=lambda s: (s.domain, s.name, s.since_version))


def last_name(value):
    return str(value).rsplit(".", 1)[-1]


# --- values -----------------------------------------------------------------------------------------------------------


def float_fact(value):
    """The shortest decimal text of a 32-bit float, and its bits, so that nothing depends on how either is read."""
    single = numpy.float32(value)
    return {"text": str(single), "bits": f"{int(single.view(numpy.uint32)):08x}"}


def default_fact(attribute):
    """The default value of an attribute, or None."""
    proto = attribute.default_value
    kind = onnx.AttributeProto.AttributeType.Name(proto.type)
    if kind == "UNDEFINED":
        return None
    value = helper.get_attribute_value(proto)
    if kind in ("INT", "INTS"):
        return value if kind == "INT" else list(value)
    if kind == "FLOAT":
        return float_fact(value)
    if kind == "FLOATS":
        return [float_fact(item) for item in value]
    if kind == "STRING":
        return value.decode()
    if kind == "STRINGS":
        return [item.decode() for item in value]
    sys.exit(f"attribute `{attribute.name}` has a default of kind {kind}: teach default_fact to write it")


def attribute_fact(attribute):
    fact = {"name": attribute.name, "kind": last_name(attribute.type)}
    if attribute.required:
        fact["required"] = True
    default = default_fact(attribute)
    if default is not None:
        fact["default"] = default
    return fact


# --- formals and types ------------------------------------------------------------------------------------------------


def formal_fact(formal):
    fact = {"name": formal.name, "type": formal.type_str}
    option = last_name(formal.option)
    if option != "Single":
        fact["option"] = option
    if option == "Variadic":
        fact["min_arity"] = formal.min_arity
    if not formal.is_homogeneous:
        fact["heterogeneous"] = True
    differentiation = last_name(formal.differentiation_category)
    if differentiation != "Unknown":
        fact["differentiation"] = differentiation
    return fact


def type_set_key(types):
    """A name made from the content, so that a new set does not rename the others."""
    digest = hashlib.sha1("|".join(types).encode()).hexdigest()
    return f"{len(types)}-{digest[:6]}"


TYPE_SETS = {}


def constraint_fact(constraint):
    types = sorted(set(constraint.allowed_type_strs))
    key = type_set_key(types)
    if TYPE_SETS.setdefault(key, types) != types:
        sys.exit(f"two type sets share the key {key}: lengthen the digest")
    return {"variable": constraint.type_param_str, "types": key}


# --- what only the checker knows --------------------------------------------------------------------------------------


def dummy_attribute(name, kind):
    tensor = helper.make_tensor("t", onnx.TensorProto.FLOAT, [1], [1.0])
    indices = helper.make_tensor("i", onnx.TensorProto.INT64, [1], [0])
    if kind == "TYPE_PROTO":
        return helper.make_attribute(name, helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [1]))
    values = {
        "INT": 1, "FLOAT": 1.0, "STRING": "s", "INTS": [1], "FLOATS": [1.0], "STRINGS": ["s"], "TENSOR": tensor,
        "GRAPH": helper.make_graph([], "g", [], []), "SPARSE_TENSOR": helper.make_sparse_tensor(tensor, indices, [1]),
    }
    return helper.make_attribute(name, values[kind])


def is_accepted(schema, inputs, outputs, extra=None):
    """Returns whether the checker accepts a node of this operator with these numbers of inputs and outputs."""
    node = helper.make_node(
        schema.name, [f"i{n}" for n in range(inputs)], [f"o{n}" for n in range(outputs)], domain=schema.domain
    )
    for name, attribute in sorted(schema.attributes.items()):
        if attribute.required:
            node.attribute.append(dummy_attribute(name, last_name(attribute.type)))
    if extra is not None:
        node.attribute.append(helper.make_attribute(extra, 1))
    context = checker.C.CheckerContext()
    context.ir_version = onnx.IR_VERSION
    context.opset_imports = {"": defs.onnx_opset_version(), schema.domain: schema.since_version}
    try:
        checker.check_node(node, context)
    except checker.ValidationError:
        return False
    return True


def counts(least, most, forms):
    """The counts worth trying: all that are possible, or for an unbounded list a few beyond its formals."""
    return range(least, (most if most != UNBOUNDED else forms + 3) + 1)


def probed_facts(schema):
    """Restrictions that the package does not expose: allowed counts and whether unknown attributes pass."""
    if schema.deprecated:
        return {}
    input_range = counts(schema.min_input, schema.max_input, len(schema.inputs))
    output_range = counts(schema.min_output, schema.max_output, len(schema.outputs))
    accepted = [(i, o) for i in input_range for o in output_range if is_accepted(schema, i, o)]
    if not accepted:
        sys.exit(f"the checker accepts no probe of {schema.name}-{schema.since_version}: repair the probe")
    facts = {}
    inputs, outputs = sorted({i for i, _ in accepted}), sorted({o for _, o in accepted})
    if len(inputs) * len(outputs) != len(accepted):
        sys.exit(f"the counts of {schema.name}-{schema.since_version} depend on each other: extend the facts")
    if inputs != list(input_range):
        facts["input_counts"] = inputs
    if outputs != list(output_range):
        facts["output_counts"] = outputs
    if is_accepted(schema, *accepted[0], extra="no_schema_has_an_attribute_of_this_name"):
        facts["unchecked_attributes"] = True
    return facts


# --- schemas ----------------------------------------------------------------------------------------------------------


def schema_fact(schema):
    fact = {"op": schema.name, "domain": schema.domain, "since": schema.since_version}
    if schema.deprecated:
        fact["deprecated"] = True
    if last_name(schema.support_level) != "COMMON":
        fact["support"] = last_name(schema.support_level)
    fact["determinism"] = last_name(schema.node_determinism)
    fact["inference"] = schema.has_type_and_shape_inference_function
    fact["propagation"] = schema.has_data_propagation_function
    unbounded = lambda most: None if most == UNBOUNDED else most  # noqa: E731
    fact["input_range"] = [schema.min_input, unbounded(schema.max_input)]
    fact["output_range"] = [schema.min_output, unbounded(schema.max_output)]
    fact.update(probed_facts(schema))
    for key, versions in (
        ("functions", schema.function_opset_versions),
        ("context_functions", schema.context_dependent_function_opset_versions),
    ):
        if versions:
            fact[key] = sorted(versions)
    fact["inputs"] = [formal_fact(formal) for formal in schema.inputs]
    fact["outputs"] = [formal_fact(formal) for formal in schema.outputs]
    fact["constraints"] = [constraint_fact(constraint) for constraint in schema.type_constraints]
    fact["attributes"] = [attribute_fact(attribute) for _, attribute in sorted(schema.attributes.items())]
    return fact


def strip_docs(nodes):
    for node in nodes:
        node.ClearField("doc_string")
        node.attribute.sort(key=lambda attribute: attribute.name)
        for attribute in node.attribute:
            attribute.ClearField("doc_string")
            for graph in [attribute.g, *attribute.graphs] if attribute.HasField("g") else attribute.graphs:
                graph.ClearField("doc_string")
                strip_docs(graph.node)


def body_attribute_fact(attribute):
    """The value of an attribute in a function body, with its kind as the key."""
    kind = onnx.AttributeProto.AttributeType.Name(attribute.type)
    if attribute.ref_attr_name:
        return {"ref": attribute.ref_attr_name, "kind": kind}
    if kind in ("INT", "INTS"):
        return {kind.lower(): attribute.i if kind == "INT" else list(attribute.ints)}
    if kind == "FLOAT":
        return {"float": float_fact(attribute.f)}
    if kind == "TENSOR" and attribute.t.data_type == onnx.TensorProto.FLOAT and not attribute.t.dims:
        return {"scalar": float_fact(onnx.numpy_helper.to_array(attribute.t))}
    if kind == "GRAPH" and not (attribute.g.initializer or attribute.g.value_info):
        return {"graph": body_graph_fact(attribute.g)}
    sys.exit(f"a function body has an attribute of a form that the facts do not have: {attribute}")


def body_graph_fact(graph):
    elem = lambda info: info.type.tensor_type.elem_type  # noqa: E731
    return {
        "name": graph.name,
        "inputs": [[info.name, onnx.TensorProto.DataType.Name(elem(info))] for info in graph.input],
        "outputs": [info.name for info in graph.output],
        "nodes": [body_node_fact(node) for node in graph.node],
    }


def body_node_fact(node):
    if node.name or node.domain or node.overload or node.metadata_props:
        sys.exit(f"a node of a function body has a part that the facts do not have: {node}")
    fact = {"op": node.op_type, "inputs": list(node.input), "outputs": list(node.output)}
    if node.attribute:
        fact["attributes"] = {attribute.name: body_attribute_fact(attribute) for attribute in node.attribute}
    return fact


def function_facts():
    """The static function bodies: for review and generation, and as serialized FunctionProto messages in hexadecimal."""
    facts = []
    for schema in SCHEMAS:
        for version in sorted(schema.function_opset_versions):
            body = onnx.FunctionProto()
            body.ParseFromString(schema.get_function_with_opset_version(version))
            body.ClearField("doc_string")
            body.attribute.sort()
            body.attribute_proto.sort(key=lambda attribute: attribute.name)
            strip_docs(body.node)
            if body.attribute_proto or body.value_info or [(i.domain, i.version) for i in body.opset_import] != [("", version)]:
                sys.exit(f"the body of {schema.name} has a part that the facts do not have")
            facts.append({
                "op": schema.name, "domain": schema.domain, "since": schema.since_version, "opset": version,
                "inputs": list(body.input), "outputs": list(body.output), "attributes": list(body.attribute),
                "nodes": [body_node_fact(node) for node in body.node],
                "body": body.SerializeToString(deterministic=True).hex(),
            })
    return facts


def domain_facts():
    ranges = onnx_cpp2py_export.defs.schema_version_map()
    return [{"domain": name, "min": low, "max": high} for name, (low, high) in sorted(ranges.items())]


def release_facts():
    """The releases; the table has one column for training, which counts for the preview domain as well."""
    columns = [[""], ["ai.onnx.ml"], ["ai.onnx.preview.training", "ai.onnx.training"]]
    return [
        {
            "release": row[0],
            "ir": row[1],
            "opsets": [{"domain": d, "version": v} for names, v in zip(columns, row[2:]) for d in names],
        }
        for row in helper.VERSION_TABLE
    ]


# --- writing ----------------------------------------------------------------------------------------------------------


def layout(value, indent, depth):
    """JSON with one line per element down to `depth` levels, and compact below."""
    if depth == 0 or not isinstance(value, (dict, list)) or not value:
        return json.dumps(value, ensure_ascii=True)
    pad = " " * (indent + 1)
    if isinstance(value, dict):
        items = [f"{pad}{json.dumps(key)}: {layout(item, indent + 1, depth - 1)}" for key, item in value.items()]
        return "{\n" + ",\n".join(items) + "\n" + " " * indent + "}"
    items = [pad + layout(item, indent + 1, depth - 1) for item in value]
    return "[\n" + ",\n".join(items) + "\n" + " " * indent + "]"


def schema_layout(fact):
    """The scalar facts of a schema on one line, then one line for each formal, constraint and attribute."""
    parts = [json.dumps({key: value for key, value in fact.items() if key not in LISTS})[1:-1]]
    for key in LISTS:
        if fact[key]:
            rows = ",\n".join("   " + json.dumps(row) for row in fact[key])
            parts.append(f'"{key}": [\n{rows}]')
        else:
            parts.append(f'"{key}": []')
    return "  {" + ",\n   ".join(parts) + "}"


LISTS = ("inputs", "outputs", "constraints", "attributes")


def main():
    schemas = [schema_fact(schema) for schema in SCHEMAS]
    sets = dict(sorted(TYPE_SETS.items(), key=lambda item: (len(item[1]), item[0])))
    text = '{{\n "onnx": {},\n "domains": {},\n "releases": {},\n "type_sets": {},\n "schemas": [\n{}\n ]\n}}\n'.format(
        json.dumps(PINNED),
        layout(domain_facts(), 1, 1),
        layout(release_facts(), 1, 1),
        layout(sets, 1, 1),
        ",\n".join(schema_layout(schema) for schema in schemas),
    )
    FOLDER.joinpath(f"onnx-{PINNED}.json").write_text(text)
    functions = {"onnx": PINNED, "functions": function_facts()}
    FOLDER.joinpath(f"functions-{PINNED}.json").write_text(layout(functions, 0, 4) + "\n")


main()
