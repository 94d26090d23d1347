//! The rule `domain-not-imported`: a node is of a domain whose operator set is not imported.

use onnx_diag::{Diagnostic, Quoted, Reference, Rule, Severity};

use onnx_ir::{Callee, FIRST_IR_WITH_IMPORTS, Model, OpsetImport};
use onnx_schema::{domain, opset_for_ir_version};

use crate::cx::NodeCx;
use crate::run::is_function_body;
use crate::{CheckOptions, check as check_all};

pub(crate) static RULE: Rule = Rule::new(
    2301,
    "domain-not-imported",
    Severity::Error,
    "A node is of a domain whose operator set is not imported.",
)
.with_spec("IR: Operator Sets")
.with_reference(Reference::Enforced)
.with_explain(include_str!("domain_not_imported.md"));

pub(crate) fn check(cx: &mut NodeCx<'_, '_>) {
    let (written, imports) = (cx.node.written_domain(), cx.imports);
    let missing = match cx.callee {
        Callee::NotImported => true,
        Callee::Unnamed | Callee::Experimental => false,
        // In a function the reference does not take `ai.onnx` for the empty name.
        _ => {
            written.is_empty()
                && imports.versions.exact(written).is_none()
                && is_function_body(cx.model, cx.node.graph())
        }
    };
    if !missing || is_said_by_model(cx) || !cx.first_time_for_domain(&RULE, imports, written) {
        return;
    }
    let (id, is_alias) = (cx.id, !matches!(cx.callee, Callee::NotImported));
    cx.report(&RULE, |places| {
        let domain = places.str(written);
        let message = match (is_alias, domain) {
            (true, _) => {
                "the function imports the ONNX operators as `ai.onnx`, which readers do not accept".to_owned()
            }
            (_, "") => "the ONNX operators are not imported".to_owned(),
            _ => format!("domain {} is not imported", Quoted(domain)),
        };
        let help = match (is_alias, domain) {
            (true, _) => "write the domain of the import as the empty string",
            _ => "add an opset import with the version that the operators were written for",
        };
        Diagnostic::new(&RULE, places.node(id), message)
            .help(help)
            .note("reported once for all nodes of the domain")
    });
}

/// Returns `true` if the model imports nothing at all, which another rule reports.
fn is_said_by_model(cx: &NodeCx<'_, '_>) -> bool {
    cx.imports.versions.is_empty() && cx.imports.number == 0
}

/// Imports the ONNX operators where nodes use them and nothing imports them: a function as the model does, the model in
/// the version that came with its IR version, provided that the model then has fewer errors.
pub(crate) fn fix(model: &mut Model) -> Vec<String> {
    let mut done = Vec::new();
    let info = model.info();
    let has_import = |imports: &[OpsetImport]| imports.iter().any(|import| import.domain().is_empty());
    if info.ir_version >= FIRST_IR_WITH_IMPORTS
        && !has_import(&info.opset_imports)
        && let Some(version) = opset_for_ir_version(domain::ONNX, info.ir_version)
    {
        let errors = |model: &Model| check_all(model, &CheckOptions::default()).counts().errors;
        let before = errors(model);
        model.info_mut().opset_imports.push(OpsetImport::new(domain::ONNX, version));
        if before > 0 && errors(model) < before {
            done.push(format!("imported version {version} of the ONNX operators, that of the IR version"));
        } else {
            model.info_mut().opset_imports.pop();
        }
    }
    let Some(version) = model.opset_version(domain::ONNX) else { return done };
    let functions = model.functions().to_vec();
    for function in functions {
        let record = model.function(function);
        let uses_them = model.nodes_in(record.body()).any(|node| model.node(node).domain().is_empty());
        if !uses_them || has_import(&record.opset_imports) {
            continue;
        }
        let name = Quoted(model.str(record.name())).to_string();
        model.function_mut(function).opset_imports.push(OpsetImport::new(domain::ONNX, version));
        done.push(format!(
            "imported version {version} of the ONNX operators, that of the model, in function {name}"
        ));
    }
    done
}
