"""Replaces the two forms of `Gelu` that exporters write, as rules of onnxscript do; each edit is proved.

`python fuse_gelu.py IN OUT`
"""

import math
import sys
from typing import Any

import onnxkit as ox


@ox.rule(exactness="rounding", since=20)
def gelu_outer(op: Any, x: Any) -> Any:
    """The half is multiplied last."""
    return 0.5 * (x * (op.Erf(x / math.sqrt(2)) + 1.0)), op.Gelu(x)


@ox.rule(exactness="rounding", since=20)
def gelu_inner(op: Any, x: Any) -> Any:
    """The half is multiplied first."""
    return x * (0.5 * (op.Erf(x / math.sqrt(2)) + 1.0)), op.Gelu(x)


if __name__ == "__main__":
    loaded = ox.load(sys.argv[1])
    print(ox.run_passes(loaded, [gelu_outer, gelu_inner], prove=True))
    loaded.save(sys.argv[2])
