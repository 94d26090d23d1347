//! The rule `graph-output-not-produced`: an output of a graph is not defined in that graph.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};
use onnx_ir::{Def, GraphId, Owner, ValueId};

use crate::cx::GraphCx;

pub(crate) static RULE: Rule = Rule::new(
    2202,
    "graph-output-not-produced",
    Severity::Error,
    "An output of a graph is not defined in that graph.",
)
.with_spec("IR: Graphs")
.with_reference(Reference::Partly)
.with_explain(include_str!("graph_output_not_produced.md"));

pub(crate) fn check(cx: &mut GraphCx<'_, '_>) {
    for (index, output) in cx.graph.outputs().iter().enumerate() {
        let value = output.value();
        // That the output has no name is another rule's business.
        let is_nameless = cx.model.value(value).name().is_empty();
        if !is_nameless && !is_produced(cx, value) {
            report(cx, index, value);
        }
    }
}

fn is_produced(cx: &GraphCx<'_, '_>, value: ValueId) -> bool {
    let home = cx.model.graph_of(value);
    match cx.model.value(value).def() {
        Def::Unresolved(_) => false,
        // A training algorithm and the main graph are taken together.
        _ => home == cx.id || (cx.graph.owner() == Owner::Algorithm && home == cx.model.main_graph()),
    }
}

fn report(cx: &mut GraphCx<'_, '_>, index: usize, value: ValueId) {
    let (graph, model): (GraphId, _) = (cx.id, cx.model);
    let is_function = cx.is_function();
    cx.report(&RULE, |places| {
        let record = model.value(value);
        let name = places.str(record.name());
        let place = places.graph(graph).output(index, name);
        let name = Quoted(name);
        let found = if matches!(record.def(), Def::Unresolved(_)) {
            let help = match places.nearest_value(graph, record.name()) {
                Some(near) => format!("did you mean {}?", Quoted(near)),
                None => "name a value that the graph defines, or remove the output".to_owned(),
            };
            Diagnostic::new(&RULE, place, format!("nothing defines output {name}")).help(help)
        } else {
            Diagnostic::new(&RULE, place, format!("output {name} is a value of an outer graph"))
                .label(places.definition(value), "defined here")
                .help("hand it through an `Identity` node, and make the result of that the output")
        };
        found.beyond_reference(is_function)
    });
}

#[cfg(test)]
mod tests {
    use crate::testing::{Builder, check_model, words};

    #[test]
    fn outputs_are_defined_in_their_graph() {
        let output = |m: &mut Builder, name| {
            m.inputs(["x"]);
            m.node("result = Relu (x)");
            m.outputs([name]);
        };
        check_model(|m| output(m, "resutl"), &[("ONNX2202", r#"graph "g" / output 0 "resutl""#)]);
        check_model(|m| output(m, "result"), &[]);
        let words = words(|m| output(m, "resutl"));
        assert_eq!(
            words,
            [("nothing defines output `resutl`".to_owned(), Some("did you mean `result`?".to_owned()))]
        );
    }

    #[test]
    fn an_outer_value_is_no_output_of_an_inner_graph() {
        check_model(
            |m| {
                m.inputs(["c", "x"]);
                let branches = ["then_branch", "else_branch"].map(|name| {
                    let graph = m.nested(name, |m| m.outputs(["x"]));
                    m.attribute(name, graph)
                });
                m.node_with("y = If (c)", branches);
                m.outputs(["y"]);
            },
            &[
                (
                    "ONNX2202",
                    r#"graph "g" / node #0 If / attribute "then_branch" / graph "then_branch" / output 0 "x""#,
                ),
                (
                    "ONNX2202",
                    r#"graph "g" / node #0 If / attribute "else_branch" / graph "else_branch" / output 0 "x""#,
                ),
            ],
        );
    }

    #[test]
    fn functions_produce_their_outputs() {
        check_model(
            |m| {
                m.function("d", "f", Some(""), |m| {
                    m.inputs(["x"]);
                    m.node("y = Relu (x)");
                    m.outputs(["y", "z"]);
                });
            },
            &[("ONNX2202", r#"function "f" of domain "d" / output 1 "z""#)],
        );
    }
}
