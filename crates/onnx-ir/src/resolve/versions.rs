//! The operator set versions that a list of imports puts into scope.

use onnx_schema::domain;
use onnx_types::Symbol;
use smallvec::SmallVec;

use crate::info::OpsetImport;

/// The first IR version in which models import operator sets. An older model without imports uses version 1 of the
/// default domain.
pub const FIRST_IR_WITH_IMPORTS: i64 = 3;

/// The operator set versions that a list of imports puts into scope.
///
/// A file may import a domain twice, and the default domain under two names. As in the reference, the last import of a
/// domain counts, and the import of the empty name takes precedence over that of `ai.onnx`, whatever their order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OpsetVersions {
    /// Sorted by domain as written; each domain once.
    entries: SmallVec<[(Symbol, i64); 4]>,
}

impl OpsetVersions {
    /// The versions that `imports` puts into scope.
    #[must_use]
    pub fn new(imports: &[OpsetImport]) -> Self {
        Self::of(imports.iter().rev().map(|import| (import.written_domain(), import.version())))
    }

    /// The versions of a model: those that it imports, or the implied version 1 of the default domain in a model older
    /// than IR version 3 without imports.
    #[must_use]
    pub fn of_model(imports: &[OpsetImport], ir_version: i64) -> Self {
        if imports.is_empty() && ir_version < FIRST_IR_WITH_IMPORTS {
            return Self { entries: SmallVec::from_slice(&[(domain::ONNX, 1)]) };
        }
        Self::new(imports)
    }

    /// The versions of a list in which the first entry of a domain counts.
    fn of(entries: impl Iterator<Item = (Symbol, i64)>) -> Self {
        let mut entries: SmallVec<[(Symbol, i64); 4]> = entries.collect();
        // The sort is stable, so `dedup_by_key` keeps the first entry of each domain.
        entries.sort_by_key(|&(domain, _)| domain);
        entries.dedup_by_key(|&mut (domain, _)| domain);
        Self { entries }
    }

    /// These versions, and those of `others` for domains that have none here; of `others` the first of a domain counts.
    #[must_use]
    pub fn or(&self, others: impl Iterator<Item = (Symbol, i64)>) -> Self {
        Self::of(self.entries.iter().copied().chain(others))
    }

    /// Returns `true` if no domain has a version.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The version imported for a domain as it is written: `ai.onnx` and the empty name are two domains here.
    #[must_use]
    pub fn exact(&self, domain: Symbol) -> Option<i64> {
        let index = self.entries.binary_search_by_key(&domain, |&(domain, _)| domain).ok()?;
        self.entries.get(index).map(|&(_, version)| version)
    }

    /// The version in scope for a domain; `ai.onnx` and the empty name both denote the default domain.
    #[must_use]
    pub fn get(&self, domain: Symbol) -> Option<i64> {
        let domain = onnx_schema::normalize_domain(domain);
        let version = self.exact(domain);
        if version.is_none() && domain.is_empty() { self.exact(domain::AI_ONNX) } else { version }
    }

    /// The domains as written with their versions, sorted by symbol.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Symbol, i64)> + '_ {
        self.entries.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the versions of the default domain and of `ai.onnx.ml`.
    #[track_caller]
    fn check(imports: &[(Symbol, i64)], ir_version: i64, expected: (Option<i64>, Option<i64>)) {
        let imports: Vec<_> =
            imports.iter().map(|&(domain, version)| OpsetImport::new(domain, version)).collect();
        let versions = OpsetVersions::of_model(&imports, ir_version);
        assert_eq!(versions.get(domain::AI_ONNX), versions.get(domain::ONNX));
        assert_eq!((versions.get(domain::ONNX), versions.get(domain::ML)), expected);
    }

    #[test]
    fn the_last_import_counts_and_the_empty_name_takes_precedence() {
        check(&[], 8, (None, None));
        check(&[(domain::ONNX, 3), (domain::ML, 2), (domain::ONNX, 7)], 8, (Some(7), Some(2)));
        check(&[(domain::AI_ONNX, 9)], 8, (Some(9), None));
        check(&[(domain::ONNX, 7), (domain::AI_ONNX, 9)], 8, (Some(7), None));
        check(&[(domain::AI_ONNX, 9), (domain::ONNX, 7)], 8, (Some(7), None));
    }

    #[test]
    fn models_before_imports_have_version_1() {
        check(&[], 2, (Some(1), None));
        check(&[(domain::ML, 2)], 2, (None, Some(2)));
    }
}
