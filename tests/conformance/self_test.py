"""Chooses the recorded results that `onnx self-test` compares with, and writes them as one archive.

    self_test.py CORPUS OUT

CORPUS is the folder with `dev-backend.tar.zst` (official tests of operators with their data) and `dev-cases.tar.zst` (answers of
the checker, inference and the parser of the reference); the probes of simplifiers are in this folder. The smallest case of each
operator or mutation is taken, unless `deviations` lists it: that list says which side is right, and a user cannot decide it.
OUT has `index.json` and `data`, which is all files one after the other, each once. Needs the program `zstd`.
"""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import onnx

HERE = Path(__file__).resolve().parent
RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}
# The command is built without the libraries that this operator needs.
LEFT_OUT = RANDOM | {"ImageDecoder"}
# The most bytes of a case: larger ones take space and show nothing more.
MOST = 20_000


class Samples:
    """The chosen cases and their files, each of which is stored once."""

    def __init__(self) -> None:
        self.cases: list[dict[str, Any]] = []
        self.blobs: dict[bytes, int] = {}

    def blob(self, content: bytes) -> int:
        """The number of a file."""
        return self.blobs.setdefault(content, len(self.blobs))

    def write(self, path: Path) -> None:
        """Writes the archive, with the same bytes for the same cases."""
        self.cases.sort(key=lambda case: (case["area"], case["name"]))
        index = {"reference": f"onnx {onnx.__version__}", "lengths": [len(blob) for blob in self.blobs], "cases": self.cases}
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in (("index.json", json.dumps(index, separators=(",", ":")).encode()), ("data", b"".join(self.blobs))):
                entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
                archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)


def unpacked(path: Path) -> dict[str, bytes]:
    """The files of a compressed archive."""
    done = subprocess.run(["zstd", "-dc", path], stdout=subprocess.PIPE, check=True)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        return {entry.name: archive.extractfile(entry).read() for entry in archive if entry.isfile()}  # type: ignore[union-attr]


def deviating(*names: str) -> set[str]:
    """The cases that the lists of deviations name."""
    lines = (line for name in names for line in (HERE / f"deviations/{name}.txt").read_text().splitlines())
    return {line.split()[0].rsplit("/", 1)[-1] for line in lines if line and not line.startswith("#")}


def smallest(cases: Iterable[tuple[Any, int, Any]]) -> list[Any]:
    """The smallest case of each group; of equal ones, the first."""
    best: dict[Any, tuple[int, Any]] = {}
    for group, size, case in cases:
        if size <= MOST and (group not in best or size < best[group][0]):
            best[group] = (size, case)
    return [case for _, (_, case) in sorted(best.items(), key=lambda entry: str(entry[0]))]


def runs(files: dict[str, bytes]) -> dict[str, dict[str, bytes]]:
    """The files of each test with one set of data, by their names in the test."""
    tests: dict[str, dict[str, bytes]] = {}
    several = set()
    for path, content in files.items():
        found = re.fullmatch(r"(?:\./)?(?:backend/)?(.+?)(?:/test_data_set_(\d+))?/([^/]+)", path)
        if found is not None:
            tests.setdefault(found[1], {})[found[3]] = content
            if found[2] not in (None, "0"):
                several.add(found[1])
    return {test: found for test, found in tests.items() if "model.onnx" in found and test not in several}


def operator(model: onnx.ModelProto) -> tuple[str, str]:
    """The operator that a test is about: that of the first node that is not a constant."""
    node = next((node for node in model.graph.node if node.op_type != "Constant"), model.graph.node[0])
    return node.domain, node.op_type


def values(found: dict[str, bytes], kind: str, count: int) -> list[bytes | None]:
    """The recorded inputs or outputs by index."""
    return [found.get(f"{kind}_{index}.pb") for index in range(count)]


