"""Parses texts with the reference implementation, one after the other, for the suite `text`.

Questions and answers have the form of `peer.py`: a question is a byte that says what the text is, then the text; an answer is
the message or the complaint.
"""

import onnx
import onnx.parser

from peer import questions, send, send_version


PARSERS = [
    onnx.parser.parse_model,
    onnx.parser.parse_graph,
    onnx.parser.parse_function,
    onnx.parser.parse_node,
]


def main():
    send_version()
    for question in questions():
        parse, text = PARSERS[question[0]], question[1:]
        try:
            message = parse(text.decode()).SerializeToString(deterministic=True)
        except Exception as error:  # Whatever is raised is the answer.
            send(False, str(error).encode())
        else:
            send(True, message)


main()
