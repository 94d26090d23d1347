"""Models, tensors, rules and tables for `pickle`, and thereby for other processes. Handles mean nothing without their model."""

from __future__ import annotations

import copyreg
import os

from ._core import AttrRef, Model, Rules, Table, Tensor, received

# `typing` is not imported at run time: it takes longer than this package. Type checkers know this name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _received(contents: bytes, folders: list[str], stamps: dict[str, str], mapped: bool) -> Model:
    return received(contents, folders, stamps, mapped)


def _reduced_model(model: Model) -> tuple[Any, ...]:
    # Weights in other files stay there. What is unpickled reads these files, and no others that have their names by then.
    contents, folders, stamps, mapped = model._sent()
    return _received, (contents, [os.fspath(folder) for folder in folders], stamps, mapped)


def _reduced_tensor(tensor: Tensor) -> tuple[Any, ...]:
    contents = tensor.tolist() if tensor.nbytes is None else tensor.tobytes()
    return Tensor, (contents, tensor.dtype, tensor.shape, tensor.name)


def _parsed(text: str) -> Rules:
    return Rules.parse(text)


def _reduced_rules(rules: Rules) -> tuple[Any, ...]:
    return _parsed, (rules.text,)


def _reduced_table(table: Table) -> tuple[Any, ...]:
    return Table, (table.to_dict(), table.types)


def _reduced_reference(reference: AttrRef) -> tuple[Any, ...]:
    return AttrRef, (reference.name,)


def register() -> None:
    """Tells `copyreg`, which `copy` asks as well."""
    copyreg.pickle(Model, _reduced_model)
    copyreg.pickle(Tensor, _reduced_tensor)
    copyreg.pickle(Rules, _reduced_rules)
    copyreg.pickle(Table, _reduced_table)
    copyreg.pickle(AttrRef, _reduced_reference)
