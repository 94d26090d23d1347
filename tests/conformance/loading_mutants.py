"""The mutations of `loading.py`: each changes one element of a model, so that it is often invalid, or needs what a runtime lacks."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, helper

TYPES = [
    TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16,
    TensorProto.BOOL, TensorProto.STRING, TensorProto.UINT8, TensorProto.INT8, TensorProto.UINT16, TensorProto.INT16,
    TensorProto.UINT32, TensorProto.UINT64, TensorProto.COMPLEX64, TensorProto.FLOAT8E4M3FN, TensorProto.INT4,
]  # fmt: skip
# Numbers at the limits of what attributes allow.
NUMBERS = [-1, 0, 1, 2, 3, 7, -2, -7, 100, 2**31, -(2**63)]
MUTATIONS: dict[str, Any] = {}


class NotPossible(Exception):
    """The model has nothing to which a mutation applies."""


def mutation(function: Any) -> Any:
    """Registers a mutation by its name."""
    MUTATIONS[function.__name__] = function
    return function


def one_of(state: random.Random, items: Any) -> Any:
    """One of the items, if there is one."""
    items = list(items)
    if not items:
        raise NotPossible
    return state.choice(items)


def graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """A graph and those nested in it."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            for nested in [attribute.g, *attribute.graphs]:
                if nested.ByteSize():
                    yield from graphs(nested)


def nodes(model: ModelProto) -> list[NodeProto]:
    """All nodes, those of functions included."""
    found = [node for graph in graphs(model.graph) for node in graph.node]
    return found + [node for function in model.functions for node in function.node]


def any_attribute(state: random.Random, model: ModelProto) -> tuple[NodeProto, AttributeProto]:
    return one_of(state, ((node, attribute) for node in nodes(model) for attribute in node.attribute))


def replace(attribute: AttributeProto, value: Any) -> None:
    attribute.CopyFrom(helper.make_attribute(attribute.name, value))


def node_with_input(state: random.Random, model: ModelProto) -> NodeProto:
    return one_of(state, (node for node in nodes(model) if node.input))


def node_with_output(state: random.Random, model: ModelProto) -> NodeProto:
    return one_of(state, (node for node in nodes(model) if node.output))


# --- operands ---------------------------------------------------------------------------------------------------------


@mutation
def input_dropped(state: random.Random, model: ModelProto) -> None:
    node = node_with_input(state, model)
    del node.input[-1]


@mutation
def input_left_out(state: random.Random, model: ModelProto) -> None:
    node = node_with_input(state, model)
    node.input[state.randrange(len(node.input))] = ""


@mutation
def input_added(state: random.Random, model: ModelProto) -> None:
    node = node_with_input(state, model)
    node.input.append(state.choice(node.input))


@mutation
def inputs_swapped(state: random.Random, model: ModelProto) -> None:
    node = one_of(state, (node for node in nodes(model) if len(node.input) > 1))
    first, second = state.sample(range(len(node.input)), 2)
    node.input[first], node.input[second] = node.input[second], node.input[first]


@mutation
def input_undefined(state: random.Random, model: ModelProto) -> None:
    node = node_with_input(state, model)
    node.input[state.randrange(len(node.input))] = "nowhere"


@mutation
def input_of_other_value(state: random.Random, model: ModelProto) -> None:
    graph = one_of(state, (graph for graph in graphs(model.graph) if graph.node))
    node = one_of(state, (node for node in graph.node if node.input))
    before = [name for other in graph.node for name in other.output if name] + [entry.name for entry in graph.input]
    node.input[state.randrange(len(node.input))] = one_of(state, before)


@mutation
def output_dropped(state: random.Random, model: ModelProto) -> None:
    node = node_with_output(state, model)
    del node.output[-1]


@mutation
def output_left_out(state: random.Random, model: ModelProto) -> None:
    node = node_with_output(state, model)
    node.output[state.randrange(len(node.output))] = ""


@mutation
def output_added(state: random.Random, model: ModelProto) -> None:
    one_of(state, nodes(model)).output.append("added")


# --- attributes -------------------------------------------------------------------------------------------------------


@mutation
def attribute_of_other_kind(state: random.Random, model: ModelProto) -> None:
    _, attribute = any_attribute(state, model)
    replace(attribute, state.choice([1, 1.5, "text", [1, 2], [1.5], ["a"], helper.make_tensor("t", TensorProto.FLOAT, [1], [1.0])]))


