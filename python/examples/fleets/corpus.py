"""Makes a folder of 2,000 files, 100 of which are poisoned: what a fleet of models meets sooner or later.

`python corpus.py FOLDER [MODELS]` makes it; models of the second folder are part of it, under links.
"""

from __future__ import annotations

import os
import pathlib
import random
import sys

import onnxkit as ox

FILES = 2000
OPERATORS = ("Abs", "Ceil", "Erf", "Exp", "Floor", "Neg", "Relu", "Sigmoid", "Sin", "Sqrt", "Tanh")
BINARY = ("Add", "Div", "Max", "Min", "Mul", "Sub")


def small_model(seed: int) -> bytes:
    """A valid model of 3 to 60 nodes with some weights."""
    choose = random.Random(seed)
    sizes = choose.choice(("N,8", "2,3,8", "B,T,8"))
    values, lines = ["x"], []
    weights = [f"float[8] w{i} = {{{', '.join(str(choose.randrange(1, 9)) for _ in range(8))}}}" for i in range(choose.randrange(1, 5))]
    for index in range(choose.randrange(3, 60)):
        operand = choose.choice(values[-4:])
        if choose.randrange(3):
            lines.append(f"v{index} = {choose.choice(OPERATORS)} ({operand})")
        else:
            other = choose.choice([*values[-4:], *(f"w{i}" for i in range(len(weights)))])
            lines.append(f"v{index} = {choose.choice(BINARY)} ({operand}, {other})")
        values.append(f"v{index}")
    lines.append(f"y = Identity ({values[-1]})")
    body = "\n".join(lines)
    return bytes(ox.parse(f"g (float[{sizes}] x) => (float[{sizes}] y) < {', '.join(weights)} > {{\n{body}\n}}"))


def number(value: int) -> bytes:
    """An integer as protobuf encodes it."""
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes(encoded) + bytes([value])


def field(key: int, content: bytes | int) -> bytes:
    """A field of a message: a number, or bytes."""
    if isinstance(content, int):
        return number(key << 3) + number(content)
    return number(key << 3 | 2) + number(len(content)) + content


def deep(depth: int) -> bytes:
    """Graphs in attributes of nodes of graphs, which end a reader that calls itself for each."""
    heads: list[bytes] = []
    length = 0
    for key in (6, 5, 1) * depth:
        heads.append(number(key << 3 | 2) + number(length))
        length += len(heads[-1])
    return field(1, 10) + field(7, b"".join(reversed(heads)))


def bomb(nodes: int) -> bytes:
    """Two bytes for each node, which takes some hundred bytes of memory."""
    return field(1, 10) + field(8, field(2, 21)) + field(7, field(1, b"") * nodes)


def large(path: str | os.PathLike[str], size: int, tensors: int = 4) -> None:
    """A model of `size` bytes of weights that are a hole of the file."""
    rows, each = size // tensors // 4096, size // tensors
    ends = [field(1, field(1, 1) + field(2, field(1, field(1, n)) + field(1, field(1, m)))) for n, m in ((1, rows), (1, 1024))]
    graph = b"".join(field(1, field(1, b"x") + field(1, b"w%d" % i) + field(2, b"y%d" % i) + field(4, b"MatMul")) for i in range(tensors))
    graph += field(2, b"g") + field(11, field(1, b"x") + field(2, ends[0]))
    graph += b"".join(field(12, field(1, b"y%d" % i) + field(2, ends[1])) for i in range(tensors))
    heads = []
    for i in range(tensors):
        tensor = field(1, rows) + field(1, 1024) + field(2, 1) + field(8, b"w%d" % i) + number(9 << 3 | 2) + number(each)
        heads.append(number(5 << 3 | 2) + number(len(tensor) + each) + tensor)
    length = len(graph) + sum(map(len, heads)) + each * tensors
    with open(path, "wb") as file:
        file.write(field(1, 10) + field(8, field(2, 21)) + number(7 << 3 | 2) + number(length) + graph)
        for head in heads:
            file.write(head)
            file.seek(each, os.SEEK_CUR)
        file.truncate(file.tell())


def nested_text(depth: int) -> bytes:
    """Graphs in graphs in the text format."""
    return b'<ir_version: 10, opset_import: ["" : 21]> g (bool c) => (y) {' + b"y = If (c) <then_branch = t () => (y) {" * depth


def _special(folder: pathlib.Path, index: int) -> pathlib.Path:
    """A name that no bytes can be read of: a link that leads nowhere or to itself, a folder, a pipe."""
    path = folder / f"special-{index}.onnx"
    kind = index % 4
    if kind == 0:
        path.symlink_to("nowhere.onnx")
    elif kind == 1:
        path.symlink_to(path.name)
    elif kind == 2:
        path.mkdir()
    else:
        os.mkfifo(path)
    return path


def poisoned(folder: pathlib.Path) -> list[str]:
    """100 files that are not models, or that harm those who read them. Those that grow have `growing` in their names."""
    whole = small_model(0)
    contents: list[tuple[str, bytes]] = []
    contents += [(f"deep-{i}.onnx", deep(40 << i)) for i in range(12)]
    contents += [(f"deep-text-{i}.onnxtxt", nested_text(40 << i)) for i in range(8)]
    contents += [(f"bomb-{i}.onnx", bomb(2_000_000)) for i in range(5)]
    contents += [(f"zeros-{i}.onnx", b"\0" * (1 << 16 + i)) for i in range(5)]
    contents += [(f"cut-{i}.onnx", whole[: len(whole) * i // 20]) for i in range(20)]
    contents += [(f"noise-{i}.onnx", random.Random(i).randbytes(1000 << i)) for i in range(10)]
    contents += [(f"growing-{i}.onnx", whole[:-1]) for i in range(10)]
    others = (b"<html></html>", b"PK\x03\x04", b"\x1f\x8b", b"version https://git-lfs.github.com/spec/v1\n", b"nothing", b"{", b"\xff\xfeg", b"GGUF", b"\x7fELF", b"7: {")
    contents += [(f"other-{i}.onnx", other) for i, other in enumerate(others)]
    contents += [(os.fsdecode(b"name-%d-\xff\xfe.onnx" % i), whole[: len(whole) // 2]) for i in range(10)]
    paths = [_special(folder, index) for index in range(10)]
    for name, content in contents:
        (folder / name).write_bytes(content)
        paths.append(folder / name)
    return [os.fspath(path) for path in paths]


def make(folder: str, models: str | None = None) -> list[str]:
    """Makes the files in an empty folder, and returns their paths in random order."""
    root = pathlib.Path(folder)
    root.mkdir(parents=True)
    paths = poisoned(root)
    assert len(paths) == 100
    for model in sorted(pathlib.Path(models).glob("*.onnx")) if models else ():
        link = root / f"model-{model.name}"
        link.symlink_to(model.resolve())
        paths.append(os.fspath(link))
    for seed in range(FILES - len(paths)):
        path = root / f"small-{seed}.onnx"
        path.write_bytes(small_model(seed))
        paths.append(os.fspath(path))
    random.Random(7).shuffle(paths)
    return paths


if __name__ == "__main__":
    print(len(make(*sys.argv[1:])), "files")
