//! The rule `spatial-attribute-length`: an attribute of a convolution or pooling has not one entry for each spatial
//! axis.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_ir::AttrValue;
use onnx_schema::attr;
use onnx_schema::traits::Window;

use crate::cx::NodeCx;

pub(crate) static RULE: Rule = Rule::new(
    2417,
    "spatial-attribute-length",
    Severity::Error,
    "An attribute of a convolution or pooling has not one entry for each spatial axis.",
)
.with_spec("Operators")
.with_explain(include_str!("spatial_attribute_length.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    let Some(schema) = cx.schema() else { return };
    let weights = match schema.traits().window() {
        Some(Window::Weights(index)) => Some(index),
        Some(_) => None,
        None => return,
    };
    let (id, node) = (cx.id, cx.node);
    let rank = cx.input_rank(0).or_else(|| cx.input_rank(weights?));
    let lists = || {
        node.attributes().iter().filter_map(|given| match given.value() {
            AttrValue::Ints(list) if !list.is_empty() => Some((given.name(), list.len())),
            _ => None,
        })
    };
    let kernel = || lists().find(|&(name, _)| name == attr::KERNEL_SHAPE).map(|(_, len)| len);
    // Without a known rank, the kernel says how many axes there are.
    let axes = rank.map_or_else(kernel, |rank| rank.checked_sub(2));
    let Some(axes) = axes.filter(|&axes| axes > 0) else { return };
    for (name, found) in lists() {
        let expected = match name {
            attr::KERNEL_SHAPE | attr::STRIDES | attr::DILATIONS | attr::OUTPUT_PADDING => axes,
            attr::PADS => axes.saturating_mul(2),
            _ => continue,
        };
        if found == expected {
            continue;
        }
        cx.report(&RULE, |places| {
            let text = Quoted(places.str(name));
            let message = format!("attribute {text} must have {expected} entries, but has {found}");
            let help = if name == attr::PADS {
                "write two for each spatial axis, first all begins, then all ends"
            } else {
                "write one for each spatial axis"
            };
            let found = Diagnostic::new(&RULE, places.attribute(id, name), message).help(help);
            found.note(format!("the node has {axes} spatial axes"))
        });
    }
}
