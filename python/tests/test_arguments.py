"""Arguments that have no meaning: each is refused with a class of the guide, and the message names the argument."""

import array
import fractions
import types

import ml_dtypes
import numpy
import onnx
import onnx_ir
import pytest

import onnxkit as ox

MODEL = ox.parse("g (float[N,4] x) => (float[N,4] y) <float[4] w = {1, 2, 3, 4}> { a = Identity (x) b = Add (a, w) y = Relu (b) }")
PROTO = MODEL.to_proto()
ENDLESS: list = []
ENDLESS.append(ENDLESS)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: ox.parse(None), TypeError, "`loads` reads bytes"),
        (lambda: ox.parse(b"g () => () {}"), TypeError, "`loads` reads bytes"),
        (lambda: ox.load(b"model.onnx"), TypeError, "`loads`"),
        (lambda: ox.loads(None), TypeError, "NoneType"),
        (lambda: ox.loads(b""), ox.LoadError, "no bytes"),
        (lambda: ox.check(memoryview(b"")), ox.LoadError, "no bytes"),
        # The bytes of a part can be those of a model with other contents.
        (lambda: ox.info(PROTO.graph), TypeError, "GraphProto is not a model"),
        (lambda: ox.info(PROTO.graph.node[0]), TypeError, "NodeProto is not a model"),
        (lambda: ox.info(onnx_ir.Graph([], [], nodes=[])), TypeError, "Graph is not a model"),
        (lambda: ox.infer(MODEL, sizes={"N": -1}), ox.ArgumentError, "`N` is -1"),
        (lambda: ox.infer(MODEL, sizes="N"), TypeError, "`sizes` is a mapping"),
        (lambda: ox.cost(MODEL, N=-1), ox.ArgumentError, "`N` is -1"),
        (lambda: ox.inputs(MODEL, sizes={"N": numpy.int64(-1)}), ox.ArgumentError, "`N` is -1"),
        (lambda: ox.resize(MODEL, None), TypeError, "`sizes` is a mapping"),
        (lambda: ox.rename(MODEL, [("a", "b")]), TypeError, "`names` is a mapping"),
        (lambda: ox.diff(MODEL, MODEL, rtol=-1.0), ox.ArgumentError, "`rtol=-1.0`"),
        (lambda: ox.compare(MODEL, MODEL, rtol=numpy.nan), ox.ArgumentError, "`rtol=nan`"),
        (lambda: ox.compare(MODEL, MODEL, atol=-1), ox.ArgumentError, "`atol=-1`"),
        (lambda: ox.compare(MODEL, MODEL, seeds=0), ox.ArgumentError, "at least one run"),
        (lambda: ox.compare(MODEL, MODEL, {"z": [1.0]}), ox.ArgumentError, "no input 'z'; it has x"),
        (lambda: ox.merge("model.onnx"), TypeError, "a list of models"),
        (lambda: ox.merge([MODEL, MODEL], [("y",)]), ox.ArgumentError, "is not a pair"),
        (lambda: ox.merge([MODEL, MODEL], [("y", "x")], "ab"), TypeError, "`prefixes`"),
        (lambda: ox.schema("Nothing", 3), KeyError, "no operator Nothing in version 3"),
        (lambda: ox.scan_many("model.onnx"), TypeError, "a list of paths"),
        (lambda: ox.scan_iter("model.onnx"), TypeError, "a list of paths"),
        (lambda: ox.scan_iter([], threads=0), ox.ArgumentError, "`threads=0`"),
        (lambda: ox.scan_many(["model.onnx"], threads=0), ox.ArgumentError, "`threads=0`"),
        (lambda: ox.scan_many(["model.onnx"], threads=numpy.nan), TypeError, None),
        (lambda: ox.pass_(lambda cx: None), TypeError, "@ox.pass_"),
        (lambda: ox.rule(lambda op, x: (op.Neg(x), x), name=3), TypeError, "the name of a rule"),
        (lambda: ox.rule(lambda op, x, a=0.5: (op.Mul(x, a), x), name="r"), TypeError, "has no default but `None`"),
        (lambda: ox.rule(lambda op, x: (op.Elu(x, alpha=ox.Tensor(1.0)), x), name="r"), TypeError, "is not an attribute"),
        (lambda: ox.ops.Relu(MODEL, 1.0), TypeError, "the first argument is the graph"),
        # What the native module refuses.
        (lambda: ox.check(MODEL, full=None), TypeError, "`full`: 'None' is not an instance of 'bool'"),
        (lambda: ox.Evaluator(MODEL, threads=-1), OverflowError, "`threads`: "),
        (lambda: ox.split(MODEL, "a"), TypeError, "`parts`: "),
        (lambda: ox.outline(MODEL, min_nodes=-1), OverflowError, "`min_nodes`: "),
        (lambda: ox.strip_weights(MODEL, seed="a"), TypeError, "`seed`: "),
        (lambda: ox.find(MODEL, 3), TypeError, "`selector`: "),
        (lambda: ox.schema(3), TypeError, "`op`: "),
        (lambda: ox.half(MODEL, keep_io=3), TypeError, "`keep_io`: "),
        (lambda: ox.compare(MODEL, MODEL, seeds="a"), TypeError, "`seeds='a'`"),
        (lambda: ox.compare(MODEL, MODEL, rtol="a"), TypeError, "`rtol='a'`"),
        (lambda: ox.infer(MODEL, sizes={"N": "a"}), TypeError, "`N` is 'a'"),
        (lambda: ox.cost(MODEL, N="a"), TypeError, "`N` is 'a'"),
        # What is neither true nor false.
        (lambda: ox.scan_iter([], ordered="no"), TypeError, "`ordered='no'`: write True or False"),
        (lambda: ox.quantize(MODEL, "uint8", weights_only="no"), TypeError, "`weights_only='no'`"),
        (lambda: ox.quantize(MODEL, "uint8", dynamic=1), TypeError, "`dynamic=1`"),
        (lambda: ox.quantize(MODEL, "uint8", inputs=1, measure=None), TypeError, "`measure=None`"),
        # What is used only later.
        (lambda: ox.pass_("p", exactness=5), ox.ArgumentError, "`exactness=5`: write exact, rounding or approximate"),
        (lambda: ox.rule(exactness="right"), ox.ArgumentError, "`exactness='right'`"),
        # A list that contains itself.
        (lambda: ox.Tensor(ENDLESS), ValueError, "nested more than 64 times"),
        (lambda: MODEL.clone().graph.constant(ENDLESS), ValueError, "nested more than 64 times"),
        (lambda: ox.Evaluator(MODEL).run({"x": ENDLESS}), ValueError, "nested more than 64 times"),
        (lambda: ox.ops.Concat(MODEL.graph, axis=0), TypeError, "at least 1 inputs, not 0"),
        (lambda: ox.ops.Upsample(MODEL.graph, [1.0]), TypeError, "takes 2 inputs, not 1"),
        (lambda: ox.ops.Concat(MODEL.graph, MODEL.graph["x"], axis=None), TypeError, "needs the attribute 'axis'"),
    ],
)
def test_is_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize(
    "edit", [ox.fix, ox.inline, ox.outline, lambda m: ox.rename(m, {}), lambda m: ox.resize(m, {}), ox.strip_weights, ox.import_weights]
)
def test_edits_in_place_are_of_models(edit, tmp_path):
    MODEL.save(tmp_path / "m.onnx")
    for source in (tmp_path / "m.onnx", str(tmp_path / "m.onnx"), bytes(MODEL), MODEL.to_text(), PROTO):
        with pytest.raises(TypeError, match="in place"):
            edit(source)
    edit(MODEL.clone())


