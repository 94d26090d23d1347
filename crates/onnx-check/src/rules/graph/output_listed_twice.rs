//! The rule `output-listed-twice`: a graph has one value twice among its outputs.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};

use crate::cx::GraphCx;

pub(crate) static RULE: Rule = Rule::new(
    2204,
    "output-listed-twice",
    Severity::Warning,
    "A graph has one value twice among its outputs.",
)
.with_spec("IR: Names Within a Graph")
.with_explain(include_str!("output_listed_twice.md"));

pub(crate) fn check(cx: &mut GraphCx<'_, '_>) {
    let outputs = cx.graph.outputs();
    // Of the outputs of a function, which the reference does compare, another rule speaks.
    if cx.is_function() || outputs.len() < 2 {
        return;
    }
    cx.seen.begin();
    for (index, (position, output)) in (0_u32..).zip(outputs).enumerate() {
        let value = output.value();
        let name = cx.model.value(value).name();
        let Some(earlier) = cx.seen.earlier(name, position) else { continue };
        let earlier = earlier as usize;
        // Other rules report values that share a name, and outputs without a name.
        if name.is_empty() || outputs.get(earlier).is_none_or(|first| first.value() != value) {
            continue;
        }
        let id = cx.id;
        cx.report(&RULE, |places| {
            let message = format!("output {} is listed twice", Quoted(places.str(name)));
            Diagnostic::new(&RULE, places.graph_output(id, index), message)
                .label(places.graph_output(id, earlier), "first listed here")
                .help("hand the value through an `Identity` node to return it twice, or remove one")
        });
    }
}
