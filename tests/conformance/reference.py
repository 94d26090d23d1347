"""Asks the reference implementation, and writes down its answers as recorded cases.

Called by `cargo xtask conformance` with the Python environment that it sets up:

    reference.py verdicts FOLDER            what the checker says of the models in a folder, as JSON
    reference.py cases FOLDER [--limit N]   the official backend models, with what the reference makes of them

`cases` writes `manifest.generated.jsonl` and `blobs/` in the format that `--corpus` reads.
"""

import argparse
import contextlib
import hashlib
import json
import os
import pathlib
import sys
import tempfile

import onnx
from onnx import checker, parser, printer, shape_inference
from onnx.backend.test import loader
from onnx.backend.test.case.node import collect_testcases


def outcome(call):
    """Calls, and gives the result with None, or None with the exception."""
    try:
        return call(), None
    except Exception as error:  # Whatever is raised is the answer.
        return None, error


def verdicts(folder):
    names = sorted(path for path in pathlib.Path(folder).iterdir() if path.suffix == ".onnx")
    contents = {path.name: path.read_bytes() for path in names}
    answers = {"check_model": {}, "check_model_full": {}}
    # Nothing of what external data name is there.
    with tempfile.TemporaryDirectory() as empty:
        os.chdir(empty)
        for name, data in contents.items():
            for key, full in (("check_model", False), ("check_model_full", True)):
                _, error = outcome(lambda: checker.check_model(data, full_check=full))
                answers[key][name] = type(error).__name__ if error else None
        os.chdir("/")
    print(json.dumps({"reference": f"onnx {onnx.__version__}", **answers}, indent=1, sort_keys=True))


class Cases:
    """Recorded cases on their way to files."""

    def __init__(self, folder):
        self.blobs = pathlib.Path(folder) / "blobs"
        self.blobs.mkdir(parents=True, exist_ok=True)
        self.records = []

    def blob(self, name, kind, data):
        digest = hashlib.sha256(data).hexdigest()
        path = self.blobs / f"{digest}.bin"
        if not path.exists():
            path.write_bytes(data)
        return {"name": name, "kind": kind, "blob": digest}

    def add(self, test, call, inputs, options, error, outputs):
        identity = json.dumps([call, [entry["blob"] for entry in inputs], options], sort_keys=True)
        self.records.append(
            {
                "id": hashlib.sha256(identity.encode()).hexdigest()[:20],
                "suite": "backend",
                "test_id": test,
                "call": call,
                "inputs": inputs,
                "options": options,
                "outcome": "error" if error else "ok",
                "error_type": type(error).__name__ if error else None,
                "error_message": str(error) if error else None,
                "outputs": outputs,
            }
        )


def message(cases, model):
    return cases.blob("model", "ModelProto", model.SerializeToString(deterministic=True))


def backend_models():
    """The names and bytes of the official models; those of operators are made by their tests."""
    for test in collect_testcases(None):
        if test.model is not None:
            yield test.name, test.model.SerializeToString(deterministic=True)
    for kind in ("simple", "pytorch-converted", "pytorch-operator", "light"):
        for test in loader.load_model_tests(kind=kind):
            path = pathlib.Path(test.model_dir) / "model.onnx" if test.model_dir else None
            if path and path.exists():
                yield test.name, path.read_bytes()


def one_model(cases, test, data):
    given = [cases.blob("model", "ModelProto", data)]
    options = {"check_custom_domain": False, "full_check": True, "skip_opset_compatibility_check": False}
    _, error = outcome(lambda: checker.check_model(data, full_check=True))
    cases.add(test, "checker.check_model", given, options, error, [])
    for propagation in (False, True):
        options = {"strict_mode": True, "check_type": True, "data_prop": propagation}
        result, error = outcome(lambda: shape_inference.infer_shapes(data, **options))
        outputs = [] if error else [message(cases, result)]
        cases.add(test, "shape_inference.infer_shapes", given, options, error, outputs)
    text, error = outcome(lambda: printer.to_text(onnx.load_model_from_string(data)))
    if error:
        cases.add(test, "printer.to_text", given, {}, error, [])
        return
    printed = cases.blob("text", "text", text.encode())
    cases.add(test, "printer.to_text", given, {}, None, [printed])
    parsed, error = outcome(lambda: parser.parse_model(text))
    outputs = [] if error else [message(cases, parsed)]
    cases.add(test, "parser.parse_model", [printed], {}, error, outputs)


def generate(folder, limit):
    folder = pathlib.Path(folder).resolve()
    cases = Cases(folder)
    print("making the official models", file=sys.stderr, flush=True)
    with contextlib.redirect_stdout(sys.stderr):
        models = dict(backend_models())
    names = sorted(models)[: limit or None]
    with tempfile.TemporaryDirectory() as empty:
        os.chdir(empty)
        for index, name in enumerate(names):
            one_model(cases, name, models[name])
            if index % 100 == 0 or index + 1 == len(names):
                print(f"\r{index + 1} of {len(names)} models", end="", file=sys.stderr, flush=True)
        os.chdir("/")
    print(file=sys.stderr)
    text = "".join(json.dumps(record, sort_keys=True) + "\n" for record in cases.records)
    # The manifest comes last and whole, so that it is there only when everything is.
    unfinished = folder / "manifest.unfinished"
    unfinished.write_text(text)
    unfinished.replace(folder / "manifest.generated.jsonl")


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("what", choices=["verdicts", "cases"])
    arguments.add_argument("folder")
    arguments.add_argument("--limit", type=int, default=0)
    given = arguments.parse_args()
    if given.what == "verdicts":
        verdicts(given.folder)
    else:
        generate(given.folder, given.limit)


main()
