"""Objects that give ranges of bytes, such as those of a store."""

from __future__ import annotations

import time

from ._errors import ArgumentError, LimitError, Stopped

# `typing` is not imported at run time: it takes longer than this package. Type checkers know this name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Final, Protocol

    class Source(Protocol):
        """An object that gives ranges of bytes, such as an object of a store."""

        @property
        def size(self) -> int:
            """The number of bytes."""
            ...

        def read(self, start: int, end: int, /) -> Any:
            """The bytes from `start` up to and without `end`, as `bytes` or another buffer."""
            ...


class FileChangedError(OSError):
    """A source that gave another number of bytes than was asked for."""


# The most that is read at once of a source whose contents are all needed.
_LARGEST_READ: Final = 16 << 20
_STOPPED: Final = "the work was stopped while the file was read, as `timeout` says"


def is_source(source: Any) -> bool:
    """Whether an object gives ranges of bytes. One with `__fspath__` is a path."""
    return hasattr(source, "size") and callable(getattr(source, "read", None)) and not hasattr(source, "__fspath__")


def size_of(source: Any) -> int:
    """The size of a source, if it is a number of bytes."""
    from operator import index

    size = source.size
    try:
        size = index(size)
    except TypeError:
        raise TypeError(f"`size` of `{type(source).__name__}` is a number of bytes, not `{type(size).__name__}`") from None
    if not 0 <= size < 1 << 63:
        raise ArgumentError(f"`size` of `{type(source).__name__}` is {size}; a number of bytes is from 0 to 2**63 - 1")
    return size


def block_of(source: Source, start: int, end: int, size: int) -> bytes:
    """The bytes of a range. Raises `FileChangedError` if the source gives another number of them."""
    data = source.read(start, end)
    try:
        view = memoryview(data)
    except TypeError:
        message = f"`read` of `{type(source).__name__}` gave `{type(data).__name__}`; it gives `bytes` or another buffer"
        raise TypeError(message) from None
    # The length of a buffer of other elements is not its number of bytes.
    if view.nbytes != end - start:
        raise FileChangedError(f"it had {size} bytes, and gave {view.nbytes} of the {end - start} from byte {start} on")
    return data if type(data) is bytes else view.tobytes()


def contents(source: Source, limits: Mapping[str, int] | None = None, deadline: float | None = None) -> bytes:
    """All bytes of a source, which is asked for ranges in ascending order. Nothing is read of one that is too large."""
    from io import BytesIO
    from operator import index

    # Its contents are not copied when they are taken out, so that they are in memory once.
    out, size = BytesIO(), size_of(source)
    most = index((limits or {}).get("input_bytes", size))
    if size > most:
        raise LimitError(f"{size} exceeds the limit of {most}: raise the limit `input_bytes` to accept it")
    while out.tell() < size:
        if deadline is not None and time.monotonic() > deadline:
            raise Stopped(_STOPPED)
        start = out.tell()
        out.write(block_of(source, start, min(start + _LARGEST_READ, size), size))
    return out.getvalue()
