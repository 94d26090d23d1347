//! Facts about an operator that its function body implies.

use std::collections::HashMap;

use foldhash::fast::RandomState;
use onnx_ir::{AttrValue, Attribute, FunctionId, Model, OperatorSetDocument};
use onnx_schema::{
    AttrKind, DeclaredAttribute, DeclaredDefault, DeclaredFormal, DeclaredSchema, DeclaredType,
    Differentiation, FormalOption,
};
use onnx_types::Symbol;

/// The operator set version that a body is written for: the one that it imports of the document's own domain, else that of
/// the document.
pub(super) fn version(document: &OperatorSetDocument, function: FunctionId) -> i64 {
    let domain = onnx_schema::normalize_domain(document.domain);
    let imports = &document.functions.function(function).opset_imports;
    let own = imports.iter().rev().find(|import| import.domain() == domain);
    own.map_or(document.opset_version, onnx_ir::OpsetImport::version)
}

/// Fills in what a body tells of the signature. A call may leave out any input and output of a function, and any attribute:
/// nodes of the body that refer to one that is not given go without it.
pub(super) fn signature(schema: &mut DeclaredSchema, model: &Model, function: FunctionId) {
    let record = model.function(function);
    let body = model.graph(record.body());
    let formal = |value| DeclaredFormal {
        name: model.str(model.value(value).name()).to_owned(),
        ty: DeclaredType::Any,
        option: FormalOption::Optional,
        min_arity: 1,
        is_homogeneous: true,
        differentiation: Differentiation::Unknown,
    };
    schema.inputs = body.inputs().iter().map(|&input| formal(input)).collect();
    schema.outputs = body.outputs().iter().map(|output| formal(output.value())).collect();
    let kinds = kinds(model, function);
    let declared = record.attributes.iter().map(|&name| DeclaredAttribute {
        name: model.str(name).to_owned(),
        kind: kinds.get(&name).copied().flatten(),
        is_required: false,
        default: None,
    });
    let defaulted = record.defaults.iter().map(|default| DeclaredAttribute {
        name: model.str(default.name()).to_owned(),
        kind: Some(default.kind()).filter(|&kind| kind != AttrKind::Undefined),
        is_required: false,
        default: value(default),
    });
    schema.attributes = declared.chain(defaulted).collect();
    // The checker reports a duplicate name; for calls the first one counts.
    schema.attributes.sort_by(|a, b| a.name.cmp(&b.name));
    schema.attributes.dedup_by(|second, first| second.name == first.name);
}

/// The kinds that the nodes of a body expect of the attributes they refer to; `None` for an attribute with conflicting
/// expectations.
fn kinds(model: &Model, function: FunctionId) -> HashMap<Symbol, Option<AttrKind>, RandomState> {
    let mut kinds: HashMap<Symbol, Option<AttrKind>, RandomState> = HashMap::default();
    for graph in model.graphs_in(model.function(function).body()) {
        for node in model.nodes_in(graph) {
            for attribute in model.node(node).attributes() {
                if let &AttrValue::Ref(target) = attribute.value() {
                    let kind = Some(attribute.kind()).filter(|&kind| kind != AttrKind::Undefined);
                    let known = kinds.entry(target).or_insert(kind);
                    if *known != kind {
                        *known = None;
                    }
                }
            }
        }
    }
    kinds
}

/// The value of a default, where it is one that schemas can have.
fn value(attribute: &Attribute) -> Option<DeclaredDefault> {
    let text = |bytes: &bytes::Bytes| String::from_utf8(bytes.to_vec()).ok();
    Some(match attribute.value() {
        AttrValue::Float(value) => DeclaredDefault::Float(*value),
        AttrValue::Int(value) => DeclaredDefault::Int(*value),
        AttrValue::String(value) => DeclaredDefault::String(text(value)?),
        AttrValue::Floats(values) => DeclaredDefault::Floats(values.clone()),
        AttrValue::Ints(values) => DeclaredDefault::Ints(values.clone()),
        AttrValue::Strings(values) => {
            DeclaredDefault::Strings(values.iter().map(text).collect::<Option<_>>()?)
        }
        _ => return None,
    })
}
