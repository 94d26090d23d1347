//! The rule `name-not-identifier`: names of the model that are not identifiers of C90.

use std::ops::ControlFlow;

use onnx_diag::{Diagnostic, Locus, Quoted, Rule, Severity};
use onnx_ir::Model;
use onnx_types::Symbol;

use crate::cx::GraphCx;
use crate::identifier::is_identifier;
use crate::seen::Seen;

pub(crate) static RULE: Rule = Rule::new(
    2207,
    "name-not-identifier",
    Severity::Note,
    "Names of graphs, nodes or values are not C90 identifiers.",
)
.with_spec("IR: Names Within a Graph")
.with_explain(include_str!("name_not_identifier.md"));

pub(crate) fn check(cx: &mut GraphCx<'_, '_>) {
    if !cx.is_main() {
        return;
    }
    let model = cx.model;
    if for_each_name(model, |name| break_if(is_wrong(model, name))).is_continue() {
        return;
    }
    let mut seen = std::mem::take(&mut cx.seen);
    // Half of the tools that make models write such names everywhere, so there is one finding for all of them.
    cx.report(&RULE, |places| {
        // Names are counted only if the diagnostic is kept.
        let (count, example) = wrong_names(model, &mut seen);
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
fn is_wrong(model: &Model, name: Symbol) -> bool {
    !is_identifier(model.str(name))
}

fn break_if(condition: bool) -> ControlFlow<()> {
    if condition { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

/// The number of different wrong names, and the one whose symbol is the smallest, which does not depend on the order of the
/// nodes.
fn wrong_names(model: &Model, seen: &mut Seen) -> (u64, Option<Symbol>) {
    let (mut count, mut example) = (0_u64, None);
    seen.begin();
    let _ = for_each_name(model, |name| {
        if seen.is_new(name) && is_wrong(model, name) {
            count = count.saturating_add(1);
            example = Some(example.map_or(name, |other: Symbol| other.min(name)));
        }
        break_if(false)
    });
    (count, example)
}

/// Calls `take` with the names of the graphs, nodes and values that are part of the model, until it breaks.
fn for_each_name<B>(model: &Model, mut take: impl FnMut(Symbol) -> ControlFlow<B>) -> ControlFlow<B> {
    let mut take = |name: Symbol| if name.is_empty() { ControlFlow::Continue(()) } else { take(name) };
    for graph in model.all_graphs() {
        let record = model.graph(graph);
        take(record.name())?;
        let mut value = |value| take(model.value(value).name());
        record.inputs().iter().try_for_each(|&input| value(input))?;
        model.initializers(graph).try_for_each(&mut value)?;
        for node in model.nodes(graph) {
            let record = model.node(node);
            take(record.name())?;
            let mut outputs = record.outputs().iter().flatten();
            outputs.try_for_each(|&output| take(model.value(output).name()))?;
        }
    }
    ControlFlow::Continue(())
}