@pytest.mark.parametrize(
    ("values", "dtype", "error"),
    [
        (numpy.array([1 + 2j]), "float", TypeError),
        (numpy.array([2j]), "bool", TypeError),
        (numpy.ma.array([1.0, 2.0], mask=[False, True]), None, TypeError),
        (numpy.array(["2020"], dtype="datetime64[s]"), "float", ox.ArgumentError),
        (numpy.zeros(2, dtype=[("a", "i4")]), "int32", ox.ArgumentError),
        (b"abc", "string", TypeError),
        # A finite number that is none in the type, and infinities of types that have none.
        ([1e300], None, OverflowError),
        ([-1e300], "float", OverflowError),
        ([10**39], "float", OverflowError),
        ([10**400], "double", OverflowError),
        ([1e5], "float16", OverflowError),
        (numpy.array([1e300]), "float", OverflowError),
        (numpy.array([70000]), "float16", OverflowError),
        (numpy.array([500.0]), "float8e4m3fn", OverflowError),
        ([float("inf")], "float4e2m1", OverflowError),
        ([0.0], "float8e8m0", OverflowError),
        ([2**63], None, OverflowError),
        (numpy.array([5], dtype=ml_dtypes.uint4), "uint2", OverflowError),
    ],
)
def test_elements_without_a_value_in_the_type_are_refused(values, dtype, error):
    with pytest.raises(error):
        ox.Tensor(values, None if dtype is None else ox.DType(dtype), [1] if dtype == "string" else None)


