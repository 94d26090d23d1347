//! The rule `too-many-functions`: the model has more functions than readers accept.

use onnx_diag::Locus;
use onnx_diag::{Diagnostic, Reference, Rule, Severity};

use crate::cx::Cx;

pub(crate) static RULE: Rule = Rule::new(
    2005,
    "too-many-functions",
    Severity::Error,
    "The model has more functions than readers accept.",
)
.with_spec("IR: Functions")
.with_reference(Reference::Enforced)
.with_explain(include_str!("too_many_functions.md"));

/// How many the reference accepts.
const LIMIT: usize = 10_000;

pub(crate) fn check(cx: &mut Cx<'_>) {
    let count = cx.model.functions().len();
    if count <= LIMIT {
        return;
    }
    // The reference does not check the functions of older models.
    let is_older = cx.model.info().ir_version < 8;
    cx.report(&RULE, |_| {
        let message = format!("the model has {count} functions, and readers accept {LIMIT}");
        Diagnostic::new(&RULE, Locus::model().field("functions"), message)
            .help("inline some of them, or remove those that nothing calls")
            .beyond_reference(is_older)
    });
}

#[cfg(test)]
mod tests {
    use crate::testing::{Builder, check_model};

    fn functions(m: &mut Builder, count: usize) {
        let [domain, overload] = ["d", ""].map(|name| m.model.intern(name));
        for number in 0..count {
            let name = m.model.intern(&format!("f{number}"));
            m.model.add_function(domain, name, overload);
        }
    }

    #[test]
    fn functions_are_not_too_many() {
        check_model(|m| functions(m, 10_001), &[("ONNX2005", "field functions")]);
        check_model(|m| functions(m, 10_000), &[]);
    }
}
