//! `Einsum`: sums of products of elements, by the letters of an equation.
//!
//! Without `->`, the result has the axes of the ellipsis, then the letters that occur once, in ASCII order. A letter that occurs
//! twice in a term takes the diagonal. Operands broadcast along the ellipsis. Two operands whose letters fit are multiplied as
//! matrices would be, but element by element, in the order of the letters: correct first.

use onnx_schema::{attr, op};
use smallvec::SmallVec;

use crate::cx::axes::{product, strides};
use crate::cx::{Cx, Dims, Operand, Outcome, Stop};
use crate::family::window::advance;
use crate::number::{Number, by_number};
use crate::registry::{OpKernels, eval, since};

pub(super) const KERNELS: OpKernels = eval(op::EINSUM, &[since(12, einsum)]).open();

/// A letter, or an axis of the ellipsis by its index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Label {
    Ellipsis(usize),
    Letter(u8),
}

/// An equation: the labels of each operand and of the result.
struct Equation {
    terms: Vec<Vec<Label>>,
    result: Vec<Label>,
}

fn bad(what: &str) -> Stop {
    Stop::failed(format_args!("the equation {what}"))
}

/// The labels of a term for an operand of some rank. Axes of an ellipsis are counted from its end.
fn labels(term: &str, rank: Option<usize>, most: &mut usize) -> Outcome<Vec<Label>> {
    let letters = term.bytes().filter(u8::is_ascii_alphabetic).count();
    let mut found = Vec::new();
    let mut rest = term;
    let mut has_ellipsis = false;
    while let Some(first) = rest.bytes().next() {
        if let Some(after) = rest.strip_prefix("...") {
            let hidden = match rank {
                Some(rank) => rank.checked_sub(letters).ok_or_else(|| bad("has more letters than axes"))?,
                None => *most,
            };
            if has_ellipsis {
                return Err(bad("has two ellipses in a term"));
            }
            has_ellipsis = true;
            *most = (*most).max(hidden);
            found.extend((0..hidden).rev().map(Label::Ellipsis));
            rest = after;
        } else if first.is_ascii_alphabetic() {
            found.push(Label::Letter(first));
            rest = &rest[1..];
        } else {
            return Err(bad("has a character that is neither a letter nor an ellipsis"));
        }
    }
    if rank.is_some_and(|rank| rank != found.len()) {
        return Err(bad("does not fit the ranks of the operands"));
    }
    Ok(found)
}

impl Equation {
    fn parse(text: &str, operands: &[Operand]) -> Outcome<Self> {
        let text: String = text.chars().filter(|char| *char != ' ').collect();
        let (left, right) = match text.split_once("->") {
            Some((left, right)) => (left, Some(right)),
            None => (text.as_str(), None),
        };
        let parts: Vec<&str> = left.split(',').collect();
        if parts.len() != operands.len() {
            return Err(bad("has another number of terms than there are operands"));
        }
        let mut most = 0;
        let terms =
            parts.iter().zip(operands).map(|(term, operand)| labels(term, Some(operand.rank()), &mut most));
        let terms = terms.collect::<Outcome<Vec<_>>>()?;
        let result = match right {
            Some(right) => labels(right, None, &mut most)?,
            None => implied(&terms, most),
        };
        let known = |label: &Label| terms.iter().any(|term| term.contains(label));
        let twice = result.iter().enumerate().any(|(at, label)| result[..at].contains(label));
        if twice || !result.iter().all(known) {
            return Err(bad("has a letter on the right twice, or one that is not on the left"));
        }
        Ok(Self { terms, result })
    }
}

fn implied(terms: &[Vec<Label>], most: usize) -> Vec<Label> {
    let count = |label: Label| terms.iter().flatten().filter(|other| **other == label).count();
    let mut letters: Vec<Label> = terms.iter().flatten().copied().collect();
    letters.retain(|&label| matches!(label, Label::Letter(_)) && count(label) == 1);
    letters.sort();
    (0..most).rev().map(Label::Ellipsis).chain(letters).collect()
}

fn einsum(cx: &mut Cx<'_, '_>) -> Outcome {
    let operands = (0..cx.input_count()).map(|index| cx.tensor(index)).collect::<Outcome<Vec<_>>>()?;
    let first = operands.first().ok_or_else(|| Stop::failed("operands are missing"))?.clone();
    let equation = Equation::parse(cx.text(attr::EQUATION)?, &operands)?;
    // The labels of the result, then those that are summed, with their sizes.
    let mut all = equation.result.clone();
    for &label in equation.terms.iter().flatten() {
        if !all.contains(&label) {
            all.push(label);
        }
    }
    let mut sizes: Dims = all.iter().map(|_| 1).collect();
    let mut steps: Vec<SmallVec<[usize; 6]>> = Vec::new();
    for (term, operand) in equation.terms.iter().zip(&operands) {
        let mut own: SmallVec<[usize; 6]> = all.iter().map(|_| 0).collect();
        for ((label, &dim), &stride) in term.iter().zip(&operand.dims).zip(&strides(&operand.dims)) {
            let at = all.iter().position(|other| other == label).unwrap_or(0);
            if dim != 1 && sizes[at] != 1 && sizes[at] != dim {
                return Err(Stop::failed(format_args!("an axis has sizes {} and {dim}", sizes[at])));
            }
            if dim != 1 {
                sizes[at] = dim;
                own[at] += stride;
            }
        }
        steps.push(own);
    }
    let (kept, summed) = sizes.split_at(equation.result.len());
    let (kept, summed): (Dims, Dims) = (kept.into(), summed.into());
    let count = cx.count(&kept)?;
    cx.work(count.saturating_mul(product(&summed)).saturating_mul(operands.len()))?;
    by_number!(first.elem, T => {
        let elements = operands.iter().map(|x| cx.read::<T>(x)).collect::<Outcome<Vec<_>>>()?;
        let mut out = cx.buffer(count)?;
        let place = |own: &[usize], index: &[usize]| -> usize { own.iter().zip(index).map(|(a, b)| a * b).sum() };
        let mut outer: Dims = kept.iter().map(|_| 0).collect();
        for _ in 0..count {
            let starts: SmallVec<[usize; 4]> = steps.iter().map(|own| place(own, &outer)).collect();
            let mut sum = None;
            let mut inner: Dims = summed.iter().map(|_| 0).collect();
            for _ in 0..product(&summed) {
                cx.poll().step(operands.len())?;
                let factors = elements.iter().zip(&starts).zip(&steps);
                let term = factors.fold(T::ONE, |term, ((elements, start), own)| {
                    term.times(elements[start + place(&own[kept.len()..], &inner)])
                });
                // Without anything to sum, elements are moved: a negative zero stays one.
                sum = Some(sum.map_or(term, |sum: T| sum.plus(term)));
                advance(&mut inner, &summed);
            }
            out.push(sum.unwrap_or(T::ZERO));
            advance(&mut outer, &kept);
        }
        cx.put::<T>(0, first.elem, &kept, out)
    })
}
