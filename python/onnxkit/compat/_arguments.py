"""Types of arguments as the native module of the reference takes them: no conversion but that of integers.

Names of arguments that the reference does not have are positional in the functions here.
"""

from __future__ import annotations

import functools
import inspect
import operator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    Function = TypeVar("Function", bound=Callable[..., Any])

_INT = range(-(1 << 31), 1 << 31)


class _Mismatch(Exception):
    """An argument of another type."""


def _exactly(*kinds: type) -> Callable[[Any], Any]:
    def converted(value: Any) -> Any:
        if not isinstance(value, kinds):
            raise _Mismatch
        return value

    return converted


def _integer(value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise _Mismatch from None
    if number not in _INT:
        raise _Mismatch
    return number


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise _Mismatch
    try:
        value.encode()
    except UnicodeEncodeError:
        raise _Mismatch from None
    return value


def _list_of(item: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def converted(value: Any) -> list[Any]:
        if not isinstance(value, (list, tuple)):
            raise _Mismatch
        return [item(entry) for entry in value]

    return converted


def _pair(value: Any) -> tuple[str, str]:
    if not isinstance(value, (list, tuple)) or len(value) != 2:
        raise _Mismatch
    return _text(value[0]), _text(value[1])


def _mapping_to(item: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def converted(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _Mismatch
        return {_text(key): item(entry) for key, entry in value.items()}

    return converted


def _callable(value: Any) -> Any:
    if not callable(value):
        raise _Mismatch
    return value


_bytes = _exactly(bytes)
# How annotations are checked. Others are names of classes in the module of the function.
_CONVERTED: dict[str, Callable[[Any], Any]] = {
    "bytes": _bytes, "bool": _exactly(bool), "int": _integer, "str": _text, "Sequence[bytes]": _list_of(_bytes),
    "Sequence[str]": _list_of(_text), "Sequence[tuple[str, str]]": _list_of(_pair), "Mapping[str, bytes]": _mapping_to(_bytes),
    "Mapping[str, int]": _mapping_to(_integer), "Callable[[Any], None]": _callable,
}


def integer(value: Any) -> int:
    """An integer of 32 bits; a `TypeError` for anything else."""
    return int(_converted(_integer, value, "an integer of 32 bits"))


def versions(value: Any) -> dict[str, int]:
    """Versions of operator sets by domain; a `TypeError` for anything else."""
    return dict(_converted(_CONVERTED["Mapping[str, int]"], value, "a dictionary from domains to versions"))


def _converted(convert: Callable[[Any], Any], value: Any, wanted: str) -> Any:
    try:
        return convert(value)
    except _Mismatch:
        raise TypeError(f"{wanted} is needed, not {type(value).__name__}") from None


def _converters(function: Callable[..., Any], signature: inspect.Signature) -> dict[str, tuple[str, Callable[[Any], Any]]]:
    """How each argument is checked, with its type."""
    found = {}
    for name, parameter in signature.parameters.items():
        kind = parameter.annotation
        named = function.__globals__.get(kind)
        convert = _exactly(named) if isinstance(named, type) else _CONVERTED.get(kind)
        if convert is not None:
            found[name] = kind, convert
    return found


def checked(function: Function) -> Function:
    """Refuses arguments that are not of the types in the signature of a function, with a `TypeError`."""
    signature = inspect.signature(function)
    converters = _converters(function, signature)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        for name, value in bound.arguments.items():
            if name in converters:
                kind, convert = converters[name]
                bound.arguments[name] = _converted(convert, value, f"{function.__name__}: `{name}` of the type {kind}")
        return function(*bound.args, **bound.kwargs)

    return call  # type: ignore[return-value]
