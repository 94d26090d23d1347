"""Contradictions that inference finds and the reference does not, with what the specification says.

With the profile `reference`, strict inference does not raise for these, just as the checker omits its rules beyond the
reference. The list has those that models of the reference's tests have.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# The operator, what our message says, and the sentence that it enforces.
BEYOND = [
    ("Conv", r"output channels are not a multiple of",
     "Conv, W: the number of feature maps is a multiple of the number of groups"),
    ("ConvInteger", r"input 2 does not have one element",
     "ConvInteger: x_zero_point is a scalar, which means a per-tensor quantization"),
    ("Add|Sub|Mul|Div", r"sizes \d+ and \d+ differ, and `broadcast` is not set",
     "Add-1: if broadcast is disabled, the shapes of the operands must match"),
    ("GatherElements", r"has rank \d+ and input 1 has rank \d+", "GatherElements: indices has the same rank r as the input"),
    ("Gemm", r"C has rank \d+ where 2 is needed", "Gemm-6: C has the shape (M, N) unless broadcast is set"),
    ("GRU|LSTM|RNN", r"the hidden size and the size of its weights are|directions", "RNN, GRU, LSTM: R has the hidden size twice"),
    ("If", r"the condition does not have one element", "If: the tensor cond must contain a single element"),
    ("NonMaxSuppression", r"the batch sizes of the boxes and of the scores are",
     "NonMaxSuppression: boxes have num_batches as their first size, and so have scores"),
    ("RotaryEmbedding", r"the angles and the pairs of elements are", "RotaryEmbedding: cos_cache has rotary_embedding_dim / 2 columns"),
    ("ScatterND", r"the updates have rank", "ScatterND: updates has rank q + r - indices_shape[-1] - 1"),
    ("SoftmaxCrossEntropyLoss", r"the scores have rank \d+ and the classes have rank",
     "SoftmaxCrossEntropyLoss: the labels have the shape of the scores without the classes"),
    ("Clip", r"input \d does not have one element", "Clip-6 and later, min and max: they must be scalars, tensors of empty shape"),
    ("STFT", r"dimension \d+ is \d+ and declared as", "STFT: dft_unique_bins is frame_length // 2 + 1 if onesided is 1"),
    ("CenterCropPad", r"it has rank \d+ and is declared with rank", "CenterCropPad: the output has the rank of input_data"),
    ("OneHot", r"there are 0 depths where 1 is needed", "OneHot: depth is a scalar, or a vector with exactly one element"),
    ("ConcatFromSequence", r"the sizes of elements that are joined are",
     "Concat: all input tensors must have the same shape, except for the dimension size of the axis to concatenate on"),
]
_COMPILED = [(re.compile(rf"node #\d+ (?:{operator})\b"), re.compile(message)) for operator, message, _ in BEYOND]


def is_beyond(finding: Mapping[str, Any]) -> bool:
    """Whether the reference is known not to make a finding."""
    return any(
        operator.search(finding["place"]) and message.search(finding["message"]) for operator, message in _COMPILED
    )
