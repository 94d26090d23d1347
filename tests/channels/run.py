#!/usr/bin/env python3
"""Installs each artefact as a user does, in an empty environment, and runs the first three examples of the documents with it.

    run.py [--binary FILE] [--archive FILE] [--installed FILE] [--wheel FILE] [--npm FOLDER] [--limits] [CHANNEL...]

Channels: `binary` (in a root without other files), `archive` (installed as its page says), `image` (the files of the last stage of
the Dockerfile), `crates` (the command that `cargo install` has installed from the packages, as `cargo xtask package` does),
`wheel`, `npm`, `git` (the diff driver), `hooks` (of pre-commit) and `action` (of GitHub), both with the binary and with the wheel;
without names, all whose artefact is given. The table at the end has the size and the start-up time of each artefact; with
`--limits`, which is for the artefacts of a release, values that are over their limit fail, and so does a binary that needs a library.

The last two channels need the package `pre-commit`, and an index of packages.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from email.message import Message
from email.parser import BytesParser
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

        size = cell(self.bytes / 1e6, self.most_bytes / 1e6 if self.most_bytes else None, "MB", 2)
        return [self.name, size, cell(self.seconds * 1e3, self.most_seconds * 1e3 if self.most_seconds else None, "ms", 1)]

    def is_over(self) -> bool:
        """Whether a value is over its limit."""
        values = [(self.bytes, self.most_bytes), (self.seconds, self.most_seconds)]
        return any(most is not None and value > most for value, most in values)


@dataclass
class Artefacts:
    """What is tested, and where."""

    binary: Path | None
    archive: Path | None
    installed: Path | None
    wheel: Path | None
    npm: Path | None
    folder: Path
    are_released: bool
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
    tested = self_test(roots.enter(root, "/models", ["/bin/onnx", "self-test"]))
    artefacts.rows.append(Row("binary", file.stat().st_size, BINARY_BYTES, start_up([file, "--version"]), BINARY_SECONDS))
    linked = roots.libraries(file)
    expect(not (artefacts.are_released and linked), f"the command of a release is static, and this one needs {linked}")
    return f"in a root with {f'{len(linked)} libraries' if linked else 'nothing else'}; {tested}"


def self_test(found: str) -> str:
    """The last line of `onnx self-test`, if all cases are as recorded."""
    last = found.splitlines()[-1]
    expect(re.fullmatch(r"all [0-9,]+ cases are as recorded", last) is not None, found)
    return last


def licenses(found: str, committed: str) -> int:
    """The number of crates in the licences of an artefact, which are those of the repository."""
    expect(found == (ROOT / committed).read_text(), f"the licences are not those of {committed}")
    crates = re.search(r"\nCrates\n\n(.*?)\n\n", found, re.S)
    return len(re.findall(r"^\S+ \d", crates[1], re.M)) if crates else 0


def archive(artefacts: Artefacts) -> str:
    """The archive of the command, verified and installed with the lines of its page."""
    file = needed(artefacts.archive, "--archive")
    home = new(artefacts.folder / "home")
    with tarfile.open(file) as content:
        content.extractall(artefacts.folder / "archive", filter="data")
    (folder,) = (artefacts.folder / "archive").iterdir()
    verify, test, install, remove = examples.fenced(folder / "README.md", "sh")
    variables = environment([home / ".local/bin"], HOME=str(home))
    if (file.parent / "SHA256SUMS").exists():
        run(["sh", "-ec", verify.splitlines()[0]], file.parent, variables)
    tested = self_test(run(["sh", "-ec", test], folder, variables))
    run(["sh", "-ec", install], folder, variables)
    expect(run(["onnx", "--version"], home, variables).startswith("onnx "), "the command is not installed")
    expect((home / ".local/share/man/man1/onnx-check.1").exists(), "the manual pages are not installed")
    for script in (".local/share/bash-completion/completions/onnx", ".local/share/zsh/site-functions/_onnx", ".config/fish/completions/onnx.fish"):
        expect((home / script).exists(), f"{script} is not installed")
    links = re.findall(r"\]\(([^)]*)\)", (folder / "CHANGELOG.md").read_text())
    expect(all(link.startswith("https://") for link in links), f"files that are not in the archive: {links}")
    other = environment([home / ".local/bin"], HOME=str(new(artefacts.folder / "other-home")))
    for lines in examples.fenced(ROOT / "docs/install.md", "sh"):
        if re.search("^onnx (completions|man) ", lines, re.M):
            run(["sh", "-ec", lines], home, other)
    run(["sh", "-ec", remove], home, variables)
    left = [str(path) for path in home.rglob("*") if path.is_file()]
    expect(not left, f"the lines that remove the command leave {left}")
    listed = set(re.findall(r"^\| (.*?) \|", (folder / "README.md").read_text(), re.M))
    names = {name for cell in listed for name in re.findall(r"`([^`]+)`", cell)}
    found = {path.relative_to(folder).parts[0] for path in folder.rglob("*") if path.is_file()} - {"README.md"}
    expect({name.split("/")[0] for name in names} == found, f"the page lists {sorted(names)}, and the archive has {sorted(found)}")
    count = licenses((folder / "THIRD-PARTY-LICENSES").read_text(), "THIRD-PARTY-LICENSES")
    return f"installed by the lines of its page; licences of {count} crates; {tested}"


def image(artefacts: Artefacts) -> str:
    """The files of the image, as its user runs them; the models belong to that user, as with `--user`."""
    if not roots.can_enter():
        return "not tested: the system does not let its users change the root"
    root = artefacts.folder / "image"
    stage = roots.image(needed(artefacts.binary, "--binary"), root)
    licenses((root / "licenses/THIRD-PARTY-LICENSES").read_text(), "THIRD-PARTY-LICENSES")
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


def metadata(file: Path) -> int:
    """What the index shows of a wheel: its links work from there. Returns the number of crates whose licences it has."""
    with zipfile.ZipFile(file) as content:
        (folder,) = {name.split("/")[0] for name in content.namelist() if ".dist-info/" in name}
        found: Message = BytesParser().parsebytes(content.read(f"{folder}/METADATA"))
        third = content.read(f"{folder}/licenses/python/THIRD-PARTY-LICENSES").decode()
    labels = {link.split(",")[0] for link in found.get_all("Project-URL", [])}
    expect(labels == {"Homepage", "Documentation", "Changelog", "Issues"}, f"the links are {sorted(labels)}")
    free_threading = [line for line in found.get_all("Classifier", []) if "Free Threading" in line]
    expect("abi3" not in file.name or not free_threading, "free-threaded builds of Python do not load a wheel for `abi3`")
    expect(found["Description-Content-Type"].startswith("text/markdown"), "the description is not Markdown")
    description = str(found.get_payload())
    relative = [link for link in re.findall(r"\]\(([^)]*)\)", description) if not link.startswith("https://")]
    expect("import onnxkit" in description and not relative, f"links of the description: {relative}")
    return licenses(third, "python/THIRD-PARTY-LICENSES")


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
    tested = self_test(run([commands / "onnx", "self-test"], artefacts.folder))
    return f"two commands and the package; licences of {metadata(file)} crates; {tested}"


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
    count = licenses((folder / "node_modules/onnxkit/THIRD-PARTY-LICENSES").read_text(), "web/npm/THIRD-PARTY-LICENSES")
    examples.run_node(package, folder, lambda words: run(["node", *words], folder))
    compiler = ROOT / "web/node_modules/.bin/tsc"
    expect(compiler.exists(), "the compiler of TypeScript is missing: run `npm ci` in web")
    typed = examples.compile_typescript(package, folder, lambda words: run([compiler, *words], folder))
    (folder / "start.mjs").write_text('import { open } from "onnxkit";\nawait open("m.onnxtxt", process.argv[2]);\n')
    model = "g (float[N] x) => (float[N] y) { y = Relu (x) }"
    artefacts.rows.append(Row("npm", archive.stat().st_size, None, start_up(["node", folder / "start.mjs", model]), None))
    return f"five examples with node, {typed} programs with the compiler of TypeScript; licences of {count} crates"


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


def command_or_package(artefacts: Artefacts) -> tuple[Path | None, Path | None]:
    """The binary and the wheel, of which one must be given."""
    if artefacts.wheel is None:
        needed(artefacts.binary, "--binary or --wheel")
    return artefacts.binary, artefacts.wheel


def integrations(artefacts: Artefacts) -> str:
    """The hooks."""
    hooks.test(*command_or_package(artefacts), new(artefacts.folder / "hooks"))
    return "reported above"


def github(artefacts: Artefacts) -> str:
    """The action."""
    action.test(*command_or_package(artefacts), new(artefacts.folder / "action"))
    return "reported above"


CHANNELS = {
    "binary": binary,
    "archive": archive,
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
    for name in ("binary", "archive", "installed", "wheel", "npm"):
        parser.add_argument(f"--{name}", type=lambda path: Path(path).resolve(strict=True))
    parser.add_argument("--limits", action="store_true")
    parser.add_argument("channels", nargs="*", choices=[*CHANNELS, []], metavar="CHANNEL")
    arguments = parser.parse_args()
    failed = []
    with tempfile.TemporaryDirectory() as temporary:
        artefacts = Artefacts(arguments.binary, arguments.archive, arguments.installed, arguments.wheel, arguments.npm, Path(temporary).resolve(), arguments.limits)
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
