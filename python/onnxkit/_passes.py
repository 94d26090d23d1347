"""Passes and rules in Python, whose edits are proved like those in Rust."""

from __future__ import annotations

from . import _core, _results
from ._core import Model, Node, Rules, Tensor, Value
from ._errors import ArgumentError
from ._interop import flag, from_any, is_truth
from ._progress import with_bar

# `typing` is not imported at run time: it takes longer than this package. Type checkers know this name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import TracebackType
    from typing import Any, Unpack, overload

    from ._options import Options

    Operand = "Value | NewValue"


class NewValue:
    """A result of a node that a patch adds."""

    __slots__ = ("_patch", "_place")

    def __init__(self, patch: Patch, step: int, output: int) -> None:
        self._patch = patch
        self._place = (step, output)

    def __repr__(self) -> str:
        return f"<NewValue {self._place[0]}.{self._place[1]}>"


class Patch:
    """An edit: nodes to add, and values to replace. It is tried when the pass is done."""

    __slots__ = ("_context", "_replaced", "_sources", "_steps", "_taps")

    def __init__(self, context: PassContext, sources: Sequence[Node]) -> None:
        self._context = context
        self._sources = list(sources)
        self._taps: list[Value] | None = None
        self._steps: list[tuple[Any, ...]] = []
        self._replaced: list[tuple[Value, Any]] = []

    def __enter__(self) -> Patch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None and self._replaced:
            self._context._patches.append(self)

    def add(
        self, op: str, inputs: Iterable[Any], attrs: dict[str, Any] | None = None, *, domain: str = "", outputs: int = 1
    ) -> Any:
        """Adds a node before the node of the patch. Returns its result, or a tuple of several."""
        if is_truth(outputs):
            raise TypeError(f"`outputs={outputs!r}`: write the number of results")
        if outputs < 1:
            raise ArgumentError(f"`outputs={outputs}`: a node has at least one result")
        operands = [operand if operand is None else self._own(operand) for operand in inputs]
        self._steps.append(("node", op, domain, operands, dict(attrs or {}), outputs))
        step = len(self._steps) - 1
        made = tuple(NewValue(self, step, output) for output in range(outputs))
        return made[0] if outputs == 1 else made

    def _own(self, operand: Any) -> Any:
        """An operand that this patch can use."""
        if isinstance(operand, NewValue) and operand._patch is not self:
            raise ValueError(f"{operand!r} is of another patch: a patch cannot use what another one adds")
        if not isinstance(operand, (NewValue, Value)):
            raise TypeError(f"{operand!r} is not a value; `constant` of the patch makes one of numbers")
        return operand

    def constant(self, array: Any, dtype: Any = None) -> NewValue:
        """Adds a constant."""
        tensor = array if isinstance(array, Tensor) and dtype is None else Tensor(array, dtype)
        self._steps.append(("constant", tensor))
        return NewValue(self, len(self._steps) - 1, 0)

    def shape(self, value: Value) -> tuple[int | str | None, ...] | None:
        """The inferred shape of a value; the proof then assumes it."""
        shape = self._context.inference.shape(value)
        if shape is not None:
            self._steps.append(("shape", value))
        return shape

    def constant_of(self, value: Value) -> Tensor | None:
        """The tensor that a value always is, also behind `Identity`; the proof then assumes it."""
        if not isinstance(value, Value):
            raise TypeError(f"{value!r} is not a value of the model")
        found: Value | None = value
        # In a model that is wrong, a node can be among those before it, and `Identity` can have no operand.
        for _ in range(64):
            node = None if found is None else found.producer()
            if node is None or node.op_type != "Identity" or node.domain:
                break
            found = next(iter(node.inputs), None)
        tensor = None if found is None else found.const_value
        if tensor is not None:
            self._steps.append(("content", value))
        return tensor

    def tap(self, *values: Value) -> None:
        """States the values from which both sides are computed; by default, the operands of the nodes of the patch."""
        self._taps = [*(self._taps or ()), *values]

    def replace(self, old: Value, new: Any) -> None:
        """Lets all uses of a value be of another one."""
        self._replaced.append((self._own(old), self._own(new)))