@mutation
def attribute_out_of_range(state: random.Random, model: ModelProto) -> None:
    kinds = (AttributeProto.INT, AttributeProto.FLOAT, AttributeProto.STRING, AttributeProto.INTS)
    _, attribute = one_of(
        state, ((node, attribute) for node in nodes(model) for attribute in node.attribute if attribute.type in kinds)
    )
    if attribute.type == AttributeProto.INT:
        attribute.i = state.choice(NUMBERS)
    elif attribute.type == AttributeProto.FLOAT:
        attribute.f = state.choice([-1.0, 0.0, 2.0, float("nan"), float("inf")])
    elif attribute.type == AttributeProto.STRING:
        attribute.s = state.choice([b"", b"nonsense", attribute.s.lower(), attribute.s.upper()])
    elif attribute.ints:
        attribute.ints[state.randrange(len(attribute.ints))] = state.choice(NUMBERS)
    else:
        attribute.ints.append(state.choice(NUMBERS))


@mutation
def attribute_of_other_length(state: random.Random, model: ModelProto) -> None:
    _, attribute = one_of(
        state, ((node, attribute) for node in nodes(model) for attribute in node.attribute if attribute.ints)
    )
    if state.random() < 0.5:
        del attribute.ints[-1]
    else:
        attribute.ints.append(state.choice(NUMBERS))


@mutation
def attribute_missing(state: random.Random, model: ModelProto) -> None:
    node, attribute = any_attribute(state, model)
    node.attribute.remove(attribute)


@mutation
def attribute_unknown(state: random.Random, model: ModelProto) -> None:
    one_of(state, nodes(model)).attribute.append(helper.make_attribute("unknown", 1))


@mutation
def attribute_twice(state: random.Random, model: ModelProto) -> None:
    node, attribute = any_attribute(state, model)
    node.attribute.append(attribute)


@mutation
def attribute_without_kind(state: random.Random, model: ModelProto) -> None:
    any_attribute(state, model)[1].ClearField("type")


@mutation
def attribute_of_other_type(state: random.Random, model: ModelProto) -> None:
    """An attribute that stands for an element type, such as `to` of `Cast`."""
    _, attribute = one_of(
        state,
        ((node, found) for node in nodes(model) for found in node.attribute if found.name in ("to", "dtype", "output_dtype")),
    )
    attribute.i = state.choice([*TYPES, 0, 99])


@mutation
def nested_output_changed(state: random.Random, model: ModelProto) -> None:
    graph = one_of(state, (graph for graph in list(graphs(model.graph))[1:] if graph.output))
    if state.random() < 0.5:
        del graph.output[-1]
    else:
        graph.output.append(graph.output[0])


# --- operators and versions -------------------------------------------------------------------------------------------


@mutation
def operator_unknown(state: random.Random, model: ModelProto) -> None:
    node = one_of(state, nodes(model))
    node.op_type = state.choice(["Unknown", node.op_type.lower(), node.op_type + "2", ""])


@mutation
def operator_of_other_name(state: random.Random, model: ModelProto) -> None:
    node = one_of(state, nodes(model))
    node.op_type = state.choice(["Add", "Relu", "MatMul", "Concat", "Reshape", "Gather", "Not", "LSTM", "Conv", "Cast", "Shape", "Where"])


@mutation
def domain_unknown(state: random.Random, model: ModelProto) -> None:
    one_of(state, nodes(model)).domain = state.choice(["unknown", "ai.onnx.ml", "com.microsoft", "ai.onnx"])


@mutation
def version_of_import(state: random.Random, model: ModelProto) -> None:
    one_of(state, model.opset_import).version = state.choice([0, -1, *range(1, 31)])


@mutation
def import_missing(state: random.Random, model: ModelProto) -> None:
    model.opset_import.remove(one_of(state, model.opset_import))


@mutation
def import_twice(state: random.Random, model: ModelProto) -> None:
    model.opset_import.add(domain=one_of(state, model.opset_import).domain, version=state.randint(1, 26))


@mutation
def import_unknown(state: random.Random, model: ModelProto) -> None:
    model.opset_import.add(domain=state.choice(["unknown", "ai.onnx.ml", "com.microsoft"]), version=state.randint(1, 8))


