"""Handles of graphs, nodes and values."""

import gc
import threading

import numpy
import pytest

import onnxkit as ox

TEXT = 'g (float[N,4] x) => (float[N,4] y) < float[4] w = {1, 2, 3, 4} > { a = Identity (x) b = Add (a, w) y = Relu (b) }'


def test_reading():
    model = ox.parse(TEXT)
    nodes = list(model.nodes())
    assert [node.op_type for node in nodes] == ["Identity", "Add", "Relu"]
    add = nodes[1]
    assert [value.name for value in add.inputs] == ["a", "w"]
    assert add.inputs[0].producer() == nodes[0]
    assert add.inputs[1].producer() is None
    assert add.inputs[1].is_initializer()
    assert add.inputs[1].const_value.tolist() == [1, 2, 3, 4]
    assert add.outputs[0].consumers() == [nodes[2]]
    assert add.outputs[0].uses() == [(nodes[2], 0)]
    assert add.outputs[0].index() == 0
    assert add.predecessors() == [nodes[0]] and add.successors() == [nodes[2]]
    assert model.graph["y"].is_graph_output() and not model.graph["b"].is_graph_output()
    assert model.graph["x"].is_graph_input()
    assert list(model.graph.initializers) == ["w"]
    assert model.graph.inputs[0].type == "float[N,4]"
    assert model.graph.inputs[0].shape == ("N", 4)
    dtype = model.graph.inputs[0].dtype
    assert dtype == ox.DType.FLOAT and dtype == 1 and dtype == "float32"
    assert add.schema == "Add-14"
    assert add.graph == model.graph
    assert hash(add) == hash(list(model.nodes())[1])
    assert "Add" in repr(add)
    assert "missing" not in model.graph
    with pytest.raises(KeyError):
        model.graph["missing"]


def test_remove_identities_as_in_ir_py():
    model = ox.parse(TEXT)
    for node in model.nodes():
        if node.op_type == "Identity" and not node.outputs[0].is_graph_output():
            node.outputs[0].replace_all_uses_with(node.inputs[0])
            node.graph.remove(node)
    assert [node.op_type for node in model.nodes()] == ["Add", "Relu"]
    ox.check(model).raise_for_errors()


def test_output_keeps_its_name():
    model = ox.parse("g (float[2] x) => (float[2] y) { y = Identity (x) }")
    model.graph["y"].replace_all_uses_with(model.graph["x"])
    assert [value.name for value in model.graph.outputs] == ["y"]
    ox.check(model).raise_for_errors()


def test_build():
    model = ox.Model(opset=21)
    graph = model.graph
    x = graph.add_input("x", "float[batch,3]")
    w = graph.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], name="w")
    y = ox.ops.MatMul(graph, x, w)
    y = ox.ops.Softmax(graph, y, axis=-1)
    y.name = "y"
    y.type = "float[batch,2]"
    graph.add_output(y)
    ox.check(model).raise_for_errors()
    first, second = ox.ops.Split(graph, y, num_outputs=2, axis=1, _outputs=2)
    assert first.producer() == second.producer() and second.index() == 1
    result = ox.Evaluator(model).run({"x": [[0.0, 0.0, 0.0]]})["y"]
    assert result.tolist() == [0.5, 0.5]
    with pytest.raises(AttributeError):
        ox.ops.Nothing
    with pytest.raises(TypeError, match="no attribute"):
        ox.ops.Relu(graph, x, alpha=1.0)
    with pytest.raises(TypeError, match="inputs"):
        ox.ops.Relu(graph)


def test_insert_and_replace():
    model = ox.parse(TEXT)
    add = model.graph["b"].producer()
    neg = model.graph.add("Neg", [model.graph["a"]], before=add)
    add.replace_input_with(0, neg.outputs[0])
    assert [node.op_type for node in model.graph] == ["Identity", "Neg", "Add", "Relu"]
    with pytest.raises(ox.EditError, match="use"):
        model.graph.remove(neg)
    with pytest.raises(ox.ArgumentError):
        add.replace_input_with(7, None)
    neg.replace_with(model.graph["a"])
    assert not neg.is_alive
    model.graph.outputs = [model.graph["b"]]
    assert model.cleanup() > 0
    assert [node.op_type for node in model.nodes()] == ["Identity", "Add"]