class PassContext:
    """What a pass sees: the model as it is in this round."""

    __slots__ = ("_inference", "_patches", "model")

    def __init__(self, model: Model) -> None:
        self.model = model
        self._patches: list[Patch] = []
        self._inference: _core.Inference | None = None

    @property
    def inference(self) -> _core.Inference:
        """Inferred types of the model."""
        if self._inference is None:
            self._inference = _core.infer(self.model, {}, False)
        return self._inference

    def nodes(self, op_type: str | None = None) -> Iterable[Node]:
        """The nodes of the model, or those of an operator."""
        for node in self.model.nodes():
            if op_type is None or node.op_type == op_type:
                yield node

    def patch(self, *nodes: Node) -> Patch:
        """A patch of nodes, as a context: `with cx.patch(node) as p: ...`.

        What is proved is that the new nodes compute the same from the operands of these nodes. New nodes are placed before
        the first one.
        """
        if not nodes:
            raise ArgumentError("a patch is about at least one node: `cx.patch(node)`")
        return Patch(self, nodes)


_CLASSES = ("exact", "rounding", "approximate")


def _class(exactness: Any) -> str:
    """The class of a pass or a rule, which is refused where it is written and not when it is used."""
    if exactness not in _CLASSES:
        raise ArgumentError(f"`exactness={exactness!r}`: write {', '.join(_CLASSES[:-1])} or {_CLASSES[-1]}")
    return str(exactness)


class Pass:
    """A pass that a function describes: see `pass_`."""

    __slots__ = ("exactness", "function", "name")

    def __init__(self, name: str, exactness: str, function: Callable[[PassContext], object]) -> None:
        self.name = name
        self.exactness = exactness
        self.function = function

    def _patches(self, model: Model) -> list[Patch]:
        context = PassContext(model)
        self.function(context)
        return context._patches

    def __repr__(self) -> str:
        return f"<Pass {self.name}: {self.exactness}>"


def pass_(name: str, exactness: str = "exact") -> Callable[[Callable[[PassContext], object]], Pass]:
    """Makes a pass of a function.

    The function sees the model of one round and describes patches. When it returns, they are tried one by one: a patch that is
    not proved to be right is refused, and is in the result with its reason.

    >>> import onnxkit as ox
    >>> @ox.pass_("no-double-relu")
    ... def no_double_relu(cx):
    ...     for node in cx.nodes("Relu"):
    ...         before = node.inputs[0].producer()
    ...         if before is not None and before.op_type == "Relu":
    ...             with cx.patch(node, before) as p:
    ...                 p.replace(node.outputs[0], node.inputs[0])
    >>> m = ox.parse("g (float[N] x) => (float[N] y) { a = Relu (x) y = Relu (a) }")
    >>> ox.run_passes(m, [no_double_relu], prove=True).edits
    1
    """
    if not isinstance(name, str):
        raise TypeError("a pass has a name: write `@ox.pass_(name)`")
    _class(exactness)

    def made(function: Callable[[PassContext], object]) -> Pass:
        return Pass(name, exactness, function)

    return made


def run_passes(
    model: Any,
    passes: str | Rules | Pass | Iterable[str | Rules | Pass],
    *,
    prove: bool = False,
    exactness: str = "rounding",
    repeat: bool = True,
    accept_untested: bool = False,
    inplace: bool = True,
    **options: Unpack[Options],
) -> _results.Result:
    """Runs passes: names of standard ones (see `passes`), rules, and passes in Python.

    They are repeated until nothing changes, at most 64 times; with `repeat=False`, once. Without `prove`, edits are checked for
    structure and types only.
    """
    known = from_any(model)
    known = known if flag(inplace, "inplace") else known.clone()
    chosen = [passes] if isinstance(passes, (str, Rules, Pass)) else list(passes)
    for chosen_pass in chosen:
        if not isinstance(chosen_pass, (str, Rules, Pass)):
            raise TypeError(f"{chosen_pass!r} is not a pass; write its name, rules, or a function with `@ox.pass_(name)`")
    done = with_bar(_core.run_passes, known, chosen, prove, exactness, repeat, accept_untested, **options)
    result = _results.Result(done)
    result.model = known
    return result


def passes() -> dict[str, str]:
    """The names of the standard passes, with what each does."""
    return {name: summary for name, summary, _ in _core.passes()}


