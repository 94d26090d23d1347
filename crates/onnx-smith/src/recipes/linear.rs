//! Products of matrices.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use super::{Row, row};
use crate::draft::Draft;

pub(super) static ROWS: &[Row] = &[
    row(&[op::MAT_MUL, op::MAT_MUL_INTEGER], product),
    row(&[op::Q_LINEAR_MAT_MUL], quantized_product),
    row(&[op::GEMM], gemm),
    row(&[op::EINSUM], einsum),
    row(&[op::DET], determinant),
];

/// The second operand of a product: another matrix, or as many as the first has.
fn second(draft: &mut Draft<'_, '_>, first: &[Dim]) -> Option<()> {
    let inner = *first.last()?;
    let width = *draft.smith.dims(1).first()?;
    let batch = first.get(..first.len().saturating_sub(2)).unwrap_or_default();
    let mut dims = if draft.smith.choices.chance(50) { batch.to_vec() } else { Vec::new() };
    dims.push(inner);
    if !dims.len().eq(&1) || draft.smith.choices.chance(80) {
        dims.push(width);
    }
    draft.shaped(&dims)
}

fn product(draft: &mut Draft<'_, '_>) -> Option<()> {
    let first = draft.of_rank(1, 4)?;
    second(draft, &first)?;
    if draft.wants(40) {
        draft.shaped(&[])?;
        if draft.wants(50) {
            draft.shaped(&[])?;
        }
    }
    Some(())
}

fn quantized_product(draft: &mut Draft<'_, '_>) -> Option<()> {
    let first = draft.of_rank(2, 3)?;
    draft.shaped(&[])?;
    draft.shaped(&[])?;
    let mut dims = vec![*first.last()?];
    dims.extend(draft.smith.dims(1));
    draft.shaped(&dims)?;
    for _ in 0..4 {
        draft.shaped(&[])?;
    }
    Some(())
}

fn gemm(draft: &mut Draft<'_, '_>) -> Option<()> {
    let first = draft.of_rank(2, 2)?;
    let width = *draft.smith.dims(1).first()?;
    let is_turned = [draft.smith.choices.chance(30), draft.smith.choices.chance(30)];
    draft.leave(&[attr::TRANS_A, attr::TRANS_B, attr::BROADCAST]);
    let (rows, inner) =
        if is_turned[0] { (first.get(1)?, first.first()?) } else { (first.first()?, first.get(1)?) };
    for (name, turned) in [(attr::TRANS_A, is_turned[0]), (attr::TRANS_B, is_turned[1])] {
        if turned {
            draft.set(name, 1_i64);
        }
    }
    draft.shaped(&if is_turned[1] { [width, *inner] } else { [*inner, width] })?;
    if draft.schema.min_inputs() > 2 || draft.wants(60) {
        let whole = [*rows, width];
        if draft.schema.attribute(attr::BROADCAST).is_some() {
            return draft.shaped(&whole);
        }
        draft.partner(&whole)?;
    }
    Some(())
}

/// Equations with the ranks of their operands, as letters.
const EQUATIONS: [(&str, &[&str]); 6] = [
    ("ij,jk->ik", &["ij", "jk"]),
    ("bij,bjk->bik", &["bij", "bjk"]),
    ("ij->ji", &["ij"]),
    ("i,i->", &["i", "i"]),
    ("ij,kj", &["ij", "kj"]),
    ("ii->i", &["ii"]),
];

fn einsum(draft: &mut Draft<'_, '_>) -> Option<()> {
    let (equation, operands) = draft.smith.choices.pick(&EQUATIONS)?;
    draft.set(attr::EQUATION, equation);
    let mut sizes: Vec<(char, Dim)> = Vec::new();
    for letters in operands {
        let mut dims = Vec::new();
        for letter in letters.chars() {
            let known = sizes.iter().find(|(known, _)| *known == letter).map(|&(_, dim)| dim);
            let dim = match known {
                Some(dim) => dim,
                None => *draft.smith.dims(1).first()?,
            };
            sizes.push((letter, dim));
            dims.push(dim);
        }
        draft.shaped(&dims)?;
    }
    Some(())
}

fn determinant(draft: &mut Draft<'_, '_>) -> Option<()> {
    draft.operand(
        |dims| {
            dims.len() >= 2
                && dims.last() == dims.get(dims.len() - 2)
                && dims.iter().all(|dim| dim.known().is_some())
        },
        |smith| {
            let front = smith.choices.below(2);
            let mut dims = smith.dims(front);
            let size = Dim::Known(smith.choices.int(1, 4));
            dims.extend([size, size]);
            dims
        },
    )?;
    Some(())
}
