"""Prints the numbers, labels and types of all fields and enums of the installed `onnx` package, one per line."""

from google.protobuf import descriptor_pb2
from onnx import onnx_data_pb2, onnx_ml_pb2, onnx_operators_ml_pb2

Field = descriptor_pb2.FieldDescriptorProto


def enum(path, proto):
    for value in proto.value:
        yield f"{path}.{proto.name}.{value.name} = {value.number}"


def message(path, proto):
    path = f"{path}.{proto.name}"
    yield path
    for range_ in proto.reserved_range:
        yield f"{path} reserves {range_.start}..{range_.end}"
    for name in proto.reserved_name:
        yield f"{path} reserves {name}"
    for field in proto.field:
        label = Field.Label.Name(field.label).removeprefix("LABEL_").lower()
        type_ = field.type_name or Field.Type.Name(field.type).removeprefix("TYPE_").lower()
        packed = " packed" if field.options.packed else ""
        oneof = f" in {proto.oneof_decl[field.oneof_index].name}" if field.HasField("oneof_index") else ""
        default = f" default {field.default_value}" if field.HasField("default_value") else ""
        yield f"{path}.{field.name} = {field.number} {label} {type_}{packed}{oneof}{default}"
    for nested in proto.enum_type:
        yield from enum(path, nested)
    for nested in proto.nested_type:
        yield from message(path, nested)


lines = []
for module in (onnx_ml_pb2, onnx_data_pb2, onnx_operators_ml_pb2):
    file = descriptor_pb2.FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
    for proto in file.enum_type:
        lines.extend(enum(f".{file.package}", proto))
    for proto in file.message_type:
        lines.extend(message(f".{file.package}", proto))
print("\n".join(sorted(lines)))