class _Traced:
    """An operand or a result of a rule that is traced. Operators of Python are calls."""

    __slots__ = ("_op", "text")
    # Scalars of NumPy on the left leave the operator to this class.
    __array_ufunc__ = None

    def __init__(self, op: _Operators, text: str) -> None:
        self._op = op
        self.text = text

    def __add__(self, other: Any) -> Any:
        return self._op.Add(self, other)

    def __radd__(self, other: Any) -> Any:
        return self._op.Add(other, self)

    def __sub__(self, other: Any) -> Any:
        return self._op.Sub(self, other)

    def __rsub__(self, other: Any) -> Any:
        return self._op.Sub(other, self)

    def __mul__(self, other: Any) -> Any:
        return self._op.Mul(self, other)

    def __rmul__(self, other: Any) -> Any:
        return self._op.Mul(other, self)

    def __truediv__(self, other: Any) -> Any:
        return self._op.Div(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._op.Div(other, self)

    def __pow__(self, other: Any) -> Any:
        return self._op.Pow(self, other)

    def __rpow__(self, other: Any) -> Any:
        return self._op.Pow(other, self)

    def __matmul__(self, other: Any) -> Any:
        return self._op.MatMul(self, other)

    def __neg__(self) -> Any:
        return self._op.Neg(self)


class _Attribute:
    """The value of an attribute, whatever it is."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


def _number(value: Any) -> Any:
    """A number of Python, if the object is a scalar of NumPy, whose `repr` has the name of its type."""
    return value.item() if hasattr(value, "item") and getattr(value, "shape", None) == () else value


def _literal(value: Any) -> str:
    value = _number(value)
    if isinstance(value, _Attribute):
        return f"@{value.name}"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if type(value).__module__ == "numpy":
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_literal(item) for item in value) + "]"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, (int, float)):
        return repr(value)
    raise TypeError(f"{value!r} is not an attribute of a rule: write a number, a string, a list of these, or `op.attribute(name)`")


def _operand(operand: Any) -> str:
    if isinstance(operand, _Traced):
        return operand.text
    operand = _number(operand)
    if isinstance(operand, (int, float)) and not isinstance(operand, bool) and operand - operand == 0:
        return repr(operand)
    items = [_number(item) for item in operand] if isinstance(operand, (list, tuple)) else None
    if items is not None and all(isinstance(item, int) for item in items):
        return _literal(items)
    raise TypeError(f"{operand!r} is not an operand: write a value of the rule, a finite number, or a list of integers")


class _Operators:
    """Traces calls such as `op.Relu(x)` as text of a rule.

    Keyword arguments are attributes. `_domain` is the operator set, `_outputs` the number of results if it is not one, and with
    `_others=True`, the node may have other attributes, which the same operator of the right side takes over.
    """

    def __init__(self) -> None:
        # The results of each call, its text, and what it is computed from.
        self._calls: list[tuple[set[str], str, set[str]]] = []

    def attribute(self, name: str) -> _Attribute:
        """The value of an attribute, which the other side can use: `op.Transpose(x, perm=op.attribute("p"))`."""
        return _Attribute(name)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*inputs: Any, _domain: str = "", _outputs: int = 1, _others: bool = False, **attributes: Any) -> Any:
            operands = ", ".join(_operand(operand) for operand in inputs)
            known = [f"{key} = {_literal(value)}" for key, value in attributes.items()]
            shown = ", ".join([*known, "..."] if _others else known)
            count = len(self._calls)
            results = [_Traced(self, f"t{count}_{index}") for index in range(_outputs)]
            left = ", ".join(result.text for result in results)
            attrs = f" <{shown}>" if shown else ""
            called = f"{_domain}.{name}" if _domain else name
            used = {operand.text for operand in inputs if isinstance(operand, _Traced)}
            self._calls.append(({result.text for result in results}, f"    {left} = {called}{attrs} ({operands})", used))
            return results[0] if _outputs == 1 else tuple(results)

        return call


def _side(heading: str, parameters: Sequence[str], optional: int, function: Callable[..., Any]) -> str:
    op = _Operators()
    results = function(op, *[_Traced(op, name) for name in parameters])
    results = results if isinstance(results, tuple) else (results,)
    for result in results:
        if not isinstance(result, _Traced):
            raise TypeError(f"{result!r} is not a result of a rule: return what calls of `op` give, or operands")
    # Where one function gives both sides, the calls of the other one are traced as well: nothing uses their results.
    needed, lines = {result.text for result in results}, []
    for made, line, used in reversed(op._calls):
        if needed & made:
            lines.append(line)
            needed |= used
    shown = ", ".join(result.text for result in results)
    body = "{\n" + "\n".join(reversed(lines)) + "\n}" if lines else "{}"
    first = len(parameters) - optional
    listed = ", ".join(name if index < first else f"{name}?" for index, name in enumerate(parameters))
    return f"{heading} ({listed}) => ({shown}) {body}"


if TYPE_CHECKING:

    @overload
    def rule(
        left: None = None,
        right: None = None,
        *,
        name: str | None = None,
        exactness: str = "exact",
        since: int | None = None,
        where: str | None = None,
    ) -> Callable[[Callable[..., Any]], Rules]: ...
    @overload
    def rule(
        left: Callable[..., Any],
        right: Callable[..., Any] | None = None,
        *,
        name: str | None = None,
        exactness: str = "exact",
        since: int | None = None,
        where: str | None = None,
    ) -> Rules: ...


def rule(
    left: Callable[..., Any] | None = None,
    right: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    exactness: str = "exact",
    since: int | None = None,
    where: str | None = None,
) -> Any:
    """Makes a rewrite rule of functions that are traced.

    As a decorator, the function returns the left and the right side. Otherwise, two functions give one side each. Numbers are
    constants. `since` is the least version of the default operator set, and `where` the conditions of the rule as text. A
    parameter with the default `None` is an operand that a node may leave out.

    Calls have the names of operators: `op.Conv(x, w, pads=[1, 1, 1, 1])`. `op.attribute("p")` is the value of an attribute,
    whatever it is. Further arguments are `_domain="com.acme"`, the operator set, `_outputs=2`, the number of results, and
    `_others=True`, which allows other attributes than those given and passes them on to the same operator of the right side.

    >>> import onnxkit as ox
    >>> @ox.rule
    ... def relu_relu(op, x):
    ...     return op.Relu(op.Relu(x)), op.Relu(x)
    >>> m = ox.parse("g (float[N] x) => (float[N] y) { a = Relu (x) y = Relu (a) }")
    >>> ox.run_passes(m, [relu_relu], prove=True).nodes_after
    1
    """
    _class(exactness)
    if left is None:
        return lambda function: rule(function, name=name, exactness=exactness, since=since, where=where)
    parameters = _parameters(left)
    optional = len(left.__defaults__ or ())
    title = left.__name__ if name is None else name
    if not isinstance(title, str):
        raise TypeError(f"the name of a rule is a `str`, not `{type(title).__name__}`")
    if title == "<lambda>":
        raise TypeError("a rule that is a `lambda` needs `name=`")
    if right is None:
        both = left

        def side(index: int) -> Callable[..., Any]:
            def traced(op: Any, *operands: Any) -> Any:
                # Both sides are traced together; each has its own list of lines.
                sides = both(op, *operands)
                if not isinstance(sides, tuple) or len(sides) != 2:
                    raise TypeError("a rule returns two sides: what is replaced, and what replaces it")
                return sides[index]

            return traced

        left, right = side(0), side(1)
    sides = _side("from", parameters, optional, left), _side("to", parameters, optional, right)
    if since is not None and (is_truth(since) or not hasattr(since, "__index__")):
        raise TypeError(f"`since={since!r}`: write a version of the operator set, such as 20")
    version = "" if since is None else f", since {since}"
    conditions = "" if where is None else f"\nwhere {where}"
    return Rules.parse(f"# A rule of Python.\nrule {title.replace('_', '-')}: {exactness}{version}\n{sides[0]}{conditions}\n{sides[1]}\n")


def _parameters(function: Callable[..., Any]) -> list[str]:
    """The operands of a rule: the parameters of its function after `op`."""
    code = getattr(function, "__code__", None)
    flags = 0x04 | 0x08  # `*operands` and `**operands`
    if code is None or hasattr(function, "__self__") or code.co_flags & flags or code.co_kwonlyargcount or code.co_argcount < 1:
        raise TypeError("a rule is a function of `op` and its operands by position, such as `def rule(op, x, y)`")
    if any(default is not None for default in function.__defaults__ or ()):
        raise TypeError("an operand of a rule has no default but `None`, which a node may leave out; write the number in the rule")
    return list(code.co_varnames[1 : code.co_argcount])
