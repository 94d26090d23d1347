#!/usr/bin/env python3
"""Runs the steps of `action.yml` as a runner does, on a repository with a faulty model.

    action.py BINARY [WHEEL]

Expressions are evaluated as far as the action uses them; a step that uses another action is recorded and not run. The source
is not built. Needs PyYAML.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workspace import FAULTY, FINDINGS, ROOT, environment, expect, faulty_repository, git


@dataclass
class Result:
    """What a run of the action did."""

    status: int = 0
    log: str = ""
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    used: list[tuple[str, dict[str, str]]] = field(default_factory=list)


class Action:
    """An action, and the folders of a runner."""

    def __init__(self, folder: Path, repository: Path, path: list[Path]) -> None:
        import yaml

        self.action: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
        self.folder, self.repository, self.path = folder, repository, path

    def run(self, **inputs: str) -> Result:
        """Runs all steps until one fails."""
        declared = {name: str(entry["default"]) for name, entry in self.action["inputs"].items()}
        expect(inputs.keys() <= declared.keys(), f"{inputs.keys() - declared.keys()} are not inputs")
        result, path = Result(), list(self.path)
        values = {**declared, **inputs}

        def evaluate(text: str) -> str:
            return re.sub(r"\$\{\{ *(.*?) *\}\}", lambda found: self.value(found[1], values, result), text)

        for step in self.action["runs"]["steps"]:
            if evaluate(step.get("if", "${{ 'true' == 'true' }}")) != "true":
                continue
            if "uses" in step:
                result.used.append((step["uses"], {key: evaluate(value) for key, value in step["with"].items()}))
                continue
            variables = {key: evaluate(value) for key, value in step["env"].items()}
            result.status = self.script(step, variables, result, path)
            if result.status != 0:
                break
        return result

    def value(self, expression: str, inputs: dict[str, str], result: Result) -> str:
        """The value of an expression: a name, a string, or whether two are equal."""
        if " == " in expression:
            left, right = expression.split(" == ")
            return str(self.value(left, inputs, result) == self.value(right, inputs, result)).lower()
        if expression.startswith("'"):
            return expression.strip("'")
        match expression.split("."):
            case ["inputs", name]:
                return inputs[name]
            case ["steps", step, "outputs", name]:
                return result.outputs[step][name]
            case ["github", "action_path"]:
                return str(ROOT)
            case ["runner", "temp"]:
                return str(self.folder)
        raise ValueError(f"`{expression}` is not evaluated here")

    def script(self, step: dict[str, Any], variables: dict[str, str], result: Result, path: list[Path]) -> int:
        """Runs the script of a step in the way that its shell `bash` is run, and reads what it adds to files of commands."""
        expect(step["shell"] == "bash" and "${{" not in step["run"], f"the script of {step['id']} contains an expression")
        script, outputs, added = (self.folder / name for name in ("step.sh", "output", "path"))
        script.write_text(step["run"])
        for file in (outputs, added):
            file.write_text("")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", script],
            cwd=self.repository,
            env=environment(path, **variables, GITHUB_OUTPUT=str(outputs), GITHUB_PATH=str(added)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        result.log += done.stdout.decode(errors="replace")
        result.outputs[step["id"]] = dict(line.split("=", 1) for line in outputs.read_text().splitlines())
        path[:0] = [Path(line) for line in added.read_text().splitlines()]
        return done.returncode


def expect_findings(result: Result) -> None:
    """Annotations and the report name the file, the node and the fix of each finding."""
    report = json.loads(Path(result.outputs["check"]["sarif"]).read_text())
    found = report["runs"][0]["results"]
    for place, fix in FINDINGS:
        lines = [line for line in result.log.splitlines() if line.startswith(f"::error file={FAULTY},") and place in line]
        expect(any(f"help: {fix}" in line for line in lines), f"{place} is not annotated:\n{result.log}")
        results = [one for one in found if one["locations"][0]["logicalLocations"][0]["decoratedName"] == place]
        message = results[0]["message"]["text"] if len(results) == 1 else ""
        expect(place in message and fix in message, f"{place} is not in the report")
        region = results[0]["locations"][0]["physicalLocation"].get("region", {})
        expect(region == {}, f"{place} is in a line of a binary file")
        uri = results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        expect(uri == FAULTY, f"{uri} is not a path in the repository")


def test(binary: Path | None, wheel: Path | None, folder: Path) -> None:
    """Tests the action with the command on the path, if there is one, and with a wheel."""
    repository = faulty_repository(folder / "repository")
    if binary is not None:
        test_command(binary, repository, folder)
        print("action: findings are annotated and reported with file, node and fix; inputs are not code")
    if wheel is not None:
        result = Action(folder, repository, []).run(install="package", version=str(wheel.resolve()))
        expect(result.status == 1, result.log)
        expect_findings(result)
        expect((folder / "onnx-check/python/bin/onnx").exists(), "the package is elsewhere")
        print("action: findings are annotated and reported with the command of the package")


def test_command(binary: Path, repository: Path, folder: Path) -> None:
    """Tests the action with the command on the path, and with inputs that are hostile or wrong."""
    commands = folder / "bin"
    commands.mkdir()
    (commands / "onnx").symlink_to(binary.resolve())
    action = Action(folder, repository, [commands])

    result = action.run(install="none")
    expect(result.status == 1 and result.outputs["check"]["status"] == "1", result.log)
    expect_findings(result)
    upload = {"sarif_file": result.outputs["check"]["sarif"], "category": "onnx"}
    expect(result.used == [("github/codeql-action/upload-sarif@v4", upload)], f"{result.used}")

    result = action.run(install="none", fail="false", annotations="false", upload="false", arguments="--allow=ONNX2303")
    expect(result.status == 0 and "::error" not in result.log and result.used == [], result.log)
    expect("ONNX2303" not in Path(result.outputs["check"]["sarif"]).read_text(), "the argument is ignored")

    result = action.run(install="none", files="./models\n")
    expect(result.status == 1, result.log)
    expect_findings(result)

    result = action.run(install="none", files="models/classifier.onnx\nmodels/dense.onnxtxt\n")
    expect(result.status == 0 and result.outputs["check"]["status"] == "0", result.log)

    result = action.run(install="none", files="models/classifier.onnx\r\nmodels/dense.onnxtxt\r\n", arguments="--notes\r\n")
    expect(result.status == 0 and result.outputs["check"]["status"] == "0", result.log)

    # What a system does with a list of files that is too long.
    broken = folder / "broken"
    broken.mkdir()
    (broken / "onnx").write_text('#!/bin/sh\ntest "$1" = --version || exit 126\n')
    (broken / "onnx").chmod(0o755)
    result = Action(folder, repository, [broken]).run(install="none", fail="false")
    expect(result.status == 2 and result.used == [], f"an empty report is uploaded:\n{result.log}")
    expect("::error::onnx check ended with status 126 and wrote no report" in result.log, result.log)

    marker = folder / "marker"
    hostile = f"$(touch {marker}) `touch {marker}`; touch {marker}\n--version\n-o"
    result = action.run(install="none", files=hostile, arguments=f"--allow=x; touch {marker}", category="../a/b c")
    expect(result.status == 2 and not marker.exists(), f"inputs are code:\n{result.log}")
    expect(Path(result.outputs["check"]["sarif"]).parent == folder / "onnx-check", "the report is elsewhere")

    empty = folder / "empty"
    empty.mkdir()
    git(empty, "init", "--quiet")
    result = Action(folder, empty, [commands]).run(install="none")
    expect(result.status == 2 and "::error::no models" in result.log, result.log)

    result = action.run(install="other")
    expect(result.status == 2 and "::error::the input install is" in result.log, result.log)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as temporary:
        test(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) == 3 else None, Path(temporary).resolve())
