"""Number formats: half precision, quantization, and other types of inputs and outputs."""

from __future__ import annotations

import os

from . import _core, _results
from ._errors import ArgumentError
from ._interop import flag, from_any, is_truth
from ._progress import call, with_bar

# `typing` is not imported at run time: it takes longer than this package. Type checkers know this name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, Unpack

    from ._options import Options

    AnyModel = Any


def half(
    model: AnyModel,
    to: Any = "float16",
    *,
    keep_io: bool = False,
    only: Any = None,
    except_: Any = None,
    run: bool = True,
    inputs: Mapping[str, Any] | None = None,
    inplace: bool = True,
    **options: Unpack[Options],
) -> _results.Halved:
    """Changes `float` to `float16` or `bfloat16` wherever the operators take it, with as few casts as possible.

    With `keep_io=True`, inputs and outputs keep their types. `only` and `except_` are selectors or nodes, one or a list: nothing
    else is changed, and these stay. The model runs on `inputs`, those that are not given being made of `seed`: nodes with
    numbers that are out of range stay `float`, and the error of the outputs is measured. With `run=False`, it does not run.
    `to="float"` is the conversion back.

    >>> import onnxkit as ox
    >>> m = ox.parse("g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {1, 2, 3, 4}> { y = MatMul (x, w) }")
    >>> ox.half(m, keep_io=True).casts
    2
    >>> m.graph["w"].dtype
    DType.FLOAT16
    >>> _ = ox.half(m, "float")
    >>> m.graph["w"].dtype
    DType.FLOAT
    """
    known = from_any(model)
    given = None if inputs is None else named(inputs, "inputs")
    names = [value.name for value in known.graph.inputs]
    for name in given or ():
        if name not in names:
            raise ArgumentError(f"`inputs`: the model has no input {name!r}; it has {', '.join(names) or 'none'}")
    if given is not None and not run:
        raise ArgumentError("`inputs` are those of a run, and `run=False` was given")
    chosen = _nodes(only, "only"), _nodes(except_, "except_")
    fields, changed = with_bar(_core.half, known, to, keep_io, *chosen, run, given, inplace, **options)
    result = _results.Halved(fields)
    result.model = changed
    return result


def quantize(
    model: AnyModel,
    to: Any,
    *,
    inputs: int | Mapping[str, Any] | Iterable[Mapping[str, Any]] | None = None,
    weights_only: bool = False,
    dynamic: bool = False,
    target: str = "generic",
    form: str = "qdq",
    weight_type: Any = None,
    per_channel: bool = False,
    block: int | None = None,
    symmetric: bool = False,
    except_: Any = None,
    method: str = "minmax",
    percentile: float | None = None,
    ranges: Mapping[str, tuple[float, float]] | str | os.PathLike[str] | None = None,
    budget: float | None = None,
    measure: bool = False,
    losses: bool = False,
    keep_biases: bool = False,
    threads: int = 1,
    inplace: bool = True,
    **options: Unpack[Options],
) -> _results.Quantized:
    """Quantizes what operators compute with to `int8`, `uint8` or another type, or only weights.

    `inputs` are those of the calibration: a mapping of names to arrays for each run, or a number of inputs that are made of
    `seed`. A list or another sequence is read when a run needs it, anything else is read at once. `ranges` are those of values by
    name, or a file of them; the calibration adds others, and `ranges` of the result has all. `dynamic=True` finds them in
    each run of the result; with `weights_only=True`, activations stay floats. Both take `inputs` for `measure=True` and a budget.

    `budget` is the least ratio of signal to noise of each output in decibels: what loses most stays until it is reached.
    `losses=True` measures each value. Biases take back what rounding of the weights adds to the means of the results, if the outputs
    are closer then; `keep_biases=True` leaves them. `form="operator"` uses operators that take quantized numbers.

    >>> import onnxkit as ox
    >>> m = ox.parse("g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {1, 2, 3, 4}> { y = MatMul (x, w) }")
    >>> done = ox.quantize(m, "uint8", inputs=[{"x": [[-1.0, 1.0]]}, {"x": [[0.5, 2.0]]}], inplace=False)
    >>> done.ranges["x"], done.quantized
    ([-1.0, 2.0], [{'nodes': 1, 'op': 'MatMul'}])
    >>> ox.quantize(m, "int8", weights_only=True).bytes
    {'after': 8, 'before': 16}
    """
    kind = _kind(flag(weights_only, "weights_only"), flag(dynamic, "dynamic"))
    flags = {"per_channel": per_channel, "symmetric": symmetric, "measure": measure, "losses": losses, "keep_biases": keep_biases}
    for name, value in flags.items():
        flag(value, name)
    settings = {
        "kind": kind, "per_channel": per_channel, "block": block, "symmetric": symmetric, "budget": budget, "measure": measure,
        "losses": losses, "keep_biases": keep_biases, "form": form, "target": target, "method": method, "percentile": percentile, "threads": threads,
    }
    others = {"weight_type": weight_type, "ranges": ranges}
    request = _request(settings, {name for name, value in others.items() if value is not None}, inputs is None)
    chosen = _nodes(except_, "except_"), _samples(inputs), _ranges(ranges)
    fields, changed = with_bar(_core.quantize, from_any(model), to, weight_type, *chosen, request, inplace, **options)
    # What a kind of quantization does not do is empty, so that all results have the same fields.
    result = _results.Quantized({"kind": kind, **_EMPTY, **fields})
    result.model = changed
    return result


