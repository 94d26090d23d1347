"""Results: objects with fields, a readable `repr` and `json()`."""

from __future__ import annotations

from ._errors import CheckError, EditError

# `typing` is not imported at run time: it takes longer than this package. Type checkers know this name.
TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Iterator
    from typing import Any

    from ._core import Inference, Model

    # A number, an expression of sizes, or unknown.
    Amount = int | str | None


class _Result:
    """A result whose fields are the entries of a dictionary."""

    __slots__ = ("_fields",)

    def __init__(self, fields: dict[str, Any]) -> None:
        self._fields = fields

    # Type checkers know the fields of each class.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            try:
                return self._fields[name]
            except KeyError:
                raise AttributeError(f"{type(self).__name__} has no field `{name}`; it has {', '.join(self._fields)}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._fields]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Result) and type(self) is type(other) and self._fields == other._fields

    def __hash__(self) -> int:
        return hash(self.json())

    def to_dict(self) -> dict[str, Any]:
        """The fields as a dictionary."""
        return dict(self._fields)

    def json(self, indent: int | None = None) -> str:
        """The fields as JSON."""
        import json

        return json.dumps(self._fields, indent=indent)

    def __repr__(self) -> str:
        shown = []
        for name, value in self._fields.items():
            if isinstance(value, (list, dict)) and len(value) > 3:
                value = f"[{len(value)} entries]"
            shown.append(f"{name}={value}")
        return f"{type(self).__name__}({', '.join(shown)})"


class Finding(_Result):
    """One finding: `rule`, `slug`, `severity`, `message`, `place`, `selector`, `help` and `notes`."""

    __slots__ = ()
    if TYPE_CHECKING:
        rule: str
        slug: str
        severity: str
        message: str
        place: str
        selector: str | None
        help: str | None
        notes: list[str]

    def __repr__(self) -> str:
        return f"{self.severity}[{self.rule}]: {self.message}\n  --> {self.place}"


class Report(_Result):
    """The findings of the checker."""

    __slots__ = ("_found",)
    if TYPE_CHECKING:
        dropped: int

    def __init__(self, fields: dict[str, Any]) -> None:
        super().__init__(fields)
        self._found = [Finding(finding) for finding in fields["findings"]]

    @property
    def findings(self) -> list[Finding]:
        """All findings."""
        return self._found

    @property
    def errors(self) -> list[Finding]:
        """The findings that are errors."""
        return [finding for finding in self._found if finding.severity == "error"]

    @property
    def warnings(self) -> list[Finding]:
        """The findings that are warnings."""
        return [finding for finding in self._found if finding.severity == "warning"]

    @property
    def ok(self) -> bool:
        """Whether the report is free of errors."""
        return not self.errors

    def raise_for_errors(self) -> Report:
        """Raises `CheckError` if there is an error, and returns the report otherwise."""
        errors = self.errors
        if errors:
            more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
            message = f"{errors[0].place}: {errors[0].message}{more}"
            raise CheckError(message, [finding.to_dict() for finding in errors])
        return self

    def __bool__(self) -> bool:
        return self.ok

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._found)

    def __repr__(self) -> str:
        if not self._found:
            return "no findings"
        lines = [repr(finding) for finding in self._found[:20]]
        if len(self._found) > 20:
            lines.append(f"and {len(self._found) - 20} more")
        return "\n".join(lines)


def add_contradictions(report: dict[str, Any], inference: Inference) -> None:
    """Adds nodes whose types contradict each other to what the checker found. What follows from its errors is left out."""
    defective = {_node(finding) for finding in report["findings"] if finding["severity"] == "error"} - {None}
    report["findings"] += [finding for finding in inference.findings if _node(finding) not in defective]


def _node(finding: dict[str, Any]) -> str | None:
    """The place of the node that a finding is about."""
    steps = finding["place"].split(" / ")
    nodes = [index for index, step in enumerate(steps) if step.startswith("node ")]
    return " / ".join(steps[: nodes[-1] + 1]) if nodes else None


