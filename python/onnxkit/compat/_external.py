"""Files with weights: opened only within the folder of the model, and not through links."""

from __future__ import annotations

import os
import stat


def open_contained(base_dir: str, location: str, read_only: bool) -> int:
    """The descriptor of a file in a folder. Each part of the path is opened in the one before it, without links."""
    parts = _parts(location)
    folder = os.open(base_dir or os.curdir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            inner = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            os.close(folder)
            folder = inner
        flags = os.O_RDONLY if read_only else os.O_RDWR | os.O_CREAT
        file = os.open(parts[-1], flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600, dir_fd=folder)
    finally:
        os.close(folder)
    facts = os.fstat(file)
    refusal = None
    if not stat.S_ISREG(facts.st_mode):
        refusal = "it is not a regular file"
    elif facts.st_nlink > 1:
        refusal = "it has several hard links"
    if refusal is not None:
        os.close(file)
        raise OSError(f"{location!r}: {refusal}")
    return file


def _parts(location: str) -> list[str]:
    if not location:
        raise OSError("the location is empty")
    if os.path.isabs(location) or "\0" in location:
        raise OSError(f"{location!r} is not a relative path")
    parts = [part for part in location.split("/") if part not in ("", ".")]
    if not parts or ".." in parts:
        raise OSError(f"{location!r} leads out of the folder of the model")
    return parts
