"""Nodes that are not valid in the version from which a model is converted, and are in a later one.

Nothing defines what such a node computes, so that `onnxkit.convert` refuses the model. The reference converts it: it takes the node
for one of the first later version that allows its form, as this module does.
"""

from __future__ import annotations

import re

from onnxkit import _core, _errors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

# The operator set of nodes that wait for a version in which they are valid.
_WAITING = "onnxkit.waiting"
# An attribute about memory, which operators have before this version.
_HINT, _WITHOUT_HINT = "consumed_inputs", 6
# How refusals say that a node has no meaning: those of the rule, and those of steps that find shapes without one.
_INVALID = "conversion-invalid-node"
# A node of the main graph, in the place of a finding.
_NODE = re.compile(r'graph (?:"(?:[^"\\]|\\.)*" )?/ node #(\d+) [^/]*')
_WITHOUT_MEANING = ("which this version does not broadcast", "the slope is not a list")


def has_invalid_nodes(findings: Iterable[Mapping[str, Any]]) -> bool:
    """Whether all nodes that are refused are not valid in the version that the model imports."""
    found = list(findings)
    return bool(found) and all(
        one["slug"] == _INVALID or one["message"].endswith(_WITHOUT_MEANING) for one in found
    )


def convert(model: _core.Model, target: int, findings: Iterable[Mapping[str, Any]]) -> _core.Model | None:
    """The converted model, whose refused nodes are those of the first later version in which they are valid.

    `None` if there is none up to the target.
    """
    source = model.opsets.get("")
    if source is None or source >= target:
        return None
    places = [_NODE.fullmatch(one["place"]) for one in findings]
    if not all(places):
        return None
    indices = [int(place[1]) for place in places if place is not None]
    for version in range(source + 1, target + 1):
        attempt = model.clone()
        nodes = attempt.graph.nodes
        waiting = [nodes[index] for index in indices]
        try:
            for node in waiting:
                node.domain = _WAITING
            _core.convert(attempt, version, "")
            for node in waiting:
                node.domain = ""
                if version >= _WITHOUT_HINT and _HINT in node.attrs:
                    del node.attrs[_HINT]
            if any(one["severity"] == "error" for one in _core.infer(attempt, {}, True).findings):
                continue
            if version != target:
                _core.convert(attempt, target, "")
            if any(one["severity"] == "error" for one in _core.check(attempt, False, "reference")["findings"]):
                continue
        except _errors.OnnxError:
            continue
        return attempt
    return None
