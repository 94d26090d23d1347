#!/usr/bin/env python3
"""Installs each artefact as a user does, in an empty environment, and runs the first three examples of the documents with it.

    run.py [--binary FILE] [--installed FILE] [--wheel FILE] [--npm FOLDER] [--limits] [CHANNEL...]

Channels: `binary` (in a root without other files), `image` (the files of the last stage of the Dockerfile), `crates` (the
command that `cargo install` has installed from the packages, as `cargo xtask package` does), `wheel`, `npm`,
`git` (the diff driver), `hooks` (of pre-commit) and `action` (of GitHub); without names, all whose artefact is given. The table
at the end has the size and the start-up time of each artefact; with `--limits`, values that are over their limit fail.

The last two channels need the package `pre-commit`, and an index of packages.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import action
import examples
import hooks
import roots
from workspace import ROOT, Failed, environment, expect, git, run, virtual_environment

# Limits of size, and of the time of `onnx --version`.
BINARY_BYTES, WHEEL_BYTES = 20 << 20, 15 << 20
BINARY_SECONDS, WHEEL_SECONDS = 0.010, 0.040


@dataclass
class Row:
    """The size and the start-up time of an artefact."""

    name: str
    bytes: int
    most_bytes: int | None
    seconds: float
    most_seconds: float | None

    def cells(self) -> list[str]:
        """The row as text; a value over its limit is marked."""

        def cell(value: float, most: float | None, unit: str, digits: int) -> str:
            limit = f" of {most:.{digits}f}" if most is not None else ""
            return f"{value:.{digits}f}{limit} {unit}{' OVER' if most is not None and value > most else ''}"

        mega = 1 << 20
        size = cell(self.bytes / mega, self.most_bytes / mega if self.most_bytes else None, "MiB", 1)
        return [self.name, size, cell(self.seconds * 1e3, self.most_seconds * 1e3 if self.most_seconds else None, "ms", 1)]

    def is_over(self) -> bool:
        """Whether a value is over its limit."""
        values = [(self.bytes, self.most_bytes), (self.seconds, self.most_seconds)]
        return any(most is not None and value > most for value, most in values)


@dataclass
class Artefacts:
    """What is tested, and where."""

    binary: Path | None
    installed: Path | None
    wheel: Path | None
    npm: Path | None
    folder: Path
    rows: list[Row] = field(default_factory=list)


def start_up(command: Sequence[str | Path]) -> float:
    """The shortest time of 30 starts, in seconds: other work on the machine only adds to it."""
    times = []
    for _ in range(30):
        start = time.perf_counter()
        subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True, env=environment())
        times.append(time.perf_counter() - start)
    return min(times)


def binary(artefacts: Artefacts) -> str:
    """The binary in a root that contains nothing but it, and the libraries that it needs."""
    file = needed(artefacts.binary, "--binary")
    if not roots.can_enter():
        return "not tested: the system does not let its users change the root"
    root = artefacts.folder / "root"
    roots.place(file, root, "/bin/onnx")
    examples.run_commands(root / "models", lambda words, statuses: roots.enter(root, "/models", ["/bin/onnx", *words], statuses))
    artefacts.rows.append(Row("binary", file.stat().st_size, BINARY_BYTES, start_up([file, "--version"]), BINARY_SECONDS))
    linked = roots.libraries(file)
    return f"in a root with {f'{len(linked)} libraries' if linked else 'nothing else'}"


def image(artefacts: Artefacts) -> str:
    """The files of the image, as its user runs them; the models belong to that user, as with `--user`."""
    if not roots.can_enter():
        return "not tested: the system does not let its users change the root"
    root = artefacts.folder / "image"
    stage = roots.image(needed(artefacts.binary, "--binary"), root)
    help_text = roots.enter(root, stage.directory, [*stage.entrypoint, *stage.command])
    expect("Usage: onnx" in help_text, help_text)
    shutil.rmtree(root / stage.directory.lstrip("/"))
    examples.run_commands(
        root / stage.directory.lstrip("/"),
        lambda words, statuses: roots.enter(root, stage.directory, [*stage.entrypoint, *words], statuses),
    )
    return "the files of the last stage; the image itself is not built"


def runner(command: Path, folder: Path) -> examples.Runner:
    """Runs a command in a folder."""
    return lambda words, statuses: run([command, *words], folder, statuses=statuses)


def crates(artefacts: Artefacts) -> str:
    """The command that was installed from the packages."""
    folder = artefacts.folder / "crates"
    examples.run_commands(folder, runner(needed(artefacts.installed, "--installed"), folder))
    return "the command of `cargo install`"


def wheel(artefacts: Artefacts) -> str:
    """The wheel in a new virtual environment: the commands `onnx` and `onnxkit`, and the package."""
    file = needed(artefacts.wheel, "--wheel")
    commands = virtual_environment(artefacts.folder / "wheel", "--no-index", "--no-deps", file)
    for name in ("onnx", "onnxkit"):
        folder = artefacts.folder / f"wheel-{name}"
        examples.run_commands(folder, runner(commands / name, folder))
    folder = artefacts.folder / "wheel-python"
    examples.run_python(folder, lambda words: run([commands / "python", *words], folder))
    installed = run([commands / "python", "-m", "pip", "list", "--format=json", "--disable-pip-version-check"], folder)
    names = {entry["name"] for entry in json.loads(installed)} - {"pip", "setuptools"}
    expect(names == {"onnxkit"}, f"{names} are installed")
    seconds = start_up([commands / "onnx", "--version"])
    artefacts.rows.append(Row("wheel", file.stat().st_size, WHEEL_BYTES, seconds, WHEEL_SECONDS))
    return "two commands and the package"


def npm(artefacts: Artefacts) -> str:
    """The archive that `npm pack` makes of the package, installed in an empty folder."""
    package = needed(artefacts.npm, "--npm")
    folder = artefacts.folder / "npm"
    folder.mkdir()
    packed = json.loads(run(["npm", "pack", "--json", "--ignore-scripts", package.resolve()], folder))[0]
    archive = folder / packed["filename"]
    run(["npm", "install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", archive], folder)
    installed = sorted(path.name for path in (folder / "node_modules").iterdir() if not path.name.startswith("."))
    expect(installed == ["onnxkit"], f"{installed} are installed")
    examples.run_node(package, folder, lambda words: run(["node", *words], folder))
    (folder / "start.mjs").write_text('import { open } from "onnxkit";\nawait open("m.onnxtxt", process.argv[2]);\n')
    model = "g (float[N] x) => (float[N] y) { y = Relu (x) }"
    artefacts.rows.append(Row("npm", archive.stat().st_size, None, start_up(["node", folder / "start.mjs", model]), None))
    return "five examples with node"


def git_driver(artefacts: Artefacts) -> str:
    """The command that sets up git's diff driver, as the page about installation has it."""
    page = (ROOT / "docs/install.md").read_text()
    lines = [line for line in page.splitlines() if line == "onnx diff --install-git"]
    expect(len(lines) == 1, "docs/install.md has one line for git")
    commands = artefacts.folder / "git-bin"
    commands.mkdir()
    (commands / "onnx").symlink_to(needed(artefacts.binary, "--binary").resolve())
    folder = artefacts.folder / "git"
    folder.mkdir()
    git(folder, "init", "--quiet")
    shutil.copy(ROOT / "tests/readme/classifier.onnx", folder / "model.onnx")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "model")
    variables = environment([commands], GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null")
    run(["sh", "-c", lines[0]], folder, variables)
    edit = ["onnx", "edit", "model.onnx", "--rename", "scores=probabilities", "--in-place", "-q"]
    run(edit, folder, variables)
    found = run(["git", "diff"], folder, variables)
    expect(found.startswith("onnx diff model.onnx\n") and "scores" in found and "probabilities" in found, found)
    git(folder, "commit", "--quiet", "--all", "--message", "rename")
    found = run(["git", "log", "--patch", "-1"], folder, variables)
    expect("\n+" in found and "probabilities" in found and "Binary files" not in found, found)
    return "`git diff` shows a renamed output"


def integrations(artefacts: Artefacts) -> str:
    """The hooks."""
    hooks.test(needed(artefacts.binary, "--binary"), artefacts.wheel, new(artefacts.folder / "hooks"))
    return "reported above"


def github(artefacts: Artefacts) -> str:
    """The action."""
    action.test(needed(artefacts.binary, "--binary"), artefacts.wheel, new(artefacts.folder / "action"))
    return "reported above"


CHANNELS = {
    "binary": binary,
    "image": image,
    "crates": crates,
    "wheel": wheel,
    "npm": npm,
    "git": git_driver,
    "hooks": integrations,
    "action": github,
}


class NotGiven(Exception):
    """An artefact that is not given."""


def needed(path: Path | None, option: str) -> Path:
    """The path of an artefact, if it is given."""
    if path is None:
        raise NotGiven(option)
    return path


def new(folder: Path) -> Path:
    """Makes a folder."""
    folder.mkdir()
    return folder


def main() -> int:
    """Tests the channels, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("binary", "installed", "wheel", "npm"):
        parser.add_argument(f"--{name}", type=lambda path: Path(path).resolve(strict=True))
    parser.add_argument("--limits", action="store_true")
    parser.add_argument("channels", nargs="*", choices=[*CHANNELS, []], metavar="CHANNEL")
    arguments = parser.parse_args()
    failed = []
    with tempfile.TemporaryDirectory() as temporary:
        artefacts = Artefacts(arguments.binary, arguments.installed, arguments.wheel, arguments.npm, Path(temporary).resolve())
        for name in arguments.channels or CHANNELS:
            try:
                print(f"{name}: ok: {CHANNELS[name](artefacts)}", flush=True)
            except NotGiven as option:
                print(f"{name}: not tested: {option} is not given", flush=True)
                failed += [name] if arguments.channels else []
            except Failed as problem:
                print(f"{name}: FAILED: {problem}", flush=True)
                failed.append(name)
        table = [["artefact", "size", "start-up"], *(row.cells() for row in artefacts.rows)]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        for row in table:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        failed += [row.name for row in artefacts.rows if arguments.limits and row.is_over()]
    print(f"failed: {', '.join(failed)}" if failed else "all channels that are given work")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
