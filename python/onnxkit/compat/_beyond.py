"""Forms that the reference infers although the specification does not allow or define them, with what the specification says.

With the profile `reference`, inference infers such a node as the reference does: operands of which the reference reads nothing have
no shape. Nothing is suppressed. The engine infers the model with these nodes once more, so that results are merged with what is
declared as those of all other nodes are; those of the main graph are also those of the model.

The list has the forms that models of the reference's tests have.
"""

from __future__ import annotations

import re

from onnxkit import _core
from onnxkit._errors import OnnxError

from . import _specialized, _wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

    Finding = Mapping[str, Any]
    # Changes a node to what the reference reads of it. Returns whether there was anything to change.
    Taken = Callable[["_Place"], bool]

_DOMAIN = "onnxkit.beyond"
_QUOTED = r'"(?:[^"\\]|\\.)*"'
# A node of the main graph or of a nested graph: numbers of nodes and names of attributes in turn.
_PLACE = re.compile(rf'graph (?:{_QUOTED} )?((?:/ node #\d+ [^/]* / attribute {_QUOTED} / graph (?:{_QUOTED} )?)*)/ node #(\d+) [^/]*')
_STEP = re.compile(rf'/ node #(\d+) [^/]* / attribute "((?:[^"\\]|\\.)*)" / graph (?:{_QUOTED} )?')


class _Place:
    """A node, what it sees, and the model in which it is."""

    def __init__(self, model: Any, node: Any, scope: _specialized.Scope) -> None:
        self.model, self.node, self.scope = model, node, scope

    def type_of(self, index: int) -> Any | None:
        """A copy of the type of an operand; `None` if it is left out or its type is not known."""
        import onnx

        name = self.node.input[index] if index < len(self.node.input) else ""
        constant = self.scope.constants.get(name)
        if constant is not None:
            return onnx.helper.make_tensor_type_proto(constant.data_type, list(constant.dims))
        known = self.scope.types.get(name)
        return None if known is None else type(known).FromString(known.SerializeToString())

    def replace(self, index: int, kind: Any) -> None:
        """Replaces an operand by a value of a type of which nothing else is known."""
        self.node.input[index] = self.added(kind)

    def added(self, kind: Any) -> str:
        """The name of a new input of the model."""
        taken = {port.name for port in self.model.graph.input}
        name = next(name for name in (f"{_DOMAIN}.{number}" for number in range(len(taken) + 1)) if name not in taken)
        self.model.graph.input.add(name=name, type=kind)
        return name

    def attribute(self, name: str) -> Any | None:
        return next((one for one in self.node.attribute if one.name == name), None)


def _shapeless(*indices: int) -> Taken:
    """The shapes of these operands are not read."""

    def take(place: _Place) -> bool:
        is_changed = False
        for index in indices:
            kind = place.type_of(index)
            if kind is not None and kind.tensor_type.HasField("shape"):
                kind.tensor_type.ClearField("shape")
                place.replace(index, kind)
                is_changed = True
        return is_changed

    return take


def _ungrouped(place: _Place) -> bool:
    """`Conv`: numbers of channels are not compared; that of the result is the first size of the weights."""
    kinds = [kind for index in (0, 1) if (kind := place.type_of(index)) is not None]
    group = place.attribute("group")
    if group is None or len(kinds) < 2 or any(len(kind.tensor_type.shape.dim) < 2 for kind in kinds):
        return False
    place.node.attribute.remove(group)
    for index, kind in enumerate(kinds):
        kind.tensor_type.shape.dim[1].Clear()
        place.replace(index, kind)
    return True


def _two_sided(place: _Place) -> bool:
    """`STFT`: the default of `onesided` is 0."""
    import onnx

    if place.attribute("onesided") is not None:
        return False
    place.node.attribute.append(onnx.helper.make_attribute("onesided", 0))
    return True


def _of_constant_shape(place: _Place) -> bool:
    """`CenterCropPad`: nothing is inferred unless the sizes are constant."""
    name = place.node.input[1] if len(place.node.input) > 1 else ""
    return name not in place.scope.constants and _shapeless(0)(place)


def _of_declared_elements(place: _Place) -> bool:
    """`ConcatFromSequence`: the elements are known by the type of the sequence only."""
    kind = place.type_of(0)
    if kind is None or place.node.input[0].startswith(f"{_DOMAIN}."):
        return False
    place.replace(0, kind)
    return True


def _separate_losses(place: _Place) -> bool:
    """`SoftmaxCrossEntropyLoss`: the loss has the shape of the labels or none, the probabilities have that of the scores."""
    import onnx

    node, (scores, labels) = place.node, (place.type_of(0), place.type_of(1))
    reduction = place.attribute("reduction")
    if scores is None or labels is None or node.domain == _DOMAIN:
        return False
    if reduction is None or reduction.s != b"none":
        return _shapeless(1)(place)
    labels.tensor_type.elem_type = scores.tensor_type.elem_type
    operands = [place.added(labels), node.input[0]][: len(node.output)]
    del node.input[:], node.attribute[:]
    node.input.extend(operands)
    node.domain = _DOMAIN
    # One function for each number of results.
    node.overload = str(len(operands))
    if all(one.domain != _DOMAIN for one in place.model.opset_import):
        place.model.opset_import.add(domain=_DOMAIN, version=1)
    if all((one.domain, one.overload) != (_DOMAIN, node.overload) for one in place.model.functions):
        inputs, outputs = ([f"{name}{index}" for index in range(len(operands))] for name in "xy")
        nodes = [onnx.helper.make_node("Identity", [x], [y]) for x, y in zip(inputs, outputs, strict=True)]
        imports = [one for one in place.model.opset_import if not one.domain]
        place.model.functions.append(
            onnx.helper.make_function(_DOMAIN, node.op_type, inputs, outputs, nodes, imports, overload=node.overload)
        )
    return True


