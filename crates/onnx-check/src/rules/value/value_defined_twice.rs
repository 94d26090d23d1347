//! The rule `value-defined-twice`: two places define a value of the same name where both are visible.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};
use onnx_ir::Def;

use crate::cx::ValueCx;

pub(crate) static RULE: Rule = Rule::new(
    2101,
    "value-defined-twice",
    Severity::Error,
    "Two places define a value of the same name where both are visible.",
)
.with_spec("IR: Names Within a Graph")
.with_reference(Reference::Enforced)
.with_explain(include_str!("value_defined_twice.md"));

pub(crate) fn check(cx: &mut ValueCx<'_, '_>) {
    let Some(earlier) = cx.earlier else { return };
    // Earlier than itself is a value that one node gives twice.
    if !cx.is_name_shared_in_file() && earlier != cx.id {
        return;
    }
    let is_output = matches!(cx.value.def(), Def::Output { .. });
    if is_output || cx.model.graph_of(earlier) == cx.model.graph_of(cx.id) {
        let (id, name) = (cx.id, cx.value.name());
        cx.report(&RULE, |places| {
            let message = format!("value {} is defined twice", Quoted(places.str(name)));
            Diagnostic::new(&RULE, places.definition(id), message)
                .label(places.definition(earlier), "first defined here")
                .help("rename one of them, and the uses that mean it")
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Builder, check_model, scalar};
    use crate::{CheckOptions, check};

    #[test]
    fn a_name_is_defined_once() {
        check_model(
            |m| {
                m.inputs(["x"]);
                m.node("y = Relu (x)");
                m.node("y = Sqrt (x)");
                m.outputs(["y"]);
            },
            &[("ONNX2101", r#"graph "g" / node #1 Sqrt / output 0 "y""#)],
        );
        check_model(
            |m| {
                m.inputs(["x"]);
                m.node("z = Relu (x)");
                m.node("y = Sqrt (z)");
                m.outputs(["y"]);
            },
            &[],
        );
    }

    #[test]
    fn every_kind_of_definition_counts() {
        check_model(
            |m| {
                m.inputs(["x", "x"]);
                m.initializer("w", scalar());
                m.initializer("w", scalar());
                m.node("w, a, a = Split (x)");
                m.outputs(["a"]);
            },
            &[
                ("ONNX2101", r#"graph "g" / input 1 "x""#),
                ("ONNX2101", r#"graph "g" / initializer "w""#),
                ("ONNX2101", r#"graph "g" / node #0 Split / output 0 "w""#),
                ("ONNX2101", r#"graph "g" / node #0 Split / output 2 "a""#),
            ],
        );
    }

    #[test]
    fn names_that_only_memory_shares_are_fine() {
        let mut m = Builder::new();
        let x = m.model.intern("x");
        let graph = m.graph();
        for _ in 0..2 {
            m.model.add_initializer(graph, x, scalar());
        }
        assert!(check(&m.model, &CheckOptions::default()).is_empty());
    }

    #[test]
    fn a_nested_node_does_not_define_an_outer_name_again() {
        let branches = |m: &mut Builder, name: &'static str| {
            m.inputs(["c", "x"]);
            let branch = |m: &mut Builder| {
                m.node(&format!("{name} = Relu (x)"));
                m.outputs([name]);
            };
            let (first, second) = (m.nested("a", branch), m.nested("b", branch));
            let attributes = [m.attribute("then_branch", first), m.attribute("else_branch", second)];
            m.node_with("y = If (c)", attributes);
            m.outputs(["y"]);
        };
        let place = |attribute, graph| {
            format!(
                r#"graph "g" / node #0 If / attribute "{attribute}" / graph "{graph}" / node #0 Relu / output 0 "x""#
            )
        };
        let (first, second) = (place("then_branch", "a"), place("else_branch", "b"));
        check_model(|m| branches(m, "x"), &[("ONNX2101", &first), ("ONNX2101", &second)]);
        // Neither sibling sees the other, and the node's own output is defined after both.
        check_model(|m| branches(m, "z"), &[]);
        check_model(|m| branches(m, "y"), &[]);
    }
}
