//! The function bodies of operator set documents, in a model that calls them.

use std::path::PathBuf;

use onnx_functions::link;
use onnx_ir::{FunctionId, Model, OperatorSetDocument};
use onnx_schema::{Registry, normalize_domain};

use super::documents;
use crate::exit::Failure;
use crate::input::display_name;

/// Functions of documents that a model has for the time of a command, so that calls of them are inferred, run and rewritten
/// like those of the model's own functions.
#[derive(Default)]
pub(crate) struct LinkedBodies {
    functions: Vec<FunctionId>,
    /// The IR version that the model states, and the one that the functions need.
    ir_versions: Option<(i64, i64)>,
}

impl LinkedBodies {
    /// Adds the bodies that the model calls and does not define.
    pub(crate) fn add(files: &[PathBuf], model: &mut Model) -> Result<Self, Failure> {
        let stated = model.info().ir_version;
        let mut functions = Vec::new();
        for file in files {
            let document = documents::load(file)?.document;
            let Some(library) = callable(document, model) else { continue };
            let linked = link(model, &library, &Registry::standard()).map_err(|error| {
                Failure::new(error)
                    .about(&display_name(file))
                    .help("without `--ops`, calls of the operator mean nothing that can be computed")
            })?;
            functions.extend(linked.iter().map(|linked| linked.function));
        }
        Ok(Self {
            functions,
            ir_versions: Some((stated, model.info().ir_version)).filter(|(stated, needed)| stated != needed),
        })
    }

    /// Takes the bodies out of the model again; the calls stay.
    pub(crate) fn remove(self, model: &mut Model) {
        model.remove_functions(&self.functions);
        if let Some((stated, needed)) = self.ir_versions
            && model.info().ir_version == needed
        {
            model.info_mut().ir_version = stated;
        }
    }
}

/// The functions of a document that calls mean in the version of the operator set that the model imports.
fn callable(document: OperatorSetDocument, model: &Model) -> Option<Model> {
    let domain = model.names().get(document.str(normalize_domain(document.domain)))?;
    let version = model.opset_version(domain)?;
    if document.functions.functions().is_empty() || version > document.opset_version {
        return None;
    }
    let is_newer = |&function: &FunctionId| {
        let name = document.functions.function(function).name();
        document.operators.iter().any(|entry| entry.name == name && entry.since_version > version)
    };
    let newer: Vec<FunctionId> = document.functions.functions().iter().copied().filter(is_newer).collect();
    let mut library = document.functions;
    library.remove_functions(&newer);
    Some(library)
}
