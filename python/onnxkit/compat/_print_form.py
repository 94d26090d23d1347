"""ONNX text in the form of the reference, byte for byte. Programs compare texts that it printed.

Its parser has no values for narrow float types, but their bit patterns, and some tensors have no elements in its text.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# How the elements of a type are stored in `raw_data`, and as what they are printed: narrow floats as bit patterns.
_RAW = {
    "float": "<f4", "double": "<f8", "int8": "<i1", "int16": "<i2", "int32": "<i4", "int64": "<i8", "uint8": "<u1", "uint16": "<u2",
    "uint32": "<u4", "uint64": "<u8", "bool": "<u1", "float16": "<u2", "bfloat16": "<u2",
} | dict.fromkeys(("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float8e8m0"), "<u1")
_FIELDS = {"float": "float_data", "double": "double_data", "int64": "int64_data", "uint32": "uint64_data", "uint64": "uint64_data"}
_STEP = 3


def model_text(model: Any) -> str:
    """The text of a `ModelProto`."""
    facts = [f"ir_version: {model.ir_version}", f"opset_import: {_imports(model.opset_import, ', ')}"]
    for name in ("producer_name", "producer_version", "domain", "model_version", "doc_string"):
        if model.HasField(name):
            value = getattr(model, name)
            facts.append(f"{name}: {_quoted(value) if isinstance(value, str) else value}")
    if model.metadata_props:
        entries = ", ".join(f"{_quoted(entry.key)}: {_quoted(entry.value)}" for entry in model.metadata_props)
        facts.append(f"metadata_props: [{entries}]")
    head = ",\n".join(f"   {fact}" for fact in facts)
    return f"<\n{head}\n>\n{graph_text(model.graph)}" + "".join(f"\n{function_text(function)}" for function in model.functions)


def function_text(function: Any) -> str:
    """The text of a `FunctionProto`. Defaults of attributes have none."""
    overload = f"  overload: {_quoted(function.overload)},\n" if function.overload else ""
    head = f"  domain: {_quoted(function.domain)},\n{overload}  opset_import: {_imports(function.opset_import, ',')}"
    attributes = f"<{','.join(function.attribute)}>" if function.attribute else ""
    signature = f"{_identifier(function.name)} {attributes}({_names(function.input)}) => ({_names(function.output)})"
    return f"<\n{head}\n>\n{signature}\n{_nodes(function.node, _STEP)}"


def graph_text(graph: Any, indent: int = _STEP) -> str:
    """The text of a `GraphProto`, whose nodes are indented."""
    inputs, outputs = (", ".join(map(_port, ports)) for ports in (graph.input, graph.output))
    text = f"{_identifier(graph.name)} ({inputs}) => ({outputs}) "
    values = [_tensor(tensor, is_initializer=True) for tensor in graph.initializer] + [_port(port) for port in graph.value_info]
    if values:
        text += f"\n{' ' * indent}<{', '.join(values)}>\n"
    return text + _nodes(graph.node, indent)


def node_text(node: Any, indent: int = _STEP) -> str:
    """The text of a `NodeProto`, with the end of its line."""
    name = f"[{_identifier(node.name)}] " if node.HasField("name") else ""
    domain = f"{node.domain}." if node.domain else ""
    overload = f":{node.overload}" if node.overload else ""
    attributes = ", ".join(_attribute(attribute, indent + _STEP) for attribute in node.attribute)
    attributes = f" <{attributes}>" if attributes else ""
    operands = f" ({_names(node.input)})"
    # Graphs come behind the operands, as they are long.
    is_long = any(attribute.HasField("g") or attribute.graphs for attribute in node.attribute)
    rest = operands + attributes if is_long else attributes + operands
    return f"{' ' * indent}{name}{_names(node.output)} = {domain}{node.op_type}{overload}{rest}\n"


def _nodes(nodes: Iterable[Any], indent: int) -> str:
    return f"{{\n{''.join(node_text(node, indent) for node in nodes)}{' ' * (indent - _STEP)}}}"


def _imports(imports: Iterable[Any], separator: str) -> str:
    return f"[{separator.join(f'{_quoted(entry.domain)} : {entry.version}' for entry in imports)}]"


def _quoted(text: str | bytes) -> str:
    text = text.decode() if isinstance(text, bytes) else text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _identifier(name: str | bytes) -> str:
    # What is not UTF-8 is given as bytes.
    name = name.decode() if isinstance(name, bytes) else name
    return name if _IDENTIFIER.fullmatch(name) else _quoted(name)


def _names(names: Iterable[str | bytes]) -> str:
    return ", ".join(map(_identifier, names))


def _port(port: Any) -> str:
    return f"{_type(port.type)} {_identifier(port.name)}"


def _element_type(code: int) -> str:
    import onnx

    try:
        return str(onnx.TensorProto.DataType.Name(code)).lower()
    except ValueError:
        return "undefined"


def _shaped(kind: Any) -> str:
    if not kind.HasField("shape"):
        return f"{_element_type(kind.elem_type)}[]"
    dims = ",".join(_dim(dim) for dim in kind.shape.dim)
    return _element_type(kind.elem_type) + (f"[{dims}]" if dims else "")


def _dim(dim: Any) -> str:
    if dim.HasField("dim_value"):
        return str(dim.dim_value)
    return _identifier(dim.dim_param) if dim.HasField("dim_param") else "?"


def _type(kind: Any) -> str:
    match kind.WhichOneof("value"):
        case "tensor_type":
            return _shaped(kind.tensor_type)
        case "sparse_tensor_type":
            return f"sparse_tensor({_shaped(kind.sparse_tensor_type)})"
        case "sequence_type":
            return f"seq({_type(kind.sequence_type.elem_type)})"
        case "optional_type":
            return f"optional({_type(kind.optional_type.elem_type)})"
        case "map_type":
            return f"map({_element_type(kind.map_type.key_type)}, {_type(kind.map_type.value_type)})"
        case "opaque_type":
            names = [kind.opaque_type.domain, kind.opaque_type.name]
            return f"opaque({','.join(names) if names[0] else names[1]})"
    return ""


def _attribute(attribute: Any, indent: int) -> str:
    import onnx

    kind = str(onnx.AttributeProto.AttributeType.Name(attribute.type)).lower()
    head = f"{attribute.name}: {kind} = "
    if attribute.HasField("ref_attr_name"):
        return f"{head}@{attribute.ref_attr_name}"
    match kind:
        case "int" | "ints":
            texts = list(map(str, (attribute.i,) if kind == "int" else attribute.ints))
        case "float" | "floats":
            texts = _numbers((attribute.f,) if kind == "float" else attribute.floats, "<f4")
        case "string" | "strings":
            texts = list(map(_quoted, (attribute.s,) if kind == "string" else attribute.strings))
        case "graph" | "graphs":
            texts = [graph_text(graph, indent) for graph in ((attribute.g,) if kind == "graph" else attribute.graphs)]
        case "tensor" | "tensors":
            texts = list(map(_tensor, (attribute.t,) if kind == "tensor" else attribute.tensors))
        case "type_proto" | "type_protos":
            texts = list(map(_type, (attribute.tp,) if kind == "type_proto" else attribute.type_protos))
        case _:
            return head
    if kind == "strings" and not texts:
        return f"{head}]"
    return head + (f"[{', '.join(texts)}]" if kind.endswith("s") else texts[0])


def _tensor(tensor: Any, *, is_initializer: bool = False) -> str:
    kind = _element_type(tensor.data_type)
    dims = f"[{','.join(map(str, tensor.dims))}]" if tensor.dims else ""
    name = f" {_identifier(tensor.name)}" if tensor.name else ""
    return f"{kind}{dims}{name}{' = ' if is_initializer else ''}{_elements(tensor, kind)}"


def _elements(tensor: Any, kind: str) -> str:
    if tensor.data_location == tensor.EXTERNAL:
        return f"[{', '.join(f'{_quoted(entry.key)}: {_quoted(entry.value)}' for entry in tensor.external_data)}]"
    stored = _RAW.get(kind)
    if tensor.HasField("raw_data"):
        if stored is None:
            return "..."
        return f" {{{','.join(_numbers(_raw(tensor, stored), stored))}}}"
    if kind == "string":
        texts = ", ".join(map(_quoted, tensor.string_data))
        return f"{{{texts}}}" if tensor.string_data else "}"
    if stored is None:
        return "..."
    return f" {{{','.join(_numbers(getattr(tensor, _FIELDS.get(kind, 'int32_data')), stored))}}}"


def _raw(tensor: Any, stored: str) -> Any:
    """The elements in `raw_data`, which must be as many as the sizes ask for: the text would be another tensor."""
    import math

    import numpy

    from .shape_inference import InferenceError

    wanted, found = math.prod(tensor.dims) * numpy.dtype(stored).itemsize, len(tensor.raw_data)
    if wanted != found:
        raise InferenceError(f"Data size mismatch. Tensor: {tensor.name} expected size {wanted} does not match the actual size {found}")
    return numpy.frombuffer(tensor.raw_data, dtype=stored)


def _numbers(values: Any, stored: str) -> list[str]:
    """The shortest texts of numbers that stand for these and no others."""
    import numpy

    if stored not in ("<f4", "<f8"):
        return [str(int(value)) for value in values]
    return [_float(value) for value in numpy.asarray(values, dtype=stored)]


def _float(value: Any) -> str:
    import numpy

    sign = "-" if numpy.signbit(value) else ""
    size = abs(value)
    if not numpy.isfinite(size):
        return f"{sign}{'nan' if numpy.isnan(size) else 'inf'}"
    if size == 0:
        return f"{sign}0"
    mantissa, exponent = numpy.format_float_scientific(size, trim="-").split("e")
    digits = mantissa.replace(".", "")
    # The number is `digits` as an integer by this power of ten.
    power = int(exponent) - len(digits) + 1
    scientific = f"{mantissa}e{exponent}"
    if power >= 0:
        fixed = f"{float(size):.0f}"
    elif -power < len(digits):
        fixed = f"{digits[:power]}.{digits[power:]}"
    else:
        fixed = f"0.{'0' * (-power - len(digits))}{digits}"
    return sign + (fixed if len(fixed) <= len(scientific) else scientific)