_EMPTY: dict[str, Any] = {
    "quantized": [], "stay": [], "pairs": 0, "folded": 0, "biases": 0, "correction": None, "values": [], "ranges": {}, "samples": 0, "operators": [],
}


def _kind(weights_only: bool, dynamic: bool) -> str:
    if weights_only and dynamic:
        raise ArgumentError("`weights_only` and `dynamic` exclude each other")
    return "weights" if weights_only else "dynamic" if dynamic else "static"


# What has no meaning for a kind of quantization.
_UNUSED = {
    "static": {"block"},
    "dynamic": {"form", "weight_type", "block", "symmetric", "ranges", "budget", "losses", "keep_biases", "method", "percentile"},
    "weights": {"weight_type", "ranges", "losses", "keep_biases", "method", "percentile"},
}


_KINDS = {"static": "quantization of activations", "dynamic": "dynamic quantization", "weights": "quantization of weights only"}
# What the arguments are if they are left out; `None` or `False` otherwise.
_DEFAULTS = {"form": "qdq", "method": "minmax"}


def _request(settings: dict[str, Any], others: set[str], is_without_inputs: bool) -> dict[str, Any]:
    """The settings for the native module. Those that contradict each other, or have no meaning, are refused."""
    kind, form, method, budget = (settings[name] for name in ("kind", "form", "method", "budget"))
    if form not in ("qdq", "operator"):
        raise ArgumentError(f"`form={form}`: write `qdq` or `operator`")
    if budget is not None and not abs(budget) < float("inf"):
        raise ArgumentError(f"`budget={budget}`: the least ratio of signal to noise is a finite number of decibels")
    given = others | {
        name for name, value in settings.items() if value is not None and value is not False and value != _DEFAULTS.get(name)
    }
    for name in sorted(given & _UNUSED[kind]):
        raise ArgumentError(f"`{name}` has no meaning for {_KINDS[kind]}")
    if {"per_channel", "block"} <= given:
        raise ArgumentError("`per_channel` and `block` exclude each other: a scale is for a channel or for a block")
    if "percentile" in given and method != "percentile":
        raise ArgumentError('`percentile` is for `method="percentile"`')
    if kind == "weights" and "form" in given:
        _refuse_for_products(given, settings["target"])
    if kind == "static" and is_without_inputs:
        _refuse_without_inputs(given)
    percentile = 99.999 if settings["percentile"] is None else settings["percentile"]
    return {**settings, "operators": form == "operator", "percentile": percentile}


def _refuse_for_products(given: set[str], target: str) -> None:
    if target != "onnxruntime":
        raise ArgumentError('only onnxruntime has an operator with quantized weights, `MatMulNBits`: add `target="onnxruntime"`')
    for name in sorted(given & {"budget", "per_channel"}):
        raise ArgumentError(f"`{name}` is not for `MatMulNBits`")


