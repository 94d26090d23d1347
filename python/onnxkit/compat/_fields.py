"""Fields that exclude each other, in standalone attributes and tensors.

The decoder of the native module keeps one of them and reports the others; the report is not part of the model.
"""

from __future__ import annotations

from . import _wire

# The fields of `AttributeProto` that hold a value, and those of `TensorProto` that hold elements.
_VALUES = frozenset({2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 14, 15, 22, 23})
_ELEMENTS = frozenset({4, 5, 6, 7, 9, 10, 11})


def refuse_several_values(attribute: bytes) -> None:
    """Raises an error if an encoded attribute has several values, or its tensor has elements in several fields."""
    from .checker import ValidationError

    values = {field for field, _ in _wire.fields(attribute) if field in _VALUES}
    if len(values) > 1:
        raise ValidationError("the attribute has more than one value")
    for tensor in _wire.all_of(attribute, _wire.ATTRIBUTE_TENSOR):
        held = {field for field, value in _wire.fields(tensor) if field in _ELEMENTS and not (isinstance(value, memoryview) and not value)}
        if len(held) > 1:
            raise ValidationError("the tensor has elements in more than one field")
