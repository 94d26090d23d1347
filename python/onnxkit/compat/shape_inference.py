"""The module `onnx.onnx_cpp2py_export.shape_inference`."""

from __future__ import annotations

from onnxkit import _core
from onnxkit._errors import OnnxError

from . import _registry, _wire
from ._arguments import checked
from ._mode import MODE, worded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ._schema import OpSchema


class InferenceError(Exception):
    """Types or shapes that contradict each other."""


class GraphInferencer:
    """Infers the types of the outputs of a nested graph for types of its inputs."""

    def __init__(self, graph: Any, versions: Mapping[str, int]) -> None:
        self._graph, self._versions = graph, dict(versions)

    def do_inferencing(self, input_types: Sequence[Any], input_data: Sequence[Any | None]) -> list[Any]:
        """The types of the outputs."""
        import onnx

        model = _model_proto(self._versions)
        model.graph.CopyFrom(self._graph)
        for port, kind, data in zip(model.graph.input, input_types, input_data, strict=False):
            port.type.CopyFrom(kind)
            if data is not None:
                model.graph.initializer.append(data)
                model.graph.initializer[-1].name = port.name
        inferred = onnx.ModelProto.FromString(infer_shapes(model.SerializeToString()))
        return [port.type for port in inferred.graph.output]


class InferenceContext:
    """What a function that infers types in Python reads of a node, and where it puts the types of the outputs."""

    def __init__(
        self,
        node: Any,
        types: Mapping[str, Any],
        data: Mapping[str, Any],
        versions: Mapping[str, int],
        symbolic: Callable[[str], Any] = lambda name: None,
    ) -> None:
        import onnx

        self._node, self._types, self._data, self._versions, self._symbolic = node, types, data, versions, symbolic
        self._outputs = [onnx.TypeProto() for _ in node.output]

    def _input(self, idx: int) -> str:
        return str(_at(self._node.input, idx, "input"))

    def get_attribute(self, name: str) -> Any:
        """The attribute of a name, or `None`."""
        return next((attribute for attribute in self._node.attribute if attribute.name == name), None)

    def get_num_inputs(self) -> int:
        """The number of inputs."""
        return len(self._node.input)

    def has_input(self, idx: int) -> bool:
        """Whether an input is given."""
        return _unsigned(idx) < len(self._node.input) and self._node.input[idx] != ""

    def get_input_type(self, idx: int) -> Any:
        """The type of an input, or `None`."""
        return self._types.get(self._input(idx))

    def get_input_data(self, idx: int) -> Any:
        """The elements of an input that is a constant, or `None`."""
        return self._data.get(self._input(idx))

    def get_input_sparse_data(self, idx: int) -> Any:
        """The elements of an input that is a sparse constant: `None`, as they are not read."""
        self._input(idx)

    def get_symbolic_input(self, idx: int) -> Any:
        """The elements of an input as dimensions, or `None`."""
        return self._symbolic(self._input(idx))

    def get_num_outputs(self) -> int:
        """The number of outputs."""
        return len(self._node.output)

    def has_output(self, idx: int) -> bool:
        """Whether an output is used."""
        return _unsigned(idx) < len(self._node.output) and self._node.output[idx] != ""

    def get_output_type(self, idx: int) -> Any:
        """The type of an output as far as it is set."""
        return _at(self._outputs, idx, "output")

    def set_output_type(self, idx: int, type_proto: Any) -> bool:
        """Sets the type of an output."""
        if _unsigned(idx) >= len(self._outputs):
            return False
        self._outputs[idx].CopyFrom(type_proto)
        return True

    def get_graph_attribute_inferencer(self, attr_name: str) -> GraphInferencer:
        """What infers types in a graph that is an attribute."""
        attribute = self.get_attribute(attr_name)
        if attribute is None or not attribute.HasField("g"):
            raise InferenceError(f"{self.get_display_name()} has no graph `{attr_name}`")
        return GraphInferencer(attribute.g, self._versions)

    def get_display_name(self) -> str:
        """The node, for messages."""
        name = f" of {self._node.name}" if self._node.name else ""
        return f"node{name} ({self._node.op_type})"


def _unsigned(index: int) -> int:
    if index < 0:
        raise TypeError(f"an index cannot be {index}")
    return index


def _at(items: Sequence[Any], index: int, what: str) -> Any:
    if _unsigned(index) >= len(items):
        raise RuntimeError(f"{what} {index} is out of range: there are {len(items)}")
    return items[index]


def _model_proto(versions: Mapping[str, int], ir_version: int = 10) -> Any:
    import onnx

    model = onnx.ModelProto(ir_version=ir_version)
    model.opset_import.extend(
        onnx.OperatorSetIdProto(domain=domain, version=version) for domain, version in versions.items()
    )
    model.graph.name = "part"
    return model


