"""What type checkers find wrong in calls: `mypy --strict` refuses an `ignore` of what it does not find. This is not run."""

import onnxkit as ox

model = ox.load("model.onnx", timeout=3.0)
ox.simplify(model, prove=True, seed=3, limits={"nodes": 3}, progress=True)
ox.simplify(model, provee=True)  # type: ignore[call-arg]
ox.check(model, timeout="3")  # type: ignore[arg-type]
ox.inputs(model, seed=None)  # type: ignore[arg-type]
ox.half(model, tolerence=1.0)  # type: ignore[call-arg]
