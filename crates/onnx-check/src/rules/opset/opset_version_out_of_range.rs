//! The rule `opset-version-out-of-range`: an opset import has a version that cannot exist.

use onnx_diag::{Diagnostic, Reference, Rule, Severity};

use crate::declaration_cx::OpsetCx;

pub(crate) static RULE: Rule = Rule::new(
    2010,
    "opset-version-out-of-range",
    Severity::Error,
    "An opset import has a version that cannot exist.",
)
.with_spec("IR: Operator Set Identifiers")
.with_reference(Reference::Partly)
.with_explain(include_str!("opset_version_out_of_range.md"));

pub(crate) fn check(cx: &mut OpsetCx<'_, '_>) {
    for import in cx.imports {
        let version = import.version();
        if (1..=i64::from(i32::MAX)).contains(&version) {
            continue;
        }
        let place = cx.place(import);
        cx.report(&RULE, |places| {
            let message = format!("an operator set cannot have version {version}");
            Diagnostic::new(&RULE, place(places), message)
                .help("import the version that the operators were written for")
                // The reference refuses what does not fit into 32 bits.
                .beyond_reference(i32::try_from(version).is_ok())
        });
    }
}
