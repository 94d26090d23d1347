//! `Reshape`: the same elements under another shape, an attribute until version 4 and an input from version 5 on.
//!
//! A 0 copies the size of the same axis of the input unless `allowzero` is set, and one -1 stands for the remaining
//! size. The remaining size is the exact quotient of the numbers of elements; the quotient is an integer because the
//! node is valid. A shape whose numbers are known and do not fit is a fault, which the reference accepts. So is a -1
//! together with a size of 0, because the remaining size is undetermined. From version 14 on a shape that is computed
//! must be a vector.
//!
//! A computed size that may be 0 is read as a size under a guard unless a 0 cannot copy another one. Under that guard nothing
//! is proved: with a 0 the node can run, and its shape is another one.

use onnx_schema::{attr, op};
use onnx_types::Dim;
use smallvec::SmallVec;

use crate::cx::{Cx, Outcome, Stop};
use crate::facts::Relation;
use crate::family::elementwise::keep_elements;
use crate::fault::{BAD_VALUE, COUNT_DIFFERS, MISSING, WRONG_RANK};
use crate::registry::{OpRules, infer, since};
use crate::ty::Dims;

pub(super) const RULES: OpRules =
    infer(op::RESHAPE, &[since(1, by_attribute), since(5, |cx| by_input(cx, true)), since(14, newest)])
        .values(&[since(1, keep_elements)]);

fn by_attribute(cx: &mut Cx<'_, '_>) -> Outcome {
    let shape: Dims =
        cx.ints(attr::SHAPE)?.ok_or(Stop::Unknown)?.iter().map(|&size| Dim::Known(size)).collect();
    reshape(cx, &shape, true)
}

fn newest(cx: &mut Cx<'_, '_>) -> Outcome {
    if cx.rank(1).is_ok_and(|rank| rank != 1) && cx.content(1).is_none() {
        return Err(cx.fail(&WRONG_RANK, "the shape must be a vector"));
    }
    let copies = cx.int_or(attr::ALLOWZERO, 0)? == 0;
    by_input(cx, copies)
}

fn by_input(cx: &mut Cx<'_, '_>, copies: bool) -> Outcome {
    if !cx.has_input(1) {
        return Err(cx.fail(&MISSING, "input `shape` is missing"));
    }
    let shape = cx.elements(1)?.ok_or(Stop::Unknown)?;
    reshape(cx, &shape, copies)
}

fn reshape(cx: &mut Cx<'_, '_>, wanted: &[Dim], copies: bool) -> Outcome {
    let input = cx.shape(0).ok();
    let mut dims = Dims::with_capacity(wanted.len());
    let mut is_assumed: SmallVec<[bool; 8]> = SmallVec::from_elem(false, wanted.len());
    let mut rest = None;
    for (at, &size) in wanted.iter().enumerate() {
        dims.push(match size {
            Dim::Known(-1) if rest.is_some() => {
                return Err(cx.fail(&BAD_VALUE, "the shape has more than one -1"));
            }
            Dim::Known(-1) => {
                rest = Some(at);
                Dim::Unknown
            }
            Dim::Known(0) if copies => match &input {
                Some(input) => match input.get(at) {
                    Some(&dim) => dim,
                    None => {
                        let message =
                            format_args!("size {at} of the shape is 0, but the input has no such dimension");
                        return Err(cx.fail(&BAD_VALUE, message));
                    }
                },
                None => Dim::Unknown,
            },
            Dim::Known(size) if size < 0 => {
                return Err(cx.fail(&BAD_VALUE, format_args!("size {at} of the shape is {size}")));
            }
            // A size that could be 0 or -1 at run time means something else then.
            size => match as_size(cx, input.as_deref(), wanted, at, size, copies) {
                Meaning::Open => Dim::Unknown,
                Meaning::Size => size,
                Meaning::SizeUnlessCopied => {
                    is_assumed.get_mut(at).into_iter().for_each(|slot| *slot = true);
                    size
                }
            },
        });
    }
    let unknown = dims.iter().filter(|dim| dim.is_unknown()).count();
    if let (Some(input), true) = (&input, unknown <= 1) {
        settle(cx, input, &mut dims, &is_assumed, rest)?;
    }
    cx.set_dims(0, dims);
    Ok(())
}

/// The dimension that a computed size is.
enum Meaning {
    /// It is not known.
    Open,
    /// The size, in every valid run.
    Size,
    /// The size if it is not 0, which is a guard: a 0 copies a dimension that need not be 0.
    SizeUnlessCopied,
}

/// A computed size as a dimension. A size that is 0 copies, unless the size copied is the same; so a size that is not known
/// to be positive must be 0 only where the dimension of the input is, too, or where the node cannot run.
fn as_size(
    cx: &mut Cx<'_, '_>,
    input: Option<&[Dim]>,
    wanted: &[Dim],
    at: usize,
    size: Dim,
    copies: bool,
) -> Meaning {
    let at_least = |cx: &Cx<'_, '_>, bound: i64| cx.dims_le(Dim::Known(bound), size) == Some(true);
    if size.is_unknown() || !at_least(cx, 0) {
        return Meaning::Open;
    }
    if at_least(cx, 1) || !copies {
        return Meaning::Size;
    }
    if let Some(input) = input {
        match input.get(at) {
            Some(&copied) if is_zero_with(cx, copied, size) => return Meaning::Size,
            Some(_) if is_zero_with_all(cx, input, wanted, at, size) => return Meaning::Size,
            Some(_) => {}
            // There is nothing to copy: the node cannot run with a 0 here.
            None => {
                cx.prove(Relation::AtMost(Dim::Known(1), size));
                return Meaning::Size;
            }
        }
    }
    // Where the size is 0 and copies something else, the shape is not the one computed: that this does not happen is
    // what every exporter means.
    let reason = "a size of 0 in the shape copies a dimension";
    let is_assumed = cx.may_assume(Relation::AtMost(Dim::Known(1), size), reason);
    if is_assumed { Meaning::SizeUnlessCopied } else { Meaning::Open }
}