def test_elements_with_a_value_in_the_type():
    assert ox.Tensor([numpy.inf, -numpy.inf, 1.0]).tolist() == [numpy.inf, -numpy.inf, 1.0]
    assert numpy.isnan(ox.Tensor([numpy.nan], "float16").tolist()).all()
    assert ox.Tensor(numpy.array([65519.0]), "float16").tolist() == [65504.0]
    assert ox.Tensor(memoryview(numpy.array([1 + 2j], dtype=numpy.complex64)), "complex128").tolist() == [1 + 2j]
    assert ox.Tensor(numpy.array(["a", "b"], dtype=numpy.dtypes.StringDType())).tolist() == ["a", "b"]
    assert ox.Tensor(numpy.array([1, 3], dtype=ml_dtypes.uint4), "uint2").tolist() == [1, 3]
    assert ox.Tensor(numpy.ma.array([1.0, 2.0])).tolist() == [1.0, 2.0]


def test_memory_of_any_layout_is_read():
    for raw in (bytes(MODEL), bytearray(bytes(MODEL)), memoryview(bytes(MODEL)[::-1])[::-1]):
        assert bytes(ox.loads(raw)) == bytes(MODEL)


def test_models_of_derived_classes_and_empty_ones():
    class Derived(onnx_ir.Model):
        pass

    source = MODEL.to_ir()
    assert len(ox.Model.from_any(Derived(source.graph, ir_version=10))) == 3
    assert len(ox.Model.from_any(onnx.ModelProto())) == 0


def test_one_thing_is_a_list_of_one():
    rule = ox.rule(lambda op, x: (op.Neg(op.Neg(x)), x), name="neg-neg")
    model = ox.parse("g (float[N] x) => (float[N] y) { a = Neg (x) b = Neg (a) y = Relu (b) }")
    assert ox.simplify(model, rules=rule, inplace=False).nodes_after == 1
    called = ox.parse("""<ir_version: 10, opset_import: ["": 21, "f": 1]> g (float[2] x) => (float[2] y) { y = f.twice (x) }
        <domain: "f", opset_import: ["": 21]> twice (a) => (b) { b = Add (a, a) }""")
    assert ox.inline(called, "f.twice") == 1


def test_calls_that_stay_are_a_warning():
    header = '<ir_version: 10, opset_import: ["": 21, "f": 1]> g (float[2] x) => (float[2] y) { y = f.Read (x) }'
    model = ox.parse(f'{header} <domain: "f", opset_import: ["": 21]> Read (a) => (b) {{ b = Add (a, outer) }}')
    with pytest.warns(UserWarning, match="the call `f.Read` stays: the function uses `outer`"):
        assert ox.inline(model) == 0


def test_text_in_rules_is_quoted():
    text = ox.rule(lambda op, x: (op.Foo(op.Neg(op.Neg(x)), mode="a (b)\nc", _domain="my"), op.Foo(x, mode="a (b)\nc", _domain="my")), name="r").text
    assert 'mode = "a (b)\nc"' in text
    assert "Pow (2.0, x)" in ox.rule(lambda op, x: (op.Neg(2.0**x), op.Neg(x)), name="r").text


