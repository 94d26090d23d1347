//! The rule `function-defined-twice`: two functions have the same domain, name and overload.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};

use crate::declaration_cx::FunctionCx;

pub(crate) static RULE: Rule = Rule::new(
    2603,
    "function-defined-twice",
    Severity::Error,
    "Two functions have the same domain, name and overload.",
)
.with_spec("IR: Functions")
.with_reference(Reference::Enforced)
.with_explain(include_str!("function_defined_twice.md"));

pub(crate) fn check(cx: &mut FunctionCx<'_, '_>) {
    let (id, function) = (cx.id, cx.function);
    let first = cx.model.find_function(function.domain(), function.name(), function.overload());
    if let Some(first) = first.filter(|&first| first != id) {
        cx.report(&RULE, |places| {
            Diagnostic::new(
                &RULE,
                places.function(id),
                "an earlier function has the same domain, name and overload",
            )
            .label(places.function(first), "defined here first")
            .help("remove one of them, or tell them apart by `overload`")
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_model;

    #[test]
    fn functions_are_told_apart() {
        let two = |second: &'static str| {
            move |m: &mut crate::testing::Builder| {
                m.function("d", "f", Some(""), |_| ());
                m.function("d", second, Some(""), |_| ());
            }
        };
        check_model(two("f"), &[("ONNX2603", r#"function "f" of domain "d""#)]);
        check_model(two("h"), &[]);
    }

    #[test]
    fn names_of_the_default_domain_are_one() {
        let model = |m: &mut crate::testing::Builder| {
            m.function("", "f", Some(""), |_| ());
            m.last_function().forms.set_explicit(onnx_types::field::function::DOMAIN, true);
            m.function("ai.onnx", "f", Some(""), |_| ());
        };
        check_model(model, &[("ONNX2603", r#"function "f""#)]);
    }
}
