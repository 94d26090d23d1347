//! The rule `name-not-identifier`: names of the model are no identifiers of C90.

use std::ops::ControlFlow;

use onnx_diag::{Diagnostic, Locus, Quoted, Reference, Rule, Severity};
use onnx_ir::Model;
use onnx_types::Symbol;

use crate::cx::GraphCx;
use crate::identifier::is_identifier;

pub(crate) static RULE: Rule = Rule {
    code: 2207,
    slug: "name-not-identifier",
    severity: Severity::Note,
    summary: "Names of graphs, nodes or values are no identifiers of C90.",
    spec: "IR: Names Within a Graph",
    reference: Reference::NotEnforced,
    explain: include_str!("name_not_identifier.md"),
};

pub(crate) fn check(cx: &mut GraphCx<'_, '_>) {
    if !cx.is_main() {
        return;
    }
    let model = cx.model;
    let is_wrong = |name: Symbol| !is_identifier(model.str(name));
    let first = |name| if is_wrong(name) { ControlFlow::Break(name) } else { ControlFlow::Continue(()) };
    let ControlFlow::Break(example) = for_each_name(model, first) else { return };
    let mut seen = std::mem::take(&mut cx.seen);
    // Half of the tools that make models write such names everywhere, so there is one finding for all of them.
    cx.report(&RULE, |places| {
        // Names are counted only if the diagnostic is kept.
        let mut count = 0_u64;
        seen.begin();
        let _ = for_each_name(model, |name| {
            count = count.saturating_add(u64::from(seen.is_new(name) && is_wrong(name)));
            ControlFlow::<()>::Continue(())
        });
        let example = Quoted(places.str(example));
        let message = match count {
            1 => format!("name {example} is no C90 identifier"),
            _ => format!("{count} names are no C90 identifiers, among them {example}"),
        };
        Diagnostic::new(&RULE, Locus::model(), message)
            .help("use letters, digits and underscores, and no digit at the beginning, if the names become source code")
    });
    cx.seen = seen;
}

/// Calls `take` with the names of graphs, nodes and values, until it breaks; empty ones are none.
fn for_each_name<B>(model: &Model, mut take: impl FnMut(Symbol) -> ControlFlow<B>) -> ControlFlow<B> {
    let mut take = |name: Symbol| if name.is_empty() { ControlFlow::Continue(()) } else { take(name) };
    for graph in model.all_graphs() {
        let record = model.graph(graph);
        take(record.name())?;
        record.inputs().iter().try_for_each(|&input| take(model.value(input).name()))?;
        model.initializers(graph).try_for_each(|initializer| take(model.value(initializer).name()))?;
        for node in model.nodes(graph).map(|node| model.node(node)) {
            take(node.name())?;
            node.outputs().iter().flatten().try_for_each(|&output| take(model.value(output).name()))?;
        }
    }
    ControlFlow::Continue(())
}

#[cfg(test)]
mod tests {
    use crate::testing::{Builder, check_model, words};

    fn model(m: &mut Builder, names: [&str; 2]) {
        let [value, node] = names;
        m.inputs(["x"]);
        let (first, name) = (m.node(&format!("{value} = Relu (x)")), m.model.intern(node));
        m.model.set_node_name(first, name);
        m.node(&format!("y = Relu ({value})"));
        m.outputs(["y"]);
    }

    #[test]
    fn names_are_identifiers() {
        check_model(|m| model(m, ["a/b", "n"]), &[("ONNX2207", "model")]);
        check_model(|m| model(m, ["a_b", "n1"]), &[]);
        check_model(|m| model(m, ["a_b", ""]), &[]);
    }

    #[test]
    fn each_name_counts_once() {
        let first = |names| words(|m| model(m, names)).into_iter().map(|(message, _)| message).next();
        assert_eq!(first(["a/b", "a/b"]).as_deref(), Some("name `a/b` is no C90 identifier"));
        let two = "2 names are no C90 identifiers, among them `1n`";
        assert_eq!(first(["a/b", "1n"]).as_deref(), Some(two));
    }
}
