"""Measures other tools for `cargo xtask bench --peers`, and prints the samples as a JSON object.

Times are in nanoseconds, sizes in bytes. The garbage collector of Python stands still meanwhile, which is to the
advantage of what makes many objects.

    peers.py versions
    peers.py model PATH ROUNDS IR_ROUNDS
    peers.py text PATH ROUNDS TEXT
    peers.py check PATH ROUNDS
    peers.py inline PATH ROUNDS TOOL
    peers.py passes PATH ROUNDS
    peers.py optimize onnx-ir|onnxoptimizer|onnxslim PATH
    peers.py infer PATH ROUNDS SYMBOLIC_ROUNDS
    peers.py held open|check|convert PATH
"""

import collections
import gc
import json
import signal
import sys
import time

import google.protobuf
import onnx
import onnx.checker
import onnx.inliner
import onnx.version_converter
import onnx.parser
import onnx.printer
import onnx_ir
import onnx_ir.passes.common
from google.protobuf.internal import api_implementation

SAMPLES = collections.defaultdict(list)

# How many seconds an optimizer may take for one model; the process ends then.
LONGEST = 300


def timed(name, run, clock=time.thread_time_ns):
    """Runs a function and records its time, by default that of the processor."""
    gc.collect()
    gc.disable()
    start = clock()
    made = run()
    SAMPLES[name].append(clock() - start)
    gc.enable()
    return made


def model(path, rounds, ir_rounds):
    """Operations of the protobuf library and the graph library on a whole model, interleaved."""
    with open(path, "rb") as file:
        data = file.read()
    # The first round pays for memory that the process does not have yet.
    for index in range(rounds + 1):
        if index == 1:
            first = SAMPLES["parse"][0]
            SAMPLES.clear()
            SAMPLES["first-parse"].append(first)
        message = onnx.ModelProto()
        timed("parse", lambda: message.ParseFromString(data))
        written = timed("serialize", message.SerializeToString)
        assert written == data, "the generated file is canonical"
        del message, written
    for _ in range(ir_rounds):
        loaded = timed("ir-load", lambda: onnx_ir.load(path))
        copied = timed("ir-clone", loaded.clone)
        del loaded, copied


def text(path, rounds, text_path):
    """Prints a model as text, and parses a text of it that both sides accept, interleaved.

    Not every model can be read back from what the library prints, so the text comes from a file.
    """
    message = onnx.load(path, load_external_data=False)
    with open(text_path, encoding="utf-8", newline="") as file:
        source = file.read()
    for index in range(rounds + 1):
        if index == 1:
            SAMPLES.clear()
        printed = timed("print-text", lambda: onnx.printer.to_text(message))
        parsed = timed("parse-text", lambda: onnx.parser.parse_model(source))
        del printed, parsed


def check(path, rounds):
    """Checks a model by its path, and as a message in memory, interleaved."""
    message = onnx.load(path, load_external_data=False)
    for index in range(rounds + 1):
        if index == 1:
            SAMPLES.clear()
        timed("check-path", lambda: verdict(path))
        timed("check-proto", lambda: verdict(message))


def verdict(model):
    """Whether the checker accepts a model; that it does not is an answer, too, if a quick one."""
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError:
        return False
    return True


def inline(path, rounds, tool):
    """Inlines all calls of functions, with the reference (`inliner`) or with the graph library (`inline-pass`)."""
    for index in range(rounds + 1):
        if index == 1:
            SAMPLES.clear()
        if tool == "inliner":
            message = onnx.load(path, load_external_data=False)
            timed(tool, lambda: onnx.inliner.inline_local_functions(message))
        else:
            loaded = onnx_ir.load(path)
            timed(tool, lambda: onnx_ir.passes.common.InlinePass()(loaded))


def convert(path, version, rounds):
    """Converts a model to a version of the default operator set."""
    for index in range(rounds + 1):
        if index == 1:
            SAMPLES.clear()
        message = onnx.load(path, load_external_data=False)
        timed("convert", lambda: onnx.version_converter.convert_version(message, version))
        del message


# The passes by name, as the program that compares knows them.
PASSES = [
    "TopologicalSortPass",
    "RemoveUnusedNodesPass",
    "RemoveUnusedOpsetsPass",
    "RemoveUnusedFunctionsPass",
    "IdentityEliminationPass",
    "CommonSubexpressionEliminationPass",
    "DeduplicateInitializersPass",
    "LiftConstantsToInitializersPass",
    "LiftSubgraphInitializersToMainGraphPass",
    "AddInitializersToInputsPass",
    "RemoveInitializersFromInputsPass",
    "AddDefaultAttributesPass",
    "NameFixPass",
    "ClearMetadataAndDocStringPass",
    "ShapeInferencePass",
]

