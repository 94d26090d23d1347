"""How closely the drop-in follows the reference."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any


class Mode:
    """What `install` was asked for."""

    # `reference`: models are refused that the reference refuses; `spec`: all that the specification does not allow.
    profile = "reference"
    # Whether refusals have the wording of the reference, and text has its form.
    reference_texts = False
    # Whether conversions are refused that the reference cannot make.
    reference_limits = False


MODE = Mode()


def worded(findings: Iterable[Mapping[str, Any]]) -> str:
    """The message for findings: the first one in full, and how many follow."""
    found = list(findings)
    if not found:
        return "the model is refused"
    if MODE.reference_texts:
        from ._texts import reference_message, reference_order

        found = reference_order(found)
    first = found[0]
    message = f"{first['place']}: {first['message']}" if first["place"] else str(first["message"])
    if MODE.reference_texts:
        message = reference_message(first) or message
    return message if len(found) == 1 else f"{message} (and {len(found) - 1} more)"