class Info(_Result):
    """What a model consists of."""

    __slots__ = ()
    if TYPE_CHECKING:
        name: str
        nodes: int
        functions: int
        operators: dict[str, int]
        inputs: list[dict[str, str]]
        outputs: list[dict[str, str]]
        parameters: int
        weight_bytes: int
        external_bytes: int
        external_files: list[str]
        ir_version: int
        opsets: dict[str, int]
        producer: str
        producer_version: str
        metadata: dict[str, str]

    def __repr__(self) -> str:
        opsets = ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in self.opsets.items())
        lines = [
            f"{self.name or 'model'}: {self.nodes} nodes, {self.parameters} parameters ({self.weight_bytes} bytes)",
            f"  IR version {self.ir_version}; {opsets}; made by {self.producer or 'unknown'}",
        ]
        lines += [f"  input  {port['name']}: {port['type']}" for port in self.inputs]
        lines += [f"  output {port['name']}: {port['type']}" for port in self.outputs]
        most = sorted(self.operators.items(), key=lambda item: (-item[1], item[0]))
        lines.append("  " + ", ".join(f"{count} {name}" for name, count in most[:8]))
        return "\n".join(lines)


class Cost(_Result):
    """Operations, parameters and memory: numbers, expressions of sizes, or `None`."""

    __slots__ = ()
    if TYPE_CHECKING:
        operations: Amount
        macs: Amount
        parameters: Amount
        weight_bytes: Amount
        activation_bytes: Amount
        peak_bytes: Amount
        peak_node: str | None
        loops_counted_once: int
        unknown_nodes: int
        unknown_values: int
        nodes: list[dict[str, Amount]]


class ModelHash(_Result):
    """Digests: `model`, `structure`, `weights` and `interface`."""

    __slots__ = ()
    if TYPE_CHECKING:
        model: str
        structure: str
        weights: str
        interface: str


class Diff(_Result):
    """The differences of two models."""

    __slots__ = ()
    if TYPE_CHECKING:
        is_same_model: bool
        same_nodes: int
        same_initializers: int
        changes: list[dict[str, Any]]

    def __bool__(self) -> bool:
        return bool(self.changes)

    def __len__(self) -> int:
        return len(self.changes)

    def __repr__(self) -> str:
        if not self.changes:
            return "no differences"
        return "\n".join(f"{change['kind']} {change['element']}: {change['text']}" for change in self.changes)


class Schema(_Result):
    """The schema of an operator."""

    __slots__ = ()
    if TYPE_CHECKING:
        name: str
        domain: str
        since_version: int
        deprecated: bool
        inputs: list[dict[str, Any]]
        outputs: list[dict[str, Any]]
        attributes: list[dict[str, Any]]
        min_inputs: int
        max_inputs: int | None
        min_outputs: int
        max_outputs: int | None
        is_function: bool
        body_versions: list[int]
        has_inference: bool

    def __repr__(self) -> str:
        inputs = ", ".join(formal["name"] for formal in self.inputs)
        outputs = ", ".join(formal["name"] for formal in self.outputs)
        attributes = ", ".join(attribute["name"] for attribute in self.attributes)
        return f"{self.name}-{self.since_version} <{attributes}> ({inputs}) => ({outputs})"


class Fix(_Result):
    """An edit that a finding suggests: `rule` and `what`."""

    __slots__ = ()
    if TYPE_CHECKING:
        rule: str
        what: str

    def __repr__(self) -> str:
        return f"{self.rule}: {self.what}"


class Converted(_Result):
    """A conversion: `from_version`, `changed` and `steps`; `model` is the model."""

    __slots__ = ("model",)
    if TYPE_CHECKING:
        model: Model
        from_version: int
        changed: int
        steps: list[dict[str, Any]]


