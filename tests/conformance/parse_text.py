"""Parses texts with the reference implementation, one after the other, for the suite `text`.

Each question comes with its length before it: a byte that says what the text is, then the text. So does each answer: a byte
that says whether the text was accepted, then the message or the complaint. The first answer is the version.
"""

import struct
import sys

import onnx
import onnx.parser


PARSERS = [
    onnx.parser.parse_model,
    onnx.parser.parse_graph,
    onnx.parser.parse_function,
    onnx.parser.parse_node,
]


def answer(accepted, content):
    sys.stdout.buffer.write(struct.pack("<QB", len(content), accepted) + content)
    sys.stdout.buffer.flush()


def main():
    answer(True, onnx.__version__.encode())
    while header := sys.stdin.buffer.read(8):
        question = sys.stdin.buffer.read(struct.unpack("<Q", header)[0])
        parse, text = PARSERS[question[0]], question[1:]
        try:
            message = parse(text.decode()).SerializeToString(deterministic=True)
        except Exception as error:  # Whatever is raised is the answer.
            answer(False, str(error).encode())
        else:
            answer(True, message)


main()
