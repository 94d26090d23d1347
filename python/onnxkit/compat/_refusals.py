"""Conversions that the reference refuses because it has no adapter, and that this package makes.

They are refused only if `install` was asked for the limits of the reference.
"""

from __future__ import annotations

from onnxkit import _core

from . import _registry, _types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Operators whose operands the reference casts or reorders, so that their types need not be those of the other version.
_ADAPTED = frozenset(
    "Constant Flatten PRelu Greater Less MatMul Gemm Cast BatchNormalization Upsample Scan".split()
)
_WITHOUT_ADAPTER = frozenset({"LinearAttention", "CausalConvWithState"})
_FLOATS = frozenset({"tensor(float)", "tensor(double)", "tensor(float16)", "tensor(bfloat16)"})


def refusals(model: _core.Model, target: int) -> Iterator[str]:
    """The reasons for which the reference does not convert a model to a version."""
    source = model.opsets.get("")
    if source is None or source == target:
        return
    inference = _core.infer(model, {}, False)
    for node in model.nodes():
        if not node.outputs and node.domain:
            count = "exactly one output" if node.graph.parent_node is not None else "at least 1 output"
            if node.graph.parent_node is not None or _registry.lookup(node.op_type, target, "") is not None:
                yield f"{node.op_type} node must have {count}"
        if node.domain == "" and node.callee is None:
            yield from _explicit(node, source, target, inference)
            yield from _types_of(node, source, target, inference)


def _explicit(node: _core.Node, source: int, target: int, inference: _core.Inference) -> Iterator[str]:
    """The conditions of adapters."""
    name, attrs = node.op_type, node.attrs
    if name == "Attention" and target < 25 <= source:
        for side in ("left_window_size", "right_window_size"):
            if attrs.get(side, -1) != -1:
                yield f"{side} must be -1 for version {target}, got {attrs[side]}: Windowed attention has no adapter"
    if name == "SpaceToDepth" and target < 28 <= source and attrs.get("mode", "DCR") != "DCR":
        yield f"mode must have value DCR for version {target}"
    if name == "Resize" and target < 18 <= source and attrs.get("antialias", 0):
        yield f"Resize with antialias=1 has no adapter to version {target}"
    if name == "Mod" and target < 28 <= source and not attrs.get("fmod", 0):
        if _types.type_string(inference.type(node.inputs[0])) in _FLOATS:
            yield f"Mod of floats with fmod=0 has no adapter to version {target}"
    if name in ("ScatterElements", "ScatterND") and target < 16 <= source:
        if _types.type_string(inference.type(node.inputs[0])) == "tensor(bfloat16)":
            yield f"{name} of bfloat16 has no adapter to version {target}"
    if name == "Gemm" and min(source, target) < 7 <= max(source, target):
        if any(len(inference.shape(value) or (0, 0)) != 2 for value in node.inputs[:2]):
            yield "Gemm needs matrices"


def _types_of(node: _core.Node, source: int, target: int, inference: _core.Inference) -> Iterator[str]:
    """Operators that the target does not have, and types that the operator of the source takes and that of the target not."""
    before, after = _registry.lookup(node.op_type, source, ""), _registry.lookup(node.op_type, target, "")
    if after is None and node.op_type in _WITHOUT_ADAPTER:
        yield f"{node.op_type} has no adapter to version {target}"
    if before is None or after is None or node.op_type in _ADAPTED or after.deprecated:
        return
    if not node.inputs and after.min_input and not before.min_input:
        yield f"{node.op_type} without inputs has no adapter to version {target}"
    for index, value in enumerate(node.inputs):
        then, now = _types.formal_at(before.inputs, index), _types.formal_at(after.inputs, index)
        kind = None if value is None else _types.type_string(inference.type(value))
        if then is not None and now is not None and kind in then.types and kind not in now.types:
            yield f"{node.op_type} of {kind} has no adapter to version {target}"
