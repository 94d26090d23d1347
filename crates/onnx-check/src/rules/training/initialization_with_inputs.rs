//! The rule `initialization-with-inputs`: the initialization of training has inputs.

use onnx_diag::{Diagnostic, Rule, Severity};

use crate::declared::TrainingCx;

pub(crate) static RULE: Rule = Rule::new(
    2704,
    "initialization-with-inputs",
    Severity::Error,
    "The initialization of training has inputs.",
)
.with_spec("IR: Training Related Information")
.with_explain(include_str!("initialization_with_inputs.md"));

pub(crate) fn check(cx: &mut TrainingCx<'_, '_>) {
    let Some(id) = cx.info.initialization else { return };
    if cx.model.get_graph(id).is_some_and(|graph| !graph.inputs().is_empty()) {
        cx.report(&RULE, |places| {
            let place = places.graph(id);
            Diagnostic::new(&RULE, place, "the initialization has inputs, which nothing can give")
                .help("make initializers or constants of them")
                .beyond_reference(true)
        });
    }
}

#[cfg(test)]
mod tests {
    use onnx_ir::{Owner, TrainingInfo};

    use crate::testing::{Builder, check_model};

    fn model(m: &mut Builder, has_input: bool) {
        let graph = m.model.new_training_graph(Owner::Initialization);
        let [name, x] = ["init", "x"].map(|name| m.model.intern(name));
        m.model.set_graph_name(graph, name);
        if has_input {
            let value = m.model.new_value_in(graph, x);
            m.model.load_graph_input(graph, value);
        }
        let info = TrainingInfo { initialization: Some(graph), ..TrainingInfo::default() };
        m.model.info_mut().training.push(info);
    }

    #[test]
    fn initializations_have_no_inputs() {
        check_model(|m| model(m, true), &[("ONNX2704", r#"training info #0 / graph "init""#)]);
        check_model(|m| model(m, false), &[]);
    }
}
