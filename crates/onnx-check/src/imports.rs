//! The operator set versions of the scope that is being checked.

use onnx_ir::{Model, OpsetImport, OpsetVersions};

/// The operator set versions of a scope, and the number of the scope.
pub(crate) struct Imports {
    pub(crate) versions: OpsetVersions,
    /// Distinguishes scopes in the keys of diagnostics that are reported once for each scope.
    pub(crate) number: u32,
}

impl Imports {
    pub(crate) fn new(imports: &[OpsetImport], number: u32) -> Self {
        Self { versions: OpsetVersions::new(imports), number }
    }
}

/// The versions that a model imports; for domains that it does not import, the version that the first function with such
/// an import has.
pub(crate) fn versions_of_all(model: &Model) -> OpsetVersions {
    let functions = model.functions().iter().map(|&function| model.function(function));
    let imports = functions.flat_map(|function| &function.opset_imports);
    OpsetVersions::new(&model.info().opset_imports)
        .or(imports.map(|import| (import.written_domain(), import.version())))
}
