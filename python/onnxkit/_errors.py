"""Exceptions. Those that carry findings have them in `findings`."""

from __future__ import annotations

# `typing` is not imported at run time: it takes longer than this package. Type checkers know this name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._results import Finding


class OnnxError(Exception):
    """The base of all exceptions of this package."""

    findings: list[Finding]

    def __init__(self, message: str, findings: list[dict[str, Any]] | None = None) -> None:
        super().__init__(message)
        from ._results import Finding

        self.findings = [Finding(finding) for finding in findings or ()]


class LoadError(OnnxError):
    """A file, bytes or text that is not a model, or weights that cannot be read."""


class SaveError(OnnxError):
    """A model that cannot be written."""


class CheckError(OnnxError):
    """A model with errors: what `Report.raise_for_errors()` raises."""


class InferError(OnnxError):
    """Types or costs that contradict each other."""


class ConvertError(OnnxError):
    """A model that has no form in another version; `reasons` says why."""

    @property
    def reasons(self) -> list[str]:
        """The reason of each node."""
        return [f"{finding.place}: {finding.message}" for finding in self.findings]


class EditError(OnnxError):
    """An edit that is refused. The model is as before."""


class StaleHandleError(EditError):
    """A handle of a node, a value or a graph that was erased."""


class ConcurrentEditError(OnnxError, RuntimeError):
    """Another thread edited the model during an iteration."""


class RunError(OnnxError):
    """A run that failed."""


class RuleError(OnnxError):
    """A rewrite rule that is malformed."""


class SelectorError(OnnxError, ValueError):
    """A selector that is malformed, or that denotes nothing."""


class ArgumentError(OnnxError, ValueError):
    """An argument that has no meaning."""


class LimitError(OnnxError):
    """Work that would exceed a limit; the message names the limit."""


class Stopped(OnnxError):
    """Work that was stopped by `timeout`."""


class BugError(OnnxError):
    """A defect of this package. Please report it."""
