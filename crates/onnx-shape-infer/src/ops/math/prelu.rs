//! `PRelu`: a slope for negative elements, laid along the input.
//!
//! From version 7 on the slope broadcasts to the input. The specification has it in that direction only, and the reference
//! takes the shape of the input whatever the slope is; runtimes broadcast both ways. The shape of both together is right
//! for each of them: it is that of the input wherever the specification allows the node. A slope of unknown rank is taken
//! to follow the specification.

use onnx_schema::op;
use onnx_types::Dim;

use crate::cx::{Cx, Outcome};
use crate::family::broadcast::all;
use crate::family::elementwise::like_first;
use crate::registry::{OpRules, infer, since};
use crate::ty::at;

pub(super) const RULES: OpRules = infer(op::P_RELU, &[since(1, by_channel), since(7, broadcast)]);

/// A slope of more than one element has one for each channel.
fn by_channel(cx: &mut Cx<'_, '_>) -> Outcome {
    if let (Ok(x), Ok(slope)) = (cx.shape(0), cx.shape(1)) {
        match *slope {
            [] | [Dim::Known(1)] => {}
            [size @ Dim::Known(_)] => {
                let channels = if x.len() > 1 { at(&x, 1) } else { at(&x, 0) };
                cx.same(channels, size, "the channels and the slopes")?;
            }
            _ => cx.broadcasts_to(&slope, &x, "the slope")?,
        }
    }
    like_first(cx)
}

fn broadcast(cx: &mut Cx<'_, '_>) -> Outcome {
    if cx.rank(1).is_err() { like_first(cx) } else { all(cx) }
}
