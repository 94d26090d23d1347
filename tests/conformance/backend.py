"""Writes the official backend tests of the reference with their data, for `cargo xtask conformance --suite backend`.

    backend.py FOLDER    makes FOLDER/<kind>/<test>/model.onnx and test_data_set_<N>/{input,output}_<M>.pb

The tests of the kind `node` are made by the reference; those that its package contains as files (`simple`,
`pytorch-converted`, `pytorch-operator`) are copied. The tests of the kinds `real` and `light` need downloads and are left out.
"""

import pathlib
import shutil
import sys

import onnx
from onnx import TensorProto, numpy_helper
from onnx.backend.test.case.model import collect_testcases as collect_models
from onnx.backend.test.case.node import collect_testcases as collect_nodes

COPIED = ["simple", "pytorch-converted", "pytorch-operator"]


def message(value, info):
    """The message of a value of the declared type."""
    kind = info.type.WhichOneof("value")
    if kind == "map_type":
        return numpy_helper.from_dict(value, info.name)
    if kind == "sequence_type":
        return numpy_helper.from_list(value, info.name)
    if kind == "optional_type":
        return numpy_helper.from_optional(value, info.name)
    if isinstance(value, TensorProto):
        return value
    return numpy_helper.from_array(value, info.name)


def write(case, folder):
    folder = folder / case.kind / case.name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(case.model.SerializeToString())
    for number, (inputs, outputs) in enumerate(case.data_sets):
        data = folder / f"test_data_set_{number}"
        data.mkdir(exist_ok=True)
        for what, values, infos in (
            ("input", inputs, case.model.graph.input),
            ("output", outputs, case.model.graph.output),
        ):
            for index, (value, info) in enumerate(zip(values, infos)):
                (data / f"{what}_{index}.pb").write_bytes(message(value, info).SerializeToString())


def main():
    folder = pathlib.Path(sys.argv[1])
    seen = set()
    for case in [*collect_nodes(None), *collect_models()]:
        if case.model is not None and case.data_sets and (case.kind, case.name) not in seen:
            seen.add((case.kind, case.name))
            write(case, folder)
    packaged = pathlib.Path(onnx.__file__).parent / "backend/test/data"
    for kind in COPIED:
        if (packaged / kind).is_dir():
            shutil.copytree(packaged / kind, folder / kind, dirs_exist_ok=True)


main()
