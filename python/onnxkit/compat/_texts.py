"""The wording of the reference for defects that this package words in another way.

The table has what the reference's tests and the programs above it match. A defect without an entry has our message.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

_NOT_SORTED = (
    "Nodes in a graph must be topologically sorted, however input '{name}' is not output of any previous nodes."
)
# What our message says, by a regular expression on "place: message", and what the reference says.
_TEXTS = [
    (r"function `(?P<name>[^`]*)` calls itself",
     "Cycle detected in model-local function references: {name} -> {name}. Model-local functions must not be recursive."),
    (r"the last byte of the packed elements", "TensorProto has non-zero padding bits in its packed FLOAT6 raw_data."),
    (r"of `int32_data` is -?\d+, which is not a valid float6",
     "TensorProto FLOAT6 int32_data values must use only bits 0-5."),
    (r"^graph: the graph has no name|: the graph has no name$", "Field 'name' of 'graph' is required to be non-empty."),
    (r"/ type: the (?P<field>shape|element type) is missing", "Field '{field}' of 'type' is required but missing."),
    (r": the type is missing$|/ type: the type is missing", "Field 'type' of 'value_info' is required but missing."),
    (r"ONNX has no operator `(?P<name>[^`]*)`", "No Op registered for {name}"),
    (r"nothing defines value `(?P<name>[^`]*)`", _NOT_SORTED),
    (r"value `(?P<name>[^`]*)` is used before it is made", _NOT_SORTED),
    (r"ConvTranspose.*: \d+ input channels are not a multiple of",
     "Input channels C must be divisible by group for ConvTranspose."),
    (r"operator `(?P<name>\w+)` is deprecated since version (?P<version>\d+)",
     "{name} is deprecated: Op registered for {name} is deprecated in domain_version of {version}"),
    (r"the input has rank (?P<input>\d+) and the weights have rank (?P<weights>\d+)",
     "Number of spatial dimensions in the weight tensor ({weights} - 2) does not match the input tensor ({input} - 2)."),
    (r"Scan.*: (?P<states>\d+) states do not fit", "Number of loop state variables ({states}) exceeds the outputs of Scan."),
    (r"SplitToSequence.*: parts of size 0", "Scalar input 'split' must be greater than zero."),
    (r"Split.*: (?:there is (?:no) output|Split has 0 outputs)", "Split must have at least one output"),
    (r"(?:sizes?|padding|kernel|length|elements|product|sum).* (?:does|do) not fit (?:in|into) 64 bits",
     "Integer overflow: a size does not fit in 64 bits."),
    (r"the ellipsis of input (?P<input>\d+) has (?P<axes>\d+) axes and those before it (?P<others>\d+)",
     "Ellipsis for input {input} represents {axes} dimensions, but ellipsis for input 0 represents {others} dimensions."),
    (r"ConvTranspose.*: all groups have more output channels than can be counted",
     "Integer overflow computing the output channels of ConvTranspose."),
    (r"Resize.*cannot be converted to version 17.*: the sizes, .* not constant",
     "Resize with axes, sizes or scales that are not constant has no form in version 17."),
]
_COMPILED = [(re.compile(pattern, re.DOTALL), text) for pattern, text in _TEXTS]


def reference_order(findings: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Findings in the order in which the reference makes them, as far as a node is concerned: its operator comes last."""
    return sorted(findings, key=lambda finding: finding["slug"] == "unknown-operator")


def reference_message(finding: Mapping[str, Any]) -> str | None:
    """The message of the reference for a finding, if it is known."""
    message = f"{finding['place']}: {finding['message']}"
    for pattern, text in _COMPILED:
        found = pattern.search(message)
        if found is not None:
            return text.format(**found.groupdict())
    return None
