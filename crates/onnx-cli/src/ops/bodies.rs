//! The function bodies of operator set documents, in a model that calls them.

use std::path::{Path, PathBuf};

use onnx_check::{CheckOptions, check_operator_set};
use onnx_functions::link;
use onnx_ir::{FunctionId, Model, OperatorSetDocument};
use onnx_schema::{Registry, normalize_domain};
use onnx_types::Execution;

use super::documents;
use crate::exit::Failure;
use crate::input::display_name;
use crate::output::shown;

/// Functions of documents that are part of a model while a command works on it, so that calls of them are inferred and run like those
/// of the model's own functions. Passes do not see them: one that changes the signature of a function would leave calls that mean
/// something else when the bodies are removed.
pub(crate) struct LinkedBodies {
    functions: Vec<FunctionId>,
    /// The IR version that the model states, and the one that the functions need.
    ir_versions: Option<(i64, i64)>,
}

impl LinkedBodies {
    /// Adds the bodies that the model calls and does not define.
    pub(crate) fn add(files: &[PathBuf], model: &mut Model, execution: &Execution) -> Result<Self, Failure> {
        let stated = model.info().ir_version;
        let mut documents = Vec::new();
        for file in files {
            documents.push((file, valid(file, execution)?));
        }
        let mut functions = Vec::new();
        // The body of one document can call operators of another one.
        loop {
            let known = functions.len();
            for (file, document) in &documents {
                let Some(library) =
                    callable(document, model).map_err(|failure| failure.about(&display_name(file)))?
                else {
                    continue;
                };
                let linked = link(model, &library, &Registry::standard()).map_err(|error| {
                    Failure::new(error)
                        .about(&display_name(file))
                        .help("without `--ops`, calls of the operator mean nothing that can be computed")
                })?;
                functions.extend(linked.iter().map(|linked| linked.function));
            }
            if functions.len() == known {
                break;
            }
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

/// A document without errors.
fn valid(file: &Path, execution: &Execution) -> Result<OperatorSetDocument, Failure> {
    let document = documents::load(file, execution)?.document;
    if check_operator_set(&document, &CheckOptions::default()).has_errors() {
        return Err(Failure::new("the document has errors")
            .about(&display_name(file))
            .help("`onnx check FILE.onnxops` reports what is wrong with a document"));
    }
    Ok(document)
}

/// The functions of a document that calls mean in the version of the operator set that the model imports; `None` if there are none.
fn callable(document: &OperatorSetDocument, model: &Model) -> Result<Option<Model>, Failure> {
    let domain = document.str(normalize_domain(document.domain));
    let Some(symbol) = model.names().get(domain) else { return Ok(None) };
    let functions = model.functions().iter().flat_map(|&function| &model.function(function).opset_imports);
    let mut versions: Vec<i64> = model
        .info()
        .opset_imports
        .iter()
        .chain(functions)
        .filter(|import| import.domain() == symbol)
        .map(onnx_ir::OpsetImport::version)
        .collect();
    versions.sort_unstable();
    versions.dedup();
    let version = match *versions {
        [] => return Ok(None),
        [version] => version,
        // One function of the model would stand for two operators.
        [one, two, ..] => {
            let message = format!(
                "the model and its functions import versions {one} and {two} of `{}`, which may have different bodies",
                shown(domain)
            );
            return Err(Failure::new(message)
                .help("import one version, or make the operators functions of the model"));
        }
    };
    if document.functions.functions().is_empty() || version > document.opset_version {
        return Ok(None);
    }
    let is_newer = |&function: &FunctionId| {
        let name = document.functions.function(function).name();
        document.operators.iter().any(|entry| entry.name == name && entry.since_version > version)
    };
    let newer: Vec<FunctionId> = document.functions.functions().iter().copied().filter(is_newer).collect();
    let mut library = document.functions.clone();
    library.remove_functions(&newer);
    Ok(Some(library))
}
