"""The functions on whole models. Each takes a model in any form (see `Model.from_any`), unless it edits one in place only."""

from __future__ import annotations

import os
import time
import warnings

from . import _core, _interop, _results
from ._core import Evaluator as _Evaluator
from ._core import Inference, Model, Rules
from ._errors import ArgumentError
from ._formats import named as _named
from ._interop import flag, from_any, is_truth
from ._progress import call, with_bar

# `typing` is not imported at run time: it takes longer than this package. Type checkers know this name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Unpack

    from ._options import Bounds, Options
    from ._ranges import Source

    AnyModel = Any


def load(
    path: str | os.PathLike[str] | Source, *, data_dir: str | os.PathLike[str] | None = None, mapped: bool = True, **options: Unpack[Options]
) -> Model:
    """Reads a model file: binary, ONNX text, or the text or JSON form of protobuf. Weights are mapped, not read.

    Another program that makes a mapped file shorter ends this process (`SIGBUS`). With `mapped=False`, files are copied: those
    with weights when these are asked for.

    `path` may also be an object with `size` and `read(start, end)`, such as an object of a store, whose bytes are all read. Its
    external data are looked for in `data_dir` only.

    >>> import onnxkit as ox
    >>> ox.parse("g (float[2] x) => (float[2] y) { y = Relu (x) }").save("relu.onnx")
    0
    >>> len(ox.load("relu.onnx"))
    1
    """
    return _interop.load(path, data_dir, mapped, **options)


def loads(
    contents: bytes | bytearray | memoryview | str,
    *,
    data_dir: str | os.PathLike[str] | None = None,
    mapped: bool = True,
    **options: Unpack[Options],
) -> Model:
    """Reads a model from the bytes of a file, or from text, in each form that `load` reads. `mapped` is for files in `data_dir`."""
    return _interop.loads(contents, data_dir, mapped, **options)


def parse(text: str, **options: Unpack[Options]) -> Model:
    """Reads a model from ONNX text.

    Without a header, the model has the IR version 10 and version 21 of the default operator set.

    >>> import onnxkit as ox
    >>> [node.op_type for node in ox.parse("g (float[N] x) => (float[N] y) { y = Relu (x) }").nodes()]
    ['Relu']
    """
    return _interop.parse(text, **options)


def save(model: AnyModel, path: str | os.PathLike[str], **options: Unpack[Options]) -> int:
    """Writes a model to a file: see `Model.save`."""
    return from_any(model).save(path, **options)


def check(model: AnyModel, *, full: bool = True, profile: str | None = None, **options: Unpack[Options]) -> _results.Report:
    """Finds defects. All are in the report; `raise_for_errors()` raises if one is an error.

    What the decoder repaired in the file, such as fields that exclude each other, is reported until the model is edited. With
    `full=False`, elements of tensors and files with weights are not read, and types are not inferred. The profile
    `reference` reports what the reference reports.

    >>> import onnxkit as ox
    >>> ox.check("g (float[2] x) => (float[2] y) { y = Rleu (x) }").errors[0].rule
    'ONNX2303'
    """
    known, start = from_any(model), time.monotonic()
    report: dict[str, Any] = with_bar(_core.check, known, full, profile, **options)
    if profile != "reference":
        report["findings"] = known.decoder_findings() + report["findings"]
    if full and profile != "reference":
        timeout = options.get("timeout")
        if timeout is not None:
            options["timeout"] = max(float(timeout) - (time.monotonic() - start), 0.0)
        _results.add_contradictions(report, with_bar(_core.infer, known, {}, False, True, **options))
    return _results.Report(report)


def fix(model: Model, **options: Unpack[Options]) -> list[_results.Fix]:
    """Makes the edits that findings suggest, in place, and returns them.

    >>> import onnxkit as ox
    >>> m = ox.parse("g (float[2] x) => (float[2] y) { y = Relu (a) a = Neg (x) }")
    >>> ox.fix(m)
    [ONNX2312: sorted the nodes of graph `g`]
    """
    return [_results.Fix(entry) for entry in with_bar(_core.fix, _edited(model, "fix"), **options)]


def _edited(model: Any, function: str) -> Model:
    """A model that a function edits, whose result does not have it."""
    if isinstance(model, Model):
        return model
    kind = type(model).__name__
    raise TypeError(f"`{function}` edits a `Model` in place, and `{kind}` is none: call it on `m = ox.Model.from_any(...)`")


def explain(rule: str) -> str:
    """The page of a rule of the checker, by its code or its name."""
    return call(_core.explain, rule)