# Those that undo what others do.
OPPOSED = {"AddInitializersToInputsPass", "AddDefaultAttributesPass"}


def passes(path, rounds):
    """Runs each pass of the graph library on a model that was just loaded."""
    for index in range(rounds + 1):
        if index == 1:
            SAMPLES.clear()
        for name in PASSES:
            loaded = onnx_ir.load(path)
            run = getattr(onnx_ir.passes.common, name)()
            timed(name, lambda: run(loaded))
            del loaded


def optimize(tool, path):
    """Runs all passes of the graph library, or an optimizer with its defaults, once. It may take some minutes at most."""
    signal.alarm(LONGEST)
    if tool == "onnx-ir":
        loaded = onnx_ir.load(path)
        names = [name for name in PASSES if name not in OPPOSED]
        run = onnx_ir.passes.Sequential(*(getattr(onnx_ir.passes.common, name)() for name in names))
        timed(tool, lambda: run(loaded))
    elif tool == "onnxoptimizer":
        import onnxoptimizer

        message = onnx.load(path)
        message = timed(tool, lambda: onnxoptimizer.optimize(message))
    elif tool == "onnxslim":
        import onnxslim

        message = onnx.load(path)
        message = timed(tool, lambda: onnxslim.slim(message))
    elif tool == "onnxsim":
        import onnxsim

        message = onnx.load(path)
        message = timed(tool, lambda: onnxsim.simplify(message))[0]
    elif tool == "onnxscript":
        import onnxscript.optimizer

        message = onnx.load(path)
        message = timed(tool, lambda: onnxscript.optimizer.optimize(message))
    if tool != "onnx-ir":
        SAMPLES[f"{tool}-nodes"] = [len(message.graph.node)]


def infer(path, rounds, symbolic_rounds):
    """Infers types and shapes, from bytes to bytes: with the reference, and with the symbolic inference of a runtime."""
    with open(path, "rb") as file:
        data = file.read()
    for index in range(rounds + 1):
        if index == 1:
            SAMPLES.clear()
        timed("infer-bytes", lambda: onnx.shape_inference.infer_shapes(data, data_prop=True))
    if symbolic_rounds:
        from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

        def symbolic():
            model = onnx.load_from_string(data)
            inferred = SymbolicShapeInference.infer_shapes(model, auto_merge=True, guess_output_rank=False, verbose=0)
            return inferred.SerializeToString()

        try:
            for _ in range(symbolic_rounds):
                timed("infer-symbolic", symbolic)
        except Exception as error:  # It raises all kinds; a model that it cannot do has no time.
            print(f"the symbolic inference gave up: {error!r}", file=sys.stderr)


def held(operation, path):
    """Loads, checks or converts a file, in a process that has done nothing else; what Python takes is not counted."""
    before = status("VmHWM")
    work = {
        "open": lambda: onnx.load(path, load_external_data=False),
        "check": lambda: verdict(path),
        "convert": lambda: onnx.version_converter.convert_version(onnx.load(path, load_external_data=False), 25),
    }
    timed("held", work[operation], time.perf_counter_ns)
    SAMPLES["held-peak"].append(status("VmHWM") - before)


def status(key):
    """A line of /proc/self/status in bytes."""
    with open("/proc/self/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(key + ":"):
                return int(line.split()[1]) * 1024
    raise LookupError(key)


def main(command, *args):
    if command == "versions":
        versions = {
            "python": sys.version.split()[0],
            "onnx": onnx.__version__,
            "onnx-ir": onnx_ir.__version__,
            "protobuf": f"{google.protobuf.__version__} ({api_implementation.Type()})",
        }
        print(json.dumps(versions))
        return
    if command == "model":
        model(args[0], int(args[1]), int(args[2]))
    elif command == "text":
        text(args[0], int(args[1]), args[2])
    elif command == "check":
        check(args[0], int(args[1]))
    elif command == "inline":
        inline(args[0], int(args[1]), args[2])
    elif command == "convert":
        convert(args[0], int(args[1]), int(args[2]))
    elif command == "passes":
        passes(args[0], int(args[1]))
    elif command == "optimize":
        optimize(args[0], args[1])
    elif command == "infer":
        infer(args[0], int(args[1]), int(args[2]))
    elif command == "held":
        held(args[0], args[1])
    print(json.dumps(SAMPLES))


main(*sys.argv[1:])
