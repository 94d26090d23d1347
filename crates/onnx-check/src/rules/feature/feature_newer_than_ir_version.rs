//! The rule `feature-newer-than-ir-version`: the model uses what its version of the format does not have.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};

use crate::declared::FeatureCx;

pub(crate) static RULE: Rule = Rule {
    code: 2030,
    slug: "feature-newer-than-ir-version",
    severity: Severity::Warning,
    summary: "The model uses what its version of the format does not have.",
    spec: "IR: Versioning",
    reference: Reference::NotEnforced,
    explain: include_str!("feature_newer_than_ir_version.md"),
};

pub(crate) fn check(cx: &mut FeatureCx<'_, '_>) {
    let (feature, seen) = (cx.feature, cx.seen);
    if feature.is_annotation() {
        return;
    }
    let (needed, name) = feature.facts();
    let version = cx.model.info().ir_version;
    cx.report(&RULE, |places| {
        let message =
            format!("the format has {name} since IR version {needed}, and the model is of {version}");
        let found = Diagnostic::new(&RULE, seen.first.locate(places), message)
            .help(format!("set `ir_version` to {needed} or newer"))
            .beyond_reference(true);
        match seen.count {
            1 => found,
            count => found.note(format!("this is said once, for {count} of them")),
        }
    });
}

#[cfg(test)]
mod tests {
    use onnx_types::{ElemType, Type};

    use crate::testing::{Builder, check_model};

    fn model(m: &mut Builder, elem: ElemType, version: i64) {
        m.model.info_mut().ir_version = version;
        m.inputs(["x"]);
        m.typed("x", Some(Type::optional(Type::tensor(elem, None))));
    }

    #[test]
    fn types_exist_in_the_version_of_the_format() {
        let place = r#"graph "g" / input 0 "x" / type"#;
        check_model(|m| model(m, ElemType::Int4, 9), &[("ONNX2030", place)]);
        check_model(|m| model(m, ElemType::Int4, 10), &[]);
        check_model(|m| model(m, ElemType::Float, 7), &[("ONNX2030", place)]);
        check_model(|m| model(m, ElemType::Float, 8), &[]);
    }

    #[test]
    fn functions_and_their_parts_exist_in_the_version_of_the_format() {
        let function = |m: &mut Builder, version: i64| {
            m.model.info_mut().ir_version = version;
            m.function("d", "f", Some(""), |_| ());
            let default = m.attribute("a", 1);
            m.last_function().defaults.push(default);
        };
        let place = r#"function "f" of domain "d""#;
        check_model(|m| function(m, 7), &[("ONNX2030", place), ("ONNX2030", place)]);
        check_model(|m| function(m, 8), &[("ONNX2030", place)]);
        check_model(|m| function(m, 9), &[]);
    }
}
