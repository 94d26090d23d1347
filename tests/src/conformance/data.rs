//! The collections of models that a run covers.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::wire::put_len;
use super::{archive, manifest};

/// The collections.
#[derive(Clone, Debug, Default)]
pub struct Data {
    /// Recorded cases of the reference.
    pub corpus: Option<PathBuf>,
    /// The official backend tests with their data.
    pub backend: Option<PathBuf>,
    /// Models of exporters.
    pub models: Option<PathBuf>,
    /// The program `onnx`, where suites are to ask it, too.
    pub program: Option<PathBuf>,
    /// What was observed when recorded models ran.
    pub runs: Option<PathBuf>,
    /// Whether inference takes initializers that are inputs, too, as constants.
    pub trust_defaults: bool,
    /// Number of generated models, if not the default.
    pub count: Option<usize>,
    /// Seed of the first generated model, if not 0, in the suite `eval`.
    pub seed: Option<u64>,
    /// The only operator that suites about operators check.
    pub op: Option<String>,
}

/// One model to check.
#[derive(Clone, Debug)]
pub struct Case {
    /// What reports call it.
    pub id: String,
    /// What it is.
    pub group: Group,
    /// The bytes of a `ModelProto`.
    pub bytes: Bytes,
}

/// What a case is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Group {
    /// A model as it was found.
    Model,
    /// A smaller message with a model made around it.
    Fragment,
    /// Made from the descriptors.
    Generated,
}

impl Group {
    /// What summaries call several of them.
    #[must_use]
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Model => "models",
            Self::Fragment => "fragments",
            Self::Generated => "generated",
        }
    }
}

/// Where the small set of models is that every clone has.
#[must_use]
pub fn bundled() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("models")
}

/// The recorded cases of inference that every clone has, in the format of a corpus.
#[must_use]
pub fn bundled_inference() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/inference.tar.zst")
}

/// Takes the cases of a run one by one.
pub type Feed<'f> = dyn FnMut(Case) -> Result<(), String> + 'f;

impl Data {
    /// Whether only the bundled models are covered.
    #[must_use]
    pub const fn is_bundled(&self) -> bool {
        self.corpus.is_none() && self.models.is_none()
    }

    /// All models, and all smaller messages with a model made around them.
    ///
    /// # Errors
    ///
    /// When a collection cannot be read, or `feed` fails.
    pub fn messages(&self, feed: &mut Feed<'_>) -> Result<(), String> {
        if self.is_bundled() {
            return files(&bundled(), "bundled", feed);
        }
        if let Some(corpus) = &self.corpus {
            blobs(corpus, feed)?;
        }
        match &self.models {
            Some(models) => files(models, "models", feed),
            None => Ok(()),
        }
    }
}

pub(super) fn files(path: &Path, prefix: &str, feed: &mut Feed<'_>) -> Result<(), String> {
    archive::visit(path, &mut |mut entry| {
        if entry.name.ends_with(".onnx") {
            let bytes = entry.read()?.into();
            feed(Case { id: format!("{prefix}/{}", entry.name), group: Group::Model, bytes })?;
        }
        Ok(ControlFlow::Continue(()))
    })
}

fn blobs(corpus: &Path, feed: &mut Feed<'_>) -> Result<(), String> {
    let kinds = manifest::kinds(&manifest::read(corpus)?);
    archive::visit(corpus, &mut |mut entry| {
        let (kind, id) = if entry.name.ends_with(".onnx") {
            ("ModelProto", entry.name.to_owned())
        } else {
            let hash = entry.name.strip_prefix("blobs/").and_then(|name| name.strip_suffix(".bin"));
            match hash.and_then(|hash| kinds.get_key_value(hash)) {
                Some((hash, kind)) => (kind.as_str(), hash.chars().take(16).collect()),
                None => return Ok(ControlFlow::Continue(())),
            }
        };
        let Some(path) = path_in_model(kind) else { return Ok(ControlFlow::Continue(())) };
        let group = if path.is_empty() { Group::Model } else { Group::Fragment };
        let bytes = wrap(entry.read()?, path).into();
        feed(Case { id: format!("{kind}/{id}"), group, bytes })?;
        Ok(ControlFlow::Continue(()))
    })
}

/// The numbers of the fields that lead from a model to a message of the given type.
fn path_in_model(kind: &str) -> Option<&'static [u32]> {
    Some(match kind {
        "ModelProto" => &[],
        "GraphProto" => &[7],
        "FunctionProto" => &[25],
        "NodeProto" => &[7, 1],
        "AttributeProto" => &[7, 1, 5],
        "TensorProto" => &[7, 5],
        "SparseTensorProto" => &[7, 15],
        "ValueInfoProto" => &[7, 13],
        "TypeProto" => &[7, 13, 2],
        _ => return None,
    })
}

fn wrap(bytes: Vec<u8>, path: &[u32]) -> Vec<u8> {
    path.iter().rev().fold(bytes, |content, &number| {
        let mut outer = Vec::with_capacity(content.len() + 8);
        put_len(&mut outer, number, &content);
        outer
    })
}
