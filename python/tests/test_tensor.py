"""Tensors and arrays."""

import array
import subprocess
import sys

import numpy
import onnx
import pytest

import onnxkit as ox


def test_without_numpy():
    tensor = ox.Tensor([[1, 2], [3, 4]])
    assert (tensor.dtype, tensor.shape, tensor.nbytes) == (ox.DType.INT64, (2, 2), 32)
    assert tensor.tolist() == [1, 2, 3, 4]
    view = memoryview(tensor)
    assert view.shape == (2, 2) and view.format == "q" and view.tolist() == [[1, 2], [3, 4]]
    assert view.readonly
    assert ox.Tensor([1.5]).dtype == ox.DType.FLOAT
    assert ox.Tensor([True]).dtype == ox.DType.BOOL
    assert ox.Tensor(["a", "b"]).tolist() == ["a", "b"]
    assert ox.Tensor(3.0).shape == ()
    assert ox.Tensor(b"\0\0\x80?", ox.DType.FLOAT, [1]).tolist() == [1.0]
    with pytest.raises(ValueError):
        ox.Tensor([[1], [2, 3]])
    with pytest.raises(ox.ArgumentError):
        ox.Tensor(b"\0\0", ox.DType.FLOAT, [1])
    with pytest.raises(BufferError):
        memoryview(ox.Tensor(["a"]))
    assert ox.Tensor([1.0, 3.0]).statistics()["mean"] == 2.0


@pytest.mark.parametrize(
    ("values", "dtype", "error"),
    [
        ([1, [2]], None, ValueError),
        ([[1, 2], [3, [4]]], None, ValueError),
        ([[1, 2], 3], None, ValueError),
        ([[], [1]], None, ValueError),
        ([1, "a"], None, TypeError),
        (["a", 1], "string", TypeError),
        (["1"], "float", TypeError),
        ([1.5], "int8", TypeError),
        ([300], "int8", OverflowError),
        ([2**63], None, OverflowError),
        (None, None, TypeError),
        ({1, 2}, None, TypeError),
        (iter([1]), None, TypeError),
        # Whether these bytes are numbers or what a file has is not known without the shape.
        (b"\0\0\x80?", "float", TypeError),
    ],
)
def test_refuses(values, dtype, error):
    with pytest.raises(error):
        ox.Tensor(values, dtype)



@pytest.mark.parametrize(("dtype", "values"), [("int4", [-8, 7, 3]), ("uint4", [0, 15, 1]), ("int2", [-2, 1, 0, -1, 1]), ("uint2", [3, 0, 2])])
def test_small_integers_are_packed_as_arrays_are(dtype: str, values: list[int]):
    import ml_dtypes

    array = numpy.array(values, dtype=getattr(ml_dtypes, dtype))
    for tensor in (ox.Tensor(values, dtype=dtype), ox.Tensor(values, dtype, [1, len(values)])):
        assert tensor.tobytes() == ox.Tensor(array).tobytes() and tensor.tolist() == values
    assert ox.Tensor([], dtype=dtype).shape == (0,)
    for wrong in (values[0] - 16, 16):
        with pytest.raises(OverflowError):
            ox.Tensor([wrong], dtype=dtype)
    with pytest.raises(ValueError):
        ox.Tensor(values, dtype, [len(values) + 1])


def test_the_error_of_a_missing_package_names_what_installs_it():
    program = """
import sys
sys.modules["numpy"] = None
import onnxkit as ox
assert ox.Tensor([1, 2, 3], dtype="int4").tolist() == [1, 2, 3]
for call in (ox.Tensor([1.0]).numpy, lambda: ox.Tensor([1.0], dtype="float16"), lambda: ox.Tensor(["a"]).numpy()):
    try:
        call()
    except ModuleNotFoundError as error:
        assert error.name == "numpy" and "pip install 'onnxkit[numpy]'" in str(error), error
    else:
        raise AssertionError(call)
"""
    subprocess.run([sys.executable, "-c", program], check=True)


def test_truth_values_are_0_and_1():
    assert ox.Tensor([2, 0, 3.5], "bool").tobytes() == b"\1\0\1"


