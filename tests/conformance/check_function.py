"""Checks functions with the reference implementation, for the suite `bodies`.

Questions and answers have the form of `peer.py`: a question is a model, whose functions of the domain `ours` are checked; the
answer is the complaint, or empty.
"""

import onnx
import onnx.checker

from peer import questions, send, send_version


def check(model):
    context = onnx.checker.C.CheckerContext()
    context.ir_version = model.ir_version
    context.opset_imports = {entry.domain: entry.version for entry in model.opset_import}
    functions = [function for function in model.functions if function.domain == "ours"]
    for function in functions:
        onnx.checker.check_function(function, context)
    if not functions:
        raise ValueError("the model has no function of the domain `ours`")


def main():
    send_version()
    for question in questions():
        try:
            check(onnx.ModelProto.FromString(question))
        except Exception as error:  # Whatever is raised is the answer.
            send(False, str(error)[:500].encode())
        else:
            send(True, b"")


main()
