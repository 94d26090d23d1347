"""Tensors and arrays."""

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
    numpy = pytest.importorskip("numpy")
    tensor = ox.Tensor([[1.0, 2.0]])
    array = numpy.asarray(tensor)
    assert array.dtype == numpy.float32 and array.shape == (1, 2) and not array.flags.writeable
    frozen = numpy.arange(4, dtype=numpy.float32)
    frozen.flags.writeable = False
    shared = ox.Tensor(frozen).numpy()
    assert numpy.shares_memory(frozen, shared)
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
    numpy = pytest.importorskip("numpy")
    pytest.importorskip("ml_dtypes")
    for dtype in ox.DType.all():
        if dtype in (ox.DType.STRING,):
            continue
        try:
            kind = dtype.numpy()
        except AttributeError:
            continue
        values = numpy.array([0, 1, 1, 0, 1, 0, 1]).astype(kind)
        tensor = ox.Tensor(values)
        assert tensor.dtype == dtype, dtype
        again = tensor.numpy()
        assert again.dtype == kind
        assert again.tobytes() == values.tobytes()
        model = ox.Model(opset=23)
        model.graph.constant(values, name="w")
        assert model.graph["w"].const_value.numpy().tobytes() == values.tobytes()


def test_agrees_with_onnx():
    numpy = pytest.importorskip("numpy")
    onnx = pytest.importorskip("onnx")
    from onnx import numpy_helper

    for kind in ("float32", "float64", "float16", "int8", "uint8", "int16", "int32", "int64", "uint64", "bool", "complex64"):
        values = numpy.array([[0, 1, 1], [1, 0, 1]]).astype(kind)
        model = ox.Model()
        model.graph.constant(values, name="w")
        proto = onnx.ModelProto.FromString(bytes(model))
        assert numpy_helper.to_array(proto.graph.initializer[0]).tolist() == values.tolist()
