//! Recipe of `Einsum`.

use onnx_schema::{attr, op};
use onnx_types::Dim;

use crate::draft::Draft;
use crate::ops::{Row, row};

pub(in crate::ops) const RECIPES: &[Row] = &[row(&[op::EINSUM], einsum)];

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