# A warning, which the reference makes if it propagates elements: then it is an error.
_OVERFLOW = "elements-overflow"
# A warning about a graph that may not run: a branch, or the body of a loop.
_CONDITIONAL = "contradiction-if-executed"
# Findings of the checker that strict inference refuses, too: constants whose elements cannot be read, or that contradict their types.
_CONSTANTS = frozenset({"tensor-data-size", "tensor-data-in-wrong-field"})


def infer(
    model: _core.Model,
    *,
    check_type: bool,
    strict_mode: bool,
    data_prop: bool,
    declared: _core.Model | None = None,
) -> None:
    """Infers types in a model, in place. `declared` is the model as the caller gave it, with all its declarations.

    Elements of small tensors are propagated, whether `data_prop` asks for it or not.
    """
    from . import _malformed, _types, _untyped
    from .checker import refuse_cycles

    declared = model if declared is None else declared
    defects = _core.check(declared, False, "spec")["findings"]
    refuse_cycles(defects)
    sized = _malformed.with_sizes(declared, defects)
    _refuse([*_malformed.always(model, sized, defects, strict_mode), *_untyped.without_operands(model, defects)])
    try:
        inference = _core.infer(model, {}, True)
    except OnnxError as error:
        raise InferenceError(str(error)) from None
    taken, of_taken = _as_taken(model, inference)
    if taken is not model:
        _complete(model, taken, of_taken)
    if strict_mode:
        errors = _contradictions(of_taken, data_prop)
        errors += _types.unreadable_shapes(model)
        errors += _types.short_calls(model) if MODE.profile == "reference" else []
        errors += [finding for finding in defects if finding["slug"] in _CONSTANTS]
        errors += [] if check_type else _types.unreadable_constants(model, inference)
        model, inference = _types.inlined(model, inference)
        errors += _untyped.in_all_graphs(model, inference)
        errors += [] if errors or MODE.profile == "spec" else _in_other_branches(model)
        errors += _types.mismatches(_types.nodes(model.graph), model, inference) if check_type else []
        if sized is not None and not errors:
            of_sized = _as_taken(sized, _core.infer(sized, {}, False))[1]
            errors += _malformed.renamed(_contradictions(of_sized, data_prop))
        _refuse(errors)
    elif check_type:
        _refuse(_types.mismatches(model.graph.nodes, model, inference))


def _refuse(findings: Sequence[Mapping[str, Any]]) -> None:
    if findings:
        raise InferenceError(worded(findings))


def _as_taken(model: _core.Model, inference: _core.Inference) -> tuple[_core.Model, _core.Inference]:
    """With the profile `reference`, the model as the reference takes it. Each round changes a node or inlines all functions."""
    from . import _beyond

    while True:
        taken = None if MODE.profile == "spec" else _beyond.as_taken(model, inference.findings)
        if taken is None:
            return model, inference
        model, inference = taken, _core.infer(taken, {}, False)


def _complete(model: _core.Model, taken: _core.Model, inference: _core.Inference) -> None:
    """Gives the results of the main graph that have no shape those that they have in the model as the reference takes it."""
    known = {value.name: inference.type(value) for value in taken.graph.values if inference.shape(value) is not None}
    for value in model.graph.values:
        if value.producer() is not None and value.shape is None and value.name in known:
            value.type = known[value.name]


def _contradictions(inference: _core.Inference, data_prop: bool) -> list[Mapping[str, Any]]:
    """The contradictions that inference found. For the reference, those in graphs that need not run are some as well."""
    is_strict = MODE.profile == "reference"
    errors = [one for one in inference.findings if one["severity"] == "error" or (is_strict and one["slug"] == _CONDITIONAL)]
    return errors + [finding for finding in inference.findings if data_prop and finding["slug"] == _OVERFLOW]


# The last version in which every initializer has an input of its name.
_LAST_CLOSED = 3


def _in_other_branches(model: _core.Model) -> list[Mapping[str, Any]]:
    """The contradictions in branches that conditions exclude: the reference infers both graphs of every `If`."""
    either = model.clone()
    nodes = [node for node in either.nodes() if node.op_type == "If" and not node.domain and node.inputs]
    for number, node in enumerate(nodes):
        node.replace_input_with(0, either.graph.add_input(f"onnxkit.condition.{number}", "bool"))
    inference = _as_taken(either, _core.infer(either, {}, False))[1] if nodes else None
    return [] if inference is None else [one for one in inference.findings if one["slug"] == _CONDITIONAL]


@checked
def infer_shapes(
    bytes: bytes, check_type: bool = False, strict_mode: bool = False, data_prop: bool = False
) -> bytes:
    """The encoded model with inferred types."""
    from . import _defaults, _python_rules

    if _registry.has_custom():
        bytes = _python_rules.declared(bytes, data_prop)
    declared = _wire.loaded(bytes)
    constant, defaults = _defaults.as_constants(bytes, sized=True)
    version = declared.ir_version
    model = _wire.loaded(constant) if defaults or version == _LAST_CLOSED else declared
    # The engine takes all initializers of older versions for constants, whatever is declared for the inputs of their names.
    model.ir_version = version + (version == _LAST_CLOSED)
    infer(model, check_type=check_type, strict_mode=strict_mode, data_prop=data_prop, declared=declared)
    model.ir_version = version
    return _defaults.with_inputs(model.to_bytes(), defaults)


