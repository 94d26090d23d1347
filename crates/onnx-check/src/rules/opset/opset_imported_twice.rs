//! The rule `opset-imported-twice`: a domain is imported twice.

use onnx_diag::{Diagnostic, Rule, Severity};
use std::collections::{BTreeMap, BTreeSet};

use onnx_diag::Quoted;

use onnx_ir::{Model, OpsetImport};
use onnx_schema::domain;

use crate::declaration_cx::OpsetCx;

pub(crate) static RULE: Rule =
    Rule::new(2012, "opset-imported-twice", Severity::Warning, "A domain is imported twice.")
        .with_spec("IR: Operator Set Identifiers")
        .with_explain(include_str!("opset_imported_twice.md"));

pub(crate) fn check(cx: &mut OpsetCx<'_, '_>) {
    let imports = cx.imports;
    if imports.len() < 2 {
        return;
    }
    let mut versions = BTreeMap::new();
    for import in imports {
        let (domain, version) = (import.domain(), import.version());
        let Some(earlier) = versions.insert(domain, version) else { continue };
        let place = cx.place(import);
        cx.report(&RULE, |places| {
            let set = match places.str(domain) {
                "" => "the ONNX operators are".to_owned(),
                domain => format!("domain {} is", Quoted(domain)),
            };
            let message = if earlier == version {
                format!("{set} imported twice")
            } else {
                format!("{set} imported in version {earlier} and in version {version}")
            };
            let found = Diagnostic::new(&RULE, place(places), message)
                .help("keep one import, of the version that the operators were written for")
                .beyond_reference(true);
            if !domain.is_empty() {
                return found;
            }
            found.note("the default domain has two names, the empty one and `ai.onnx`")
        });
    }
}

/// Keeps the import that counts: of one spelling the last one, and the empty name before `ai.onnx`.
pub(crate) fn fix(model: &mut Model) -> Vec<String> {
    let mut dropped = keep_those_that_count(&mut model.info_mut().opset_imports);
    let functions = model.functions().to_vec();
    for function in functions {
        let here = keep_those_that_count(&mut model.function_mut(function).opset_imports);
        dropped = dropped.saturating_add(here);
    }
    match dropped {
        0 => Vec::new(),
        1 => vec!["dropped an opset import that another one overrides".to_owned()],
        _ => vec![format!("dropped {dropped} opset imports that others override")],
    }
}

fn keep_those_that_count(imports: &mut Vec<OpsetImport>) -> usize {
    let before = imports.len();
    let mut met = BTreeSet::new();
    let mut kept: Vec<OpsetImport> =
        imports.drain(..).rev().filter(|import| met.insert(import.written_domain())).collect();
    kept.reverse();
    if met.contains(&domain::ONNX) {
        kept.retain(|import| import.written_domain() != domain::AI_ONNX);
    }
    *imports = kept;
    before.saturating_sub(imports.len())
}