def test_what_a_patch_refuses():
    def tried(describe):
        ox.run_passes(MODEL.clone(), ox.pass_("p")(lambda cx: describe(cx, next(iter(cx.nodes("Relu"))))))

    for describe, error in (
        (lambda cx, node: cx.patch(), ox.ArgumentError),
        (lambda cx, node: cx.patch(node).add("Split", node.inputs, outputs=0), ox.ArgumentError),
        (lambda cx, node: cx.patch(node).constant_of(3), TypeError),
    ):
        with pytest.raises(error):
            tried(describe)
    # `Identity` without an operand, in a model that is wrong.
    wrong = ox.parse("g () => (float[2] y) { a = Identity () y = Relu (a) }")
    found = []
    ox.run_passes(wrong, ox.pass_("p")(lambda cx: found.extend(cx.patch(node).constant_of(node.inputs[0]) for node in cx.nodes("Relu"))))
    assert set(found) == {None}


def test_models_without_outputs_in_common_differ():
    one, two, none = (ox.parse(f"g (float[2] x) => ({output}) {{ {name} = Neg (x) }}") for name, output in (("y", "float[2] y"), ("z", "float[2] z"), ("y", "")))
    found = ox.compare(one, two)
    assert not found and found.first is None
    assert repr(found) == "`y` is an output of the first model only; `z` is an output of the second model only"
    assert repr(ox.compare(none, none)) == "the models have no outputs"


def test_results_are_not_edited_by_their_copies():
    info = ox.info(MODEL)
    info.to_dict().clear()
    assert info.nodes == 3


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"checks": "types"}, ox.ArgumentError, "`checks='types'`"),
        ({"isolate": 1}, ox.ArgumentError, "`isolate=1`"),
        ({"timeout": -1}, ox.ArgumentError, "`timeout=-1`"),
        ({"timeout": float("nan")}, ox.ArgumentError, "`timeout=nan`"),
        ({"timeout": 1e300}, ox.ArgumentError, "`timeout=1e"),
        ({"timeout": 5_000_000}, ox.ArgumentError, "`timeout=5000000`.*below 4,000,000"),
        ({"memory": -1, "isolate": True}, ox.ArgumentError, "`memory=-1`"),
        ({"memory": True, "isolate": True}, TypeError, "`memory=True`: write a number of bytes"),
        ({"memory": "1G", "isolate": True}, TypeError, "`memory='1G'`: write a number of bytes"),
        ({"memory": 1.5, "isolate": True}, TypeError, "`memory=1.5`: write a number of bytes"),
        ({"memory": 1 << 30}, ox.ArgumentError, "`isolate=True`"),
        ({"check": True}, TypeError, "check"),
    ],
)
def test_options_of_scans_without_a_meaning_are_refused_at_once(options, error, message):
    for call in (lambda: ox.scan("none.onnx", **options), lambda: ox.scan_many([], **options), lambda: ox.scan_iter([], **options)):
        with pytest.raises(error, match=message):
            call()


@pytest.mark.parametrize("threads", [0, -1, True, "2", 1.5])
def test_numbers_of_threads_without_a_meaning_are_refused(threads):
    for function in (ox.scan_many, ox.scan_iter):
        with pytest.raises((TypeError, ox.ArgumentError), match=f"`threads={threads!r}`: write a number of threads"):
            function([], threads=threads)


