"""Read, check, run, prove, edit and write ONNX models.

>>> import onnxkit as ox
>>> m = ox.parse("g (float[N,4] x) => (float[N,4] y) { a = Identity (x) y = Relu (a) }")
>>> ox.check(m).ok
True
>>> ox.simplify(m).nodes_after
1
"""

from . import ops
from ._api import (
    Evaluator,
    check,
    compare,
    convert,
    cost,
    diff,
    explain,
    extract,
    find,
    fix,
    hash,
    import_weights,
    infer,
    info,
    inline,
    inputs,
    load,
    loads,
    merge,
    outline,
    parse,
    reach,
    reduce,
    rename,
    resize,
    save,
    schema,
    schemas,
    simplify,
    split,
    strip_weights,
    why,
)
from ._core import AttrRef, Attributes, DType, Graph, Inference, Model, Node, Rules, Table, Tensor, Value, __version__
from ._errors import (
    ArgumentError,
    BugError,
    CheckError,
    ConcurrentEditError,
    ConvertError,
    EditError,
    InferError,
    LimitError,
    LoadError,
    OnnxError,
    RuleError,
    RunError,
    SaveError,
    SelectorError,
    StaleHandleError,
    Stopped,
)
from ._formats import dequantize, half, quantize, retype
from ._passes import Pass, PassContext, Patch, pass_, passes, rule, run_passes
from ._pickling import register as _register_for_pickle
from ._results import (
    Comparison,
    Converted,
    Cost,
    Dequantized,
    Diff,
    Finding,
    Fix,
    Halved,
    Info,
    ModelHash,
    Quantized,
    Report,
    Resized,
    Result,
    Retyped,
    Schema,
    Why,
)
from ._scan import SCAN_SCHEMA, scan, scan_iter, scan_many

_register_for_pickle()

__all__ = [
    "ArgumentError", "AttrRef", "Attributes", "BugError", "CheckError", "Comparison", "ConcurrentEditError",
    "ConvertError", "Converted", "Cost", "DType", "Dequantized", "Diff", "EditError", "Evaluator", "Finding", "Fix", "Graph", "Halved",
    "InferError", "Inference", "Info", "LimitError", "LoadError", "Model", "ModelHash", "Node", "OnnxError", "Pass",
    "PassContext", "Patch", "Quantized", "Report", "Resized", "Result", "Retyped", "RuleError", "Rules", "RunError", "SCAN_SCHEMA", "SaveError", "Schema",
    "SelectorError", "StaleHandleError", "Stopped", "Table", "Tensor", "Value", "Why", "__version__", "check", "compare",
    "convert", "cost", "dequantize", "diff", "explain", "extract", "find", "fix", "half", "hash", "import_weights", "infer", "info",
    "inline", "inputs", "load", "loads", "merge", "ops", "outline", "parse", "pass_", "passes", "quantize", "reach", "reduce",
    "rename", "resize", "retype", "rule", "run_passes", "save", "scan", "scan_iter", "scan_many", "schema", "schemas", "simplify", "split", "strip_weights", "why",
]