/// Returns `true` if the input has no elements where a size in the shape is 0, and all other sizes are at least 1: the size
/// that is copied is 0 then, or the numbers of elements differ and the node cannot run.
fn is_zero_with_all(cx: &mut Cx<'_, '_>, input: &[Dim], wanted: &[Dim], at: usize, size: Dim) -> bool {
    let is_positive =
        |&(other, &dim): &(usize, &Dim)| other == at || cx.dims_le(Dim::Known(1), dim) == Some(true);
    if !wanted.iter().enumerate().all(|entry| is_positive(&entry)) {
        return false;
    }
    let count = cx.product(input);
    cx.dims().quotient(count, size).is_some_and(|factor| !factor.is_unknown())
}

/// Returns `true` if the size that is copied is 0 wherever the size in the shape is: it is this size, a multiple of it, or this
/// size is the other one times a number.
fn is_zero_with(cx: &mut Cx<'_, '_>, copied: Dim, size: Dim) -> bool {
    if copied == size {
        return true;
    }
    let is_multiple = cx.dims().quotient(copied, size).is_some_and(|factor| !factor.is_unknown());
    is_multiple || matches!(cx.dims().quotient(size, copied), Some(Dim::Known(1..)))
}

/// Finds the one size that is left, by the number of elements, and compares the numbers where all are known. `is_assumed`
/// marks the sizes that are what they seem only if they are not 0: nothing is proved by these.
fn settle(
    cx: &mut Cx<'_, '_>,
    input: &[Dim],
    dims: &mut Dims,
    is_assumed: &[bool],
    rest: Option<usize>,
) -> Outcome {
    let left = dims.iter().position(|dim| dim.is_unknown());
    let others: Dims = dims.iter().copied().filter(|dim| !dim.is_unknown()).collect();
    // Sizes that occur on both sides are not multiplied, which keeps the quotient simple. This is sound only for -1: if
    // one of them is 0, the divisor is 0, and the node is not valid.
    let (from, to) = (cx.product_of_sizes(input)?, cx.product(&others));
    let is_conditional = is_assumed.contains(&true);
    let Some(left) = left else {
        if let (Dim::Known(from), Dim::Known(to)) = (from, to)
            && from != to
        {
            return Err(cx.fail(&COUNT_DIFFERS, format_args!("{from} elements are given a shape for {to}")));
        }
        if from != to && !from.is_unknown() && !to.is_unknown() {
            needs(cx, Relation::Equal(from, to), is_conditional);
        }
        return Ok(());
    };
    if to == Dim::Known(0) {
        if rest.is_some() {
            return Err(cx.fail(&BAD_VALUE, "the shape has both a -1 and a size of 0"));
        }
        // Any size fits.
        return Ok(());
    }
    if rest.is_some() {
        divides_by(cx, dims, is_assumed);
    }
    if rest.is_none() && cx.dims_le(Dim::Known(1), to) != Some(true) && !to.is_unknown() {
        // A size that is read when the model runs is determined only by sizes that are not 0.
        let reason = "the missing size is a quotient by the others";
        if !cx.may_assume(Relation::AtMost(Dim::Known(1), to), reason) {
            return Ok(());
        }
    }
    if let (Dim::Known(from), Dim::Known(to)) = (from, to)
        && from.checked_rem(to) != Some(0)
    {
        if rest.is_none() {
            return Ok(());
        }
        return Err(
            cx.fail(&COUNT_DIFFERS, format_args!("{from} elements cannot be divided into parts of {to}"))
        );
    }
    let size = cx.dims().exact_div(from, to);
    if !size.is_unknown() {
        needs(cx, Relation::Divides(to, from), is_conditional);
    }
    if let Some(slot) = dims.get_mut(left) {
        *slot = size;
    }
    Ok(())
}

/// Records that the node divides by sizes, so that none is 0. A size that copies where it is 0 has its guard, and need not be
/// positive.
fn divides_by(cx: &mut Cx<'_, '_>, dims: &[Dim], is_assumed: &[bool]) {
    for (&dim, _) in dims.iter().zip(is_assumed).filter(|&(_, &is_assumed)| !is_assumed) {
        let is_open = !matches!(dim, Dim::Known(_) | Dim::Unknown);
        if is_open && cx.dims_le(Dim::Known(1), dim) != Some(true) {
            cx.prove(Relation::AtMost(Dim::Known(1), dim));
        }
    }
}

/// Records a relation that every valid run satisfies in which the sizes are what they seem: a guard if that is assumed.
fn needs(cx: &mut Cx<'_, '_>, relation: Relation, is_conditional: bool) {
    if is_conditional {
        cx.assume(relation, "the shape must have as many elements as the input");
    } else {
        cx.prove(relation);
    }
}
