"""Schemas of operators with the interface of the reference's `OpSchema`."""

from __future__ import annotations

import builtins
import copy
import enum
import re

from ._arguments import checked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

# The number that means an unlimited number of operands in the reference.
UNBOUNDED = 2147483647
# Values of maps are tensors, which type constraints do not write.
_MAP = re.compile(r"map\((\w+), ?(\w+)\)")


class SchemaError(Exception):
    """A schema that does not exist, or that is malformed."""


class _Named:
    """Members of enumerations, which are printed without their numbers."""

    name: str

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"


class FormalParameterOption(_Named, enum.IntEnum):
    """How often a formal parameter occurs."""

    Single = 0
    Optional = 1
    Variadic = 2


class DifferentiationCategory(_Named, enum.IntEnum):
    """Whether an output has a derivative with respect to an input."""

    Unknown = 0
    Differentiable = 1
    NonDifferentiable = 2


class NodeDeterminism(_Named, enum.Enum):
    """Whether an operator computes the same for the same inputs."""

    Unknown = 0
    NonDeterministic = 1
    Deterministic = 2


class AttrType(_Named, enum.IntEnum):
    """The kind of an attribute, with the codes of `AttributeProto`."""

    FLOAT = 1
    INT = 2
    STRING = 3
    TENSOR = 4
    GRAPH = 5
    FLOATS = 6
    INTS = 7
    STRINGS = 8
    TENSORS = 9
    GRAPHS = 10
    SPARSE_TENSOR = 11
    SPARSE_TENSORS = 12
    TYPE_PROTO = 13
    TYPE_PROTOS = 14


class SupportType(_Named, enum.Enum):
    """Whether an operator is experimental."""

    COMMON = 0
    EXPERIMENTAL = 1