class Halved(_Result):
    """A conversion to half precision; `model` is the model.

    `nodes` and `casts` are counts, and `bytes` those of the weights before and after. `wide` has what stays `float`, `tensors` the
    constants that lose, `out_of_range` the numbers beyond the range, `imprecise` scales and factors that are too small for the type, and
    `outputs` the errors in a run; `not_measured` and `not_run` say why there are none. `unchanged` says why nothing gets the type, or is
    `None`. Outputs of integers have no ratio (`snr`), and `differing` counts their elements that differ; nor has an output of which nothing
    is finite, and `equal_not_finite` counts its elements.
    """

    __slots__ = ("model",)
    if TYPE_CHECKING:
        model: Model
        format: str
        nodes: int
        casts: int
        removed_casts: int
        constants: int
        bytes: dict[str, int]
        wide: list[dict[str, Any]]
        tensors: list[dict[str, Any]]
        out_of_range: dict[str, Any]
        imprecise: dict[str, Any]
        outputs: list[dict[str, Any]]
        generated: list[dict[str, Any]]
        not_measured: str | None
        not_run: str | None
        unchanged: str | None

    def __repr__(self) -> str:
        return (
            f"{self.nodes} nodes in {self.format}, {self.casts} casts added, {self.bytes['before']} -> {self.bytes['after']} bytes of "
            f"weights{_worst(self._fields)}"
        )


class Quantized(_Result):
    """A quantization; `model` is the model.

    `kind` is `static`, `dynamic` or `weights`, and `to` the type. `quantized` counts nodes by operator, `stay` has the others with
    their reasons, `weights` and `values` what was quantized, `ranges` the ranges of values, `correction` what that of biases did,
    `bytes` those of the weights before and after, and `outputs` the errors in runs; `not_measured` says why there are none.
    `generated` has the sizes of generated inputs, `weights_stay` the weights without a scale, and `unchanged` says why nothing is quantized
    if the model computes with another type than `float`. Outputs of integers have no ratio (`snr`), and `differing` counts their elements
    that differ.
    """

    __slots__ = ("model",)
    if TYPE_CHECKING:
        model: Model
        kind: str
        to: str
        quantized: list[dict[str, Any]]
        stay: list[dict[str, Any]]
        pairs: int
        folded: int
        biases: int
        correction: dict[str, Any] | None
        values: list[dict[str, Any]]
        ranges: dict[str, list[float]]
        samples: int
        operators: list[dict[str, Any]]
        weights: list[dict[str, Any]]
        weights_stay: list[Any]
        bytes: dict[str, int]
        outputs: list[dict[str, Any]]
        generated: list[dict[str, Any]]
        runs: int
        not_measured: str | None
        unchanged: str | None

    def save_ranges(self, path: str | os.PathLike[str]) -> None:
        """Writes the ranges to a file, which can be edited and given as `ranges`."""
        import json

        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schema": "onnx-ranges/1", "ranges": self.ranges}, file, indent=2)

    def __repr__(self) -> str:
        nodes = sum(row["nodes"] for row in self.quantized)
        weights = sum(not weight["kept"] for weight in self.weights)
        counts = f"{weights} weights" if self.kind == "weights" else f"{nodes} nodes and {weights} weights"
        return f"{counts} in {self.to}, {self.bytes['before']} -> {self.bytes['after']} bytes of weights{_worst(self._fields)}"


def _worst(fields: dict[str, Any]) -> str:
    """The output with the least ratio of signal to noise, and how many integers differ. Without a number, it is equal, or nothing of it is
    finite."""
    outputs = [output for output in fields["outputs"] if output["snr"] is not None]
    text = ""
    if outputs:
        worst = min(outputs, key=lambda output: output["snr"])
        text = f"; `{worst['name']}` has {worst['snr']:.1f} dB"
    for output in fields["outputs"]:
        if output["integers"] and output["differing"]:
            text += f"; {output['differing']} of {output['elements']} elements of `{output['name']}` differ"
    return text


class Dequantized(_Result):
    """A model of floats: `weights`, `pairs`, `limits` (pairs that became `Clip`) and `operators` are counts, `left` has what computes with
    quantized numbers; `model` is the model."""

    __slots__ = ("model",)
    if TYPE_CHECKING:
        model: Model
        weights: int
        pairs: int
        limits: int
        operators: int
        left: list[dict[str, str]]


class Retyped(_Result):
    """Other types of inputs and outputs: `casts` has the number of added casts by name; `model` is the model."""

    __slots__ = ("model",)
    if TYPE_CHECKING:
        model: Model
        casts: dict[str, int]