def infer(
    model: AnyModel, *, sizes: Mapping[str, int] | None = None, inplace: bool = True, **options: Unpack[Options]
) -> Inference:
    """Infers types and shapes; sizes are expressions of the dimension variables of the model.

    >>> import onnxkit as ox
    >>> m = ox.parse("g (float[N,4] x) => (y) { y = Concat <axis = 0> (x, x) }")
    >>> ox.infer(m).shape(m.graph["y"])
    ('2*N', 4)
    """
    return with_bar(_core.infer, from_any(model), _sizes(sizes), inplace, **options)


def _sizes(sizes: Mapping[str, int] | None) -> dict[str, int]:
    """Sizes of dimension variables, none of which is negative."""
    found = {} if sizes is None else _named(sizes, "sizes")
    for name, size in found.items():
        if not hasattr(size, "__index__") or is_truth(size):
            raise TypeError(f"`sizes`: `{name}` is {size!r}; a size is a whole number")
        if size < 0:
            raise ArgumentError(f"`sizes`: `{name}` is {size}; a size is not negative")
    return found


def why(model: AnyModel, value: Any) -> list[_results.Why]:
    """Why parts of the type of a value, by its name or handle, are not known."""
    known = from_any(model)
    inference = call(_core.infer, known, {}, False)
    if isinstance(value, str):
        value = known.graph[value]
    return [_results.Why(entry) for entry in inference.why(value)]


def info(model: AnyModel) -> _results.Info:
    """Operators, inputs, outputs, weights and versions of a model."""
    return _results.Info(call(_core.info, from_any(model)))


def cost(model: AnyModel, **sizes: int) -> _results.Cost:
    """Operations, parameters and memory. Keyword arguments are sizes of the model: `cost(m, batch=1)`."""
    return _results.Cost(call(_core.cost, from_any(model), _sizes(sizes)))


def hash(model: AnyModel, **options: Unpack[Options]) -> _results.ModelHash:
    """Digests of a model, of its structure, its weights and its interface."""
    return _results.ModelHash(with_bar(_core.hash, from_any(model), **options))


def diff(
    a: AnyModel, b: AnyModel, *, weights: bool = True, rtol: float | None = None, **options: Unpack[Options]
) -> _results.Diff:
    """The differences of two models. With `rtol`, elements of weights may differ by this share of their magnitude."""
    return _results.Diff(with_bar(_core.diff, from_any(a), from_any(b), weights, _tolerance(rtol, "rtol"), **options))


def _tolerance(tolerance: float | None, name: str) -> float | None:
    if tolerance is not None and (not hasattr(tolerance, "__float__") or is_truth(tolerance)):
        raise TypeError(f"`{name}={tolerance!r}`: a tolerance is a number that is not negative")
    if tolerance is not None and not tolerance >= 0:
        raise ArgumentError(f"`{name}={tolerance}`: a tolerance is a number that is not negative")
    return tolerance


def find(model: AnyModel, selector: str, **options: Unpack[Options]) -> list[_core.Node | _core.Value | _core.Graph]:
    """The nodes, values and graphs that a selector denotes, such as `Conv()` or `down(x)`."""
    return call(_core.find, from_any(model), selector, **options)


def schema(op: str, version: int | None = None, domain: str = "") -> _results.Schema:
    """The schema of an operator in a version of its operator set, or the newest one. Raises `KeyError` if there is none."""
    found = call(_core.schema, op, version, domain)
    if found is None:
        versions = "" if version is None else f" in version {version}"
        raise KeyError(f"{domain or 'ai.onnx'} has no operator {op}{versions}")
    return _results.Schema(found)


def schemas() -> list[_results.Schema]:
    """The newest schema of each operator of the standard operator sets."""
    return [_results.Schema(found) for found in _core.schemas()]


def _own(model: AnyModel, inplace: bool) -> Model:
    known = from_any(model)
    return known if flag(inplace, "inplace") else known.clone()


