//! The rule `opset-version-unknown`: a model imports a version of an operator set of ONNX that is not known.

use onnx_diag::Quoted;
use onnx_diag::{Diagnostic, Rule, Severity};

use crate::declaration_cx::OpsetCx;

pub(crate) static RULE: Rule = Rule::new(
    2011,
    "opset-version-unknown",
    Severity::Warning,
    "A model imports a version of a known operator set that is not known.",
)
.with_spec("IR: Models")
.with_explain(include_str!("opset_version_unknown.md"));

pub(crate) fn check(cx: &mut OpsetCx<'_, '_>) {
    for import in cx.imports {
        let (domain, version) = (import.domain(), import.version());
        let declared = || cx.options.registry.declared_versions(cx.model.str(domain));
        let standard = onnx_schema::opset_versions(domain);
        // Declared versions of a domain of ONNX are those that are newer than the standard ones.
        if standard.is_some() && declared().is_some_and(|known| known.contains(&version)) {
            continue;
        }
        let Some(known) = standard.or_else(declared) else { continue };
        // What cannot exist at all is another rule.
        if version < 1 || i32::try_from(version).is_err() || known.contains(&version) {
            continue;
        }
        let place = cx.place(import);
        cx.report(&RULE, |places| {
            let set = match places.str(domain) {
                "" => "the ONNX operators".to_owned(),
                domain => format!("domain {}", Quoted(domain)),
            };
            let message = format!("version {version} of {set} is not known");
            let found = Diagnostic::new(&RULE, place(places), message)
                .help(format!("import a version from {} to {}", known.start(), known.end()))
                .beyond_reference(true);
            if version < *known.start() {
                return found;
            }
            found.note("nodes are checked against the newest version that is known")
        });
    }
}
