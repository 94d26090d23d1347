"""Asks the reference implementation, and writes down its answers as recorded cases.

Called by `cargo xtask conformance` with the Python environment that it sets up:

    reference.py verdicts FOLDER            what the checker says of the models in a folder, as JSON
    reference.py cases FOLDER [--limit N]   the official backend models, with what the reference makes of them
    reference.py inference FOLDER ARCHIVE   the smallest recorded cases of inference, one for each operator and each fault,
                                            as the archive that is committed; needs the program `zstd`

`cases` writes `manifest.generated.jsonl` and `blobs/` in the format that `--corpus` reads.
"""

import argparse
import contextlib
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
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


def features(record, folder):
    """What a recorded case of inference is good for: its operators, or the operator at fault, for each kind of call."""
    call = record["call"]
    if record["outcome"] != "ok":
        at = (record["error_message"] or "").find("op_type:")
        fault = (record["error_message"] or "")[at:].split(",")[0].split(")")[0] if at >= 0 else "model"
        return {(call, "fault", fault)}
    if call != "shape_inference.infer_shapes":
        return {(call, entry["name"]) for entry in record["inputs"][:1]}
    data = (folder / "blobs" / f"{record['inputs'][0]['blob']}.bin").read_bytes()
    model = onnx.load_model_from_string(data)
    return {(call, node.domain, node.op_type) for node in model.graph.node}


def inference(folder, archive):
    folder = pathlib.Path(folder).resolve()
    deviations = pathlib.Path(__file__).parent / "deviations" / "infer.txt"
    known = {line.split(" ")[0].split("/")[-1] for line in deviations.read_text().splitlines() if line[:1] != "#"}
    size = lambda entry: (folder / "blobs" / f"{entry['blob']}.bin").stat().st_size
    records = []
    for manifest in sorted(folder.glob("manifest*.jsonl")):
        for record in map(json.loads, manifest.read_text().splitlines()):
            options = record["options"]
            plain = options.get("data_prop", True) and options.get("strict_mode", True)
            if record["call"].startswith("shape_inference.") and plain and record["id"] not in known:
                cost = sum(map(size, record["inputs"] + record["outputs"]))
                if cost < 10_000:
                    records.append((cost, record["id"], record))
    covered, chosen = set(), {}
    for _, identity, record in sorted(records, key=lambda entry: entry[:2]):
        new = features(record, folder) - covered
        if new:
            covered |= new
            chosen[identity] = record
    text = "".join(json.dumps(chosen[key], sort_keys=True) + "\n" for key in sorted(chosen))
    files = {"manifest.inference.jsonl": text.encode()}
    for record in chosen.values():
        for entry in record["inputs"] + record["outputs"]:
            name = f"blobs/{entry['blob']}.bin"
            files[name] = (folder / name).read_bytes()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        # The manifest comes first; nothing says when or by whom the files were made.
        for name in sorted(files, key=lambda name: (name != "manifest.inference.jsonl", name)):
            info = tarfile.TarInfo(name)
            info.size = len(files[name])
            tar.addfile(info, io.BytesIO(files[name]))
    command = ["zstd", "-q", "-19", "-f", "-o", str(archive)]
    subprocess.run(command, input=packed.getvalue(), check=True)
    print(f"{len(chosen)} cases, {len(files)} files, {os.path.getsize(archive)} bytes", file=sys.stderr)


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("what", choices=["verdicts", "cases", "inference"])
    arguments.add_argument("folder")
    arguments.add_argument("archive", nargs="?")
    arguments.add_argument("--limit", type=int, default=0)
    given = arguments.parse_args()
    if given.what == "verdicts":
        verdicts(given.folder)
    elif given.what == "inference":
        inference(given.folder, given.archive)
    else:
        generate(given.folder, given.limit)


main()
