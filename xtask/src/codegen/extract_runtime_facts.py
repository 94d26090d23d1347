"""Writes the facts about the operators that onnxruntime adds to those of ONNX as a JSON file.

Run by `cargo xtask codegen --extract`, with the pinned versions of `onnx` and `onnxruntime` and the folder to write to as
arguments. The facts are what the schemas of the installed packages declare: names, arities, types and attributes, without
documentation strings. Schemas that the `onnx` package declares too are left out. The order of everything is fixed.
"""

import json
import hashlib
import pathlib
import sys

PINNED_ONNX, PINNED, FOLDER = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])

try:
    import numpy
    import onnx
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as state
except ImportError as error:
    sys.exit(f"{error}: install `onnx=={PINNED_ONNX}` and `onnxruntime=={PINNED}`, or set ONNX_PYTHON")
for package, pinned in ((onnx, PINNED_ONNX), (onnxruntime, PINNED)):
    if package.__version__ != pinned:
        sys.exit(f"the facts are pinned to {package.__name__} {pinned}, {sys.executable} has {package.__version__}")

UNBOUNDED = 2147483647
STANDARD = {(s.domain, s.name, s.since_version) for s in onnx.defs.get_all_schemas_with_history()}


def last_name(value):
    return str(value).rsplit(".", 1)[-1]


def float_fact(value):
    single = numpy.float32(value)
    return {"text": str(single), "bits": f"{int(single.view(numpy.uint32)):08x}"}


def default_fact(attribute):
    """The default value of an attribute, or None."""
    proto = onnx.AttributeProto()
    proto.ParseFromString(attribute._default_value)
    kind = onnx.AttributeProto.AttributeType.Name(proto.type)
    if kind == "UNDEFINED":
        return None
    value = onnx.helper.get_attribute_value(proto)
    writers = {
        "INT": lambda v: v, "INTS": list, "FLOAT": float_fact, "FLOATS": lambda v: [float_fact(i) for i in v],
        "STRING": bytes.decode, "STRINGS": lambda v: [i.decode() for i in v],
    }
    if kind not in writers:
        sys.exit(f"attribute `{attribute.name}` has a default of kind {kind}: extend default_fact")
    return writers[kind](value)


def attribute_fact(attribute):
    fact = {"name": attribute.name, "kind": last_name(attribute.type)}
    default = default_fact(attribute)
    # Some schemas declare a required attribute with a default; the runtime then accepts nodes without it.
    if attribute.required and default is None:
        fact["required"] = True
    if default is not None:
        fact["default"] = default
    return fact


def formal_fact(formal, formals, least):
    fact = {"name": formal.name, "type": formal.typeStr}
    option = last_name(formal.option)
    if option != "Single":
        fact["option"] = option
    if option == "Variadic":
        # The binding does not expose the arity of a variadic formal; the least count of the list implies it.
        fact["min_arity"] = 1 if least >= len(formals) else 0
    if not formal.isHomogeneous:
        fact["heterogeneous"] = True
    return fact


TYPE_SETS = {}


def constraint_fact(constraint):
    types = sorted(set(constraint.allowed_type_strs))
    key = f"{len(types)}-{hashlib.sha1('|'.join(types).encode()).hexdigest()[:6]}"
    if TYPE_SETS.setdefault(key, types) != types:
        sys.exit(f"two type sets share the key {key}: lengthen the digest")
    return {"variable": constraint.type_param_str, "types": key}


def schema_fact(schema):
    unbounded = lambda most: None if most == UNBOUNDED else most  # noqa: E731
    fact = {"op": schema.name, "domain": schema.domain, "since": schema.since_version}
    if schema.deprecated:
        fact["deprecated"] = True
    if last_name(schema.support_level) != "COMMON":
        fact["support"] = last_name(schema.support_level)
    fact["inference"] = schema.has_type_and_shape_inference_function
    fact["input_range"] = [schema.min_input, unbounded(schema.max_input)]
    fact["output_range"] = [schema.min_output, unbounded(schema.max_output)]
    fact["inputs"] = [formal_fact(f, schema.inputs, schema.min_input) for f in schema.inputs]
    fact["outputs"] = [formal_fact(f, schema.outputs, schema.min_output) for f in schema.outputs]
    fact["constraints"] = [constraint_fact(constraint) for constraint in schema.type_constraints]
    fact["attributes"] = [attribute_fact(attribute) for _, attribute in sorted(schema.attributes.items())]
    return fact


LISTS = ("inputs", "outputs", "constraints", "attributes")


def layout(fact):
    """The scalar facts of a schema on one line, then one line for each formal, constraint and attribute."""
    parts = [json.dumps({key: value for key, value in fact.items() if key not in LISTS})[1:-1]]
    for key in LISTS:
        rows = ",\n".join("   " + json.dumps(row) for row in fact[key])
        parts.append(f'"{key}": [\n{rows}]' if rows else f'"{key}": []')
    return "  {" + ",\n   ".join(parts) + "}"


def main():
    own = [s for s in state.get_all_operator_schema() if (s.domain, s.name, s.since_version) not in STANDARD]
    facts = [schema_fact(s) for s in sorted(own, key=lambda s: (s.domain, s.name, s.since_version))]
    sets = sorted(TYPE_SETS.items(), key=lambda item: (len(item[1]), item[0]))
    text = '{{\n "onnxruntime": {},\n "onnx": {},\n "type_sets": {{\n{}\n }},\n "schemas": [\n{}\n ]\n}}\n'.format(
        json.dumps(PINNED),
        json.dumps(PINNED_ONNX),
        ",\n".join(f"  {json.dumps(key)}: {json.dumps(types)}" for key, types in sets),
        ",\n".join(layout(fact) for fact in facts),
    )
    FOLDER.joinpath(f"onnxruntime-{PINNED}.json").write_text(text)


main()
