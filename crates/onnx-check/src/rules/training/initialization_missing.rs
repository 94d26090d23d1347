//! The rule `initialization-missing`: training binds outputs of an initialization, and there is none.

use onnx_diag::{Diagnostic, Rule, Severity};

use crate::declaration_cx::TrainingCx;

pub(crate) static RULE: Rule = Rule::new(
    2705,
    "initialization-missing",
    Severity::Error,
    "Training binds outputs of an initialization, and there is none.",
)
.with_spec("IR: Training Related Information")
.with_explain(include_str!("initialization_missing.md"));

pub(crate) fn check(cx: &mut TrainingCx<'_, '_>) {
    let (index, info) = (cx.index, cx.info);
    if info.initialization.is_some() || info.initialization_binding.is_empty() {
        return;
    }
    cx.report(&RULE, |_| {
        let place = onnx_diag::Locus::model().training_info(index).field("initialization_binding");
        Diagnostic::new(&RULE, place, "there are bindings, but no initialization that they could refer to")
            .help("add the graph in `initialization`, or remove the bindings")
            .beyond_reference(true)
    });
}

#[cfg(test)]
mod tests {
    use onnx_ir::{Binding, ValueRef};

    use crate::testing::{Builder, check_model, scalar};

    /// A model that trains `w`, with an algorithm that gives `v`; bindings are key and value.
    fn model(m: &mut Builder, initialization: &[(&str, &str)], update: &[(&str, &str)]) {
        m.inputs(["x"]);
        m.initializer("w", scalar());
        m.node("y = Mul (x, w)");
        m.outputs(["y"]);
        let mut bindings = [Vec::new(), Vec::new()];
        m.algorithm(|m| {
            m.node("v = Neg (w)");
            m.outputs(["v"]);
            for (into, given) in bindings.iter_mut().zip([initialization, update]) {
                for (key, value) in given {
                    let [key, value] = [key, value].map(|name| ValueRef::Value(m.value(name)));
                    into.push(Binding::new(key, value));
                }
            }
        });
        let [initialization, update] = bindings;
        let mut info = m.model.info_mut();
        let info = info.training.last_mut().unwrap();
        info.initialization_binding = initialization;
        info.update_binding = update;
    }

    #[test]
    fn bindings_need_an_initialization() {
        let field = "training info #0 / field initialization_binding";
        check_model(
            |m| model(m, &[("w", "v")], &[]),
            &[("ONNX2702", &format!(r#"{field} / value "v""#)), ("ONNX2705", field)],
        );
        check_model(|m| model(m, &[], &[]), &[]);
    }
}
