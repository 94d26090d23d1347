"""The keyword arguments that all functions have, for type checkers: nothing imports this at run time."""

from collections.abc import Callable, Mapping
from typing import Any, TypedDict


class Bounds(TypedDict, total=False):
    """What a call may take, and where its progress goes. An argument that is `None` is not given."""

    limits: Mapping[str, int] | None
    timeout: float | None
    progress: Callable[[str, int, int], Any] | bool | None


class Options(Bounds, total=False):
    """The same, and where the random numbers of proofs and generated inputs begin."""

    seed: int | None