def add_run(samples: Samples, area: str, name: str, found: dict[str, bytes]) -> None:
    """Adds a model with inputs and outputs."""
    model = onnx.load_from_string(found["model.onnx"])
    blobs = {
        kind: [None if value is None else samples.blob(value) for value in values(found, kind[:-1], len(ports))]
        for kind, ports in (("inputs", model.graph.input), ("outputs", model.graph.output))
    }
    samples.cases.append({"area": area, "name": name, "model": samples.blob(found["model.onnx"]), **blobs})


def add_evaluator(samples: Samples, corpus: Path) -> None:
    """The smallest official test of each operator."""
    known = deviating("backend", "eval")

    def tests() -> Iterable[tuple[Any, int, Any]]:
        for name, found in sorted(runs(unpacked(corpus / "dev-backend.tar.zst")).items()):
            model = onnx.load_from_string(found["model.onnx"])
            is_left_out = any(node.op_type in LEFT_OUT for node in model.graph.node)
            is_complete = all(f"output_{index}.pb" in found for index in range(len(model.graph.output)))
            if model.graph.node and is_complete and not is_left_out and name.split("/")[-1] not in known and "_expanded" not in name:
                yield operator(model), sum(map(len, found.values())), (name, found)

    for name, found in smallest(tests()):
        add_run(samples, "evaluator", name, found)


def add_simplifier(samples: Samples) -> None:
    """Models that a simplifier gets wrong, with what onnxruntime computes."""
    files = unpacked(HERE / "simplifier-probes.tar.zst")
    manifest = next(content for path, content in files.items() if path.endswith("manifest.json"))
    is_random = {entry["name"]: entry["random"] for entry in json.loads(manifest)}
    for name, found in sorted(runs(files).items()):
        if not is_random.get(name, True) and sum(map(len, found.values())) <= MOST:
            add_run(samples, "simplifier", name, found)


def add_answers(samples: Samples, corpus: Path) -> None:
    """Answers of the checker, inference and the parser: of each operator, and of each kind of mutation."""
    files = unpacked(corpus / "dev-cases.tar.zst")
    manifest = next(content for path, content in files.items() if path.endswith("manifest.dev.jsonl"))
    blobs = {Path(path).stem: content for path, content in files.items() if path.endswith(".bin")}
    records = [json.loads(line) for line in manifest.splitlines()]
    known = deviating("check", "infer", "text")

    def chosen(call: str, suites: list[str]) -> list[dict[str, Any]]:
        def cases() -> Iterable[tuple[Any, int, Any]]:
            for record in records:
                if record["call"] == call and record["suite"] in suites and record["id"] not in known and len(record["inputs"]) == 1:
                    mutation = record.get("mutation", "").split("#")[-1]
                    if record["options"].get("strict_mode", True) and not record["options"].get("check_custom_domain", False):
                        size = sum(len(blobs[one["blob"]]) for one in record["inputs"] + record["outputs"])
                        yield (mutation or record["group"], record["outcome"]), size, record

        return smallest(cases())

    for area, call, suites in (
        ("checker", "checker.check_model", ["mutated", "cpp"]),
        ("inference", "shape_inference.infer_shapes", ["backend-stripped", "mutated-infer"]),
        ("parser", "parser.parse_model", ["backend-text", "mutated-text"]),
    ):
        for record in chosen(call, suites):
            flags = [name for name, is_set in sorted(record["options"].items()) if is_set is True]
            case = {"area": area, "name": record["id"], "model": samples.blob(blobs[record["inputs"][0]["blob"]]), "flags": flags}
            case["refused"] = record["outcome"] == "error"
            if record["outputs"]:
                case["result"] = samples.blob(blobs[record["outputs"][0]["blob"]])
            samples.cases.append(case)


def main() -> None:
    """Writes the archive, and tells what is in it."""
    corpus, out = map(Path, sys.argv[1:])
    samples = Samples()
    add_evaluator(samples, corpus)
    add_simplifier(samples)
    add_answers(samples, corpus)
    samples.write(out)
    areas = [case["area"] for case in samples.cases]
    print(*(f"{areas.count(area)} {area}" for area in sorted(set(areas))), f"{out.stat().st_size} bytes", sep=", ")


main()
