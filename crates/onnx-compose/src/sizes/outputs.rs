//! Declared sizes of outputs.

use onnx_ir::{GraphOutput, Model, ValueId};
use onnx_shape_infer::Inference;
use onnx_types::{Dim, Shape, Symbol};

use super::bind::set_dim;
use super::names::{self, Variables};

/// Gives outputs what inference proves for sizes that no input has: numbers, and expressions of variables of the inputs of which one has
/// changed. Returns the number of types that have changed.
pub(super) fn refine(model: &mut Model, proved: &mut Inference, changed: &[Symbol]) -> usize {
    let outputs: Vec<ValueId> =
        model.graph(model.main_graph()).outputs().iter().map(GraphOutput::value).collect();
    let variables: Variables = names::of_inputs(model).into_iter().collect();
    let mut count = 0;
    for value in outputs {
        let Some(dims) = proved.shape(value).map(<[Dim]>::to_vec) else { continue };
        for (axis, dim) in dims.into_iter().enumerate() {
            let declared =
                model.ty(value).and_then(|ty| ty.shape()).and_then(|shape: &Shape| shape.dim(axis));
            let is_replaced = match declared {
                None | Some(Dim::Known(_)) => false,
                Some(_) if dim.known().is_some() => true,
                Some(Dim::Unknown) => follows(proved, dim, &variables, changed),
                Some(Dim::Var(symbol)) => {
                    let is_own =
                        !variables.contains(&symbol) && names::read(model, &variables, symbol).is_none();
                    is_own && follows(proved, dim, &variables, changed)
                }
                Some(Dim::Expr(_)) => false,
            };
            if !is_replaced {
                continue;
            }
            let new = proved.intern(model, dim);
            if let Some(ty) = model.ty(value).cloned().filter(|_| !new.is_unknown()) {
                set_dim(model, value, ty, axis, new);
                count += 1;
            }
        }
    }
    count
}

/// Whether a size consists of variables of the inputs, of which one has changed.
fn follows(proved: &Inference, dim: Dim, variables: &Variables, changed: &[Symbol]) -> bool {
    let symbols = proved.exprs().symbols(dim);
    symbols.iter().all(|symbol| variables.contains(symbol))
        && symbols.iter().any(|symbol| changed.contains(symbol))
}
