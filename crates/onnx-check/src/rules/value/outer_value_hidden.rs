//! The rule `outer-value-hidden`: an input or initializer of a nested graph has the name of a value that is visible
//! from outside.

use onnx_diag::{Diagnostic, Quoted, Rule, Severity};
use onnx_ir::Def;

use crate::cx::ValueCx;

pub(crate) static RULE: Rule = Rule::new(
    2102,
    "outer-value-hidden",
    Severity::Warning,
    "An input or initializer of a nested graph has the name of a value that is visible from outside.",
)
.with_spec("IR: Names Within a Graph")
.with_explain(include_str!("outer_value_hidden.md"));

pub(crate) fn check(cx: &mut ValueCx<'_, '_>) {
    let Some(earlier) = cx.earlier else { return };
    let is_output = matches!(cx.value.def(), Def::Output { .. });
    if is_output || !cx.is_name_shared_in_file() || cx.model.graph_of(earlier) == cx.model.graph_of(cx.id) {
        return;
    }
    let (id, name) = (cx.id, cx.value.name());
    cx.report(&RULE, |places| {
        let message = format!("value {} hides an outer value of the same name", Quoted(places.str(name)));
        Diagnostic::new(&RULE, places.definition(id), message)
            .label(places.definition(earlier), "the outer value is defined here")
            .help("rename the inner one")
    });
}

#[cfg(test)]
mod tests {
    use crate::testing::{Builder, check_model, scalar};

    #[test]
    fn inner_inputs_and_initializers_have_names_of_their_own() {
        let branch = |m: &mut Builder, name: &'static str| {
            m.inputs(["c", "x"]);
            let [first, second] = ["a", "b"].map(|graph| {
                m.nested(graph, |m| {
                    m.initializer(if graph == "a" { name } else { "v" }, scalar());
                    m.outputs([if graph == "a" { name } else { "v" }]);
                })
            });
            let attributes = [m.attribute("then_branch", first), m.attribute("else_branch", second)];
            m.node_with("y = If (c)", attributes);
            m.outputs(["y"]);
        };
        let place = r#"graph "g" / node #0 If / attribute "then_branch" / graph "a" / initializer "x""#;
        check_model(|m| branch(m, "x"), &[("ONNX2102", place)]);
        check_model(|m| branch(m, "w"), &[]);
    }
}