class Resized(_Result):
    """What follows from new sizes: `bound`, `freed`, `renamed`, `conditions`, `types` and `removed`."""

    __slots__ = ()
    if TYPE_CHECKING:
        bound: list[list[str | int]]
        freed: list[Any]
        renamed: list[Any]
        conditions: list[Any]
        types: int
        removed: int


class Why(_Result):
    """Why a part of a type is not known: `missing`, `because`, `node` and `chain`."""

    __slots__ = ()
    if TYPE_CHECKING:
        missing: str
        because: str
        node: str
        chain: list[str]

    def __repr__(self) -> str:
        return f"{self.missing}: the {self.because} of {' <- '.join(self.chain)} is not known, from {self.node}"


class Result(_Result):
    """What passes did: `edits`, `journal`, `refused`, `missed`, `passes`, `nodes_before`, `nodes_after` and `ended`.

    `ended` is `None` if nothing more changes, and `rounds` or `edits` if as many were made as are allowed.
    """

    __slots__ = ("model",)
    if TYPE_CHECKING:
        model: Model
        edits: int
        nodes_before: int
        nodes_after: int
        passes: list[dict[str, Any]]
        journal: list[dict[str, Any]]
        refused: list[dict[str, Any]]
        missed: list[dict[str, Any]]
        model_refuted: bool
        ended: str | None

    @property
    def proved(self) -> int:
        """The edits that are proved to compute the same."""
        return self._count("proved")

    @property
    def tested(self) -> int:
        """The edits whose results are equal in test runs."""
        return self._count("tested")

    def _count(self, verdict: str) -> int:
        return sum(entry["edits"] for entry in self.journal if entry["verdict"] == verdict)

    def __bool__(self) -> bool:
        return bool(self.edits)

    def raise_if_refuted(self) -> Result:
        """Raises `EditError` if an edit was shown to change what the model computes. The edit was not made."""
        refuted = [refusal for refusal in self.refused if refusal["refuted"]]
        if refuted or self.model_refuted:
            first = refuted[0] if refuted else {"pass": "model", "reason": self._fields["model"]}
            raise EditError(f"{first['pass']}: {first['reason']}")
        return self

    def __repr__(self) -> str:
        refused = f", {len(self.refused)} refused" if self.refused else ""
        ended = f"; ended by the most {self.ended}" if self.ended in ("rounds", "edits") else ""
        return (
            f"{self.edits} edits ({self.proved} proved, {self.tested} tested{refused}): "
            f"{self.nodes_before} -> {self.nodes_after} nodes{ended}"
        )


class Comparison(_Result):
    """Runs of two models on the same inputs: `runs`, one entry for each seed."""

    __slots__ = ()
    if TYPE_CHECKING:
        runs: list[dict[str, Any]]

    @property
    def agrees(self) -> bool:
        """Whether all outputs agree within the tolerances."""
        return all(run["agrees"] for run in self.runs)

    @property
    def first(self) -> dict[str, Any] | None:
        """The first value that differs; `None` if the models agree, or have no output in common."""
        for run in self.runs:
            if run["first"] is not None:
                return dict(run["first"])
            for value in (*run["inner"], *run["outputs"]):
                if not value["agrees"]:
                    return dict(value)
        return None

    def __bool__(self) -> bool:
        return self.agrees

    def raise_for_errors(self) -> Comparison:
        """Raises `EditError` if the models differ."""
        if not self.agrees:
            raise EditError(repr(self))
        return self

    def __repr__(self) -> str:
        if self.agrees:
            return f"the outputs agree in {len(self.runs)} runs"
        if self.first is not None:
            return f"`{self.first['name']}` differs: {self.first['mismatch'] or self.first['max_abs']}"
        missing = {"first": self.runs[0]["only_in_a"], "second": self.runs[0]["only_in_b"]}
        lines = [f"`{name}` is an output of the {model} model only" for model, names in missing.items() for name in names]
        return "; ".join(lines) or "the models have no outputs"
