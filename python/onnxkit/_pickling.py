"""Models, tensors and rules for `pickle`, and thereby for other processes. Handles mean nothing without their model."""

from __future__ import annotations

import copyreg

from ._core import Model, Rules, Tensor, loads

# `typing` is not imported at run time: it takes longer than this package. Type checkers know this name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _loaded(contents: bytes, folder: Any) -> Model:
    return loads(contents, folder)


def _reduced_model(model: Model) -> tuple[Any, ...]:
    # Weights in other files stay there.
    return _loaded, (bytes(model), model.folder)


def _reduced_tensor(tensor: Tensor) -> tuple[Any, ...]:
    contents = tensor.tolist() if tensor.nbytes is None else tensor.tobytes()
    return Tensor, (contents, tensor.dtype, tensor.shape, tensor.name)


def _parsed(text: str) -> Rules:
    return Rules.parse(text)


def _reduced_rules(rules: Rules) -> tuple[Any, ...]:
    return _parsed, (rules.text,)


def register() -> None:
    """Tells `copyreg`, which `copy` asks as well."""
    copyreg.pickle(Model, _reduced_model)
    copyreg.pickle(Tensor, _reduced_tensor)
    copyreg.pickle(Rules, _reduced_rules)
