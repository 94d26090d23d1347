"""A line on the terminal for work that takes more than a second."""

from __future__ import annotations

import sys
import time

# `typing` is not imported at run time: it takes longer than this package. Type checkers know this name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    T = TypeVar("T")

# Work that is done sooner shows nothing.
DELAY = 1.0
WIDTH = 24


class Bar:
    """Shows a task, and how much of it is done."""

    __slots__ = ("_is_shown", "_start")

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._is_shown = False

    def __call__(self, task: str, done: int, total: int) -> None:
        if time.monotonic() - self._start < DELAY:
            return
        self._is_shown = True
        if total > 0:
            filled = min(WIDTH, WIDTH * done // total)
            text = f"{task} [{'#' * filled}{' ' * (WIDTH - filled)}] {min(100, 100 * done // total)}%"
        else:
            text = f"{task} {done}"
        _show(text)

    def close(self) -> None:
        """Removes the line."""
        if self._is_shown:
            _show("")


def _show(text: str) -> None:
    try:
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        # A terminal that is gone does not end the work.
        pass


def _is_terminal(stream: Any) -> bool:
    """Whether a stream is a terminal. Programs close standard error, or put objects with `write` only in its place."""
    try:
        return bool(stream.isatty())
    except (OSError, ValueError, AttributeError):
        return False


def call(function: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """Calls a function of the native module, whose errors about an argument then name it in their message."""
    try:
        return function(*arguments, **options)
    except (TypeError, OverflowError) as error:
        # What a callback raises keeps its trace.
        trace = error.__traceback__
        name = None if trace is None or trace.tb_next is not None else _argument(error)
        if name is None:
            raise
        raise type(error)(f"`{name}`: {error}") from None


def _argument(error: BaseException) -> str | None:
    """The argument that an error is about. The native module names it in a note, which `str(error)` does not have."""
    before = "while processing '"
    notes = (note for note in getattr(error, "__notes__", ()) if note.startswith(before))
    return next((note.removeprefix(before).removesuffix("'") for note in notes), None)


def with_bar(function: Callable[..., T], *arguments: Any, **options: Any) -> T:
    """Calls a function that takes `progress`, with a bar if standard error is a terminal."""
    if "progress" in options or not _is_terminal(sys.stderr):
        return call(function, *arguments, **options)
    bar = Bar()
    try:
        return call(function, *arguments, progress=bar, **options)
    finally:
        bar.close()