WRONG_WORK = [
    ({"limits": {"unheard": 1}}, ox.ArgumentError, "`limits={'unheard': 1}`: a limit of this name does not exist"),
    ({"limits": {"node": 1}}, ox.ArgumentError, "did you mean `nodes`?"),
    ({"limits": {3: 1}}, TypeError, "`limits={3: 1}`: write the name of a limit"),
    ({"limits": "1M"}, TypeError, "`limits='1M'`: write whole numbers by the names of limits"),
    ({"limits": [("nodes", 1)]}, TypeError, "`limits=[('nodes', 1)]`: write whole numbers by the names"),
    *(
        ({"limits": {"nodes": value}}, error, f"`limits={{'nodes': {value!r}}}`: write a whole number from 0 to 2**64 - 1")
        for value, error in ((-1, ox.ArgumentError), (1 << 64, ox.ArgumentError), ("1M", TypeError), (1.5, TypeError), (True, TypeError), (None, TypeError))
    ),
    *(
        ({"timeout": value}, error, f"`timeout={value!r}`: write a number of seconds")
        for value, error in (
            (-1, ox.ArgumentError), (float("nan"), ox.ArgumentError), (float("inf"), ox.ArgumentError),
            ("5", TypeError), ("1s", TypeError), (True, TypeError), ([5], TypeError),
        )
    ),
    ({"timeout": 10**400}, ox.ArgumentError, "`timeout=1000000"),
]
SEEDS = [({"seed": value}, error, f"`seed={value!r}`: write a whole number") for value, error in ((-1, ox.ArgumentError), ("1", TypeError), (True, TypeError))]


class Bytes:
    """A source of ranges that nothing may be asked of."""

    size = 10

    def read(self, start, end):
        raise AssertionError("read before the arguments were judged")


@pytest.mark.parametrize(("options", "error", "message"), WRONG_WORK, ids=[message[:40] for _, _, message in WRONG_WORK])
def test_bounds_without_a_meaning_are_refused_with_their_names(options, error, message, tmp_path):
    calls = {
        "load": lambda: ox.load(tmp_path / "none.onnx", **options),
        "load of a source": lambda: ox.load(Bytes(), **options),
        "loads": lambda: ox.loads(bytes(MODEL), **options),
        "parse": lambda: ox.parse("g (float[2] x) => (float[2] y) { y = Relu (x) }", **options),
        "check": lambda: ox.check(MODEL, **options),
        "infer": lambda: ox.infer(MODEL, inplace=False, **options),
        "simplify": lambda: ox.simplify(MODEL.clone(), **options),
        "convert": lambda: ox.convert(MODEL, 21, inplace=False, **options),
        "compare": lambda: ox.compare(MODEL, MODEL, **options),
        "scan": lambda: ox.scan(Bytes(), **options),
        "scan, isolated": lambda: ox.scan(Bytes(), isolate=True, **options),
        "scan_many": lambda: ox.scan_many([], **options),
        "scan_iter": lambda: ox.scan_iter([], **options),
    }
    for name, call in calls.items():
        with pytest.raises(error) as raised:
            call()
        assert message in str(raised.value), name


@pytest.mark.parametrize(("options", "error", "message"), SEEDS)
def test_seeds_without_a_meaning_are_refused_with_their_names(options, error, message):
    with pytest.raises(error, match=message):
        ox.compare(MODEL, MODEL, **options)


def test_bounds_are_numbers_and_mappings_of_any_library():
    class Number:
        def __index__(self):
            return 10**6

    bounds = types.MappingProxyType({"nodes": Number(), "values": numpy.int32(1000)})
    for timeout in (60, numpy.float32(60), fractions.Fraction(120, 2)):
        assert ox.check(MODEL, limits=bounds, timeout=timeout).ok
        assert len(ox.scan_many([], limits=bounds, timeout=timeout)) == 0


def test_tensors_of_types_that_buffers_have_not_are_arrays_of_their_numbers():
    for dtype in ("bfloat16", "int4", "float8e4m3fn"):
        tensor = ox.Tensor([1, 2, 3], dtype)
        for array in (numpy.asarray(tensor), numpy.stack([tensor, tensor])[1]):
            assert array.dtype == tensor.dtype.numpy() and array.astype(float).tolist() == [1.0, 2.0, 3.0]
        with pytest.raises(BufferError, match="numpy()"):
            memoryview(tensor)
        first = tensor.numpy()
        assert dtype == "int4" or ox.Tensor(first).numpy().ctypes.data == first.ctypes.data


def test_weights_that_cannot_be_read_are_not_equal(tmp_path):
    path = tmp_path / "m.onnx"
    MODEL.save(path, weights="external", threshold=1)
    (tmp_path / "m.onnx.data").unlink()
    found = ox.diff(path, MODEL)
    assert found and not found.is_same_model
    # Other tests may have added weights.
    assert {change["kind"] for change in found.changes} == {"unread"} and "there is no such file" in repr(found)
    assert not ox.diff(path, MODEL, weights=False)


