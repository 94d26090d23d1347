//! The rule `binding-repeated`: training sets an initializer twice in one step.

use onnx_diag::{Diagnostic, Rule, Severity};
use std::collections::BTreeSet;

use onnx_diag::Quoted;
use onnx_ir::Binding;

use crate::declaration_cx::binding;

use crate::declaration_cx::TrainingCx;

pub(crate) static RULE: Rule =
    Rule::new(2703, "binding-repeated", Severity::Error, "Training sets an initializer twice in one step.")
        .with_spec("IR: Training Related Information")
        .with_explain(include_str!("binding_repeated.md"));

pub(crate) fn check(cx: &mut TrainingCx<'_, '_>) {
    let mut initialized = BTreeSet::new();
    report(cx, cx.index, "initialization_binding", &cx.info.initialization_binding, &mut initialized);
    // A variable may be updated once in all steps together, so all steps are checked with the first one.
    if cx.index == 0 {
        let mut updated = BTreeSet::new();
        for (index, info) in cx.model.info().training.iter().enumerate() {
            report(cx, index, "update_binding", &info.update_binding, &mut updated);
        }
    }
}

fn report(
    cx: &mut TrainingCx<'_, '_>,
    index: usize,
    field: &'static str,
    bindings: &[Binding],
    seen: &mut BTreeSet<onnx_types::Symbol>,
) {
    for entry in bindings {
        let Some(name) = cx.name_of(entry.key) else { continue };
        if !seen.insert(name) {
            cx.report(&RULE, |places| {
                let message = format!("{} is bound twice", Quoted(places.str(name)));
                Diagnostic::new(&RULE, binding(places, index, field, name), message)
                    .help("keep one of the bindings")
                    .beyond_reference(true)
            });
        }
    }
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
    fn variables_are_bound_once() {
        let place = r#"training info #0 / field update_binding / value "w""#;
        check_model(|m| model(m, &[], &[("w", "v"), ("w", "y")]), &[("ONNX2703", place)]);
        check_model(|m| model(m, &[], &[("w", "v")]), &[]);
    }

    #[test]
    fn steps_share_no_variables() {
        let second = |m: &mut Builder| {
            model(m, &[], &[("w", "y")]);
            let first = m.model.info().training[0].clone();
            let [mut one, mut two] = [first.clone(), first];
            two.algorithm = None;
            one.initialization_binding.clear();
            m.model.info_mut().training = vec![one, two];
        };
        check_model(second, &[("ONNX2703", r#"training info #1 / field update_binding / value "w""#)]);
    }
}
