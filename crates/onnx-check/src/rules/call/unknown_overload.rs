//! The rule `unknown-overload`: a node names an overload that no function has.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Rule, Severity};
use onnx_ir::Callee;

use crate::cx::NodeCx;
use crate::options::Part;

pub(crate) static RULE: Rule =
    Rule::new(2656, "unknown-overload", Severity::Error, "A node names an overload that no function has.")
        .with_spec("IR: Functions")
        .with_explain(include_str!("unknown_overload.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    let (domain, op, overload) = (cx.node.domain(), cx.node.op(), cx.node.overload());
    let is_function = matches!(cx.callee, Callee::Function(_) | Callee::Unnamed | Callee::NotImported);
    // A standalone function may call functions of the model that it is intended for.
    let is_part = cx.part != Part::Model;
    if overload.is_empty() || is_part || is_function || cx.model.function_called(cx.node).is_some() {
        return;
    }
    let (id, plain) = (cx.id, cx.model.find_function(domain, op, onnx_types::Symbol::EMPTY));
    cx.report(&RULE, |places| {
        let (name, text) = (Quoted(places.str(op)), Quoted(places.str(overload)));
        let message = format!("the model has no function {name} with overload {text}");
        let found = Diagnostic::new(&RULE, places.node(id), message).beyond_reference(true);
        match plain {
            Some(plain) => found
                .label(places.function(plain), "this one has no overload")
                .help("leave the overload of the node empty, or add the function"),
            None => found.help("correct the overload, or add the function; operators have no overloads"),
        }
    });
}

#[cfg(test)]
mod tests {
    use crate::testing::{Builder, check_model};

    /// A model that calls a function of one input, one output and the attributes `a` and, with a default, `b`.
    fn model(m: &mut Builder, call: &str, attributes: &[&str]) {
        m.import("d", 1);
        m.inputs(["x", "y"]);
        let given: Vec<_> = attributes.iter().map(|name| m.attribute(name, 1)).collect();
        m.node_with(call, given);
        m.function("d", "f", Some(""), |m| {
            m.inputs(["x"]);
            m.node("y = Relu (x)");
            m.outputs(["y"]);
        });
        let (a, b) = (m.model.intern("a"), m.attribute("b", 1));
        m.last_function().attributes.push(a);
        m.push_default(b);
    }

    #[test]
    fn overloads_are_there() {
        let overloaded = |m: &mut Builder, overload: &str| {
            model(m, "r = d.f (x)", &["a"]);
            let overload = m.model.intern(overload);
            let [op, domain] = ["f", "d"].map(|name| m.model.intern(name));
            let attributes = vec![m.attribute("a", 1)];
            let graph = m.graph();
            let node = onnx_ir::LoadedNode { op, domain, overload, attributes, ..Default::default() };
            m.model.load_node(graph, node, &[], &[onnx_ir::LoadedOutput::Absent]);
        };
        check_model(|m| overloaded(m, "o"), &[("ONNX2656", r#"graph "g" / node #1 d::f"#)]);
        check_model(|m| overloaded(m, ""), &[]);
    }
}
