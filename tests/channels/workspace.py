"""What the tests of the channels share: processes with a clean environment, and a repository with a faulty model."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# The messages of the one faulty model: its file, its nodes, and the fix of each.
FAULTY = "models/faulty.onnx"
FINDINGS = [
    ('graph "classifier" / node #0 MatMul "project"', "add input 1, `B`"),
    ('graph "classifier" / node #1 Rellu "activate"', "did you mean `Relu`, which exists since version 1?"),
    ('graph "classifier" / node #2 Concat "join"', "add it, with a value of kind INT"),
]


class Failed(Exception):
    """A channel that does not do what its documents say."""


def expect(holds: bool, message: str) -> None:
    """Fails unless the condition holds. `assert` is not used, since it is off with `python -O`."""
    if not holds:
        raise Failed(message)


def environment(path: Sequence[Path | str] = (), **more: str) -> dict[str, str]:
    """The variables of a user without configuration: folders of commands, in front of those of the system, and a home."""
    kept = ("PATH", "HOME", "LANG", "TMPDIR", "SSL_CERT_FILE")
    names = [name for name in os.environ if name in kept or name.startswith(("PIP_", "npm_config_", "CARGO_", "RUSTUP_"))]
    found = {name: os.environ[name] for name in names if name in os.environ}
    found["PATH"] = os.pathsep.join([*map(str, path), found.get("PATH", os.defpath)])
    return {**found, "NO_COLOR": "1", **more}


def run(
    command: Sequence[Path | str], folder: Path, variables: Mapping[str, str] | None = None, statuses: Sequence[int] = (0,)
) -> str:
    """Runs a command, and returns what it writes to both streams."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=dict(variables) if variables is not None else environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    text = done.stdout.decode(errors="replace")
    words = " ".join(map(str, command))
    expect(done.returncode in statuses, f"`{words}` ended with status {done.returncode}:\n{text}")
    return text


def virtual_environment(folder: Path, *packages: str | Path) -> Path:
    """Makes a virtual environment with these packages, and returns its folder of commands."""
    run([sys.executable, "-m", "venv", folder], folder.parent)
    if packages:
        run([folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages], folder.parent)
    return folder / "bin"


def git(folder: Path, *arguments: str) -> str:
    """Runs git with a name of an author, and without the configuration of the user."""
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    return run(["git", *identity, *arguments], folder, environment(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_SYSTEM=os.devnull))


def faulty_repository(folder: Path) -> Path:
    """Makes a repository with valid models, a faulty one, a text that is not formatted, and a file that is not a model."""
    models = folder / "models"
    models.mkdir(parents=True)
    # So many that several processes would share them.
    for name in ("classifier", *map(str, range(20))):
        shutil.copy(ROOT / "tests/readme/classifier.onnx", models / f"{name}.onnx")
    shutil.copy(ROOT / "tests/readme/faulty.onnx", models)
    text = '<ir_version: 10, opset_import: ["": 21]>\ng (float[N] x) => (float[N] y) {y = Relu (x)}\n'
    (models / "dense.onnxtxt").write_text(text)
    (folder / "notes.txt").write_text("not a model\n")
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "models")
    return folder
