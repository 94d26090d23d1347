//! `ZipMap`: each row of scores as a map from labels to scores, in a sequence.

use onnx_schema::{attr, domain, op};
use onnx_types::{ElemType, Shape, Type};

use crate::cx::{Cx, Outcome};
use crate::fault::{BAD_ATTRIBUTE, WRONG_RANK};
use crate::registry::{OpRules, infer, since};

pub(super) const RULES: OpRules = infer(op::ZIP_MAP, &[since(1, rule)]).of(domain::ML);

fn rule(cx: &mut Cx<'_, '_>) -> Outcome {
    let texts = cx.texts(attr::CLASSLABELS_STRINGS)?.unwrap_or(0);
    let ints = cx.ints(attr::CLASSLABELS_INT64S)?.map_or(0, <[i64]>::len);
    let key = match (texts, ints) {
        (0, 0) => return Err(cx.fail(&BAD_ATTRIBUTE, "no labels are given")),
        (_, 0) => ElemType::String,
        // With both, which no runtime accepts, the reference uses the integers.
        _ => ElemType::Int64,
    };
    if let Ok(rank) = cx.rank(0)
        && !(1..=2).contains(&rank)
    {
        return Err(cx.fail(&WRONG_RANK, format_args!("the input has rank {rank} where 1 or 2 is needed")));
    }
    let score = Type::tensor(ElemType::Float, Some(Shape::known(&[])));
    cx.set_ty(0, Type::sequence(Type::map(key, score)));
    Ok(())
}
