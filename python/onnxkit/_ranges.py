"""Reads the structure of a model, without its weights, from a file or from any object that gives ranges of bytes.

The result is a sparse copy: a file of the same size, whose holes are the elements of large tensors. The decoder reads it
like the model itself, so that what it reports is the same, and nothing that happens to the original meanwhile ends the
process, as it would if the original were mapped and became shorter.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import contextmanager

from ._errors import ArgumentError, LimitError, Stopped

# `typing` is not imported at run time: it takes longer than this package. Type checkers know this name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import IO, Any, Final, Protocol

    class Source(Protocol):
        """An object that gives ranges of bytes, such as an object of a store."""

        @property
        def size(self) -> int:
            """The number of bytes."""
            ...

        def read(self, start: int, end: int, /) -> Any:
            """The bytes from `start` up to and without `end`, as `bytes` or another buffer."""
            ...

    Table = Mapping[int, str]


class NotAFileError(OSError):
    """A directory, a pipe, a socket or a device: it has no contents of a known size."""


class FileChangedError(OSError):
    """A file that changed while it was read, or a source that gave another number of bytes than was asked for."""


MAX_STRUCTURE: Final = 1 << 30
"""The most bytes that are read of a file. Other tools read at most twice as many, weights included."""

# Of a file and of another source: up to which size all is read, with how much reading begins at the start and behind weights,
# where often other weights follow, and the most that is read at once. A request to a store takes as long as the transfer of
# about a megabyte.
_FILE: Final = (1 << 20, 1 << 14, 1 << 18)
_OBJECT: Final = (4 << 20, 1 << 16, 4 << 20)
# The most that is read at once of a source whose contents are all needed.
_LARGEST_READ: Final = 16 << 20
_STOPPED: Final = "the work was stopped while the file was read, as `timeout` says"
# Elements of fewer bytes are read, because inference follows those of small tensors: 256 elements of at most 16 bytes.
_SMALL_ELEMENTS: Final = 4096
# Each field takes about a microsecond. A file with more of them has few weights for its size, and is read as it is.
_MAX_FIELDS: Final = 2_000_000

_AFTER_DEFECT: Final = 64 << 20

# By message: the fields that contain weights. Sparse tensors are not among them, because the checker reads their indices.
_WEIGHTS: Final = ""
_MESSAGES: Final[Mapping[str, Table]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph"},
    # `float_data`, `raw_data` and `double_data`. The number of elements of the other fields depends on their bytes.
    "tensor": {4: _WEIGHTS, 9: _WEIGHTS, 10: _WEIGHTS},
}
_NOTHING: Final[Table] = {}


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
    if size < 0:
        raise ArgumentError(f"`size` of `{type(source).__name__}` is {size}; a number of bytes is not negative")
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


def contents(source: Source, deadline: float | None = None) -> bytes:
    """All bytes of a source, which is asked for ranges in ascending order."""
    from io import BytesIO

    # Its contents are not copied when they are taken out, so that they are in memory once.
    out, size = BytesIO(), size_of(source)
    while out.tell() < size:
        if deadline is not None and time.monotonic() > deadline:
            raise Stopped(_STOPPED)
        start = out.tell()
        out.write(block_of(source, start, min(start + _LARGEST_READ, size), size))
    return out.getvalue()


class FileSource:
    """A regular file that is read by ranges, and that must not change meanwhile."""

    def __init__(self, path: str | bytes) -> None:
        # A device is not opened: even that may have an effect.
        self._require_regular(os.stat(path).st_mode)
        flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
        self._descriptor = os.open(path, flags)
        try:
            self._found = os.fstat(self._descriptor)
            self._require_regular(self._found.st_mode)
        except BaseException:
            self.close()
            raise
        self.size = self._found.st_size

    @staticmethod
    def _require_regular(mode: int) -> None:
        if stat.S_ISDIR(mode):
            raise NotAFileError("it is a directory")
        if not stat.S_ISREG(mode):
            kinds = ((stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"), (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"))
            name = next((name for is_kind, name in kinds if is_kind(mode)), "of another kind")
            raise NotAFileError(f"it is {name}, not a regular file")

    def read(self, start: int, end: int, /) -> bytes:
        """The bytes of a range; fewer at the end of the file."""
        pieces = []
        while start < end:
            if hasattr(os, "pread"):
                piece = os.pread(self._descriptor, end - start, start)
            else:
                os.lseek(self._descriptor, start, os.SEEK_SET)
                piece = os.read(self._descriptor, end - start)
            if not piece:
                break
            pieces.append(piece)
            start += len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def require_unchanged(self) -> None:
        """Raises `FileChangedError` if the file was written since it was opened."""
        now = os.fstat(self._descriptor)
        if (now.st_size, now.st_mtime_ns) != (self._found.st_size, self._found.st_mtime_ns):
            raise FileChangedError(f"it changed while it was read: it had {self._found.st_size} bytes, and has {now.st_size}")

    def close(self) -> None:
        """Closes the file."""
        os.close(self._descriptor)


class _MalformedError(Exception):
    """A message that ends before its fields. The decoder says so in better words."""


class _Copy:
    """Reads blocks of a source in ascending order, writes them to the sparse copy, and keeps the last one."""

    def __init__(self, source: Source, size: int, out: IO[bytes], blocks: tuple[int, int], deadline: float | None) -> None:
        self._source, self._out, self._deadline = source, out, deadline
        # Reading continues in blocks that become larger.
        (self._first, self._most), self._block = blocks, blocks[0]
        self.size = size
        # The window: bytes of the file, and the range that they are of.
        self.data, self.start, self.end = b"", 0, 0
        self.bytes_read = 0

    def _read(self, start: int) -> bytes:
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise Stopped(_STOPPED)
        if self.bytes_read >= MAX_STRUCTURE:
            raise LimitError(f"more than {MAX_STRUCTURE} bytes of the file are not weights")
        end = min(start + self._block, self.size)
        self._block = min(2 * self._block, self._most)
        data = block_of(self._source, start, end, self.size)
        self._out.seek(start)
        rest = memoryview(data)
        while rest:
            rest = rest[self._out.write(rest) :]
        self.bytes_read += len(data)
        return data

    def move_to(self, at: int) -> None:
        """Makes the window begin at `at`, and contain at least 20 bytes unless the file ends before."""
        if at <= self.end:
            self.data = self.data[at - self.start :]
        else:
            self.data, self.end, self._block = b"", at, self._first
        self.start = at
        while len(self.data) < 20 and self.end < self.size:
            self.data += self._read(self.end)
            self.end = at + len(self.data)

    def up_to(self, end: int) -> None:
        """Reads everything between the end of the window and `end`."""
        while self.end < end:
            self.data, self.start = self._read(self.end), self.end
            self.end = self.start + len(self.data)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """An integer of variable length, and where it ends."""
    value = shift = 0
    for byte in data[at : at + 10]:
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at + shift // 7
    raise _MalformedError


def _walk(copy: _Copy, small: int) -> None:
    """Reads a binary model without the elements of its tensors of more than `small` bytes."""
    # The messages that are open: where they end, and their fields that contain weights.
    end, fields, at = copy.size, _MESSAGES["model"], 0
    stack: list[tuple[int, Table]] = []
    data, start, window_end = copy.data, copy.start, copy.end
    for _ in range(_MAX_FIELDS):
        while at == end:
            if not stack:
                return
            end, fields = stack.pop()
        # A key and a length take at most 20 bytes.
        if at + 20 > window_end and (window_end < copy.size or at >= window_end):
            copy.move_to(at)
            data, start, window_end = copy.data, copy.start, copy.end
        # Most keys and many lengths have one byte, for which a call takes longer than everything else here.
        index = at - start + 1
        key = data[index - 1]
        if key > 127:
            key, index = _varint(data, index - 1)
        wire, is_weight = key & 7, False
        if wire == 2:
            length = data[index] if index < len(data) else 128
            if length > 127:
                length, index = _varint(data, index)
                at = start + index
                message = fields.get(key >> 3) if length > small else None
                if message is not None and at + length <= end:
                    if message != _WEIGHTS:
                        stack.append((end, fields))
                        end, fields = at + length, _MESSAGES[message]
                        continue
                    is_weight = True
                at += length
            else:
                at = start + index + 1 + length
        elif wire == 0:
            at = start + _varint(data, index)[1]
        elif wire in (1, 5):
            at = start + index + (8 if wire == 1 else 4)
        else:
            # Groups, which no model has, and what is not protobuf.
            break
        if at > end:
            raise _MalformedError
        if at > window_end and not is_weight:
            copy.up_to(at)
            data, start, window_end = copy.data, copy.start, copy.end
    copy.up_to(copy.size)


def _is_text(data: bytes) -> bool:
    """Whether a file may be text: no control characters at its beginning. A binary model has some."""
    return not any(byte < 32 and byte not in b"\t\n\r" for byte in data)


def _fill(copy: _Copy, whole: int, small: int) -> None:
    copy.move_to(0)
    if copy.size <= whole or _is_text(copy.data[:4096]):
        copy.up_to(copy.size)
        return
    try:
        _walk(copy, small)
    except _MalformedError:
        # The decoder refuses the file as well, but may find another defect first, behind this one.
        copy.up_to(min(copy.end + _AFTER_DEFECT, copy.size))


@contextmanager
def sparse_copy(source: Source, limits: Mapping[str, int] | None = None, deadline: float | None = None) -> Iterator[tuple[str, int]]:
    """A file of the size of the source that has its structure, and how many bytes were read. It exists in the context only."""
    with _temporary() as (out, path):
        yield path, _copied(source, out, limits, deadline)[1]


def copy_to(source: Source, path: str, limits: Mapping[str, int] | None, timeout: float | None) -> tuple[int, int]:
    """Makes a sparse copy with a name. Returns the size of the source, and how many bytes were read."""
    deadline = None if timeout is None else time.monotonic() + timeout
    with open(path, "wb", buffering=0) as out:
        return _copied(source, out, limits, deadline)


def _copied(source: Source, out: IO[bytes], limits: Mapping[str, int] | None, deadline: float | None) -> tuple[int, int]:
    """The size of the source, and how many bytes were read."""
    whole, *blocks = _FILE if isinstance(source, FileSource) else _OBJECT
    # The size is asked for once: what a hostile object says can change.
    size = size_of(source)
    if size <= whole:
        blocks = [whole, whole]
    copy = _Copy(source, size, out, (blocks[0], blocks[1]), deadline)
    out.truncate(copy.size)
    small = max(_SMALL_ELEMENTS, 16 * (limits or {}).get("followed_elements", 0))
    _fill(copy, whole, small)
    if isinstance(source, FileSource):
        source.require_unchanged()
    return copy.size, copy.bytes_read


@contextmanager
def _temporary() -> Iterator[tuple[IO[bytes], str]]:
    if hasattr(os, "memfd_create") and os.path.isdir("/proc/self/fd"):
        # A file without a name: nothing remains, however the process ends.
        with os.fdopen(os.memfd_create("onnxkit"), "wb", buffering=0) as out:
            yield out, f"/proc/self/fd/{out.fileno()}"
    else:
        import tempfile

        with tempfile.TemporaryDirectory(prefix="onnxkit-") as folder:
            path = os.path.join(folder, "model.onnx")
            with open(path, "wb", buffering=0) as out:
                yield out, path
