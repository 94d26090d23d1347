//! Compares our `.proto` files with those of the reference, as `descriptors.txt` has recorded them
//! (`python descriptors.py > descriptors.txt` in this folder) and as an installed `onnx` package has them.

use std::process::Command;

use onnx_proto::FILE_DESCRIPTOR_SET;
use prost_reflect::prost::Message;
use prost_reflect::prost_types::field_descriptor_proto::{Label, Type};
use prost_reflect::prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorSet,
};

#[test]
fn same_as_recorded() {
    assert_eq!(our_lines(), include_str!("descriptors.txt").lines().collect::<Vec<_>>());
}

#[test]
fn same_as_installed() {
    let python = std::env::var("ONNX_PYTHON").unwrap_or_else(|_| "python3".into());
    let run = |script: &str| Command::new(&python).args(["-c", script]).output();
    let version = match run("import onnx; print(onnx.__version__)") {
        Ok(output) if output.status.success() => String::from_utf8(output.stdout).unwrap(),
        _ => return println!("skipped: `{python}` has no `onnx` package; name one that has in ONNX_PYTHON"),
    };
    if version.trim() != "1.23.2" {
        return println!("skipped: `{python}` has `onnx` {}, not 1.23.2", version.trim());
    }
    let output = run(include_str!("descriptors.py")).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(our_lines(), String::from_utf8(output.stdout).unwrap().lines().collect::<Vec<_>>());
}

fn our_lines() -> Vec<String> {
    let mut lines = Vec::new();
    for file in FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap_or_default().file {
        // proto2 is what a descriptor that does not say means.
        assert!(matches!(file.syntax(), "" | "proto2"));
        let package = format!(".{}", file.package());
        file.enum_type.iter().for_each(|proto| enumeration(&package, proto, &mut lines));
        file.message_type.iter().for_each(|proto| message(&package, proto, &mut lines));
    }
    lines.sort();
    lines
}

fn message(path: &str, proto: &DescriptorProto, lines: &mut Vec<String>) {
    let path = format!("{path}.{}", proto.name());
    lines.push(path.clone());
    for range in &proto.reserved_range {
        lines.push(format!("{path} reserves {}..{}", range.start(), range.end()));
    }
    for name in &proto.reserved_name {
        lines.push(format!("{path} reserves {name}"));
    }
    for field in &proto.field {
        lines.push(format!("{path}.{}", field_line(proto, field)));
    }
    proto.enum_type.iter().for_each(|nested| enumeration(&path, nested, lines));
    proto.nested_type.iter().for_each(|nested| message(&path, nested, lines));
}

fn field_line(message: &DescriptorProto, field: &FieldDescriptorProto) -> String {
    let label = Label::as_str_name(&field.label()).trim_start_matches("LABEL_").to_lowercase();
    let scalar = Type::as_str_name(&field.r#type()).trim_start_matches("TYPE_").to_lowercase();
    let ty = field.type_name.as_deref().unwrap_or(&scalar);
    let packed = if field.options.as_ref().is_some_and(|options| options.packed()) { " packed" } else { "" };
    let mut line = format!("{} = {} {label} {ty}{packed}", field.name(), field.number());
    if let Some(index) = field.oneof_index {
        line += &format!(" in {}", message.oneof_decl[index as usize].name());
    }
    if let Some(default) = &field.default_value {
        line += &format!(" default {default}");
    }
    line
}

fn enumeration(path: &str, proto: &EnumDescriptorProto, lines: &mut Vec<String>) {
    for value in &proto.value {
        lines.push(format!("{path}.{}.{} = {}", proto.name(), value.name(), value.number()));
    }
}
