//! Which operator set versions hold where.

use onnx_ir::{Model, OpsetImport};
use onnx_schema::domain;
use onnx_types::Symbol;
use smallvec::SmallVec;

/// The operator sets that the nodes of a model or of a function see, resolved once.
///
/// A file may import a domain twice, and the default domain under two names. The reference decides both cases, and so
/// does this: of entries that spell a domain alike the last one counts, and a node of the default domain means the import
/// of the empty name before that of `ai.onnx`.
pub(crate) struct Imports {
    /// By domain as written; each domain once.
    versions: SmallVec<[(Symbol, i64); 4]>,
    /// Tells one scope from another in keys of findings that are made once for each scope.
    pub(crate) number: u32,
}

impl Imports {
    pub(crate) fn new(imports: &[OpsetImport], number: u32) -> Self {
        let entries = imports.iter().rev().map(|import| (import.written_domain(), import.version()));
        let mut versions: SmallVec<[(Symbol, i64); 4]> = entries.collect();
        // The sort is stable and the entries are reversed, so the last one of each domain stays.
        versions.sort_by_key(|&(domain, _)| domain);
        versions.dedup_by_key(|&mut (domain, _)| domain);
        Self { versions, number }
    }

    /// The imports of a model; of the domains that it does not import, those that functions import, the first one first.
    pub(crate) fn of_all(model: &Model) -> Self {
        let functions = model.functions().iter().map(|&function| model.function(function));
        let imports = functions.flat_map(|function| &function.opset_imports);
        let mut all = Self::new(&model.info().opset_imports, 0);
        all.versions.extend(imports.map(|import| (import.written_domain(), import.version())));
        all.versions.sort_by_key(|&(domain, _)| domain);
        all.versions.dedup_by_key(|&mut (domain, _)| domain);
        all
    }

    /// The imports of a model that is too old to have any: version 1 of the ONNX operators.
    pub(crate) fn implied() -> Self {
        Self { versions: SmallVec::from_slice(&[(domain::ONNX, 1)]), number: 0 }
    }

    /// Whether nothing is imported.
    pub(crate) fn is_empty(&self) -> bool {
        self.versions.is_empty()
    }

    /// The version imported for a domain as it is written.
    pub(crate) fn exact(&self, domain: Symbol) -> Option<i64> {
        let position = self.versions.binary_search_by_key(&domain, |&(domain, _)| domain).ok()?;
        self.versions.get(position).map(|&(_, version)| version)
    }

    /// The version imported for a domain; either name of the default domain stands for both.
    pub(crate) fn version(&self, domain: Symbol) -> Option<i64> {
        let domain = onnx_schema::normalize_domain(domain);
        let version = self.exact(domain);
        if version.is_none() && domain.is_empty() { self.exact(domain::AI_ONNX) } else { version }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the imports, resolved, say about the default domain and about `ai.onnx.ml`.
    fn check(imports: &[(Symbol, i64)], expected: (Option<i64>, Option<i64>)) {
        let imports: Vec<_> =
            imports.iter().map(|&(domain, version)| OpsetImport::new(domain, version)).collect();
        let imports = Imports::new(&imports, 0);
        assert_eq!(imports.version(domain::AI_ONNX), imports.version(domain::ONNX));
        assert_eq!((imports.version(domain::ONNX), imports.version(domain::ML)), expected);
    }

    #[test]
    fn the_last_import_of_a_spelling_counts_and_the_empty_name_goes_first() {
        check(&[], (None, None));
        check(&[(domain::ONNX, 3), (domain::ML, 2), (domain::ONNX, 7)], (Some(7), Some(2)));
        check(&[(domain::AI_ONNX, 9)], (Some(9), None));
        check(&[(domain::ONNX, 7), (domain::AI_ONNX, 9)], (Some(7), None));
    }
}
