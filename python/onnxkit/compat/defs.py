"""The module `onnx.onnx_cpp2py_export.defs`: schemas of operators."""

from __future__ import annotations

from . import _registry
from ._arguments import checked
from ._schema import OpSchema, SchemaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "OpSchema", "SchemaError", "deregister_schema", "get_all_schemas", "get_all_schemas_with_history", "get_schema",
    "has_schema", "register_schema", "schema_version_map", "set_domain_to_version",
]


# A function with a version, and one without it, are one function in the reference, which decides by the arguments.
@checked
def _versioned(op_type: str, max_inclusive_version: int, domain: str = "") -> tuple[str, int | None, str]:
    return op_type, max_inclusive_version, domain


@checked
def _newest(op_type: str, domain: str = "") -> tuple[str, int | None, str]:
    return op_type, None, domain


def _operator(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, int | None, str]:
    has_version = "max_inclusive_version" in kwargs or len(args) > 2 or (len(args) == 2 and not isinstance(args[1], str))
    return _versioned(*args, **kwargs) if has_version else _newest(*args, **kwargs)


def has_schema(*args: Any, **kwargs: Any) -> bool:
    """Whether an operator exists: `(op_type, max_inclusive_version, domain="")`, or `(op_type, domain="")` in any version."""
    return _registry.lookup(*_operator(args, kwargs)) is not None


def get_schema(*args: Any, **kwargs: Any) -> OpSchema:
    """The schema of an operator: `(op_type, max_inclusive_version, domain="")`, or `(op_type, domain="")` for the newest one."""
    op_type, version, domain = _operator(args, kwargs)
    found = _registry.lookup(op_type, version, domain)
    if found is None:
        of = "" if version is None else f" version '{version}'"
        raise SchemaError(f"No schema registered for '{op_type}'{of} and domain '{domain}'!")
    return found._copied()


def get_all_schemas() -> list[OpSchema]:
    """The newest schema of each operator."""
    return [schema._copied() for schema in _registry.newest()]


def get_all_schemas_with_history() -> list[OpSchema]:
    """The schemas of all operators in all versions."""
    return [schema._copied() for schema in _registry.history()]


def schema_version_map() -> dict[str, tuple[int, int]]:
    """The oldest and the newest version of each operator set."""
    return {domain: (oldest, newest) for domain, (oldest, newest, _) in _registry.VERSIONS.items()}


@checked
def set_domain_to_version(
    domain: str, min_version: int, max_version: int, last_release_version: int = -1
) -> None:
    """Sets the versions of an operator set."""
    released = max_version if last_release_version == -1 else last_release_version
    _registry.VERSIONS[domain] = (min_version, max_version, released)


@checked
def register_schema(schema: OpSchema) -> None:
    """Adds the schema of an operator."""
    _registry.register(schema)


@checked
def deregister_schema(op_type: str, version: int, domain: str) -> None:
    """Removes the schema of an operator."""
    _registry.deregister(op_type, version, domain)
