"""Schemas: those of the native module, and those that programs register."""

from __future__ import annotations

import json
import re

from onnxkit import _core

from . import _descriptions, _differentiation
from ._schema import (
    AttrType,
    Attribute,
    DifferentiationCategory,
    FormalParameter,
    FormalParameterOption,
    NodeDeterminism,
    OpSchema,
    SchemaError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

# The operator sets: the oldest, the newest and the last released version.
VERSIONS: dict[str, tuple[int, int, int]] = {}
_STANDARD = ("", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training", "ai.onnx.training")
_CUSTOM: dict[tuple[str, str], dict[int, OpSchema]] = {}
_KNOWN: dict[tuple[str, str, int], OpSchema] = {}
# Operators that draw random numbers, and those that run graphs which may.
_RANDOM = frozenset(
    "Bernoulli Dropout If Loop Multinomial RandomNormal RandomNormalLike RandomUniform RandomUniformLike Scan SequenceMap".split()
)
# Values of maps are tensors, which the reference does not write.
_MAP = re.compile(r"map\((\w+), ?tensor\((\w+)\)\)")
# Operators that ONNX tried out in version 1: the reference has no schemas for them.
_EXPERIMENTAL = frozenset({"LayerNormalization", "MeanVarianceNormalization", "ThresholdedRelu"})
_UNKNOWN = "unknown-operator"
_CATEGORIES = {
    "D": DifferentiationCategory.Differentiable, "N": DifferentiationCategory.NonDifferentiable, "U": DifferentiationCategory.Unknown,
}
_KINDS = {"FLOAT": "f", "INT": "i", "STRING": "s", "FLOATS": "floats", "INTS": "ints", "STRINGS": "strings"}


def _load_versions() -> None:
    found = dict.fromkeys(_STANDARD, 1)
    for schema in _core.schemas():
        found[schema["domain"]] = max(found[schema["domain"]], schema["since_version"])
    VERSIONS.update((domain, (1, version, version)) for domain, version in found.items())


def _default(name: str, kind: str, text: str) -> Any:
    import onnx

    value = json.loads(text)
    attribute = onnx.AttributeProto(name=name, type=kind)
    if kind == "STRING":
        attribute.s = value.encode()
    elif kind == "STRINGS":
        attribute.strings.extend(item.encode() for item in value)
    elif kind in ("FLOATS", "INTS"):
        getattr(attribute, _KINDS[kind]).extend(value)
    else:
        setattr(attribute, _KINDS[kind], value)
    return attribute


def _attribute(facts: Mapping[str, Any]) -> Attribute:
    if facts["default"] is not None:
        return Attribute(facts["name"], _default(facts["name"], facts["kind"], facts["default"]))
    return Attribute(facts["name"], AttrType[facts["kind"]], required=facts["required"])


def _formals(facts: Sequence[Mapping[str, Any]], letters: str) -> list[FormalParameter]:
    categories = [_CATEGORIES[letter] for letter in letters] or [DifferentiationCategory.Unknown] * len(facts)
    return [_formal(formal, category) for formal, category in zip(facts, categories, strict=True)]


def _formal(facts: Mapping[str, Any], category: DifferentiationCategory) -> FormalParameter:
    occurrence = facts["occurrence"]
    option = FormalParameterOption.Single
    if occurrence:
        is_optional = occurrence == "optional"
        option = FormalParameterOption.Optional if is_optional else FormalParameterOption.Variadic
    return FormalParameter(
        facts["name"], facts["type"], param_option=option,
        is_homogeneous="different types" not in occurrence,
        min_arity=0 if occurrence.startswith("any number") else 1,
        differentiation_category=category,
    )


def _of_native(facts: Mapping[str, Any]) -> OpSchema:
    key: tuple[str, str, int] = (facts["domain"], facts["name"], facts["since_version"])
    known = _KNOWN.get(key)
    if known is not None:
        return known
    variables: dict[str, list[str]] = {}
    for formal in (*facts["inputs"], *facts["outputs"]):
        if formal["types"] != [formal["type"]]:
            variables.setdefault(formal["type"], [_MAP.sub(r"map(\1, \2)", allowed) for allowed in formal["types"]])
    is_random = facts["name"] in _RANDOM and facts["domain"] == ""
    of_inputs, of_outputs = _differentiation.categories(*key)
    schema = OpSchema(
        facts["name"], facts["domain"], facts["since_version"], _descriptions.description(*key),
        inputs=_formals(facts["inputs"], of_inputs), outputs=_formals(facts["outputs"], of_outputs),
        type_constraints=[(name, types, "") for name, types in variables.items()],
        attributes=[_attribute(attribute) for attribute in facts["attributes"]],
        node_determinism=NodeDeterminism.NonDeterministic if is_random else NodeDeterminism.Deterministic,
    )
    schema.__dict__["deprecated"] = facts["deprecated"]
    schema._is_native, schema._has_body, schema._has_inference = True, facts["is_function"], facts["has_inference"]
    schema._body_versions = facts.get("body_versions", [])
    _KNOWN[key] = schema
    return schema


def _native(name: str, version: int | None, domain: str) -> dict[str, Any] | None:
    facts = _core.schema(name, version, domain)
    is_experimental = facts is not None and facts["since_version"] == 1 and not domain and name in _EXPERIMENTAL
    return None if is_experimental else facts


def lookup(name: str, version: int | None, domain: str) -> OpSchema | None:
    """The schema of an operator in a version of its operator set, or the newest one."""
    found = None
    if domain in _STANDARD:
        facts = _native(name, version, domain)
        found = None if facts is None else _of_native(facts)
    versions = _CUSTOM.get((domain, name), {})
    usable = [since for since in versions if version is None or since <= version]
    if usable and (found is None or max(usable) > found.since_version):
        return versions[max(usable)]
    return found


def _custom() -> Iterator[OpSchema]:
    for versions in _CUSTOM.values():
        yield from versions.values()


def newest() -> list[OpSchema]:
    """The newest schema of each operator."""
    native = [_of_native(facts) for facts in _core.schemas()]
    return native + [versions[max(versions)] for versions in _CUSTOM.values() if versions]


def history() -> list[OpSchema]:
    """All schemas."""
    found = []
    for facts in _core.schemas():
        step: dict[str, Any] | None = facts
        while step is not None:
            found.append(_of_native(step))
            since = step["since_version"]
            step = _native(step["name"], since - 1, step["domain"]) if since > 1 else None
    return found + list(_custom())


def register(schema: OpSchema) -> None:
    """Adds a schema, which must be within the versions of its operator set."""
    since, domain = schema.since_version, schema.domain
    if domain not in VERSIONS:
        raise SchemaError(f"the operator set `{domain}` of {schema.name} has no versions; set them first")
    oldest, latest, _ = VERSIONS[domain]
    if not oldest <= since <= latest:
        raise SchemaError(f"{schema.name} exists since version {since} of `{domain}`, which has {oldest} to {latest}")
    versions = _CUSTOM.get((domain, schema.name), {})
    facts = _core.schema(schema.name, since, domain) if domain in _STANDARD else None
    if since in versions or (facts is not None and facts["since_version"] == since):
        raise SchemaError(f"{domain or 'ai.onnx'} has {schema.name} of version {since} already")
    _CUSTOM[domain, schema.name] = {**versions, since: schema._copied()}


def deregister(name: str, version: int, domain: str) -> None:
    """Removes a schema that was registered."""
    versions = _CUSTOM.get((domain, name), {})
    if versions.pop(version, None) is None:
        raise SchemaError(f"{domain or 'ai.onnx'} has no registered {name} of version {version}")
    if not versions:
        del _CUSTOM[domain, name]


def has_custom() -> bool:
    """Whether any schema is registered."""
    return bool(_CUSTOM)


def without_known(findings: Sequence[Mapping[str, Any]], model: _core.Model) -> list[Mapping[str, Any]]:
    """The findings without those that an operator is unknown which is registered."""
    if not _CUSTOM or all(finding["slug"] != _UNKNOWN for finding in findings):
        return list(findings)
    versions = model.opsets
    known: set[str] = set()
    unknown: set[str] = set()
    for node in model.nodes():
        schema = schema_of(node, versions)
        (unknown if schema is None else known).add(f"`{node.op_type}`")
    return [
        finding for finding in findings
        if finding["slug"] != _UNKNOWN or not any(name in finding["message"] for name in known - unknown)
    ]


def schema_of(node: _core.Node, versions: Mapping[str, int]) -> OpSchema | None:
    """The schema of a node for imported versions of operator sets."""
    version, name, domain = versions.get(node.domain), node.op_type, node.domain
    # Names that are not UTF-8 are bytes; no operator has one.
    is_text = isinstance(name, str) and isinstance(domain, str)
    return lookup(name, version, domain) if version is not None and is_text else None


def verify(model: _core.Model) -> None:
    """Raises an error if a node does not fit its registered schema."""
    if not _CUSTOM:
        return
    from .checker import ValidationError

    versions = model.opsets
    for node in model.nodes():
        schema = schema_of(node, versions)
        if schema is not None and not schema._is_native:
            found = problem(node, schema)
            if found is not None:
                raise ValidationError(f"node {node.name or node.op_type}: {found}")


def wrong_count(node: _core.Node, schema: OpSchema) -> str | None:
    """That a node has more or fewer operands than its schema allows, if it has."""
    if not schema.min_input <= len(node.inputs) <= schema.max_input:
        return f"`{schema.name}` takes {schema.min_input} to {schema.max_input} inputs, but the node has {len(node.inputs)}"
    if not schema.min_output <= len(node.outputs) <= schema.max_output:
        return (
            f"`{schema.name}` gives {schema.min_output} to {schema.max_output} outputs, "
            f"but the node has {len(node.outputs)}"
        )
    return None


def problem(node: _core.Node, schema: OpSchema) -> str | None:
    """Why a node does not fit a schema, if it does not."""
    wrong = wrong_count(node, schema)
    if wrong is not None:
        return wrong
    for name in node.attrs:
        if name not in schema.attributes:
            return f"`{schema.name}` has no attribute `{name}`"
    for attribute in schema.attributes.values():
        if attribute.required and attribute.name not in node.attrs:
            return f"`{schema.name}` needs the attribute `{attribute.name}`"
    return None


def unknown_operator(model: _core.Model) -> str | None:
    """That a node calls what is neither a known operator nor a function of the model."""
    versions = model.opsets
    for node in model.nodes():
        if node.callee is None and schema_of(node, versions) is None:
            return f"no operator `{node.op_type}` of the domain `{node.domain}` is registered"
    return None


_load_versions()