def simplify(
    model: AnyModel,
    *,
    prove: bool = False,
    exact: bool = False,
    fuse: bool = False,
    rules: Rules | Sequence[Rules] = (),
    sizes: Mapping[str, int | str] | None = None,
    target: str = "onnxruntime",
    inplace: bool = True,
    **options: Unpack[Options],
) -> _results.Result:
    """Removes what is not needed, computes what is constant, and applies rewrite rules, until nothing changes.

    Every edit is checked before it is made; with `prove=True`, also what it computes. `exact=True` allows only edits that keep
    every bit. `target` names the runtime whose groups of nodes stay whole and whose operators are used (`onnx explain --list
    targets`), or is `none`. `model` of the result is the model.

    >>> import onnxkit as ox
    >>> m = ox.parse("g (float[N] x) => (float[N] y) { a = Identity (x) b = Neg (a) c = Neg (b) y = Relu (c) }")
    >>> ox.simplify(m, prove=True).nodes_after
    1
    """
    known = _own(model, inplace)
    entries = [] if sizes is None else list(_named(sizes, "sizes").items())
    chosen = [rules] if isinstance(rules, Rules) else list(rules)
    done = with_bar(_core.simplify, known, prove, exact, fuse, chosen, entries, target, **options)
    result = _results.Result(done)
    result.model = known
    return result


def convert(
    model: AnyModel, opset: int, *, domain: str = "", inplace: bool = True, **options: Unpack[Options]
) -> _results.Converted:
    """Converts a model to another version of an operator set, up or down. Raises `ConvertError` with all reasons."""
    known = _own(model, inplace)
    result = _results.Converted(with_bar(_core.convert, known, opset, domain, **options))
    result.model = known
    return result


def reach(model: AnyModel, **options: Unpack[Options]) -> dict[int, str | None]:
    """For each version of the default operator set: `None` if the model can be converted to it, or why not."""
    return dict(with_bar(_core.reach, from_any(model), **options))


def extract(
    model: AnyModel, inputs: Iterable[Any] | None = None, outputs: Iterable[Any] | None = None, **options: Unpack[Options]
) -> Model:
    """The part of a model between inputs and outputs, which are names, selectors or values."""
    return with_bar(_core.extract, from_any(model), _listed(inputs), _listed(outputs), **options)


def _listed(values: Iterable[Any] | None) -> list[Any] | None:
    if values is None:
        return None
    return [values] if isinstance(values, (str, _core.Value)) else list(values)


def merge(
    models: Iterable[AnyModel],
    connect: str | Iterable[tuple[str, str]] = "names",
    prefixes: Sequence[str] | None = None,
    **options: Unpack[Options],
) -> Model:
    """One model of several. `connect` is `names`, or pairs of an output and an input of the next model."""
    if isinstance(models, (str, bytes, os.PathLike)):
        raise TypeError("`merge` takes a list of models, not one")
    if isinstance(prefixes, str):
        raise TypeError("`prefixes` is a list with a prefix for each model")
    if isinstance(connect, str):
        if connect != "names":
            raise ArgumentError(f"`connect={connect}`: write `names`, or pairs of an output and an input")
        pairs = None
    else:
        pairs = [_pair(pair) for pair in connect]
    given = None if prefixes is None else list(prefixes)
    return with_bar(_core.merge, [from_any(model) for model in models], pairs, given, **options)


def _pair(pair: Any) -> tuple[str, str]:
    if isinstance(pair, (tuple, list)) and len(pair) == 2 and all(isinstance(name, str) for name in pair):
        return pair[0], pair[1]
    raise ArgumentError(f"`connect`: {pair!r} is not a pair of names, of an output and of an input of the next model")


def split(model: AnyModel, parts: int, **options: Unpack[Options]) -> list[Model]:
    """Parts of about the same weight, which run one after the other."""
    return with_bar(_core.split, from_any(model), parts, **options)


def inline(
    model: Model, names: str | Iterable[str] | None = None, *, bodies: bool = False, **options: Unpack[Options]
) -> int:
    """Replaces calls by the bodies of their functions, in place; with `bodies=True`, operators by theirs as well.

    `names` are those of functions with their domains, such as `local.Block`; all functions are inlined by default. Returns how many
    calls were replaced. A call stays if that would change what the model computes; a warning has the reason.
    """
    count, kept = with_bar(_core.inline, _edited(model, "inline"), _listed(names), bodies, **options)
    if kept:
        warnings.warn(f"{_kept(kept)}; `onnx inline` lists them all", stacklevel=2)
    return count


def _kept(kept: Sequence[tuple[str, str]]) -> str:
    call, reason = kept[0]
    return f"{len(kept)} calls stay: {call}: {reason}" if len(kept) > 1 else f"the call {call} stays: {reason}"


def outline(model: Model, *, domain: str = "outlined", min_nodes: int = 2, **options: Unpack[Options]) -> int:
    """Makes functions of repeated groups of nodes, in place. Returns how many."""
    return with_bar(_core.outline, _edited(model, "outline"), domain, min_nodes, **options)


