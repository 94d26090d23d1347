//! The rule `dimension-variable-not-identifier`: dimension variables are not C90 identifiers.

use onnx_diag::{Diagnostic, Locus, Quoted, Rule, Severity};
use onnx_ir::Model;
use onnx_types::{Dim, Symbol, Type};

use crate::cx::GraphCx;
use crate::identifier::is_identifier;

pub(crate) static RULE: Rule = Rule::new(
    2208,
    "dimension-variable-not-identifier",
    Severity::Note,
    "Dimension variables are not C90 identifiers.",
)
.with_spec("IR: Static tensor shapes")
.with_explain(include_str!("dimension_variable_not_identifier.md"));

pub(crate) fn check(cx: &mut GraphCx<'_, '_>) {
    if !cx.is_main() {
        return;
    }
    let (count, example) = wrong_variables(cx);
    let Some(example) = example else { return };
    cx.report(&RULE, |places| {
        let example = Quoted(places.str(example));
        let message = match count {
            1 => format!("dimension variable {example} is not a C90 identifier"),
            _ => format!("{count} dimension variables are not C90 identifiers, for example {example}"),
        };
        Diagnostic::new(&RULE, Locus::model(), message)
            .help("use a name of letters, digits and underscores, or leave the dimension open")
    });
}

/// The number of wrong variables, and the first of them.
fn wrong_variables(cx: &mut GraphCx<'_, '_>) -> (u64, Option<Symbol>) {
    let (model, asterisk) = (cx.model, cx.asterisk);
    let (mut count, mut example) = (0_u64, None);
    cx.seen.begin();
    let seen = &mut cx.seen;
    for_each_variable(model, |name| {
        // Another rule reports the asterisk.
        if Some(name) != asterisk && seen.is_new(name) && !is_identifier(model.str(name)) {
            count = count.saturating_add(1);
            example.get_or_insert(name);
        }
    });
    (count, example)
}

fn for_each_variable(model: &Model, mut take: impl FnMut(Symbol)) {
    let mut of_type = |ty: Option<&Type>| {
        for ty in std::iter::successors(ty, |ty| ty.inner()) {
            for dim in ty.shape().map_or(&[][..], |shape| shape.dims()) {
                if let Dim::Var(name) = *dim {
                    take(name);
                }
            }
        }
    };
    for graph in model.all_graphs() {
        let record = model.graph(graph);
        record.inputs().iter().for_each(|&input| of_type(model.ty(input)));
        for output in record.outputs() {
            of_type(model.ty(output.value()));
            of_type(output.own().and_then(|own| own.ty.as_deref()));
        }
        for entry in model.value_info(graph) {
            of_type(model.ty(entry.value()));
            of_type(entry.own().and_then(|own| own.ty.as_deref()));
        }
    }
}
