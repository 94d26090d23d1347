//! The rule `value-info-twice`: `value_info` has two entries for one value.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};

use crate::cx::GraphCx;

pub(crate) static RULE: Rule = Rule {
    code: 2209,
    slug: "value-info-twice",
    severity: Severity::Warning,
    summary: "The list `value_info` has two entries for one value.",
    spec: "IR: Graphs",
    reference: Reference::NotEnforced,
    explain: include_str!("value_info_twice.md"),
};

pub(crate) fn check(cx: &mut GraphCx<'_, '_>) {
    let (id, model) = (cx.id, cx.model);
    cx.seen.begin();
    for entry in model.value_info(id) {
        let value = entry.value();
        let name = model.value(value).name();
        // Names that only memory shares get different ones when the model is written.
        let counts = !model.names_touched() || model.value(value).is_name_as_read();
        if name.is_empty() || !counts || cx.seen.is_new(name) {
            continue;
        }
        cx.report(&RULE, |places| {
            let message = format!("value {} has two entries in `value_info`", Quoted(places.str(name)));
            Diagnostic::new(&RULE, places.value_info(id, value), message).help("remove one of them")
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Builder, check_model, float};

    #[test]
    fn a_value_has_one_entry() {
        let model = |m: &mut Builder, count: usize| {
            m.inputs(["x"]);
            m.node("a = Relu (x)");
            m.node("y = Relu (a)");
            m.outputs(["y"]);
            m.typed("a", Some(float(None)));
            for _ in 0..count {
                m.value_info("a");
            }
        };
        check_model(|m| model(m, 2), &[("ONNX2209", r#"graph "g" / value info "a""#)]);
        check_model(|m| model(m, 1), &[]);
    }
}
