"""How the drop-in words its refusals."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

_reference_texts = False


def set_reference_texts(wanted: bool) -> None:
    """Chooses the wording of refusals: of the reference, or of this package."""
    global _reference_texts
    _reference_texts = wanted


def reference_texts() -> bool:
    """Whether refusals have the wording of the reference, where it is known."""
    return _reference_texts


def worded(findings: Iterable[Mapping[str, Any]]) -> str:
    """The message for findings: the first one in full, and how many follow."""
    found = list(findings)
    if not found:
        return "the model is refused"
    first = found[0]
    message = f"{first['place']}: {first['message']}" if first["place"] else str(first["message"])
    if _reference_texts:
        from ._texts import reference_message

        message = reference_message(first) or message
    return message if len(found) == 1 else f"{message} (and {len(found) - 1} more)"
