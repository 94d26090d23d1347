//! The rule `attribute-lengths-differ`: lists whose entries belong together have different lengths.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_ir::AttrValue;

use crate::cx::NodeCx;

pub(crate) static RULE: Rule = Rule::new(
    2421,
    "attribute-lengths-differ",
    Severity::Error,
    "Lists whose entries at one index belong together have different lengths.",
)
.with_spec("Operators")
.with_explain(include_str!("attribute_lengths_differ.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    let Some(schema) = cx.schema() else { return };
    let (id, node) = (cx.id, cx.node);
    for names in schema.parallel_lists() {
        let lists = node.attributes().iter().filter(|given| names.contains(&given.name()));
        let mut lists = lists.filter_map(|given| Some((given.name(), length(given.value())?)));
        let Some((first, expected)) = lists.next() else { continue };
        let Some((name, found)) = lists.find(|&(_, length)| length != expected) else { continue };
        cx.report(&RULE, |places| {
            let [text, other] = [name, first].map(|name| Quoted(places.str(name)));
            let message = format!("{text} has {found} entries, and {other} has {expected}");
            Diagnostic::new(&RULE, places.attribute(id, name), message)
                .help("give all of them as many entries: those at one index belong together")
        });
    }
}

/// The number of entries of a list; `None` if it has none, as some writers give for a list that they do not mean.
fn length(value: &AttrValue) -> Option<usize> {
    let length = match value {
        AttrValue::Floats(list) => list.len(),
        AttrValue::Ints(list) => list.len(),
        AttrValue::Strings(list) => list.len(),
        _ => return None,
    };
    (length > 0).then_some(length)
}
