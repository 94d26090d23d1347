#!/usr/bin/env python3
"""Runs the hooks of `.pre-commit-hooks.yaml` on a repository with a faulty model, as `pre-commit` does for users.

    hooks.py BINARY [WHEEL]

The hooks with `-system` come from this repository as it is, with the binary on the path. The others build the package, which
takes minutes: with a wheel, they come from a repository that has the same hooks and a package that depends on the wheel.
Needs the package `pre-commit`.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from pathlib import Path

from workspace import FAULTY, FINDINGS, ROOT, environment, expect, faulty_repository, git, run

HOOKS = ".pre-commit-hooks.yaml"
PRE_COMMIT = [sys.executable, "-m", "pre_commit"]


def repository_of_hooks(folder: Path) -> Path:
    """A repository with the hooks of the working tree. `try-repo` of this one would take those of the last commit."""
    folder.mkdir()
    shutil.copy(ROOT / HOOKS, folder)
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "hooks")
    return folder


def with_package(hooks: Path, wheel: Path) -> Path:
    """Adds a package that depends on the wheel, in place of the one that is built from source."""
    (hooks / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
        f'[project]\nname = "onnxkit-hooks"\nversion = "0"\ndependencies = ["onnxkit @ {wheel.resolve().as_uri()}"]\n'
        "[tool.setuptools]\npy-modules = []\n"
    )
    git(hooks, "add", ".")
    git(hooks, "commit", "--quiet", "--message", "package")
    return hooks


def check(hooks: Path, suffix: str, folder: Path, variables: dict[str, str]) -> None:
    """Runs both hooks on all files of a repository, and compares what they print and change."""
    repository = faulty_repository(folder)
    found = run([*PRE_COMMIT, "try-repo", hooks, f"onnx-check{suffix}", "--all-files"], repository, variables, [1])
    for place, fix in FINDINGS:
        expect(f"--> {FAULTY}: {place} (byte" in found and f"= help: {fix}" in found, f"{place} is not reported:\n{found}")
    counts = re.findall(r"^23 models: 22 without errors, 1 with errors", found, re.M)
    expect(len(counts) == 1, f"all models are checked, by one process:\n{found}")

    text = repository / "models/dense.onnxtxt"
    before = text.read_text()
    found = run([*PRE_COMMIT, "try-repo", hooks, f"onnx-fmt{suffix}", "--all-files"], repository, variables, [1])
    expect("files were modified by this hook" in found, found)
    expect(text.read_text() != before and git(repository, "diff", "--name-only") == "models/dense.onnxtxt\n", found)
    found = run([*PRE_COMMIT, "try-repo", hooks, f"onnx-fmt{suffix}", "--all-files"], repository, variables)
    expect("Passed" in found, found)
    git(repository, "rm", "--quiet", FAULTY)
    for name in ("-q.onnxtxt", "--help.onnxtxt"):
        shutil.copy(text, repository / name)
    git(repository, "add", ".")
    found = run([*PRE_COMMIT, "try-repo", hooks, f"onnx-fmt{suffix}", "--all-files"], repository, variables)
    expect("Passed" in found, f"names of files are options:\n{found}")
    found = run([*PRE_COMMIT, "try-repo", hooks, f"onnx-check{suffix}", "--all-files"], repository, variables)
    expect("Passed" in found, found)


def test(binary: Path | None, wheel: Path | None, folder: Path) -> None:
    """Tests the hooks of the command that is installed, if there is one, and with a wheel those that install it."""
    run([*PRE_COMMIT, "validate-manifest", ROOT / HOOKS], folder)
    hooks = repository_of_hooks(folder / "hooks")
    if binary is not None:
        commands = folder / "bin"
        commands.mkdir()
        (commands / "onnx").symlink_to(binary.resolve())
        variables = environment([commands], PRE_COMMIT_HOME=str(folder / "cache"))
        check(hooks, "-system", folder / "system", variables)
        print("hooks: onnx-check-system and onnx-fmt-system report file, node and fix, and format")
    if wheel is not None:
        variables = environment(PRE_COMMIT_HOME=str(folder / "cache"))
        check(with_package(hooks, wheel), "", folder / "python", variables)
        print("hooks: onnx-check and onnx-fmt do the same with the package")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as temporary:
        test(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) == 3 else None, Path(temporary))
