"""Puts models into nested graphs, for `loading.py --nest`: a branch of `If` or a body of `Loop` or `Scan` gets the nodes, and the
main graph its inputs. What such a graph needs to be loaded does not depend on whether a run executes it, mostly.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from loading_mutants import NotPossible
from onnx import GraphProto, ModelProto, TensorProto, ValueInfoProto, helper, numpy_helper

FLAG = helper.make_tensor_value_info("", TensorProto.BOOL, [])


def entry(name: str, like: ValueInfoProto) -> ValueInfoProto:
    made = ValueInfoProto()
    made.CopyFrom(like)
    made.name = name
    return made


def is_tensor(declared: ValueInfoProto) -> bool:
    return declared.type.WhichOneof("value") == "tensor_type" and bool(declared.type.tensor_type.elem_type)


class Nest:
    """A main graph around the nodes of a model."""

    def __init__(self, state: random.Random, model: ModelProto) -> None:
        self.state, self.old = state, model.graph
        self.version = max([0, *(found.version for found in model.opset_import if found.domain in ("", "ai.onnx"))])
        self.main = GraphProto(name="main", input=model.graph.input)
        self.body = GraphProto(name="body", node=model.graph.node, value_info=model.graph.value_info)
        where = self.body if state.random() < 0.5 else self.main
        where.initializer.extend(model.graph.initializer)
        where.sparse_initializer.extend(model.graph.sparse_initializer)
        self.is_local = where is self.body

    def input(self, name: str, like: ValueInfoProto) -> str:
        self.main.input.append(entry(name, like))
        return name

    def flag(self, name: str, value: bool, form: str) -> str:
        """A condition: an input, an initializer, a constant, or computed from one."""
        if form == "input":
            return self.input(name, FLAG)
        if form == "initializer":
            self.main.initializer.append(numpy_helper.from_array(np.array(value), name))
        elif form == "constant":
            self.constant(self.main, name, value)
        else:
            self.constant(self.main, f"{name}_not", not value)
            self.main.node.append(helper.make_node("Not", [f"{name}_not"], [name]))
        return name

    def constant(self, graph: GraphProto, name: str, value: Any) -> None:
        """A node, or an initializer where `Constant` has floats only."""
        tensor = numpy_helper.from_array(np.array(value))
        if self.version < 9:
            tensor.name = name
            graph.initializer.append(tensor)
        else:
            graph.node.append(helper.make_node("Constant", [], [name], value=tensor))

    def conditional(self) -> None:
        form = self.state.choice(["input", "initializer", "constant", "computed"])
        flag = self.flag("nest_if", self.state.random() < 0.5, form)
        outputs = list(self.old.output) if self.state.random() < 0.7 else []
        if not outputs:
            outputs = [entry("nest_done", FLAG)]
            self.constant(self.body, "nest_done", True)
        other = GraphProto(name="other")
        for index, declared in enumerate(outputs):
            if not declared.type.WhichOneof("value"):
                raise NotPossible
            name = self.input(f"nest_other{index}", declared)
            other.node.add(op_type="Identity", input=[name], output=[f"nest_same{index}"])
            other.output.append(entry(f"nest_same{index}", declared))
        self.body.output.extend(outputs)
        branches = [self.body, other]
        self.state.shuffle(branches)
        results = [f"nest_out{index}" for index in range(len(outputs))]
        self.main.node.append(
            helper.make_node("If", [flag], results, then_branch=branches[0], else_branch=branches[1])
        )
        self.main.output.extend(entry(name, declared) for name, declared in zip(results, outputs, strict=True))

    def carried(self) -> list[ValueInfoProto]:
        """Inputs that the body takes as its own; the others are captured."""
        if self.state.random() < 0.5:
            return []
        initialized = {tensor.name for tensor in self.old.initializer} if self.is_local else set()
        return [declared for declared in self.main.input if is_tensor(declared) and declared.name not in initialized]

    def loop(self) -> None:
        count = self.state.choice(["nest_count", "", "nest_zero", "nest_three"])
        if count == "nest_count":
            self.input(count, helper.make_tensor_value_info(count, TensorProto.INT64, []))
        elif count:
            self.main.initializer.append(numpy_helper.from_array(np.array(0 if count == "nest_zero" else 3, np.int64), count))
        form = self.state.choice(["", "input", "constant"])
        flag = self.flag("nest_while", self.state.random() < 0.5, form) if form else ""
        carried = [declared for declared in self.carried() if not declared.name.startswith("nest_")]
        self.body.input.extend([helper.make_tensor_value_info("nest_i", TensorProto.INT64, []), entry("nest_go", FLAG)])
        self.body.node.append(helper.make_node("Identity", ["nest_go"], ["nest_next"]))
        self.body.output.append(entry("nest_next", FLAG))
        results = self.pass_on(carried)
        scanned = [declared for declared in self.old.output if is_tensor(declared)]
        self.body.output.extend(scanned)
        results += [(f"nest_out{index}", declared, 1) for index, declared in enumerate(scanned)]
        self.add("Loop", [count, flag, *(f"nest_outer_{found.name}" for found in carried)], results, {})

    def scan(self) -> None:
        if self.version < 9:
            raise NotPossible
        carried = self.carried()
        numbers = helper.make_tensor_value_info("", TensorProto.FLOAT, [self.state.choice([0, 3, "nest_n"])])
        scanned = self.input("nest_numbers", numbers)
        results = self.pass_on(carried)
        self.body.input.append(helper.make_tensor_value_info("nest_number", TensorProto.FLOAT, []))
        self.body.node.append(helper.make_node("Identity", ["nest_number"], ["nest_same"]))
        kept = [declared for declared in self.old.output if is_tensor(declared)]
        self.body.output.extend([helper.make_tensor_value_info("nest_same", TensorProto.FLOAT, []), *kept])
        results += [("nest_same_all", numbers, 0), *((f"nest_out{index}", found, 1) for index, found in enumerate(kept))]
        names = [f"nest_outer_{found.name}" for found in carried]
        self.add("Scan", [*names, scanned], results, {"num_scan_inputs": 1})

    def pass_on(self, carried: list[ValueInfoProto]) -> list[tuple[str, ValueInfoProto, int]]:
        """Makes inputs values that each iteration passes to the next one."""
        outer = {declared.name for declared in carried}
        results = []
        for declared in self.main.input:
            if declared.name in outer:
                self.body.input.append(entry(declared.name, declared))
                if self.state.random() < 0.3:
                    self.body.input[-1].type.tensor_type.ClearField("shape")
                name = f"nest_kept_{declared.name}"
                self.body.node.append(helper.make_node("Identity", [declared.name], [name]))
                self.body.output.append(entry(name, declared))
                results.append((f"nest_last_{declared.name}", entry("", declared), 0))
                declared.name = f"nest_outer_{declared.name}"
        return results

    def add(self, operator: str, inputs: list[str], results: list[tuple[str, ValueInfoProto, int]], more: dict[str, Any]) -> None:
        if not results:
            raise NotPossible
        names = [name for name, _, _ in results]
        self.main.node.append(helper.make_node(operator, inputs, names, body=self.body, **more))
        for name, declared, axes in results:
            made = entry(name, declared)
            tensor = made.type.tensor_type
            if axes and tensor.HasField("shape"):
                sizes = list(tensor.shape.dim)
                del tensor.shape.dim[:]
                tensor.shape.dim.add()
                tensor.shape.dim.extend(sizes)
            self.main.output.append(made)


def in_function(model: ModelProto) -> None:
    """Moves the nodes of the main graph into a function, if it has no initializers."""
    graph = model.graph
    if graph.initializer or graph.sparse_initializer or model.ir_version < 8:
        return
    inputs, outputs = [found.name for found in graph.input], [found.name for found in graph.output]
    function = helper.make_function("nest", "F", inputs, outputs, graph.node, list(model.opset_import))
    del graph.node[:]
    graph.node.add(domain="nest", op_type="F", input=inputs, output=outputs)
    model.functions.append(function)
    model.opset_import.add(domain="nest", version=1)


def nested(state: random.Random, model: ModelProto) -> tuple[str, ModelProto]:
    """The model in a nested graph, and what it is nested in."""
    made = ModelProto()
    made.CopyFrom(model)
    forms = []
    for _ in range(state.choice([1, 1, 2])):
        form = state.choice(["conditional", "conditional", "loop", "scan"])
        nest = Nest(state, made)
        getattr(nest, form)()
        rename(nest.main, len(forms))
        made.graph.CopyFrom(nest.main)
        forms.append(form)
    if state.random() < 0.15:
        in_function(made)
        forms.append("function")
    return "-".join(forms), made


def rename(graph: GraphProto, level: int) -> None:
    """Gives the names that nesting made a number, so that it can be repeated."""

    def new(name: str) -> str:
        return f"level{level}_{name[5:]}" if name.startswith("nest_") else name

    for found in [*graph.input, *graph.output, *graph.initializer, *graph.value_info]:
        found.name = new(found.name)
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [new(name) for name in names]
        for attribute in node.attribute:
            if attribute.g.ByteSize():
                rename(attribute.g, level)
