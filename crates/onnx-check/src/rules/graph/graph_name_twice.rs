//! The rule `graph-name-twice`: two graphs of the model have the same name.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_ir::{GraphId, Owner};

use crate::cx::GraphCx;

pub(crate) static RULE: Rule =
    Rule::new(2206, "graph-name-twice", Severity::Note, "Two graphs of the model have the same name.")
        .with_spec("IR: Names Within a Graph")
        .with_explain(include_str!("graph_name_twice.md"));

pub(crate) fn check(cx: &mut GraphCx<'_, '_>) {
    let model = cx.model;
    if !cx.is_main() || model.graph_count() < 2 {
        return;
    }
    cx.seen.begin();
    // The body of a function does not have a name.
    let is_named = |graph: &GraphId| {
        let record = model.graph(*graph);
        !record.name().is_empty() && !matches!(record.owner(), Owner::Function(_))
    };
    let (mut first_pair, mut more) = (None, 0_u64);
    for (position, graph) in (0_u32..).zip(model.all_graphs().filter(is_named)) {
        let Some(earlier) = cx.seen.earlier(model.graph(graph).name(), position) else { continue };
        match first_pair {
            None => first_pair = Some((graph, earlier)),
            Some(_) => more = more.saturating_add(1),
        }
    }
    let Some((graph, earlier)) = first_pair else { return };
    cx.report(&RULE, |places| {
        let message = format!("graph name {} is given twice", Quoted(places.str(model.graph(graph).name())));
        let mut found = Diagnostic::new(&RULE, places.graph(graph), message);
        if let Some(first) = model.all_graphs().filter(is_named).nth(earlier as usize) {
            found = found.label(places.graph(first), "first given here");
        }
        if more > 0 {
            found = found.note(format!("{more} more graphs of the model have names of earlier ones"));
        }
        found.help("rename one of them")
    });
}

#[cfg(test)]
mod tests {
    use crate::testing::{Builder, check_model, scalar};

    #[test]
    fn graphs_have_names_of_their_own() {
        let model = |m: &mut Builder, names: [&str; 2]| {
            m.inputs(["c"]);
            let [first, second] = names.map(|name| {
                m.nested(name, |m| {
                    m.initializer("w", scalar());
                    m.outputs(["w"]);
                })
            });
            let attributes = [m.attribute("then_branch", first), m.attribute("else_branch", second)];
            m.node_with("y = If (c)", attributes);
            m.outputs(["y"]);
        };
        let place = |attribute: &str, name: &str| {
            format!(r#"graph "g" / node #0 If / attribute "{attribute}" / graph "{name}""#)
        };
        check_model(|m| model(m, ["b", "b"]), &[("ONNX2206", &place("else_branch", "b"))]);
        check_model(|m| model(m, ["g", "g"]), &[("ONNX2206", &place("then_branch", "g"))]);
        check_model(|m| model(m, ["a", "b"]), &[]);
    }
}
