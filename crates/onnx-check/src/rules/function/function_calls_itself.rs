//! The rule `function-calls-itself`: a function calls itself, directly or through others.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Reference, Rule, Severity};

use crate::declaration_cx::FunctionCx;
use crate::options::Part;

pub(crate) static RULE: Rule = Rule::new(
    2604,
    "function-calls-itself",
    Severity::Error,
    "A function calls itself, directly or through others.",
)
.with_spec("IR: Functions")
.with_reference(Reference::Enforced)
.with_explain(include_str!("function_calls_itself.md"));

pub(crate) fn check(cx: &mut FunctionCx<'_, '_>) {
    let id = cx.id;
    let Some(cycle) = cx.calls.cycle(id) else { return };
    let model = cx.cx.model;
    let is_alone = cx.cx.part != Part::Model;
    cx.cx.report(&RULE, |places| {
        let name = |function| Quoted(places.str(model.function(function).name()));
        let mut way = String::new();
        for &function in cycle.functions.iter().skip(1) {
            way.push_str(&format!("{} calls ", name(function)));
        }
        if cycle.functions.len() < cycle.length {
            way.push_str("others call ");
        }
        let own = name(id);
        let found = Diagnostic::new(&RULE, places.function(id), format!("function {own} calls itself"));
        let found = if way.is_empty() { found } else { found.note(format!("{own} calls {way}{own}")) };
        // The reference does not check the calls of a standalone function.
        let found = found.beyond_reference(is_alone);
        found.help("use `Loop` or `Scan` to repeat, or end the chain with a function that calls no other")
    });
}

#[cfg(test)]
mod tests {
    use crate::testing::{Builder, check_model};

    fn model(m: &mut Builder, change: impl FnOnce(&mut Builder)) {
        m.function("d", "f", Some(""), |m| {
            m.inputs(["x"]);
            m.node("y = Relu (x)");
            m.outputs(["y"]);
        });
        change(m);
    }

    #[test]
    fn functions_do_not_call_themselves() {
        let place = r#"function "f" of domain "d""#;
        let call = |m: &mut Builder, callee: &str| {
            m.function("d", "f", Some(""), |m| {
                m.inputs(["x"]);
                m.node(&format!("y = d.{callee} (x)"));
                m.outputs(["y"]);
            });
            m.own_import("d");
        };
        check_model(|m| call(m, "f"), &[("ONNX2604", place)]);
        check_model(|m| call(m, "h"), &[("ONNX2654", r#"function "f" of domain "d" / node #0 d::h"#)]);
        check_model(|m| model(m, |_| ()), &[]);
    }

    #[test]
    fn nested_graphs_hide_no_calls() {
        check_model(
            |m| {
                m.function("d", "f", Some(""), |m| {
                    m.inputs(["c"]);
                    let branches = ["then_branch", "else_branch"].map(|name| {
                        let graph = m.nested(name, |m| {
                            m.node("r = d.f (c)");
                            m.outputs(["r"]);
                        });
                        m.attribute(name, graph)
                    });
                    m.node_with("y = If (c)", branches);
                    m.outputs(["y"]);
                });
                m.own_import("d");
            },
            &[("ONNX2604", r#"function "f" of domain "d""#)],
        );
    }
}