def test_buffers_that_skip_or_convert():
    view = memoryview(array.array("f", [0, 1, 2, 3, 4, 5]))[::2]
    assert ox.Tensor(view).tolist() == [0, 2, 4]
    assert ox.Tensor(view, shape=[3, 1]).shape == (3, 1)
    assert ox.Tensor(view, "double").tobytes() == array.array("d", [0, 2, 4]).tobytes()
    assert ox.Tensor(array.array("i", [1, 2]), "float").tolist() == [1.0, 2.0]


def test_memory_that_others_write_is_copied():
    memory = bytearray(array.array("f", [1, 2]).tobytes())
    tensor = ox.Tensor(memoryview(memory).toreadonly().cast("f"))
    memory[:] = bytes(8)
    assert tensor.tolist() == [1.0, 2.0]
    model = ox.Model()
    model.graph.add_output(model.graph.constant([1.0, 2.0], name="w"))
    raw = bytes(model)
    for read in (ox.loads, ox.Model.from_any):
        memory = bytearray(raw)
        loaded = read(memoryview(memory).toreadonly())
        memory[:] = bytes(len(memory))
        assert loaded.graph["w"].const_value.tolist() == [1.0, 2.0]


def test_arrays_that_others_write_are_copied():
    owner = numpy.arange(4, dtype=numpy.float32)
    for view in (owner.view(), numpy.broadcast_to(owner, (4,)), numpy.frombuffer(owner, numpy.float32)):
        view.flags.writeable = False
        tensor = ox.Tensor(view)
        owner[0] = 9
        assert tensor.tolist()[0] == 0
        owner[0] = 0
    memory = bytearray(8)
    frozen = numpy.frombuffer(memory, numpy.float32).view()
    frozen.flags.writeable = False
    tensor = ox.Tensor(frozen)
    memory[:] = b"\1" * 8
    assert tensor.tolist() == [0.0, 0.0]


def test_arrays_without_an_element_type():
    for values in (numpy.array([1, 2.5], dtype=object), numpy.array([None]), numpy.float32):
        with pytest.raises(TypeError):
            ox.Tensor(values)
    with pytest.raises(TypeError):
        ox.Tensor(numpy.array(["1"]), "float")
    with pytest.raises(TypeError):
        ox.Tensor(numpy.array([1.0]), "string")
    with pytest.raises(TypeError):
        ox.Tensor(numpy.array([1j]), "int8")
    with pytest.raises(ox.ArgumentError):
        ox.Tensor(numpy.array(["2020"], dtype="datetime64"))
    assert ox.Tensor(numpy.array(["a", b"b"], dtype=object)).tolist() == ["a", "b"]


def test_scalars_of_numpy_keep_their_type():
    assert ox.Tensor([numpy.int64(1), numpy.int64(2**53 + 1)]).tolist() == [1, 2**53 + 1]
    assert ox.Tensor([numpy.True_]).dtype == "bool"
    assert ox.Tensor([numpy.float16(1.5)]).dtype == "float16"
    assert ox.Tensor([numpy.array([1, 2]), numpy.array([3, 4])]).shape == (2, 2)


def test_integers_out_of_range():
    for values, dtype in (([300, 7], "int8"), ([8], "int4"), ([-1], "uint4"), ([2.0**63], "int64"), ([numpy.inf], "int8")):
        with pytest.raises(OverflowError):
            ox.Tensor(numpy.array(values), dtype)
    with pytest.raises(ValueError):
        ox.Tensor(numpy.array([numpy.nan]), "int32")
    for values, dtype in (([9], "int4"), ([-1], "uint2")):
        with pytest.raises(OverflowError):
            ox.Tensor(values, dtype)
    assert ox.Tensor([-8, 7], "int4").tolist() == [-8, 7]
    assert ox.Tensor(numpy.array([-8, 7]), "int4").tolist() == [-8, 7]
    assert ox.Tensor(numpy.array([1.75, -1.75]), "int8").tolist() == [1, -1]
    assert ox.Tensor(numpy.array([2**63 - 1]), "int64").tolist() == [2**63 - 1]


