"""Compares the verdict of `onnx check --target onnxruntime` with loading in onnxruntime, on models and mutants of them.

    loading.py COMMAND SEEDS [--count N] [--seed N] [--keep DIR] [--parts N] [--nest]

COMMAND is the program `onnx`, SEEDS a folder that is searched for `*.onnx`. Small models are mutated as they are, of larger
ones `--parts` random parts of a few nodes each; with `--nest`, each mutant is put into a branch of `If` or a body of `Loop` or `Scan`. With `--count 0`, the models themselves are compared, however large.

Each model is loaded with the default options on the CPU, in a child process; one that ends the child is not loaded. A model
counts as refused by the command if a finding is an error. Where only the command refuses, the model is also run once, so that
what onnxruntime checks at the first run is distinguished from what it accepts. Differences are grouped by rule, by mutation and
by message of onnxruntime; `--keep` is where their models are left. The mutations are in `loading_mutants.py`,
the forms of nesting in `loading_nested.py`.
"""

from __future__ import annotations

import argparse
import collections
import json
import random
import re
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx
from loading_mutants import MUTATIONS, NotPossible, graphs
from loading_nested import nested
from onnx import ModelProto, TensorProto, helper

HERE = Path(__file__).resolve().parent
# Bytes and nodes up to which a model is mutated as a whole.
SMALL, FEW = 200_000, 40
# Seconds that loading or running a model may take.
PATIENCE = 20


# --- seeds ------------------------------------------------------------------------------------------------------------


def part(state: random.Random, model: ModelProto) -> ModelProto:
    """A few neighbouring nodes as a separate model, with the types that inference finds; large initializers are inputs."""
    graph = model.graph
    start = state.randrange(len(graph.node))
    chosen = graph.node[start : start + state.randint(2, 8)]
    made = {name for node in chosen for name in node.output}
    used = [name for node in chosen for name in node.input if name and name not in made]
    for node in chosen:
        for attribute in node.attribute:
            for nested in graphs(attribute.g):
                used += [name for inner in nested.node for name in inner.input if name]
    types = {entry.name: entry for entry in [*graph.input, *graph.value_info, *graph.output]}
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    inputs, weights = [], []
    for name in dict.fromkeys(used):
        if name in tensors and tensors[name].ByteSize() < 10_000 and tensors[name].data_location != TensorProto.EXTERNAL:
            weights.append(tensors[name])
        elif name in tensors:
            inputs.append(helper.make_tensor_value_info(name, tensors[name].data_type, list(tensors[name].dims)))
        elif name in types:
            inputs.append(types[name])
    outputs = [types.get(name, onnx.ValueInfoProto(name=name)) for node in chosen for name in node.output if name]
    result = ModelProto(ir_version=model.ir_version, opset_import=model.opset_import, functions=model.functions)
    result.graph.name = "part"
    result.graph.node.extend(chosen)
    result.graph.input.extend(inputs)
    result.graph.initializer.extend(weights)
    result.graph.output.extend(outputs)
    return result


def seeds(folder: Path, parts: int, state: random.Random) -> Iterator[tuple[str, ModelProto]]:
    """The models that are mutated, with their names."""
    for path in sorted(path for path in folder.rglob("*.onnx") if path.is_file()):
        try:
            model = onnx.load(path, load_external_data=False)
        except Exception:  # Also files that are no models are among those of tests.
            continue
        if model.ByteSize() <= SMALL and len(model.graph.node) <= FEW:
            yield path.stem, model
        elif parts and model.graph.node:
            try:
                model = onnx.shape_inference.infer_shapes(model) if model.ByteSize() < 2**31 else model
            except Exception:
                pass
            for index in range(parts):
                yield f"{path.stem}-{index}", part(state, model)


def write_mutants(found: list[ModelProto], count: int, state: random.Random, folder: Path, nest: bool) -> list[Path]:
    """Mutants, the same number of each mutation as far as possible, in nested graphs if `nest` says so."""
    paths, missed = [], 0
    names = list(MUTATIONS)
    while len(paths) < count and missed < 50 * count:
        name = names[len(paths) % len(names)]
        if missed and missed % 2000 == 0:
            names.remove(name)
        model = ModelProto()
        model.CopyFrom(state.choice(found))
        before = model.SerializeToString()
        try:
            MUTATIONS[name](state, model)
            after = model.SerializeToString()
            form = ""
            if nest and after != before:
                form, model = nested(state, model)
        except (NotPossible, ValueError, TypeError, IndexError):
            missed += 1
            continue
        if after == before:
            missed += 1
            continue
        paths.append(folder / f"{len(paths):05}.{name}.{form}.onnx")
        paths[-1].write_bytes(model.SerializeToString())
    return paths


# --- verdicts ---------------------------------------------------------------------------------------------------------


