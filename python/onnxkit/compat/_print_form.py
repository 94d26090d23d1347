"""ONNX text in the form of the reference, whose parser has no values for narrow float types, but their bit patterns."""

from __future__ import annotations

import re

from onnxkit import _core

# Text without lookalikes: strings are matched first, so that nothing within them is.
_TOKEN = re.compile(
    r'(?P<string>"(?:[^"\\]|\\.)*")'
    r"|(?P<type>\b[a-z]+[a-z0-9]*)\[(?P<dims>[0-9, ]*)\](?P<name>(?: [^\s{}<>()\",]+)?(?: =)?) \{(?P<elements>[^{}\"]*)\}"
)
_PATTERNS = frozenset(
    {"float16", "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "float8e8m0"}
)
# The reference prints no elements of these, as several of them share an entry.
_PACKED = frozenset({"int4", "uint4", "int2", "uint2", "float4e2m1"})


def as_reference(text: str) -> str:
    """Text with the elements of tensors as the reference writes them."""
    return _TOKEN.sub(_rewritten, text)


def _rewritten(found: re.Match[str]) -> str:
    if found["string"] is not None:
        return found[0]
    kind = found["type"]
    elements = [element.strip() for element in found["elements"].split(",") if element.strip()]
    if kind in _PATTERNS:
        elements = _patterns(kind, elements)
    elif kind in _PACKED and elements:
        elements = ["..."]
    return f"{kind}[{found['dims']}]{found['name']} {{{','.join(elements)}}}"


def _patterns(kind: str, elements: list[str]) -> list[str]:
    """The bit patterns of values; entries without a point, an exponent or a name are patterns already."""
    import numpy

    found = []
    dtype = _core.DType(kind).numpy()
    for element in elements:
        if element.lstrip("-").isdigit():
            found.append(element)
            continue
        value = numpy.array(float(element), dtype=numpy.float64).astype(dtype)
        found.append(str(int(value.view(f"u{dtype.itemsize}"))))
    return found


def refuse_wrong_sizes(model: _core.Model) -> None:
    """Raises an error if a tensor has more or less data than its sizes ask for: its text would be another tensor."""
    from .shape_inference import InferenceError

    for finding in _core.check(model, False, "spec")["findings"]:
        if finding["slug"] == "tensor-data-size":
            raise InferenceError(f"Data size mismatch. {finding['place']}: {finding['message']}")
