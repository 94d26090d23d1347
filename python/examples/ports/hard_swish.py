"""Rules of onnxscript: `HardSwish` and `HardSigmoid` of their parts, and `Gemm` of `MatMul` and `Add`.

`python hard_swish.py IN OUT`

What is a `check` there is a number, an attribute or `where` here. A rule applies only from the version on that has its
operators, operands of commutative operators match in both orders, and each edit is tried before it is made. `onnx check`
refuted these rules as they are there: a sixth is an attribute, which has the precision of `float` for tensors of `double` as
well, and what is added to a product may enlarge it, which `Gemm` does not do. The conditions say so.
"""

import sys
from typing import Any

import onnxkit as ox

SINGLE = "elem(x) in (float16, float)"


@ox.rule(since=14, exactness="rounding")
def hard_swish(op: Any, x: Any) -> Any:
    """The parts in the order of a paper."""
    return op.Clip(x + 3.0, 0.0, 6.0) * x / 6.0, op.HardSwish(x)


@ox.rule(since=14, exactness="rounding", where=SINGLE)
def hard_sigmoid(op: Any, x: Any) -> Any:
    """Without the product."""
    return op.Clip(x + 3.0, 0.0, 6.0) / 6.0, op.HardSigmoid(x, alpha=1 / 6, beta=0.5)


@ox.rule(since=14, exactness="rounding", where=SINGLE)
def hard_swish_of_hard_sigmoid(op: Any, x: Any) -> Any:
    """What the rule before leaves, and what exporters write."""
    return op.HardSigmoid(x, alpha=1 / 6, beta=0.5) * x, op.HardSwish(x)


def gemm(transpose_a: int, transpose_b: int) -> ox.Rules:
    """`Gemm` of a product of matrices, which may be transposed first."""

    def left(op: Any, a: Any, b: Any, c: Any) -> Any:
        first = op.Transpose(a, perm=[1, 0]) if transpose_a else a
        second = op.Transpose(b, perm=[1, 0]) if transpose_b else b
        return op.MatMul(first, second) + c

    def right(op: Any, a: Any, b: Any, c: Any) -> Any:
        return op.Gemm(a, b, c, transA=transpose_a, transB=transpose_b)

    where = f"rank(a) == 2, rank(b) == 2, rank(c) == 1, dim(c, 0) == dim(b, {1 - transpose_b})"
    return ox.rule(left, right, name=f"gemm-{transpose_a}{transpose_b}", exactness="rounding", where=where)


RULES = [hard_swish, hard_sigmoid, hard_swish_of_hard_sigmoid, *(gemm(a, b) for a in (1, 0) for b in (1, 0))]


if __name__ == "__main__":
    loaded = ox.load(sys.argv[1])
    print(ox.run_passes(loaded, RULES, prove=True))
    loaded.save(sys.argv[2])
