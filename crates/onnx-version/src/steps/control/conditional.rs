//! `If`: before version 11, both branches give results of one shape.

use onnx_schema::attr;
use onnx_types::Dim;

use crate::reason::{Cause, VersionReason};
use crate::step::Step;

/// Downwards: the shapes must be equal.
pub(crate) fn equal_shapes(step: &mut Step<'_>) -> Result<(), VersionReason> {
    let record = step.model.node(step.node);
    let branch = |name| record.attribute(name).and_then(|given| given.value().graphs().first().copied());
    let (Some(yes), Some(no)) = (branch(attr::THEN_BRANCH), branch(attr::ELSE_BRANCH)) else {
        return Err("a branch is omitted".into());
    };
    let (yes, no) = (step.model.graph(yes).outputs(), step.model.graph(no).outputs());
    for (a, b) in yes.iter().zip(no) {
        let (a, b) = (step.types.dims(a.value()), step.types.dims(b.value()));
        let (Some(a), Some(b)) = (a, b) else {
            return Err(VersionReason::new(Cause::ShapeUnknown, "the shape of a branch is unknown"));
        };
        if a != b || a.contains(&Dim::Unknown) {
            return Err("the branches may have different shapes".into());
        }
    }
    Ok(())
}