@mutation
def version_of_format(state: random.Random, model: ModelProto) -> None:
    model.ir_version = state.choice([0, 1, 2, 3, 4, 8, 13, 14, 15, 99, -1])


# --- names and order --------------------------------------------------------------------------------------------------


@mutation
def output_name_twice(state: random.Random, model: ModelProto) -> None:
    graph = one_of(state, (graph for graph in graphs(model.graph) if len(graph.node) > 1))
    first, second = state.sample(list(graph.node), 2)
    second.output[0] = one_of(state, first.output)


@mutation
def output_name_of_input(state: random.Random, model: ModelProto) -> None:
    node = one_of(state, (node for node in model.graph.node if node.output))
    entries = [entry.name for entry in model.graph.input] + [tensor.name for tensor in model.graph.initializer]
    node.output[0] = one_of(state, entries)


@mutation
def entry_twice(state: random.Random, model: ModelProto) -> None:
    field = one_of(
        state, (field for field in (model.graph.input, model.graph.output, model.graph.initializer, model.graph.value_info) if field)
    )
    field.append(one_of(state, field))


@mutation
def name_empty(state: random.Random, model: ModelProto) -> None:
    graph = model.graph
    one_of(state, [*graph.input, *graph.output, *graph.initializer, graph]).name = ""


@mutation
def node_name_twice(state: random.Random, model: ModelProto) -> None:
    for node in nodes(model):
        node.name = "same"


@mutation
def order_changed(state: random.Random, model: ModelProto) -> None:
    graph = one_of(state, (graph for graph in graphs(model.graph) if len(graph.node) > 1))
    order = list(graph.node)
    state.shuffle(order)
    del graph.node[:]
    graph.node.extend(order)


@mutation
def cycle(state: random.Random, model: ModelProto) -> None:
    graph = one_of(state, (graph for graph in graphs(model.graph) if graph.node))
    node = one_of(state, (node for node in graph.node if node.input and node.output))
    later = list(graph.node)[list(graph.node).index(node) :]
    node.input[state.randrange(len(node.input))] = one_of(state, (name for other in later for name in other.output if name))


@mutation
def node_missing(state: random.Random, model: ModelProto) -> None:
    graph = one_of(state, (graph for graph in graphs(model.graph) if graph.node))
    graph.node.remove(one_of(state, graph.node))


# --- declarations -----------------------------------------------------------------------------------------------------


def tensor_type(entry: Any) -> Any:
    if entry.type.WhichOneof("value") != "tensor_type":
        raise NotPossible
    return entry.type.tensor_type


def declared(state: random.Random, model: ModelProto) -> Any:
    return one_of(
        state, (entry for graph in graphs(model.graph) for entry in [*graph.input, *graph.output, *graph.value_info])
    )


@mutation
def declared_output_type(state: random.Random, model: ModelProto) -> None:
    tensor_type(one_of(state, model.graph.output)).elem_type = state.choice(TYPES)


@mutation
def declared_input_type(state: random.Random, model: ModelProto) -> None:
    tensor_type(one_of(state, model.graph.input)).elem_type = state.choice(TYPES)


@mutation
def all_types(state: random.Random, model: ModelProto) -> None:
    """The type of all inputs, outputs and initializers of a type: kernels are missing, but the model is valid or nearly so."""
    old = tensor_type(one_of(state, model.graph.input)).elem_type
    new = state.choice(TYPES)
    for graph in graphs(model.graph):
        for entry in [*graph.input, *graph.output, *graph.value_info]:
            if entry.type.WhichOneof("value") == "tensor_type" and entry.type.tensor_type.elem_type == old:
                entry.type.tensor_type.elem_type = new
        for tensor in graph.initializer:
            if tensor.data_type == old:
                convert(tensor, new)


@mutation
def declared_rank(state: random.Random, model: ModelProto) -> None:
    shape = tensor_type(declared(state, model)).shape
    if shape.dim and state.random() < 0.5:
        del shape.dim[-1]
    else:
        shape.dim.add(dim_value=state.choice([1, 2]))


@mutation
def declared_size(state: random.Random, model: ModelProto) -> None:
    dim = one_of(state, tensor_type(declared(state, model)).shape.dim)
    dim.dim_value = state.choice([*NUMBERS, 5])


