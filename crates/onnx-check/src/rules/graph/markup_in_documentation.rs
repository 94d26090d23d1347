//! The rule `markup-in-documentation`: the documentation of a graph is written in HTML.

use onnx_diag::{Diagnostic, Locus, Rule, Severity};
use onnx_ir::Owner;
use onnx_types::Symbol;

use crate::cx::GraphCx;
use crate::places::Places;

pub(crate) static RULE: Rule = Rule::new(
    2214,
    "markup-in-documentation",
    Severity::Note,
    "The documentation of a graph, a function or the model is written in HTML or XML.",
)
.with_spec("IR: Graphs")
.with_explain(include_str!("markup_in_documentation.md"));

pub(crate) fn check(cx: &mut GraphCx<'_, '_>) {
    let (id, model) = (cx.id, cx.model);
    let doc = match cx.graph.owner() {
        Owner::Function(function) => model.function(function).doc,
        _ => cx.graph.doc,
    };
    check_text(cx, doc, |places| places.graph(id));
    if cx.is_main() {
        check_text(cx, model.info().doc, |_| Locus::model());
    }
}

fn check_text(cx: &mut GraphCx<'_, '_>, doc: Symbol, place: impl FnOnce(&Places<'_>) -> Locus) {
    if !doc.is_empty() && has_end_tag(cx.model.str(doc)) {
        cx.report(&RULE, |places| {
            let message = "the documentation has HTML or XML tags";
            Diagnostic::new(&RULE, place(places).field("doc_string"), message)
                .help("write plain text or Markdown")
        });
    }
}

/// Whether a text has something like `</b>`. Start tags prove nothing: traces of Python have `<module>` and `<lambda>`.
fn has_end_tag(text: &str) -> bool {
    text.split("</").skip(1).any(|rest| {
        let name = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
        name > 0 && rest.as_bytes().get(name) == Some(&b'>')
    })
}

#[cfg(test)]
mod tests {
    use super::has_end_tag;

    #[test]
    fn tags_are_recognized_by_their_end() {
        for text in ["</p>", "x</p></", "</", "a </ b > </h1>"] {
            assert_eq!(has_end_tag(text), text.contains("p>") || text.contains("h1>"), "{text}");
        }
        assert!(!has_end_tag("<module> a < b </ c> </>"));
    }
}