def rename(
    model: Model, names: Mapping[str, str] | Callable[[str], str], **options: Unpack[Options]
) -> list[tuple[str, str]]:
    """Renames values and nodes, in place: a mapping, or a function of each name."""
    known = _edited(model, "rename")
    if callable(names):
        pairs = [(name, names(name)) for name in _core.names(known)]
        pairs = [(old, new) for old, new in pairs if old != new]
    else:
        pairs = list(_named(names, "names").items())
    return with_bar(_core.rename, known, pairs, **options)


def resize(model: Model, sizes: Mapping[str, int | str], **options: Unpack[Options]) -> _results.Resized:
    """Changes sizes of inputs, in place: `{"ids[0]": "batch", "seq": 128}`."""
    return _results.Resized(with_bar(_core.resize, _edited(model, "resize"), list(_named(sizes, "sizes").items()), **options))


def strip_weights(
    model: Model, seed: int = 0, *, min_elements: int = 1024, everything: bool = False
) -> dict[str, int]:
    """Removes the elements of weights, in place; `import_weights(model)` generates others of the same types.

    Smaller weights stay; with `everything=True`, tensors in attributes are removed as well.
    """
    return call(_core.strip_weights, _edited(model, "strip_weights"), seed, min_elements, everything)


def import_weights(
    model: Model, source: AnyModel | str | os.PathLike[str] | None = None, *, mapped: bool = True, **options: Unpack[Options]
) -> int:
    """Takes weights from another model, a `.safetensors` file or its index, in place. Returns how many.

    Weights of another model are found by their names, which both have in common with `onnx weights list`. Types and sizes must be
    equal. A stripped model gets only those that were stripped, another one all of them. Without a source, stripped weights are generated; a warning names those that are without elements after the import.
    `mapped` is that of `load`.
    """
    edited = _edited(model, "import_weights")
    if source is not None and not isinstance(source, os.PathLike) and (not isinstance(source, str) or _interop.is_text(source)):
        source = from_any(source)
    count, left = with_bar(_core.import_weights, edited, source, mapped, **options)
    if left:
        named = ", ".join(left[:3]) + (f" and {len(left) - 3} more" if len(left) > 3 else "")
        warnings.warn(f"weights without elements, which were stripped: {named}", stacklevel=2)
    return count


def reduce(
    model: AnyModel, test: Callable[[Model], bool], *, only_valid: bool = True, **options: Unpack[Options]
) -> Model:
    """The smallest model for which `test` is true, by delta debugging."""
    return with_bar(_core.reduce, from_any(model), test, only_valid, **options)


def compare(
    a: AnyModel,
    b: AnyModel,
    inputs: Mapping[str, Any] | None = None,
    *,
    sizes: Mapping[str, int] | None = None,
    seeds: int = 3,
    rtol: float | None = None,
    atol: float | None = None,
    inner: bool = False,
    **options: Unpack[Options],
) -> _results.Comparison:
    """Runs two models on the same inputs: those given, and made ones for the others, `seeds` times.

    If all inputs are given, there is one run.
    """
    first, second = from_any(a), from_any(b)
    given = None if inputs is None else _named(inputs, "inputs")
    known = [value.name for value in first.graph.inputs]
    for name in given or ():
        if name not in known:
            raise ArgumentError(f"`inputs`: the model has no input {name!r}; it has {', '.join(known) or 'none'}")
    if not hasattr(seeds, "__index__") or is_truth(seeds):
        raise TypeError(f"`seeds={seeds!r}`: write the number of runs")
    if seeds < 1:
        raise ArgumentError(f"`seeds={seeds}`: models are compared by at least one run")
    tolerances = _tolerance(rtol, "rtol"), _tolerance(atol, "atol")
    entries = list(_sizes(sizes).items())
    runs = with_bar(_core.compare, first, second, given, entries, seeds, *tolerances, inner, **options)
    return _results.Comparison({"runs": runs})


def inputs(model: AnyModel, *, sizes: Mapping[str, int] | None = None, seed: int = 0, **options: Unpack[Bounds]) -> dict[str, Any]:
    """Inputs for a model, made of a seed."""
    return call(_core.inputs, from_any(model), list(_sizes(sizes).items()), seed, **options)


def Evaluator(model: AnyModel, *, threads: int = 1) -> _Evaluator:
    """Runs a model as the specification defines it: `Evaluator(model).run({"x": array})`."""
    return call(_Evaluator, from_any(model), threads)
