"""The backend tests of the reference, on its evaluator or on that of this package."""

from __future__ import annotations

import os
from typing import Any

import onnx.backend.base
import onnx.backend.test
from onnx.backend.base import Device, DeviceType

# Where the expected outputs were computed with other rounding: the tolerances with which the reference runs its evaluator.
TOLERANCES = {name: {"atol": 1e-6} for name in (
    "test_dft", "test_dft_axis", "test_dft_axis_opset19", "test_dft_inverse", "test_dft_inverse_opset19", "test_dft_opset19",
)} | {"test_celu_bfloat16_expanded": {"rtol": 1e-2, "atol": 1e-2}}


class ReferenceRep(onnx.backend.base.BackendRep):
    """A model that is ready to run on the evaluator of the reference."""

    def __init__(self, model: Any) -> None:
        from onnx.reference import ReferenceEvaluator

        self._evaluator = ReferenceEvaluator(model)
        defaults = {tensor.name for tensor in model.graph.initializer}
        self._inputs = [port.name for port in model.graph.input]
        self._given = [name for name in self._inputs if name not in defaults]

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs for a list of inputs: all, or those without defaults."""
        names = self._inputs if len(inputs) == len(self._inputs) else self._given
        return tuple(self._evaluator.run(None, dict(zip(names, inputs, strict=False))))


class ReferenceBackend(onnx.backend.base.Backend):
    """The evaluator of the reference."""

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether the device is the CPU."""
        return bool(Device(device).type == DeviceType.CPU)

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> ReferenceRep:
        """A model that is ready to run."""
        return ReferenceRep(model)


if os.environ["UPSTREAM_CORE"] == "onnxkit-backend":
    import onnxkit.backend

    backend: type[onnx.backend.base.Backend] = onnxkit.backend.OnnxkitBackend
else:
    backend = ReferenceBackend
suite = onnx.backend.test.BackendTest(backend, __name__, test_kwargs=TOLERANCES)
if backend is ReferenceBackend:
    suite.exclude(f"test_({os.environ['UPSTREAM_SLOW']})")
globals().update(suite.test_cases)