def test_attributes():
    model = ox.parse("g (float[2,2] x) => (y) { y = Transpose <perm = [1, 0]> (x) }")
    node = next(model.nodes())
    assert node.attrs["perm"] == [1, 0]
    assert dict(node.attrs.items()) == {"perm": [1, 0]}
    assert "perm" in node.attrs and len(node.attrs) == 1 and list(node.attrs) == ["perm"]
    node.attrs["perm"] = (0, 1)
    assert node.attributes["perm"] == [0, 1]
    del node.attrs["perm"]
    assert node.attrs.get("perm") is None and node.attrs.get("perm", 3) == 3
    with pytest.raises(KeyError):
        node.attrs["perm"]
    with pytest.raises(KeyError):
        del node.attrs["perm"]
    elu = model.graph.add("Elu", [model.graph["x"]], {"alpha": 2})
    assert elu.attrs["alpha"] == 2.0 and isinstance(elu.attrs["alpha"], float)
    with pytest.raises(ox.ArgumentError):
        model.graph.add("Elu", [model.graph["x"]], {"alpha": "text"})
    cast = model.graph.add("Cast", [model.graph["x"]], {"to": ox.DType.INT8})
    assert cast.attrs["to"] == 3
    constant = model.graph.add("Constant", [], {"value": ox.Tensor([1, 2])})
    assert constant.outputs[0].const_value.tolist() == [1, 2]


def test_nested_graphs():
    model = ox.parse("""g (bool c, float[2] x) => (float[2] y) {
        y = If (c) <then_branch = t () => (float[2] a) { a = Neg (x) }, else_branch = e () => (float[2] b) { b = Abs (x) }>
    }""")
    assert sorted(node.op_type for node in model.nodes()) == ["Abs", "If", "Neg"]
    branch = model.graph.nodes[0].attrs["then_branch"]
    assert branch.parent_node == model.graph.nodes[0]
    assert len(model.graph.subgraphs()) == 2
    assert branch["x"] == model.graph["x"]
    model.graph.outputs = []
    model.graph.nodes[0].erase()
    assert repr(branch) == "<Graph, erased>"
    with pytest.raises(ox.StaleHandleError):
        branch.name


def test_stale_handles():
    model = ox.parse(TEXT)
    relu = model.graph["y"].producer()
    value = relu.outputs[0]
    model.graph.outputs = [model.graph["b"]]
    relu.erase()
    for use in (lambda: relu.op_type, lambda: relu.inputs, lambda: relu.attrs["a"], lambda: value.name, relu.erase):
        with pytest.raises(ox.StaleHandleError):
            use()
    assert not relu.is_alive and not value.is_alive
    assert "erased" in repr(relu) and "erased" in repr(value)


def test_what_was_read_before_an_edit_is_read_again():
    model = ox.parse(TEXT)
    nodes = model.nodes()
    add, relu = model.graph["b"].producer(), model.graph["y"].producer()
    operand, kept = add.inputs[0], relu.inputs[0]
    identity = operand.producer()
    assert next(nodes) == identity and kept.producer() == add
    operand.replace_all_uses_with(model.graph["x"])
    identity.erase()
    with pytest.raises(ox.StaleHandleError):
        operand.producer()
    kept.replace_all_uses_with(model.graph["x"])
    add.erase()
    with pytest.raises(ox.StaleHandleError):
        kept.producer()
    assert [node.op_type for node in nodes] == ["Relu"]
    assert relu.inputs[0].producer() is None


def test_models_do_not_mix():
    a, b = ox.parse(TEXT), ox.parse(TEXT)
    with pytest.raises(ox.EditError, match="another model"):
        a.graph.add("Neg", [b.graph["x"]])
    with pytest.raises(ox.ArgumentError):
        a.graph.add("Neg", [3.0])
    assert a.graph["x"] != b.graph["x"]


def test_clones_are_independent():
    model = ox.parse(TEXT)
    copy = model.clone()
    copy.graph["b"].name = "other"
    assert "b" in model.graph and "b" not in copy.graph
    assert ox.diff(model, model.clone()).is_same_model