def test_refusals_have_reasons():
    for version in (-1, 99):
        with pytest.raises(ox.ConvertError, match=f"has no version {version}"):
            ox.convert(MODEL, version, inplace=False)
    with pytest.raises(ox.ConvertError, match="does not import"):
        ox.convert(MODEL, 1, domain="none", inplace=False)
    with pytest.raises(ox.ArgumentError, match="no function of the model matches `twice`"):
        ox.inline(MODEL.clone(), ["twice"])
    with pytest.raises(TypeError, match="`progress=3`: write a function"):
        ox.check(MODEL, progress=3)
    with pytest.raises(UnicodeEncodeError):
        ox.run_passes(MODEL.clone(), "\ud800")
    with pytest.raises(UnicodeEncodeError):
        MODEL.clone().graph.add("Relu", [], outputs="\ud800")
    with pytest.raises(UnicodeEncodeError):
        ox.Table({"a": ["\ud800"]})
    with pytest.raises(TypeError, match="a column is a list"):
        ox.Table({"a": "text"})


def test_views_of_bytes_are_elements_as_bytes_are():
    raw = b"\0\0\x80?\0\0\0@"
    for values in (raw, bytearray(raw), memoryview(raw), memoryview(bytearray(raw))):
        assert ox.Tensor(values, "float", [2]).tolist() == [1.0, 2.0]
        with pytest.raises(TypeError, match="shape"):
            ox.Tensor(values, "float")
        with pytest.raises(ox.ArgumentError, match="`values`, `dtype` and `shape`"):
            ox.Tensor(values, "float", [3])
    assert ox.Tensor(memoryview(raw)[::2], "uint8", [4]).tolist() == [0, 128, 0, 0]
    # Numbers of a type are converted.
    assert ox.Tensor(array.array("B", [1, 2]), "float").tolist() == [1.0, 2.0]
    assert ox.Tensor(numpy.array([1, 2], "uint8"), "float").tolist() == [1.0, 2.0]
    assert ox.Tensor(memoryview(numpy.array([1, 2], "uint8")), "float").tolist() == [1.0, 2.0]


def test_texts_are_no_shapes_and_no_flags():
    model = ox.parse("g (float[2] x) => (float[2] y) { y = Relu (x) }")
    for shape in ("N,4", b"abc"):
        with pytest.raises(TypeError, match="list of sizes"):
            model.graph["x"].shape = shape
    for call in (ox.simplify, lambda m, **o: ox.convert(m, 21, **o), lambda m, **o: ox.run_passes(m, "no-dead-nodes", **o)):
        with pytest.raises(TypeError, match="inplace='no'"):
            call(model, inplace="no")
    with pytest.raises(TypeError, match="bytes or text"):
        ox.loads(numpy.int64(3))


def test_element_types_that_do_not_exist_are_said():
    proto = ox.parse("g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add (x, w) }").to_proto()
    proto.graph.initializer[0].data_type = 99
    tensor = ox.loads(proto.SerializeToString()).graph["w"].const_value
    for read in (tensor.tolist, tensor.numpy, tensor.tobytes):
        with pytest.raises(ox.LoadError, match="99"):
            read()


def test_every_limit_is_a_limit_error():
    model = ox.parse("g (float[2,4] x) => (float[2,3] y) <float[4,3] w = {1,2,3,4,5,6,7,8,9,10,11,12}> { y = MatMul (x, w) }")
    with pytest.raises(ox.LimitError, match="run_bytes"):
        ox.compare(model, model, limits={"run_bytes": 0})
    with pytest.raises(ox.LimitError, match="run_steps"):
        ox.quantize(model, "uint8", inputs=1, inplace=False, limits={"run_steps": 0})


def test_cost_says_how_much_is_left_out():
    model = ox.parse("g (float[N] x) => (float[N] y) { a = Relu (x) y = Neg (a) }")
    assert (ox.cost(model, N=8).unknown_values, ox.cost(model, N=2**62).unknown_values) == (0, 3)