def test_dtype():
    assert len(ox.DType.all()) == 28
    for dtype in ox.DType.all():
        assert ox.DType(dtype.value) == ox.DType(dtype.name) == ox.DType(dtype.text) == dtype
        assert getattr(ox.DType, dtype.name) == dtype
        assert hash(dtype) == dtype.value == int(dtype)
    with pytest.raises(ox.ArgumentError):
        ox.DType("nothing")
    assert ox.DType.FLOAT != "int32"


def test_numpy_shares_memory():
    tensor = ox.Tensor([[1.0, 2.0]])
    array = numpy.asarray(tensor)
    assert array.dtype == numpy.float32 and array.shape == (1, 2) and not array.flags.writeable
    frozen = numpy.arange(4, dtype=numpy.float32)
    frozen.flags.writeable = False
    made = ox.Tensor(frozen)
    frozen.flags.writeable = True
    frozen[0] = 9
    assert made.tolist()[0] == 0
    # Memory that nothing can write is shared, also through arrays and views.
    raw = bytes(16)
    for source in (memoryview(raw), numpy.frombuffer(raw, dtype=numpy.float32), made.numpy(), numpy.asarray(made)[:]):
        first = numpy.asarray(source).view(numpy.uint8).ctypes.data
        assert ox.Tensor(source).numpy().ctypes.data == first
    writable = numpy.arange(4, dtype=numpy.float32)
    copied = ox.Tensor(writable)
    writable[0] = 9
    assert copied.tolist()[0] == 0
    scalar = ox.Tensor(numpy.float32(2))
    assert scalar.shape == () and scalar.numpy() == 2
    assert numpy.from_dlpack(ox.Tensor([1, 2]).numpy().copy()).tolist() == [1, 2]
    strided = numpy.arange(12, dtype=numpy.int32).reshape(3, 4)[:, ::2]
    assert ox.Tensor(strided).numpy().tolist() == strided.tolist()
    strings = ox.Tensor(numpy.array(["a", "b"], dtype=object)).numpy()
    assert strings.tolist() == ["a", "b"]
    big = numpy.arange(3, dtype=">i4")
    assert ox.Tensor(big).tolist() == [0, 1, 2]


def test_all_types_of_numpy():
    for dtype in ox.DType.all():
        if dtype == ox.DType.STRING:
            continue
        kind = dtype.numpy()
        values = numpy.array([0, 1, 1, 0, 1, 0, 1]).astype(kind)
        tensor = ox.Tensor(values)
        assert tensor.dtype == dtype, dtype
        again = tensor.numpy()
        assert again.dtype == kind
        assert again.tobytes() == values.tobytes()
        model = ox.Model(opset=23)
        model.graph.constant(values, name="w")
        assert model.graph["w"].const_value.numpy().tobytes() == values.tobytes()


def test_tensors_are_values_like_arrays():
    for dtype in ("bfloat16", "int4", "float8e4m3fn", "float6e2m3"):
        tensor = ox.Tensor([1, 2, 3], dtype)
        assert ox.Tensor(tensor, "double").tolist() == [1.0, 2.0, 3.0]
        assert ox.Tensor(tensor, shape=[3, 1]).shape == (3, 1)
        both = ox.Tensor([tensor, tensor])
        assert (both.dtype, both.shape, both.tolist()) == (dtype, (2, 3), [1, 2, 3, 1, 2, 3])
    assert ox.Tensor([[numpy.ones(3)], [numpy.zeros(3)]]).shape == (2, 1, 3)
    with pytest.raises(ValueError):
        ox.Tensor([ox.Tensor([1, 2]), ox.Tensor([1])])


def test_agrees_with_onnx():
    for kind in ("float32", "float64", "float16", "int8", "uint8", "int16", "int32", "int64", "uint64", "bool", "complex64"):
        values = numpy.array([[0, 1, 1], [1, 0, 1]]).astype(kind)
        model = ox.Model()
        model.graph.constant(values, name="w")
        proto = onnx.ModelProto.FromString(bytes(model))
        assert onnx.numpy_helper.to_array(proto.graph.initializer[0]).tolist() == values.tolist()