class Loader:
    """A child process that loads models, and is started again where one ends it."""

    def __init__(self) -> None:
        self.child: subprocess.Popen[str] | None = None

    def ask(self, path: Path, run: bool = False) -> str:
        """The message of onnxruntime; empty if it loads, or runs, the model."""
        if self.child is None or self.child.poll() is not None:
            command = [sys.executable, str(HERE / "loading_child.py")]
            self.child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        assert self.child.stdin and self.child.stdout
        self.child.stdin.write(json.dumps([str(path), run]) + "\n")
        self.child.stdin.flush()
        ready, _, _ = select.select([self.child.stdout], [], [], PATIENCE)
        line = self.child.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        self.child.kill()
        return f"the process ended with {self.child.wait()}"


def our_verdicts(command: str, paths: list[Path]) -> dict[str, list[tuple[str, str, str]]]:
    """The errors in each file: code, message, place."""
    errors: dict[str, list[tuple[str, str, str]]] = {str(path): [] for path in paths}
    for start in range(0, len(paths), 1000):
        chosen = [str(path) for path in paths[start : start + 1000]]
        call = [command, "check", "--target", "onnxruntime", "--format", "json", "--max-findings", "0", *chosen]
        report = json.loads(subprocess.run(call, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False).stdout)
        for finding in report["findings"] + report["failures"]:
            if finding.get("severity", "error") == "error":
                name = finding.get("file") or chosen[finding["input"]]
                place = (finding.get("place") or {}).get("text", "")
                errors[name].append((finding.get("code") or "failure", finding["message"], place))
    return errors


def pattern(text: str) -> str:
    """A message without names and numbers, so that like ones are one."""
    text = re.sub(r"^\[ONNXRuntimeError\] : \d+ : ", "", text.replace("\n", " "))
    text = re.sub(r"Load model from \S+ failed:", "", text)
    text = re.sub(r"/\S+/onnxruntime/\S+:\d+ ", "", text)
    text = re.sub(r"`[^`]*`|\"[^\"]*\"|'[^']*'|\([^()]*\)|\{[^{}]*\}|\[[^\[\]]*\]", "…", text)
    return re.sub(r"-?\d+", "N", text)[:160]


def report(paths: list[Path], ours: dict[str, list[tuple[str, str, str]]], keep: Path | None) -> None:
    """Prints agreement and differences."""
    loader, groups = Loader(), collections.defaultdict(list)
    both, neither = 0, 0
    for path in paths:
        errors, message = ours[str(path)], loader.ask(path)
        if bool(errors) == bool(message):
            both, neither = both + (not errors), neither + bool(errors)
            continue
        if message:
            key, detail = ("accepted, not loaded", pattern(message)), message
        else:
            codes, at_run = "+".join(sorted({error[0] for error in errors})), loader.ask(path, run=True)
            outcome = {"": "runs", "not fed": "has inputs of types that numpy lacks"}.get(at_run, "fails at the first run")
            key = (f"refused, loaded, {outcome}", codes)
            detail = f"{errors[0][1]} | {errors[0][2]} | {at_run}"
        groups[key].append((path, detail))
        if keep:
            shutil.copy(path, keep)
    print(f"{len(paths)} models: both accept {both}, both refuse {neither}, {sum(map(len, groups.values()))} differences")
    for (kind, what), cases in sorted(groups.items(), key=lambda item: (item[0][0], -len(item[1]))):
        counts = collections.Counter(path.name.split(".")[1] for path, _ in cases)
        print(f"\n{len(cases)} {kind}: {what}\n    {', '.join(f'{name} {count}' for name, count in counts.most_common(8))}")
        for path, detail in cases[:4]:
            print(f"    {path.name}: {detail[:400]}".replace("\n", " "))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command")
    parser.add_argument("seeds", type=Path)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parts", type=int, default=4)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--nest", action="store_true")
    given = parser.parse_args()
    if given.keep:
        given.keep.mkdir(parents=True, exist_ok=True)
    if given.count == 0:
        paths = sorted(path for path in given.seeds.rglob("*.onnx") if path.is_file())
        report(paths, our_verdicts(given.command, paths), given.keep)
        return
    state = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        loader, good, all_seeds = Loader(), [], 0
        for name, model in seeds(given.seeds, given.parts, state):
            all_seeds += 1
            path = Path(folder) / f"{name}.onnx"
            path.write_bytes(model.SerializeToString())
            if not loader.ask(path):
                good.append(model)
            path.unlink()
        print(f"{len(good)} of {all_seeds} seeds are loaded")
        paths = write_mutants(good, given.count, state, Path(folder), given.nest)
        report(paths, our_verdicts(given.command, paths), given.keep)


if __name__ == "__main__":
    main()
