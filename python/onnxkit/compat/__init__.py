"""This package in the place of the native module of `onnx`.

`install()` comes before the first `import onnx`. Afterwards, all Python code of `onnx` runs on this package: its checker,
shape inference, parser, printer, version converter and inliner, and what is built on them.

>>> import onnxkit.compat
>>> onnxkit.compat.install()
>>> import onnx.checker, onnx.parser
>>> model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) { y = Relu (x) }')
>>> onnx.checker.check_model(model)
"""

from __future__ import annotations

import sys
import types

from ._mode import MODE

__all__ = ["install", "is_installed"]

_NATIVE = "onnx.onnx_cpp2py_export"
_MODULES = ("checker", "defs", "inliner", "parser", "printer", "shape_inference", "version_converter")


def install(*, profile: str = "reference", reference_texts: bool = False, reference_limits: bool = False) -> None:
    """Puts this package in the place of the native module of `onnx`, which must not be imported yet.

    With the profile `reference`, the checker and strict inference refuse what the reference refuses; with `spec`, all that
    the specification does not allow. `reference_texts=True` gives refusals the wording of the reference where it is known,
    and text its form. `reference_limits=True` refuses conversions that the reference cannot make.
    """
    if profile not in ("reference", "spec"):
        raise ValueError(f"`{profile}` is not a profile: `reference` or `spec`")
    MODE.profile, MODE.reference_texts, MODE.reference_limits = profile, reference_texts, reference_limits
    if is_installed():
        return
    if _NATIVE in sys.modules:
        raise ImportError("onnx is imported already; call onnxkit.compat.install() before")
    import importlib

    native = types.ModuleType(_NATIVE, "onnxkit in the place of the native module")
    native.__dict__.update(ONNX_ML=True, __path__=[])
    for name in _MODULES:
        module = importlib.import_module(f"{__name__}.{name}")
        native.__dict__[name] = module
        sys.modules[f"{_NATIVE}.{name}"] = module
    sys.modules[_NATIVE] = native


def is_installed() -> bool:
    """Whether `onnx` runs on this package."""
    return getattr(sys.modules.get(_NATIVE), "checker", None) is sys.modules.get(f"{__name__}.checker") is not None
