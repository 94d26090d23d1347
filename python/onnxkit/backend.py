"""The interface `onnx.backend.base.Backend` on the evaluator of this package.

>>> import numpy, onnx.parser, onnxkit.backend
>>> model = onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 21]> g (float[2] x) => (float[2] y) { y = Relu (x) }')
>>> onnxkit.backend.run_model(model, [numpy.array([-1, 2], dtype=numpy.float32)])
(array([0., 2.], dtype=float32),)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import onnx
from onnx.backend.base import Backend as _Backend
from onnx.backend.base import BackendRep as _BackendRep
from onnx.backend.base import Device, DeviceType, namedtupledict

from . import _core
from ._errors import ArgumentError
from ._interop import from_any

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["OnnxkitBackend", "OnnxkitBackendRep", "prepare", "run_model", "run_node", "supports_device"]


def _to_numpy(value: Any) -> Any:
    """Tensors as arrays, in lists as well; `None` for an optional without a value."""
    if isinstance(value, list):
        return [_to_numpy(item) for item in value]
    return value if value is None else value.numpy()


def _listed(inputs: Any) -> list[Any]:
    """The inputs of a list or tuple; anything else is a single input."""
    return list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]


def _feeds(model: _core.Model, inputs: Any) -> dict[str, Any]:
    """The inputs by name. A list has all of them, or those that have no default."""
    if isinstance(inputs, dict):
        return dict(inputs)
    given = _listed(inputs)
    ports = list(model.graph.inputs)
    if len(given) != len(ports):
        ports = [port for port in ports if not port.is_initializer()]
    if len(given) > len(ports):
        raise ArgumentError(f"the model has {len(ports)} inputs, but {len(given)} are given")
    return {port.name: value for port, value in zip(ports, given, strict=False)}


class OnnxkitBackendRep(_BackendRep):
    """A model that is ready to run."""

    def __init__(self, model: _core.Model) -> None:
        self._model = model
        self._evaluator = _core.Evaluator(model)
        self._outputs = [port.name for port in model.graph.outputs]

    def without_kernel(self) -> list[str]:
        """The nodes that nothing can compute, as messages. A run that reaches one of them fails."""
        return self._evaluator.without_kernel()

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs, in the order of the model. `inputs` are arrays: a list, a dictionary by name, or a single one."""
        results = self._evaluator.run(_feeds(self._model, inputs))
        values = [_to_numpy(results[name]) for name in self._outputs]
        return tuple(namedtupledict("Outputs", self._outputs)(*values))


class OnnxkitBackend(_Backend):
    """Runs models as the specification defines them, on the CPU."""

    @classmethod
    def is_compatible(cls, model: Any, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether the model can run: there is a kernel for each of its nodes, and the device is the CPU."""
        try:
            return not cls.prepare(model, device, **kwargs).without_kernel()
        except Exception:
            return False

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> OnnxkitBackendRep:
        """A model that is ready to run, from any form of it."""
        _refuse_device(device)
        return OnnxkitBackendRep(from_any(model))

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """The outputs of a model for inputs."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[Any, tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """The outputs of a single node for its inputs that are not omitted: a list, a dictionary by name, or a single one.

        `opset_version` is the version of the operator set of the domain of the node; the newest one by default.
        """
        names = list(dict.fromkeys(name for name in node.input if name))
        given = inputs if isinstance(inputs, dict) else _by_name(names, _listed(inputs))
        version = kwargs.get("opset_version") or _newest(node.domain)
        model = onnx.ModelProto(ir_version=onnx.IR_VERSION)
        model.opset_import.add(domain=node.domain, version=version)
        model.graph.name = "node"
        model.graph.node.append(node)
        model.graph.input.extend(_port(name, value) for name, value in given.items())
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in node.output if name)
        return cls.run_model(model, given, device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether the device is the CPU."""
        return bool(Device(device).type == DeviceType.CPU)


def _by_name(names: list[str], inputs: list[Any]) -> dict[str, Any]:
    if len(inputs) != len(names):
        raise ArgumentError(f"the node has {len(names)} inputs, but {len(inputs)} are given")
    return dict(zip(names, inputs, strict=True))


def _refuse_device(device: str) -> None:
    if not OnnxkitBackend.supports_device(device):
        raise ArgumentError(f"models run on the CPU, not on {device}")


def _newest(domain: str) -> int:
    versions = [schema["since_version"] for schema in _core.schemas() if schema["domain"] == domain]
    if not versions:
        raise ArgumentError(f"the operators of {domain!r} are not known; pass `opset_version`")
    return int(max(versions))


def _port(name: str, value: Any) -> onnx.ValueInfoProto:
    """An input with the type of an array, or of a list of arrays."""
    if isinstance(value, (list, tuple)):
        if not value:
            raise ArgumentError(f"the element type of the empty list `{name}` is not known")
        kind = onnx.TypeProto()
        kind.sequence_type.elem_type.tensor_type.elem_type = int(_core.Tensor(value[0]).dtype)
        return onnx.ValueInfoProto(name=name, type=kind)
    tensor = _core.Tensor(value)
    return onnx.helper.make_tensor_value_info(name, int(tensor.dtype), list(tensor.shape))


is_compatible = OnnxkitBackend.is_compatible
prepare = OnnxkitBackend.prepare
run_model = OnnxkitBackend.run_model
run_node = OnnxkitBackend.run_node
supports_device = OnnxkitBackend.supports_device
