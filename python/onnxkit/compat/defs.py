"""The module `onnx.onnx_cpp2py_export.defs`: schemas of operators."""

from __future__ import annotations

from . import _registry
from ._schema import OpSchema, SchemaError

__all__ = [
    "OpSchema", "SchemaError", "deregister_schema", "get_all_schemas", "get_all_schemas_with_history", "get_schema",
    "has_schema", "register_schema", "schema_version_map", "set_domain_to_version",
]


def _arguments(version: int | str | None, domain: str) -> tuple[int | None, str]:
    """The reference has two forms of each function: with a version, and without."""
    if isinstance(version, str):
        return None, version
    return version, domain


def has_schema(op_type: str, max_inclusive_version: int | str | None = None, domain: str = "") -> bool:
    """Whether an operator exists, in a version of its operator set or at all."""
    version, domain = _arguments(max_inclusive_version, domain)
    return _registry.lookup(op_type, version, domain) is not None


def get_schema(op_type: str, max_inclusive_version: int | str | None = None, domain: str = "") -> OpSchema:
    """The schema of an operator in a version of its operator set, or the newest one."""
    version, domain = _arguments(max_inclusive_version, domain)
    found = _registry.lookup(op_type, version, domain)
    if found is None:
        of = "" if version is None else f" version '{version}'"
        raise SchemaError(f"No schema registered for '{op_type}'{of} and domain '{domain}'!")
    return found


def get_all_schemas() -> list[OpSchema]:
    """The newest schema of each operator."""
    return _registry.newest()


def get_all_schemas_with_history() -> list[OpSchema]:
    """The schemas of all operators in all versions."""
    return _registry.history()


def schema_version_map() -> dict[str, tuple[int, int]]:
    """The oldest and the newest version of each operator set."""
    return {domain: (oldest, newest) for domain, (oldest, newest, _) in _registry.VERSIONS.items()}


def set_domain_to_version(
    domain: str, min_version: int, max_version: int, last_release_version: int = -1
) -> None:
    """Sets the versions of an operator set."""
    released = max_version if last_release_version == -1 else last_release_version
    _registry.VERSIONS[domain] = (min_version, max_version, released)


def register_schema(schema: OpSchema) -> None:
    """Adds the schema of an operator."""
    _registry.register(schema)


def deregister_schema(op_type: str, version: int, domain: str) -> None:
    """Removes the schema of an operator."""
    _registry.deregister(op_type, version, domain)