def _refuse_without_inputs(given: set[str]) -> None:
    if "ranges" not in given:
        raise ArgumentError(
            "activations need ranges from a calibration: `inputs=` with data or a number of generated inputs, or `ranges=`; "
            "`weights_only=True` and `dynamic=True` need none"
        )
    for name in sorted(given & {"budget", "keep_biases", "losses", "measure", "method"}):
        raise ArgumentError(f"`{name}` needs `inputs` for runs")


def dequantize(model: AnyModel, *, inplace: bool = True, **options: Unpack[Options]) -> _results.Dequantized:
    """Makes floats of quantized weights, and removes pairs of `QuantizeLinear` and `DequantizeLinear`.

    >>> import onnxkit as ox
    >>> m = ox.parse("g (float[N,2] x) => (float[N,2] y) <float[2,2] w = {1, 2, 3, 4}> { y = MatMul (x, w) }")
    >>> done = ox.quantize(m, "int8", weights_only=True)
    >>> ox.dequantize(m).weights, len(m)
    (1, 1)
    """
    fields, changed = with_bar(_core.dequantize, from_any(model), inplace, **options)
    result = _results.Dequantized(fields)
    result.model = changed
    return result


def retype(model: AnyModel, types: Mapping[str, Any], *, inplace: bool = True) -> _results.Retyped:
    """Gives inputs and outputs other element types, by name, with a `Cast` where one is needed.

    >>> import onnxkit as ox
    >>> m = ox.parse("g (int64[N] ids) => (float[N] y) { y = Cast <to = 1> (ids) }")
    >>> ox.retype(m, {"ids": "int32", "y": "double"}).casts
    {'ids': 0, 'y': 1}
    """
    fields, changed = call(_core.retype, from_any(model), list(named(types, "types").items()), inplace)
    result = _results.Retyped(fields)
    result.model = changed
    return result


def named(mapping: Any, name: str) -> dict[Any, Any]:
    """The entries of an argument that is a mapping."""
    if not hasattr(mapping, "items"):
        raise TypeError(f"`{name}` is a mapping such as a dictionary, not `{type(mapping).__name__}`")
    return dict(mapping.items())


def _nodes(nodes: Any, name: str) -> list[Any] | None:
    """Selectors and nodes, of which one is a list of one."""
    if nodes is None:
        return None
    if isinstance(nodes, (str, _core.Node)):
        return [nodes]
    try:
        return list(nodes)
    except TypeError:
        raise TypeError(f"`{name}` is a selector or a node, or a list of them, not `{type(nodes).__name__}`") from None


def _samples(inputs: Any) -> Any:
    """A number of inputs, or a sequence of them."""
    if inputs is None:
        return None
    if hasattr(inputs, "items"):
        return [inputs]
    if isinstance(inputs, (str, bytes, float)) or is_truth(inputs):
        raise TypeError(f"`inputs` is a number or mappings of names to arrays, not `{type(inputs).__name__}`")
    if hasattr(inputs, "__index__") and not hasattr(inputs, "__len__"):
        if inputs < 1:
            raise ArgumentError(f"`inputs={inputs}`: a calibration has at least one input")
        return int(inputs)
    if not (hasattr(inputs, "__len__") and hasattr(inputs, "__getitem__")):
        inputs = list(inputs)
    if len(inputs) == 0:
        raise ArgumentError("`inputs` is empty: a calibration has at least one input")
    return inputs


def _ranges(ranges: Any) -> Any:
    """The text of a file of ranges, or pairs by name."""
    if ranges is None:
        return None
    if isinstance(ranges, (str, os.PathLike)):
        with open(ranges, encoding="utf-8") as file:
            return file.read()
    found = []
    for name, ends in named(ranges, "ranges").items():
        try:
            low, high = ends
            if is_truth(low) or is_truth(high):
                raise TypeError("a truth value")
            found.append((name, (float(low), float(high))))
        except (TypeError, ValueError):
            raise ArgumentError(f"`ranges`: {ends!r} of {name!r} is not two numbers, the lower one first") from None
    return found