def test_header():
    model = ox.parse(TEXT)
    model.producer_name = "me"
    model.ir_version = 9
    model.set_metadata("key", "value")
    model.set_opset("com.microsoft", 1)
    again = ox.loads(bytes(model))
    assert (again.producer_name, again.ir_version, again.metadata) == ("me", 9, (("key", "value"),))
    assert again.opsets == {"": 21, "com.microsoft": 1}


def test_edits_of_other_threads_end_an_iteration():
    model = ox.parse(TEXT)
    nodes = model.nodes()
    next(nodes)
    model.graph["a"].name = "own"
    next(nodes)
    thread = threading.Thread(target=lambda: setattr(model.graph["b"], "name", "foreign"))
    thread.start()
    thread.join()
    with pytest.raises(ox.ConcurrentEditError):
        next(nodes)


def test_threads_share_a_model():
    model = ox.parse(TEXT)
    errors = []

    def work():
        try:
            for _ in range(50):
                assert [node.op_type for node in model.graph.nodes][-1] == "Relu"
                ox.infer(model, inplace=False)
                ox.check(model)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_handles_keep_their_model():
    node = next(ox.parse(TEXT).nodes())
    gc.collect()
    assert node.op_type == "Identity"


def test_types_are_written_as_they_are_read():
    model = ox.Model()
    graph = model.graph
    for text in ("float", "float[]", "int64[N,3]", 'float["2*N",4]', "seq(float[?,2])", "map(int64, float[])", "sparse_tensor(float[2])"):
        value = graph.add_input(f"x{len(graph.inputs)}", text)
        assert value.type == text
        value.type = value.type
        assert value.type == text
    assert (graph.inputs[0].shape, graph.inputs[1].shape) == ((), None)
    long = graph.add_input("long", f"float[{','.join(f'n{index}' for index in range(40))}]")
    assert long.type.count("n") == 40 and "…" not in long.type


def test_lists_of_a_graph_are_not_edited_by_their_copies():
    model = ox.parse("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }")
    graph = model.graph
    for found in (graph.nodes, graph.inputs, graph.outputs, graph.values, graph.nodes[0].metadata, model.metadata):
        assert isinstance(found, tuple)
    with pytest.raises(TypeError):
        graph.initializers["v"] = None
    with pytest.raises(TypeError):
        model.opsets["my"] = 1


def test_names_of_the_interface_are_distinct():
    model = ox.parse("g (float[2] x) => (float[2] y) { y = Relu (x) }")
    for rename in (lambda: setattr(model.graph["x"], "name", "y"), lambda: setattr(model.graph["y"], "name", "x"), lambda: model.graph.add_input("y")):
        with pytest.raises(ox.EditError, match="another input or output"):
            rename()
    model.graph["x"].name = "x"
    model.graph["y"].name = "z"
    assert [value.name for value in (*model.graph.inputs, *model.graph.outputs)] == ["x", "z"]


def test_attributes_without_a_schema_have_the_kind_of_their_value():
    graph = ox.Model().graph
    x = graph.add_input("x", "float[2]")
    node = graph.add("Op", [x], {
        "a": numpy.int64(3), "b": numpy.float32(0.5), "c": [numpy.int64(1), 2], "d": [1, 2.5], "e": range(3), "f": [ox.DType.INT8], "g": numpy.array(3.0),
    }, domain="my")
    attrs = node.attrs
    assert (attrs["a"], attrs["b"], attrs["c"], attrs["d"], attrs["e"], attrs["f"]) == (3, 0.5, [1, 2], [1.0, 2.5], [0, 1, 2], [3])
    assert isinstance(attrs["g"], ox.Tensor)
    for wrong in ([1, "a"], [], [None, 1]):
        with pytest.raises(ox.ArgumentError):
            attrs["h"] = wrong
    leaky = graph.add("LeakyRelu", [x]).attrs
    with pytest.raises(ox.ArgumentError, match="beyond the range"):
        leaky["alpha"] = 1e300


def test_limits_of_text_are_limits():
    with pytest.raises(ox.LimitError):
        ox.parse("g (float[2] x) => (float[2] y) { y = Relu (x) }", limits={"text_bytes": 10})