@checked
def infer_shapes_path(
    model_path: str, output_path: str, check_type: bool, strict_mode: bool, data_prop: bool, /
) -> None:
    """Infers types in a model file, and writes it to another, or to the same."""
    from .checker import ValidationError

    try:
        model = _core.load(model_path)
    except OnnxError as error:
        raise ValidationError(str(error)) from None
    infer(model, check_type=check_type, strict_mode=strict_mode, data_prop=data_prop)
    # The reference replaces whatever has the name, and leaves weights where they are.
    encoded = model.to_bytes()
    try:
        with open(output_path, "wb") as output:
            output.write(encoded)
    except OSError as error:
        raise ValidationError(f"the inferred model cannot be saved as {output_path}: {error.strerror}") from None


@checked
def infer_function_output_types(
    b: bytes, input_types: Sequence[bytes], attributes: Sequence[bytes], /
) -> list[bytes]:
    """The encoded types of the outputs of an encoded function, for types of inputs and attributes."""
    import onnx

    function = _wire.decoded(onnx.FunctionProto, b)
    versions = {entry.domain: entry.version for entry in function.opset_import}
    domain = function.domain or "onnxkit.part"
    function.domain = domain
    model = _model_proto({**versions, domain: versions.get(domain, 1)})
    model.functions.append(function)
    call = model.graph.node.add(op_type=function.name, domain=domain, overload=function.overload)
    call.output.extend(f"out_{index}" for index in range(len(function.output)))
    for index, encoded in enumerate(input_types[: len(function.input)]):
        kind = _wire.decoded(onnx.TypeProto, encoded)
        if kind.WhichOneof("value") is None:
            call.input.append("")
            continue
        call.input.append(f"in_{index}")
        model.graph.input.add(name=f"in_{index}", type=kind)
    call.attribute.extend(_wire.decoded(onnx.AttributeProto, encoded) for encoded in attributes)
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in call.output)
    inferred = onnx.ModelProto.FromString(infer_shapes(model.SerializeToString(), True, True, False))
    return [port.type.SerializeToString() for port in inferred.graph.output]


def infer_node(
    schema: OpSchema,
    node_proto: bytes,
    value_types: Mapping[str, bytes],
    input_data: Mapping[str, bytes],
    opset_imports: Mapping[str, int],
    ir_version: int,
) -> dict[str, bytes]:
    """The encoded types of the outputs of a node, by their names."""
    import onnx

    from . import _types, checker

    node = _wire.decoded(onnx.NodeProto, node_proto)
    versions = {**opset_imports, schema.domain: schema.since_version}
    context = checker.CheckerContext()
    # The version of the format says nothing about a node; the first ones have no imports.
    context.ir_version, context.opset_imports = max(ir_version, 3), versions
    checker.check_node(node_proto, context, checker.LexicalScopeContext())
    if schema.get_type_and_shape_inference_function() is not None:
        from ._python_rules import outputs_of

        types = {name: _wire.decoded(onnx.TypeProto, kind) for name, kind in value_types.items()}
        data = {name: _wire.decoded(onnx.TensorProto, tensor) for name, tensor in input_data.items()}
        return {name: kind.SerializeToString() for name, kind in outputs_of(schema, node, types, data, versions)}
    model = _model_proto(versions, max(ir_version, 3))
    model.graph.node.append(node)
    for name, kind in value_types.items():
        model.graph.input.add(name=name, type=_wire.decoded(onnx.TypeProto, kind))
    for name, tensor in input_data.items():
        model.graph.initializer.append(_wire.decoded(onnx.TensorProto, tensor))
        model.graph.initializer[-1].name = name
    named = [name for name in node.output if name]
    model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in named)
    loaded = _wire.loaded(model.SerializeToString())
    refused = _types.mismatches(loaded.graph.nodes, loaded, _core.infer(loaded, {}, False))
    if refused:
        raise checker.ValidationError(worded(refused))
    inferred = onnx.ModelProto.FromString(infer_shapes(model.SerializeToString(), True, True, False))
    known = {dim.dim_param for port in model.graph.input for dim in port.type.tensor_type.shape.dim}
    for port in inferred.graph.output:
        for dim in port.type.tensor_type.shape.dim:
            # Names of unknown sizes and expressions mean nothing without the rest of a model.
            if dim.dim_param and dim.dim_param not in known:
                dim.Clear()
    return {port.name: port.type.SerializeToString() for port in inferred.graph.output}
