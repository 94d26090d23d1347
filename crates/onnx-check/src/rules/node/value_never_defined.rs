//! The rule `value-never-defined`: a node uses a name that nothing defines.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};
use onnx_ir::Def;

use crate::cx::NodeCx;

pub(crate) static RULE: Rule =
    Rule::new(2313, "value-never-defined", Severity::Error, "A node uses a name that nothing defines.")
        .with_spec("IR: Nodes")
        .with_reference(Reference::Enforced)
        .with_explain(include_str!("value_never_defined.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    if cx.is_alone() {
        return;
    }
    for (index, input) in cx.node.inputs().enumerate() {
        let Some(value) = input else { continue };
        let record = cx.model.value(value);
        if !matches!(record.def(), Def::Unresolved(_)) || !cx.first_time_for_value(&RULE, value) {
            continue;
        }
        let (id, graph, uses) = (cx.id, cx.node.graph(), record.uses().len());
        cx.report(&RULE, |places| {
            let message = format!("nothing defines value {}", Quoted(places.str(record.name())));
            let help = match places.nearest_value(graph, record.name()) {
                Some(near) => format!("did you mean {}?", Quoted(near)),
                None => "add a node, an input or an initializer of this name".to_owned(),
            };
            let found = Diagnostic::new(&RULE, places.input(id, index), message).help(help);
            if uses > 1 { found.note(format!("it is used {uses} times")) } else { found }
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Builder, check_model, words};
    use crate::{CheckOptions, check};

    fn model(m: &mut Builder, nodes: &[&str]) {
        m.inputs(["hidden", "x"]);
        for node in nodes {
            m.node(node);
        }
        m.outputs(["y"]);
    }

    #[test]
    fn names_are_defined() {
        let place = r#"graph "g" / node #0 Relu / input 0 "hiden""#;
        check_model(|m| model(m, &["y = Relu (hiden)"]), &[("ONNX2313", place)]);
        check_model(|m| model(m, &["y = Relu (hidden)"]), &[]);
        let said = words(|m| model(m, &["y = Relu (hiden)"]));
        let expected =
            ("nothing defines value `hiden`".to_owned(), Some("did you mean `hidden`?".to_owned()));
        assert_eq!(said, [expected]);
    }

    #[test]
    fn a_missing_value_is_named_once() {
        check_model(
            |m| model(m, &["a = Relu (w)", "y = Add (w, a)"]),
            &[("ONNX2313", r#"graph "g" / node #0 Relu / input 0 "w""#)],
        );
    }

    #[test]
    fn functions_see_nothing_from_outside_and_training_sees_the_main_graph() {
        check_model(
            |m| {
                model(m, &["y = Relu (x)"]);
                m.function("d", "f", Some(""), |m| {
                    m.node("b = Relu (x)");
                    m.outputs(["b"]);
                });
                m.algorithm(|m| {
                    m.node("b = Relu (y)");
                    m.outputs(["b", "y"]);
                });
            },
            &[("ONNX2313", r#"function "f" of domain "d" / node #0 Relu / input 0 "x""#)],
        );
    }

    #[test]
    fn what_the_reference_does_not_look_at_is_marked() {
        let mut builder = Builder::new();
        builder.algorithm(|m| {
            m.node("b = Relu (nothing)");
        });
        let found = check(&builder.model, &CheckOptions::default());
        let found: Vec<_> = found
            .diagnostics()
            .iter()
            .map(|found| (found.locus.to_string(), found.beyond_reference))
            .collect();
        let place = r#"training info #0 / graph "step" / node #0 Relu / input 0 "nothing""#;
        assert_eq!(found, [(place.to_owned(), true)]);
    }
}
