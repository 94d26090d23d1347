//! The rule `graph-name-missing`: a graph has no name.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};

use crate::cx::GraphCx;

pub(crate) static RULE: Rule = Rule::new(2201, "graph-name-missing", Severity::Error, "A graph has no name.")
    .with_spec("IR: Graphs")
    .with_reference(Reference::Enforced)
    .with_explain(include_str!("graph_name_missing.md"));

pub(crate) fn check(cx: &mut GraphCx<'_, '_>) {
    if cx.graph.name().is_empty() && !cx.is_function() {
        let id = cx.id;
        cx.report(&RULE, |places| {
            Diagnostic::new(&RULE, places.graph(id), "the graph has no name").help("give it one; any will do")
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Builder, check_model, scalar};

    #[test]
    fn graphs_have_names() {
        let named = |m: &mut Builder, name: &str| {
            let (graph, name) = (m.graph(), m.model.intern(name));
            m.model.set_graph_name(graph, name);
        };
        check_model(|m| named(m, ""), &[("ONNX2201", "graph")]);
        check_model(|m| named(m, "g"), &[]);
    }

    #[test]
    fn nested_graphs_have_names_and_functions_have_their_own() {
        check_model(
            |m| {
                m.inputs(["c"]);
                let branches = ["then_branch", "else_branch"].map(|name| {
                    let graph = m.nested("", |m| {
                        m.initializer(name, scalar());
                        m.outputs([name]);
                    });
                    m.attribute(name, graph)
                });
                m.node_with("y = If (c)", branches);
                m.outputs(["y"]);
                m.function("d", "f", Some(""), |_| ());
            },
            &[
                ("ONNX2201", r#"graph "g" / node #0 If / attribute "then_branch" / graph"#),
                ("ONNX2201", r#"graph "g" / node #0 If / attribute "else_branch" / graph"#),
            ],
        );
    }
}
