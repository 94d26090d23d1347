//! The rule `sharding-of-foreign-value`: a node says how a value is spread that is none of its inputs and outputs.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_ir::ValueRef;

use crate::declaration_cx::ShardingCx;

pub(crate) static RULE: Rule = Rule::new(
    2851,
    "sharding-of-foreign-value",
    Severity::Error,
    "A node says how a value is spread that is none of its inputs and outputs.",
)
.with_spec("IR: Multi-Device Configuration")
.with_explain(include_str!("sharding_of_foreign_value.md"));

pub(crate) fn check(cx: &mut ShardingCx<'_, '_>) {
    for entry in &cx.sharding.shardings {
        let is_operand = match entry.tensor {
            ValueRef::Value(value) => cx.operands.contains(&value) || cx.model.get_value(value).is_none(),
            ValueRef::Name(_) => false,
        };
        if is_operand {
            continue;
        }
        let (tensor, place) = (entry.tensor, cx.place(Some(entry.tensor)));
        cx.report(&RULE, |places| {
            let message = match places.referred(tensor) {
                "" => "the sharding names no tensor".to_owned(),
                name => format!("{} is not an input or output of the node", Quoted(name)),
            };
            Diagnostic::new(&RULE, place(places), message)
                .help("set `tensor_name` to the name of an input or output of the node")
                .beyond_reference(true)
        });
    }
}
