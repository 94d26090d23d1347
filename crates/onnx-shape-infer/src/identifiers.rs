//! Dimension texts that every reader understands.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use onnx_ir::{Model, ValueId};
use onnx_types::expr::Dialect;
use onnx_types::{Dim, Symbol, Type, TypeKind};

use crate::ty::with_shapes;

/// Replaces every size of the main graph and of the graphs nested in it that is an expression, or a symbol whose name
/// is not a C90 identifier, by a symbol whose name is one; the same size gets the same symbol everywhere.
/// (Specification, "Names Within a Graph": names are C90 identifiers.)
///
/// Returns the new names with the texts they stand for, in the order in which they first occur, so that the caller can
/// write them down.
pub fn name_sizes(model: &mut Model) -> Vec<(Symbol, String)> {
    let mut names = Names { known: HashMap::default(), made: Vec::new() };
    for value in typed_values(model) {
        let Some(ty) = model.value(value).shared_ty().map(Arc::clone) else { continue };
        if !names.has_other(model, &ty) {
            continue;
        }
        let ty = Type {
            denotation: ty.denotation,
            ..with_shapes(&ty, &mut |shape| {
                let mut shape = shape.clone();
                shape.dims_mut().iter_mut().for_each(|dim| *dim = names.name(model, *dim));
                Some(shape)
            })
        };
        model.set_type(value, Some(ty));
    }
    names.made
}

/// The values of the main graph and of the graphs nested in it that have a type.
fn typed_values(model: &Model) -> Vec<ValueId> {
    let mut values = Vec::new();
    for graph in model.graphs_in(model.main_graph()) {
        values.extend_from_slice(model.graph(graph).inputs());
        values.extend(model.initializers(graph));
        values
            .extend(model.nodes(graph).flat_map(|node| model.node(node).outputs().iter().flatten().copied()));
    }
    values.retain(|&value| model.value(value).ty().is_some());
    values
}

struct Names {
    known: HashMap<Dim, Dim, RandomState>,
    made: Vec<(Symbol, String)>,
}

impl Names {
    /// Returns `true` if a type may contain a size to replace; other types are not changed.
    fn has_other(&self, model: &Model, ty: &Type) -> bool {
        match &ty.kind {
            TypeKind::Tensor(tensor) => tensor.shape.as_ref().is_some_and(|shape| {
                shape.dims().iter().any(|&dim| match dim {
                    Dim::Known(_) | Dim::Unknown => false,
                    Dim::Var(symbol) => !is_identifier(model.str(symbol)),
                    Dim::Expr(_) => true,
                })
            }),
            _ => true,
        }
    }

    fn name(&mut self, model: &mut Model, dim: Dim) -> Dim {
        match dim {
            Dim::Known(_) | Dim::Unknown => return dim,
            Dim::Var(symbol) if is_identifier(model.str(symbol)) => return dim,
            Dim::Var(_) | Dim::Expr(_) => {}
        }
        if let Some(&known) = self.known.get(&dim) {
            return known;
        }
        let text = match dim {
            Dim::Var(symbol) => model.str(symbol).to_owned(),
            _ => match model.exprs().text(dim, model.names(), Dialect::Python) {
                Some(text) => text,
                None => return Dim::Unknown,
            },
        };
        let symbol = spell(model, &text);
        self.made.push((symbol, text));
        self.known.insert(dim, Dim::Var(symbol));
        Dim::Var(symbol)
    }
}

/// More letters of an expression are not taken over into a name.
const MAX_LETTERS: usize = 48;

/// A new name that reminds of a text.
fn spell(model: &mut Model, text: &str) -> Symbol {
    let mut name = String::from("dim");
    let mut gap = true;
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() {
            if gap {
                name.push('_');
            }
            name.push(letter);
            gap = false;
        } else {
            gap = true;
        }
        if name.len() >= MAX_LETTERS {
            break;
        }
    }
    if model.names().get(&name).is_none() { model.intern(&name) } else { model.names_mut().fresh(&name) }
}

fn is_identifier(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

#[cfg(test)]
mod tests {
    use onnx_text::{ParseOptions, parse_model};

    use super::*;
    use crate::{InferOptions, MergePolicy, infer};

    #[test]
    fn equal_sizes_get_equal_names() {
        let text = r#"<ir_version: 10, opset_import: ["": 20]> g (float[N, 2] x, float["my batch"] w) => (y, z) {
            y = Concat <axis = 0> (x, x)
            z = Neg (y)
        }"#;
        let mut model = parse_model(text, &ParseOptions::default()).unwrap();
        let mut inference = infer(&model, &InferOptions::default());
        inference.apply(&mut model, MergePolicy::Keep).unwrap();
        let made: Vec<_> = name_sizes(&mut model)
            .into_iter()
            .map(|(name, text)| (model.str(name).to_owned(), text))
            .collect();
        let expected = [("dim_my_batch", "my batch"), ("dim_2_N", "2*N")];
        assert_eq!(made, expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
        let outputs = model.graph(model.main_graph()).outputs();
        let [y, z] = [0, 1].map(|at| model.ty(outputs[at].value()).unwrap().shape().unwrap().dims());
        let name = Dim::Var(model.names().get("dim_2_N").unwrap());
        assert_eq!((y, z), (&[name, 2.into()][..], &[name, 2.into()][..]));
    }
}
