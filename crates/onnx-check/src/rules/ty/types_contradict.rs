//! The rule `types-contradict`: two declarations of one value cannot both be true.

use onnx_diag::{Diagnostic, Rule, Severity};

use crate::conflict::conflict;
use crate::cx::TypeCx;

pub(crate) static RULE: Rule = Rule::new(
    2906,
    "types-contradict",
    Severity::Warning,
    "Two declarations of one value cannot both be true.",
)
.with_spec("IR: Graphs")
.with_explain(include_str!("types_contradict.md"));

pub(crate) fn check(cx: &mut TypeCx<'_, '_>) {
    let (Some(ty), Some(other)) = (cx.ty, cx.other) else { return };
    let Some(conflict) = conflict(ty, other) else { return };
    let place = cx.place;
    cx.report(&RULE, |places| {
        let message = format!("the type contradicts another declaration of the value: {conflict}");
        Diagnostic::new(&RULE, place.locate(places, 0), message)
            .help("keep the declaration that is true and remove the other, or make them equal")
    });
}

#[cfg(test)]
mod tests {
    use crate::testing::{Builder, check_model, float};

    #[test]
    fn declarations_of_one_value_agree() {
        let model = |m: &mut Builder, size: i64| {
            m.inputs(["x"]);
            m.node("y = Relu (x)");
            m.outputs(["y"]);
            m.typed("y", Some(float(Some(&[2, 3]))));
            m.other_info("y", float(Some(&[2, size])));
        };
        let interface = ("ONNX2211", r#"graph "g" / value info "y""#);
        check_model(|m| model(m, 4), &[interface, ("ONNX2906", r#"graph "g" / value info "y" / type"#)]);
        check_model(|m| model(m, 3), &[interface]);
        check_model(
            |m| model(m, -1),
            &[interface, ("ONNX2903", r#"graph "g" / value info "y" / type / dimension 1"#)],
        );
    }
}
