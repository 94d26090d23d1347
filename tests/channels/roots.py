"""Folders that are the root of a process, with nothing in them but a binary: what a container or another system has."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from workspace import ROOT, expect, run


def libraries(binary: Path) -> list[Path]:
    """The libraries and the loader of a binary; none if it is linked statically."""
    found = subprocess.run(["ldd", binary], capture_output=True, text=True, check=False).stdout
    return [Path(path) for path in re.findall(r"(/\S+) \(0x", found)]


def place(binary: Path, root: Path, path: str) -> None:
    """Puts a binary under a path of a root, with the libraries that it needs."""
    target = root / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(binary, target)
    for library in libraries(binary):
        copy = root / str(library).lstrip("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, copy)


def can_enter() -> bool:
    """Whether the system has `unshare` and permits it: containers may not."""
    probe = ["unshare", "--map-root-user", "--mount", "--net", "--pid", "--fork", "true"]
    try:
        return subprocess.run(probe, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def enter(root: Path, directory: str, command: list[str], statuses: tuple[int, ...] = (0,)) -> str:
    """Runs a command with a folder as the root of the file system, without a network and with no variables."""
    unshare = ["unshare", "--map-root-user", "--mount", "--net", "--pid", "--fork", f"--root={root}", f"--wd={directory}"]
    return run([*unshare, *command], root.parent, {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, statuses)


@dataclass
class Stage:
    """The last stage of a `Dockerfile`."""

    base: str = ""
    copies: list[tuple[str | None, list[str], str]] = field(default_factory=list)
    directory: str = "/"
    user: str = ""
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)


def last_stage(text: str) -> Stage:
    """Reads the instructions of the last stage, and refuses those that it does not know."""
    stage = Stage()
    lines = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*\n", "", text, flags=re.M)).splitlines()
    start = max(index for index, line in enumerate(lines) if line.startswith("FROM "))
    for line in filter(None, lines[start:]):
        word, rest = line.split(maxsplit=1)
        match word:
            case "FROM":
                stage.base = rest
            case "COPY":
                words = shlex.split(rest)
                source = words.pop(0).removeprefix("--from=") if words[0].startswith("--from=") else None
                stage.copies.append((source, words[:-1], words[-1]))
            case "USER":
                stage.user = rest
            case "WORKDIR":
                stage.directory = rest
            case "ENTRYPOINT":
                stage.entrypoint = json.loads(rest)
            case "CMD":
                stage.command = json.loads(rest)
            case _:
                raise ValueError(f"the test does not know `{line}`")
    return stage


def image(binary: Path, root: Path) -> Stage:
    """Makes the files of the image of this repository, with a binary in place of the one that is built."""
    stage = last_stage((ROOT / "Dockerfile").read_text())
    expect(stage.base == "scratch", stage.base)
    for source, files, target in stage.copies:
        if source is None:
            expect(target.endswith("/"), f"{target} is not a folder")
            for file in files:
                (root / target.lstrip("/")).mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / file, root / target.lstrip("/"))
        else:
            expect(files == ["/onnx"], f"{files} are not built")
            place(binary, root, target)
    (root / stage.directory.lstrip("/")).mkdir(parents=True)
    return stage