# The operator, what our message says, the sentence that it enforces, and what the reference reads of the node.
BEYOND: list[tuple[str, str, str, Taken]] = [
    ("Conv", r"output channels are not a multiple of",
     "Conv, W: the number of feature maps is a multiple of the number of groups", _ungrouped),
    ("ConvInteger", r"input 2 does not have one element",
     "ConvInteger: x_zero_point is a scalar, which means a per-tensor quantization", _shapeless(2)),
    ("Add|Sub|Mul|Div", r"sizes \d+ and \d+ differ, and `broadcast` is not set",
     "Add-1: if broadcast is disabled, the shapes of the operands must match", _shapeless(1)),
    ("GatherElements", r"has rank \d+ and input 1 has rank \d+",
     "GatherElements: indices has the same rank r as the input", _shapeless(0)),
    ("Gemm", r"C has rank \d+ where 2 is needed", "Gemm-6: C has the shape (M, N) unless broadcast is set", _shapeless(2)),
    ("GRU|LSTM|RNN", r"the hidden size and the size of its weights are|directions",
     "RNN, GRU, LSTM: R has the hidden size twice", _shapeless(1, 2, 3, 4, 5, 6, 7)),
    ("If", r"the condition does not have one element", "If: the tensor cond must contain a single element", _shapeless(0)),
    ("NonMaxSuppression", r"the batch sizes of the boxes and of the scores are",
     "NonMaxSuppression: boxes have num_batches as their first size, and so have scores", _shapeless(0, 1)),
    ("RotaryEmbedding", r"the angles and the pairs of elements are",
     "RotaryEmbedding: cos_cache has rotary_embedding_dim / 2 columns", _shapeless(1, 2, 3)),
    ("ScatterND", r"the updates have rank",
     "ScatterND: updates has rank q + r - indices_shape[-1] - 1", _shapeless(1, 2)),
    ("SoftmaxCrossEntropyLoss", r"the scores have rank \d+ and the classes have rank",
     "SoftmaxCrossEntropyLoss: the labels have the shape of the scores without the classes", _separate_losses),
    ("Clip", r"input \d does not have one element",
     "Clip-6 and later, min and max: they must be scalars, tensors of empty shape", _shapeless(1, 2)),
    ("STFT", r"dimension \d+ is \d+ and declared as",
     "STFT: dft_unique_bins is frame_length // 2 + 1 if onesided is 1", _two_sided),
    ("CenterCropPad", r"it has rank \d+ and is declared with rank",
     "CenterCropPad: the output has the rank of input_data", _of_constant_shape),
    ("OneHot", r"there are 0 depths where 1 is needed",
     "OneHot: depth is a scalar, or a vector with exactly one element", _shapeless(1)),
    ("ConcatFromSequence", r"the sizes of elements that are joined are",
     "Concat: all input tensors must have the same shape, except for the dimension size of the axis to concatenate on",
     _of_declared_elements),
]
_COMPILED = [
    (re.compile(rf"node #\d+ (?:{operator})"), re.compile(message), taken) for operator, message, _, taken in BEYOND
]


def as_taken(model: _core.Model, findings: Sequence[Finding]) -> _core.Model | None:
    """The model with the nodes for which inference made these findings as the reference takes them.

    `None` if no finding is about such a form. A form in a function is that of a call, whose body replaces it.
    """
    forms = [(str(one["place"]), taken) for one in findings if (taken := _form(one)) is not None]
    if not forms:
        return None
    if any(place.startswith("function") for place, _ in forms):
        return _inlined(model)
    typed = model.clone()
    _core.infer(typed, {}, True)
    proto, known = _specialized.proto_of(model), _specialized.proto_of(typed)
    changed = [taken(found) for place, taken in forms if (found := _find(proto, known, place)) is not None]
    return _wire.loaded(proto.SerializeToString()) if any(changed) else None


def _form(finding: Finding) -> Taken | None:
    """What the reference reads of the node of a finding that it is known not to make."""
    node = re.search(r"node #\d+ [^/]*$", re.sub(r" / output.*$", "", str(finding["place"])))
    for operator, message, taken in _COMPILED:
        if node is not None and operator.fullmatch(node[0].strip()) and message.search(finding["message"]):
            return taken
    return None


def _inlined(model: _core.Model) -> _core.Model | None:
    copy = model.clone()
    try:
        _core.inline(copy, None, False)
    except OnnxError:
        return None
    return copy


def _find(proto: Any, known: Any, place: str) -> _Place | None:
    """The node at a place. `known` is the model with inferred types."""
    found = _PLACE.match(place)
    if found is None:
        return None
    graph, typed = proto.graph, known.graph
    scope = _specialized.Scope(typed, None)
    for number, name in _STEP.findall(found[1]):
        graph, typed = (_nested(one.node[int(number)], name) for one in (graph, typed))
        if graph is None or typed is None:
            return None
        scope = _specialized.Scope(typed, scope)
    return _Place(proto, graph.node[int(found[2])], scope)


def _nested(node: Any, name: str) -> Any | None:
    graphs: Iterable[Any] = (one.g for one in node.attribute if one.name == name and one.HasField("g"))
    return next(iter(graphs), None)