class _ReadOnly:
    """Objects whose attributes are set once."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and name in self.__dict__:
            raise AttributeError(f"property of {type(self).__qualname__!r} object has no setter")
        object.__setattr__(self, name, value)


class TypeConstraintParam(_ReadOnly):
    """A type variable and the types that it stands for."""

    @checked
    def __init__(self, type_param_str: str, allowed_type_strs: Sequence[str], description: str = "") -> None:
        self.type_param_str = type_param_str
        self.allowed_type_strs = list(allowed_type_strs)
        self.description = description


class FormalParameter(_ReadOnly):
    """An input or an output."""

    @checked
    def __init__(
        self,
        name: str,
        type_str: str,
        description: str = "",
        *,
        param_option: FormalParameterOption = FormalParameterOption.Single,
        is_homogeneous: bool = True,
        min_arity: int = 1,
        differentiation_category: DifferentiationCategory = DifferentiationCategory.Unknown,
    ) -> None:
        self.name = name
        self.type_str = type_str
        self.types: set[str] = set()
        self.description = description
        self.option = param_option
        self.is_homogeneous = is_homogeneous
        self.min_arity = min_arity
        self.differentiation_category = differentiation_category


class Attribute(_ReadOnly):
    """An attribute, required or with its default."""

    def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
        kind = args[0] if args else kwargs.get("type", kwargs.get("default_value"))
        if isinstance(kind, AttrType):
            self._of_kind(name, *args, **kwargs)
        elif kind is None:
            raise TypeError("the type of an attribute is needed, or its default as an AttributeProto")
        else:
            self._with_default(name, *args, **kwargs)

    @checked
    def _of_kind(self, name: str, type: AttrType, description: str = "", *, required: bool = True) -> None:
        self.name, self.description = name, description
        self._default_value = b""
        self.type, self.required = type, required

    @checked
    def _with_default(self, name: str, default_value: Any, description: str = "") -> None:
        import onnx

        from . import _wire

        self.name, self.description = name, description
        self._default_value = bytes(default_value.SerializeToString())
        self.type, self.required = AttrType(_wire.decoded(onnx.AttributeProto, self._default_value).type), False


_Option = FormalParameterOption
_Determinism = NodeDeterminism
_Formal = FormalParameter
_Attribute = Attribute


class OpSchema(_ReadOnly):
    """The schema of an operator."""

    # What a caller can change.
    _WRITABLE = frozenset({"name", "domain", "doc"})

    FormalParameterOption = FormalParameterOption
    DifferentiationCategory = DifferentiationCategory
    NodeDeterminism = NodeDeterminism
    AttrType = AttrType
    SupportType = SupportType
    TypeConstraintParam = TypeConstraintParam
    FormalParameter = FormalParameter
    Attribute = Attribute

    @checked
    def __init__(
        self,
        name: str,
        domain: str,
        since_version: int,
        doc: str = "",
        *,
        inputs: Sequence[_Formal] = (),
        outputs: Sequence[_Formal] = (),
        type_constraints: Iterable[tuple[str, Sequence[str], str]] = (),
        attributes: Iterable[_Attribute] = (),
        node_determinism: _Determinism = _Determinism.Unknown,
    ) -> None:
        self.name, self.domain, self.since_version, self.doc = name, domain, since_version, doc
        # The types of formal parameters are those of the schema, so that it needs its own.
        self.inputs, self.outputs = list(map(copy.copy, inputs)), list(map(copy.copy, outputs))
        self.type_constraints = [TypeConstraintParam(*constraint) for constraint in type_constraints]
        self.attributes = {attribute.name: attribute for attribute in attributes}
        unknown = node_determinism is _Determinism.Unknown
        self.node_determinism = _Determinism.Deterministic if unknown else node_determinism
        self.deprecated = False
        self.support_level = SupportType.COMMON
        self.file, self.line = "", 0
        self.has_data_propagation_function = False
        self._infer: Callable[[Any], None] | None = None
        # Whether the native module has the schema, a body for it, and an inference rule in the reference.
        self._is_native = False
        self._has_body = False
        self._has_inference = False
        # The versions of the operator set for which the specification has a body that does not depend on the node.
        self._body_versions: list[int] = []
        # Bodies by the version of the operator set, as far as they are known. Copies share them.
        self._bodies: dict[int, builtins.bytes | None] = {}
        self._resolve()

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._WRITABLE:
            if not isinstance(value, str):
                raise TypeError(f"`{name}` is a string, not {type(value).__name__}")
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    def _copied(self) -> OpSchema:
        """A schema that a caller can change without an effect on this one."""
        found = copy.copy(self)
        lists = {
            "inputs": list(self.inputs), "outputs": list(self.outputs), "attributes": dict(self.attributes),
            "type_constraints": list(self.type_constraints),
        }
        found.__dict__.update(lists)
        return found

    def _resolve(self) -> None:
        """Gives formal parameters the types of their type variables."""
        variables = {constraint.type_param_str: constraint for constraint in self.type_constraints}
        for formal in (*self.inputs, *self.outputs):
            constraint = variables.get(formal.type_str)
            allowed = [formal.type_str] if constraint is None else constraint.allowed_type_strs
            formal.__dict__["types"] = {_MAP.sub(r"map(\1,tensor(\2))", kind) for kind in allowed}

    def _bounds(self, formals: Sequence[_Formal]) -> tuple[int, int]:
        least = most = 0
        for index, formal in enumerate(formals):
            if formal.option is _Option.Variadic:
                return index + formal.min_arity, UNBOUNDED
            most = index + 1
            if formal.option is _Option.Single:
                least = index + 1
        return least, most

    @property
    def min_input(self) -> int:
        """The least number of inputs."""
        return self._bounds(self.inputs)[0]

    @property
    def max_input(self) -> int:
        """The greatest number of inputs."""
        return self._bounds(self.inputs)[1]

    @property
    def min_output(self) -> int:
        """The least number of outputs."""
        return self._bounds(self.outputs)[0]

    @property
    def max_output(self) -> int:
        """The greatest number of outputs."""
        return self._bounds(self.outputs)[1]

    @staticmethod
    @checked
    def is_infinite(v: int, /) -> bool:
        """Whether a number means an unlimited number of operands."""
        return v == UNBOUNDED

    @property
    def has_type_and_shape_inference_function(self) -> bool:
        """Whether types of outputs are inferred."""
        return self._infer is not None or self._has_inference

    @checked
    def set_type_and_shape_inference_function(self, func: Callable[[Any], None], /) -> OpSchema:
        """Sets the function that infers the types of the outputs of a node."""
        self._infer = func
        return self

    def get_type_and_shape_inference_function(self) -> Callable[[Any], None] | None:
        """The function that infers the types of the outputs of a node, if it is one of Python."""
        return self._infer

    @checked
    def _infer_node_outputs(
        self,
        nodeBytes: bytes,
        valueTypesByNameBytes: Mapping[str, bytes],
        inputDataByNameBytes: Mapping[str, bytes] = {},
        inputSparseDataByNameBytes: Mapping[str, bytes] = {},
        opsetImports: Mapping[str, int] = {},
        irVersion: int = 10,
    ) -> dict[str, bytes]:
        """The encoded types of the outputs of a node, by their names. The arguments have the names of the reference."""
        from . import shape_inference

        return shape_inference.infer_node(
            self, nodeBytes, valueTypesByNameBytes, inputDataByNameBytes, opsetImports, irVersion
        )

    @property
    def has_function(self) -> bool:
        """Whether the operator has a body that depends on neither the attributes of a node nor the types of the inputs."""
        return bool(self.function_opset_versions)

    @property
    def has_context_dependent_function(self) -> bool:
        """Whether the operator has a body for given attributes and types of inputs only."""
        return self._has_body and not self.has_function

    @property
    def _function_body(self) -> bytes:
        return self.get_function_with_opset_version(next(iter(self.function_opset_versions), 0))

    @property
    def function_opset_versions(self) -> list[int]:
        """The versions of the operator set that there is a body for."""
        from . import _bodies

        return [version for version in self._body_versions if _bodies.body(self, version)]

    @property
    def context_dependent_function_opset_versions(self) -> list[int]:
        """The versions of the operator set that there is a body for, for given attributes and types."""
        return [self.since_version] if self.has_context_dependent_function else []

    @property
    def all_function_opset_versions(self) -> list[int]:
        """The versions of the operator set that there is a body for."""
        return self.function_opset_versions or self.context_dependent_function_opset_versions

    @checked
    def get_function_with_opset_version(self, opset_version: int, /) -> bytes:
        """The encoded body; empty if there is none."""
        from . import _bodies

        usable = [version for version in self.function_opset_versions if version <= opset_version]
        return _bodies.body(self, max(usable)) if usable else b""

    @checked
    def get_context_dependent_function(self, bytes: bytes, input_types_bytes: Sequence[bytes], /) -> bytes:
        """The encoded body for an encoded node and types of its inputs; empty if there is none."""
        from . import _bodies

        return _bodies.body_of(self, bytes, input_types_bytes) if self._has_body else b""

    @checked
    def get_context_dependent_function_with_opset_version(
        self, opset_version: int, bytes: bytes, input_types_bytes: Sequence[bytes], /
    ) -> bytes:
        """The same for a version of the operator set."""
        return self.get_context_dependent_function(bytes, input_types_bytes)
