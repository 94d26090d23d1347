//! The rule `name-not-identifier`: names of the model that are not identifiers of C90.

use std::ops::ControlFlow;

use onnx_diag::{Diagnostic, Locus, Quoted, Rule, Severity};
use onnx_ir::Model;
use onnx_types::Symbol;

use crate::cx::GraphCx;
use crate::identifier::is_identifier;
use crate::incremental::Named;
use crate::seen::Seen;

pub(crate) static RULE: Rule = Rule::new(
    2207,
    "name-not-identifier",
    Severity::Note,
    "Names of graphs, nodes or values are not C90 identifiers.",
)
.with_spec("IR: Names Within a Graph")
.with_explain(include_str!("name_not_identifier.md"));

/// The different names that are not identifiers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WrongNames {
    /// The number of names.
    pub(crate) count: u64,
    /// The one whose symbol is the smallest, which does not depend on the order of the nodes.
    pub(crate) example: Option<Symbol>,
}

pub(crate) fn check(cx: &mut GraphCx<'_, '_>) {
    if !cx.is_main() {
        return;
    }
    let (model, known) = (cx.model, cx.wrong_names);
    let is_reported = match known {
        Some(known) => known.count > 0,
        None => for_each_name(model, |_, name| break_if(is_wrong(model, name))).is_break(),
    };
    if !is_reported {
        return;
    }
    let mut seen = std::mem::take(&mut cx.seen);
    // Half of the tools that make models write such names everywhere, so there is one finding for all of them.
    cx.report(&RULE, |places| {
        // Names are counted only if the diagnostic is kept.
        let WrongNames { count, example } = known.unwrap_or_else(|| wrong_names(model, &mut seen));
        let example = Quoted(example.map_or("", |name| places.str(name)));
        let message = match count {
            1 => format!("name {example} is not a C90 identifier"),
            _ => format!("{count} names are not C90 identifiers, for example {example}"),
        };
        Diagnostic::new(&RULE, Locus::model(), message)
            .help("use letters, digits and underscores, and no digit at the beginning, if the names become source code")
    });
    cx.seen = seen;
}

/// Returns `true` if a name is not an identifier.
pub(crate) fn is_wrong(model: &Model, name: Symbol) -> bool {
    !is_identifier(model.str(name))
}

fn break_if(condition: bool) -> ControlFlow<()> {
    if condition { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

fn wrong_names(model: &Model, seen: &mut Seen) -> WrongNames {
    let (mut count, mut example) = (0_u64, None);
    seen.begin();
    let _ = for_each_name(model, |_, name| {
        if seen.is_new(name) && is_wrong(model, name) {
            count = count.saturating_add(1);
            example = Some(example.map_or(name, |other: Symbol| other.min(name)));
        }
        break_if(false)
    });
    WrongNames { count, example }
}

/// Calls `take` with the graphs, nodes and values that have names and are part of the model, until it breaks.
pub(crate) fn for_each_name<B>(
    model: &Model,
    mut take: impl FnMut(Named, Symbol) -> ControlFlow<B>,
) -> ControlFlow<B> {
    let mut take =
        |named, name: Symbol| if name.is_empty() { ControlFlow::Continue(()) } else { take(named, name) };
    for graph in model.all_graphs() {
        let record = model.graph(graph);
        take(Named::Graph(graph), record.name())?;
        let mut value = |value| take(Named::Value(value), model.value(value).name());
        record.inputs().iter().try_for_each(|&input| value(input))?;
        model.initializers(graph).try_for_each(&mut value)?;
        for node in model.nodes(graph) {
            let record = model.node(node);
            take(Named::Node(node), record.name())?;
            let mut outputs = record.outputs().iter().flatten();
            outputs.try_for_each(|&output| take(Named::Value(output), model.value(output).name()))?;
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
        assert_eq!(first(["a/b", "a/b"]).as_deref(), Some("name `a/b` is not a C90 identifier"));
        let two = "2 names are not C90 identifiers, for example `a/b`";
        assert_eq!(first(["a/b", "1n"]).as_deref(), Some(two));
    }
}
