"""The first examples of the documents, and what they print."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from workspace import ROOT, expect

# Runs a command in the folder of the examples, where its status is one of these, and returns what it prints.
Runner = Callable[[list[str], tuple[int, ...]], str]


@dataclass
class Step:
    """A command of a document, and its output."""

    command: list[str]
    output: str


def fenced(path: Path, language: str) -> list[str]:
    """The blocks of a document in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(), re.M | re.S)


def steps() -> list[Step]:
    """The commands of the first session of the README up to the third of `onnx`."""
    found = []
    for part in re.split(r"^\$ ", fenced(ROOT / "README.md", "console")[0], flags=re.M)[1:]:
        command, output = part.split("\n", 1)
        found.append(Step(shlex.split(command), output))
        if sum(step.command[0] == "onnx" for step in found) == 3:
            return found
    raise ValueError("the README has no three commands")


def files(folder: Path) -> None:
    """Puts the files that the examples use into a folder, under the paths that they have in the repository."""
    (folder / "tests").mkdir(parents=True)
    shutil.copytree(ROOT / "tests/readme", folder / "tests/readme")


def run_commands(folder: Path, onnx: Runner) -> None:
    """Runs the first three commands of the README; each prints exactly what is there."""
    files(folder)
    for step in steps():
        match step.command:
            case ["cp", pattern, "."]:
                for file in folder.glob(pattern):
                    shutil.copy(file, folder)
            case ["onnx", *arguments]:
                # The first one reports an error.
                found = onnx(arguments, (0, 1))
                expect(found == step.output, f"`{shlex.join(step.command)}` prints\n{found}\ninstead of\n{step.output}")
            case _:
                raise ValueError(f"`{shlex.join(step.command)}` is not run here")


PYTHON = """
import doctest, pathlib, sys
program, session = (pathlib.Path(path).read_text() for path in sys.argv[1:])
exec(compile(program, "README.md", "exec"), {"__name__": "__main__"})
test = doctest.DocTestParser().get_doctest(session, {}, "python.md", None, 0)
result = doctest.DocTestRunner().run(test)
sys.exit(0 if result.attempted > 8 and result.failed == 0 else 1)
"""


def run_python(folder: Path, python: Callable[[list[str]], str]) -> None:
    """Runs the program of the README, and the first three sessions of the page about Python."""
    folder.mkdir()
    shutil.copy(ROOT / "tests/readme/classifier.onnx", folder / "model.onnx")
    (folder / "program.py").write_text(fenced(ROOT / "README.md", "python")[0])
    (folder / "session.txt").write_text("\n".join(fenced(ROOT / "docs/python.md", "python")[:3]))
    (folder / "run.py").write_text(PYTHON)
    python(["run.py", "program.py", "session.txt"])
    expect((folder / "small.onnx").exists(), "the program of the README writes no model")


def run_node(package: Path, folder: Path, node: Callable[[list[str]], str]) -> int:
    """Runs the examples of the README of the npm package, one after the other, and returns their number."""
    shutil.copy(ROOT / "tests/readme/faulty.onnx", folder / "model.onnx")
    examples = fenced(package / "README.md", "js")
    for number, example in enumerate(examples, 1):
        # A comment at the end of a line that prints is what it prints.
        expected = re.findall(r"console\.log\(.*\);? +// (.*)$", example, re.M)
        (folder / f"example{number}.mjs").write_text(example)
        found = node([f"example{number}.mjs"])
        expect(found.splitlines() == expected, f"example {number} prints\n{found}\ninstead of\n{expected}")
    expect(len(examples) == 5, f"the README of the npm package has {len(examples)} examples")
    return len(examples)


# The functions of Node that the examples import: its types are another package.
NODE_TYPES = """declare module "node:fs/promises" {
  export function readFile(path: string): Promise<Uint8Array<ArrayBuffer>>;
  export function writeFile(path: string, contents: Uint8Array): Promise<void>;
}
"""

# What the declarations of a package are resolved by: Node, and bundlers.
RESOLUTIONS = [["--module", "nodenext"], ["--module", "esnext", "--moduleResolution", "bundler"]]


def compile_typescript(package: Path, folder: Path, tsc: Callable[[list[str]], str]) -> int:
    """Compiles the examples of the README of the npm package, with its declarations checked, and returns their number."""
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "node.d.ts").write_text(NODE_TYPES)
    examples = fenced(package / "README.md", "js") + fenced(package / "README.md", "ts")
    # The other form of `init` that the README describes, and a wrong type, which is only found if the types are.
    examples.append('import { init } from "onnxkit";\nimport bytes from "onnxkit/onnx.wasm";\nawait init({ bytes });\n')
    wrong = 'import { open } from "onnxkit";\n// @ts-expect-error\n'
    examples += [f'{wrong}await (await open("m.onnx", "")).search(1);\n', f'{wrong}await (await open("m.onnx", "")).older;\n']
    names = []
    for number, example in enumerate(examples, 1):
        names.append(f"typed{number}.ts")
        (folder / names[-1]).write_text(example)
    for resolution in RESOLUTIONS:
        tsc(["--ignoreConfig", "--noEmit", "--strict", "--skipLibCheck", "false", "--target", "es2022", "--lib", "es2022,dom", "--types", "", *resolution, "node.d.ts", *names])
    return len(examples)