@mutation
def declaration_without_type(state: random.Random, model: ModelProto) -> None:
    entry = declared(state, model)
    if state.random() < 0.5:
        entry.ClearField("type")
    else:
        tensor_type(entry).ClearField("elem_type")


@mutation
def declaration_of_sequence(state: random.Random, model: ModelProto) -> None:
    entry = declared(state, model)
    inner = onnx.TypeProto.FromString(entry.type.SerializeToString())
    entry.type.sequence_type.elem_type.CopyFrom(inner)


@mutation
def declared_output_undefined(state: random.Random, model: ModelProto) -> None:
    one_of(state, model.graph.output).name = "nowhere"


@mutation
def entry_missing(state: random.Random, model: ModelProto) -> None:
    field = one_of(state, (field for field in (model.graph.input, model.graph.output, model.graph.initializer) if field))
    field.remove(one_of(state, field))


# --- initializers -----------------------------------------------------------------------------------------------------


def initializer(state: random.Random, model: ModelProto) -> TensorProto:
    return one_of(state, (tensor for graph in graphs(model.graph) for tensor in graph.initializer))


def convert(tensor: TensorProto, to: int) -> None:
    """Makes zeros of another type of a tensor."""
    count = int(np.prod(tensor.dims)) if tensor.dims else 1
    value = b"" if to == TensorProto.STRING else 0
    try:
        made = helper.make_tensor(tensor.name, to, tensor.dims, [value] * count)
    except Exception as error:
        raise NotPossible from error
    tensor.CopyFrom(made)


@mutation
def initializer_of_other_type(state: random.Random, model: ModelProto) -> None:
    convert(initializer(state, model), state.choice(TYPES))


@mutation
def initializer_of_other_rank(state: random.Random, model: ModelProto) -> None:
    tensor = initializer(state, model)
    if tensor.dims and tensor.dims[-1] == 1 and state.random() < 0.5:
        del tensor.dims[-1]
    else:
        tensor.dims.append(1)


@mutation
def initializer_of_other_size(state: random.Random, model: ModelProto) -> None:
    tensor = one_of(state, (tensor for graph in graphs(model.graph) for tensor in graph.initializer if tensor.dims))
    tensor.dims[state.randrange(len(tensor.dims))] += state.choice([1, 2])
    convert(tensor, tensor.data_type)


@mutation
def initializer_of_other_length(state: random.Random, model: ModelProto) -> None:
    """Too few or too many elements."""
    tensor = one_of(state, (tensor for graph in graphs(model.graph) for tensor in graph.initializer if tensor.dims))
    tensor.dims[state.randrange(len(tensor.dims))] += state.choice([1, -1])


@mutation
def initializer_of_unknown_type(state: random.Random, model: ModelProto) -> None:
    initializer(state, model).data_type = state.choice([0, 99, TensorProto.COMPLEX64, TensorProto.FLOAT8E4M3FN])


@mutation
def initializer_value(state: random.Random, model: ModelProto) -> None:
    """Numbers such as axes and sizes, at their limits."""
    tensor = one_of(
        state,
        (tensor for graph in graphs(model.graph) for tensor in graph.initializer
         if tensor.data_type == TensorProto.INT64 and 0 < int(np.prod(tensor.dims or [1])) < 10),
    )  # fmt: skip
    values = onnx.numpy_helper.to_array(tensor).copy()
    values.reshape(-1)[state.randrange(values.size)] = state.choice(NUMBERS)
    tensor.CopyFrom(onnx.numpy_helper.from_array(values, tensor.name))


# --- functions --------------------------------------------------------------------------------------------------------


@mutation
def function_changed(state: random.Random, model: ModelProto) -> None:
    function = one_of(state, model.functions)
    change = state.choice(["import", "input", "output", "twice", "recursion", "version", "missing"])
    if change == "import":
        del function.opset_import[:]
    elif change == "input" and function.input:
        del function.input[-1]
    elif change == "output":
        function.output.append("nowhere")
    elif change == "twice":
        model.functions.append(function)
    elif change == "recursion":
        function.node.add(op_type=function.name, domain=function.domain, input=function.input, output=["again"])
    elif change == "version" and function.opset_import:
        one_of(state, function.opset_import).version = state.randint(1, 28)
    else:
        model.functions.remove(function)
