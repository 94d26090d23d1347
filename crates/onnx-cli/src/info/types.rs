//! Types and dimensions as people read them.

use onnx_ir::{Model, ValueId};
use onnx_shape_infer::Inference;
use onnx_types::{Dim, Shape, SymbolNames as _, TensorType, Type, TypeKind};
use serde::Serialize;

use crate::output::shown;

/// A dimension in JSON: a size, the text of a variable or expression, or `null`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(super) enum DimFact {
    Size(i64),
    Text(String),
    Unknown,
}

/// The dimensions of a tensor type of known rank.
pub(super) fn dims(model: &Model, ty: &Type) -> Option<Vec<DimFact>> {
    let dims = ty.shape()?.dims().iter();
    Some(
        dims.map(|&dim| match dim {
            Dim::Known(size) => DimFact::Size(size),
            Dim::Var(_) | Dim::Expr(_) => DimFact::Text(dim_text(model, dim)),
            Dim::Unknown => DimFact::Unknown,
        })
        .collect(),
    )
}

/// A type of a model: `float[batch, 3, 224, 224]`, `seq(int64[?])`. Names are escaped.
pub(crate) fn text(model: &Model, ty: &Type) -> String {
    type_text(model, ty, &|dim| dim_text(model, dim))
}

/// The inferred type of a value.
pub(crate) fn inferred(model: &Model, inference: &Inference, value: ValueId) -> String {
    let dim_text = |dim| match dim {
        Dim::Var(symbol) => inference.names(model).name(symbol).into_owned(),
        dim => inference.display(model, dim).to_string(),
    };
    let ty = inference.ty(value).to_type();
    ty.map_or_else(|| "of unknown type".to_owned(), |ty| type_text(model, &ty, &dim_text))
}

fn type_text(model: &Model, ty: &Type, dim_text: &dyn Fn(Dim) -> String) -> String {
    let mut text = String::new();
    let mut closing = String::new();
    let mut inner = Some(ty);
    // Every kind holds at most one other type, so nesting is a chain.
    while let Some(ty) = inner {
        inner = ty.inner();
        let missing = if inner.is_none() { "?" } else { "" };
        match &ty.kind {
            TypeKind::Undefined => text.push_str("no type"),
            TypeKind::Tensor(tensor) => tensor_text(&mut text, tensor, dim_text),
            TypeKind::SparseTensor(tensor) => {
                text.push_str("sparse ");
                tensor_text(&mut text, tensor, dim_text);
            }
            TypeKind::Sequence(_) => text.push_str(&format!("seq({missing}")),
            TypeKind::Optional(_) => text.push_str(&format!("optional({missing}")),
            TypeKind::Map { key, .. } => text.push_str(&format!("map({key}, {missing}")),
            TypeKind::Opaque { domain, name } => {
                let (domain, name) = (shown(model.str(*domain)), shown(model.str(*name)));
                text.push_str(&format!("opaque({domain}, {name})"));
            }
        }
        if matches!(ty.kind, TypeKind::Sequence(_) | TypeKind::Optional(_) | TypeKind::Map { .. }) {
            closing.push(')');
        }
    }
    text + &closing
}

/// A dimension as the file has it: names are not quoted, even those that look like expressions.
fn dim_text(model: &Model, dim: Dim) -> String {
    match dim {
        Dim::Var(name) => model.str(name).to_owned(),
        dim => model.exprs().display(dim, model.names()).to_string(),
    }
}

fn tensor_text(out: &mut String, tensor: &TensorType, dim_text: &dyn Fn(Dim) -> String) {
    out.push_str(tensor.elem.name());
    match &tensor.shape {
        Some(shape) => shape_text(out, shape, dim_text),
        None => out.push_str("[…]"),
    }
}

fn shape_text(out: &mut String, shape: &Shape, dim_text: &dyn Fn(Dim) -> String) {
    /// Shapes of more dimensions are not made for reading.
    const MOST_DIMS: usize = 16;
    out.push('[');
    for (axis, &dim) in shape.dims().iter().take(MOST_DIMS).enumerate() {
        if axis > 0 {
            out.push_str(", ");
        }
        match dim {
            Dim::Var(name) if name.is_empty() => out.push('?'),
            dim => out.push_str(&shown(&dim_text(dim))),
        }
    }
    if shape.rank() > MOST_DIMS {
        out.push_str(&format!(", … {} dimensions", shape.rank()));
    }
    out.push(']');
}
