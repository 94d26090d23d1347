//! Zeros around the operand of several convolutions: the padding of each convolution is increased by them.

use onnx_ir::{AttrValue, Attribute, Model, NodeId, Position, ValueId};
use onnx_ops::{Operator, ops};
use onnx_pass::{Exactness, Patch, Reason};
use onnx_schema::{attr, op};

use super::{RuleFunction, users_of};

/// Axes of a convolution that are not spatial: those of the batch and of the channels.
const OUTER: usize = 2;

pub(super) fn rule() -> RuleFunction {
    let page = "Zeros around the operand of convolutions are the padding of the convolutions. The rule `pad-conv` does this if one \
                node uses the result of the `Pad`; with several, the cost decreases if all of them are edited together.";
    RuleFunction::new("pad-convs", Exactness::Rounding, &["Pad"], edit).with_page(page)
}

fn edit(patch: &mut Patch<'_, '_>, node: NodeId) -> Result<(), Reason> {
    let model = patch.model();
    let record = model.node(node);
    let (Some(data), Some(padded)) = (record.input(0), record.output(0)) else {
        return Err("an operand is omitted".into());
    };
    let convs = users(model, padded)?;
    let inner = inner_pads(patch, node)?;
    patch.tap(data);
    for conv in convs {
        let pads = pads(patch.model(), conv, &inner)?;
        patch.source(conv);
        let record = patch.model().node(conv);
        let old = record.output(0).ok_or("a convolution has no result")?;
        let rest: Vec<Option<ValueId>> = record.inputs().skip(1).collect();
        let is_kept = |attribute: &&Attribute| attribute.name() != attr::PADS;
        let attributes: Vec<Attribute> = record.attributes().iter().filter(is_kept).cloned().collect();
        for &operand in rest.iter().flatten() {
            patch.tap(operand);
        }
        let new = patch.build(Position::Before(conv), |build| {
            let mut new = build.op(op::CONV, [data]);
            for operand in rest {
                new = new.input(operand);
            }
            for attribute in attributes {
                new = new.attribute(attribute);
            }
            new.attr(attr::PADS, pads).output()
        })?;
        patch.replace(old, new);
    }
    Ok(())
}

/// The users of a value, if there are several and each is a `Conv` with explicit padding whose data it is.
fn users(model: &Model, padded: ValueId) -> Result<Vec<NodeId>, Reason> {
    let convs = users_of(model, padded, |user| {
        let record = model.node(user);
        let is_data =
            record.input(0) == Some(padded) && record.inputs().skip(1).flatten().all(|input| input != padded);
        let Some(conv) = ops::Conv::of(model, user).filter(|_| is_data) else {
            return Err("something else than convolutions uses it".into());
        };
        match conv.auto_pad().known().is_none_or(|mode| *mode != *b"NOTSET") {
            true => Err("a convolution determines its padding itself".into()),
            false => Ok(()),
        }
    })?;
    if convs.len() < 2 { Err("one node uses it".into()) } else { Ok(convs) }
}

/// The padding of the spatial axes, begins before ends, if there is not any other and it consists of zeros.
fn inner_pads(patch: &mut Patch<'_, '_>, node: NodeId) -> Result<Vec<i64>, Reason> {
    let pad = ops::Pad::of(patch.model(), node).ok_or("the node has no view")?;
    if pad.mode().known().is_none_or(|mode| *mode != *b"constant") {
        return Err("it does not pad with one number".into());
    }
    let attribute = pad.pads().known().map(std::borrow::Cow::into_owned);
    let record = patch.model().node(node);
    let (pads, value, axes) = (record.input(1), record.input(2), record.input(3));
    let given = record.attribute(attr::VALUE).map(Attribute::value);
    if given.is_some_and(|value| !matches!(value, AttrValue::Float(0.0))) || axes.is_some() {
        return Err("it pads with another number, or some axes only".into());
    }
    if let Some(value) = value
        && !patch.is_scalar(value, 0.0)
    {
        return Err("it pads with another number".into());
    }
    let pads = match pads {
        Some(pads) => patch.integers(pads),
        None => attribute,
    };
    let pads = pads.ok_or("the padding is not known")?;
    let (begins, ends) = pads.split_at(pads.len() / 2);
    let outer = begins.iter().take(OUTER).chain(ends.iter().take(OUTER));
    let inner: Vec<i64> = begins.iter().skip(OUTER).chain(ends.iter().skip(OUTER)).copied().collect();
    if outer.into_iter().any(|&pad| pad != 0) || inner.iter().any(|&pad| pad < 0) {
        return Err("it pads other axes, or removes elements".into());
    }
    Ok(inner)
}

/// The padding of a convolution and of its operand together.
fn pads(model: &Model, conv: NodeId, inner: &[i64]) -> Result<Vec<i64>, Reason> {
    let own = ops::Conv::of(model, conv).ok_or("a convolution has no view")?.pads();
    let own = match own.is_omitted() {
        true => vec![0; inner.len()],
        false => own.known().ok_or("the padding of a convolution is not known")?.into_owned(),
    };
    if own.len() != inner.len() {
        return Err("the padding of a convolution is of another length".into());
    }
    let sums: Option<Vec<i64>> = own.iter().zip(inner).map(|(&a, &b)| a.checked_add(b)).collect();
    sums.ok_or_else(|| "the padding is too large".into())
}
