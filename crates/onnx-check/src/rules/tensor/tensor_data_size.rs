//! The rule `tensor-data-size`: a tensor has more or less data than its dimensions say.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};
use onnx_types::ElemType;
use onnx_types::tensor::{Tensor, TensorFault};

use crate::cx::TensorCx;

pub(crate) static RULE: Rule = Rule::new(
    2503,
    "tensor-data-size",
    Severity::Error,
    "A tensor has more or less data than its dimensions say.",
)
.with_spec("IR: Tensor Definition")
.with_reference(Reference::Partly)
.with_explain(include_str!("tensor_data_size.md"));

pub(crate) fn check(cx: &mut TensorCx<'_, '_>) {
    let (place, tensor) = (cx.place, cx.tensor);
    for fault in cx.faults {
        let accepted = match *fault {
            TensorFault::TooManyElements | TensorFault::NoData { .. } => tensor.is_external(),
            TensorFault::WrongLength { expected, found, .. } => {
                tensor.is_external() || accepts(expected, found)
            }
            TensorFault::WrongCount { expected, found, .. } => {
                accepts(least_entries(tensor).unwrap_or(expected), found)
            }
            _ => continue,
        };
        cx.report(&RULE, |places| {
            let found = Diagnostic::new(&RULE, place.locate(places), fault.to_string())
                .help("make dimensions, element type and data agree; the file may have been cut or patched")
                // The reference reads the indices of a sparse tensor, and refuses any other number of them then.
                .beyond_reference(accepted && place.part != Some("indices"));
            let dims = tensor.dims();
            // Omit long lists: they are not readable, and a hostile file can have many dimensions.
            if dims.len() > 8 { found } else { found.note(format!("the dimensions are {dims:?}")) }
        });
    }
}

/// Whether the reference accepts this much data: it takes what is too much, unless there should be none.
const fn accepts(least: u64, found: u64) -> bool {
    least > 0 && found >= least
}

/// How many entries the reference asks for where elements share an entry: it takes an entry for twice as many 4-bit, and
/// four times as many 2-bit elements as the specification does.
fn least_entries(tensor: &Tensor) -> Option<u64> {
    let shared = match tensor.elem() {
        ElemType::Uint4 | ElemType::Int4 | ElemType::Float4E2M1 => 8,
        ElemType::Uint2 | ElemType::Int2 => 16,
        _ => return None,
    };
    Some(tensor.element_count()?.div_ceil(shared))
}
