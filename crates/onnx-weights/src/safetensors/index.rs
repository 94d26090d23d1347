//! The index of a model whose weights are in several files.

use std::collections::BTreeSet;

use serde::Deserialize;

use super::header::{error_of_texts, texts};
use super::{Safetensors, SafetensorsError};

/// The tensors of several files: `model.safetensors.index.json`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Index {
    /// The name of each tensor with that of its file, in order.
    pub files: Vec<(String, String)>,
}

#[derive(Deserialize)]
struct Document {
    #[serde(deserialize_with = "texts")]
    weight_map: Vec<(String, String)>,
}

/// Parses an index. The files that it names are in its directory.
///
/// # Errors
///
/// Returns an error if the text is not an index, a tensor is named twice, or a file is not a name in this
/// directory.
pub fn parse_index(text: &[u8]) -> Result<Index, SafetensorsError> {
    if text.trim_ascii_start().first() != Some(&b'{') {
        return Err(SafetensorsError::Header("the index is not an object".to_owned()));
    }
    let document: Document = serde_json::from_slice(text).map_err(|error| error_of_texts(&error))?;
    for (_, file) in &document.weight_map {
        let is_plain = !file.is_empty()
            && !file.contains(['/', '\\', ':', '\0'])
            && !file.starts_with('.')
            && file.ends_with(".safetensors");
        if !is_plain {
            return Err(SafetensorsError::NotAFileName(file.clone()));
        }
    }
    Ok(Index { files: document.weight_map })
}

impl Index {
    /// The names of the files, each once, in the order of the names.
    #[must_use]
    pub fn file_names(&self) -> Vec<&str> {
        let names: BTreeSet<&str> = self.files.iter().map(|(_, file)| file.as_str()).collect();
        names.into_iter().collect()
    }

    /// Tests that a file has exactly the tensors that the index places in it.
    ///
    /// # Errors
    ///
    /// Returns an error with the first tensor on which they do not agree.
    pub fn check(&self, file: &str, contents: &Safetensors) -> Result<(), SafetensorsError> {
        let indexed: BTreeSet<&str> =
            self.files.iter().filter(|(_, other)| other == file).map(|(name, _)| name.as_str()).collect();
        let found: BTreeSet<&str> = contents.names().collect();
        match indexed.symmetric_difference(&found).next() {
            Some(&name) => {
                Err(SafetensorsError::NotAsIndexed { name: name.to_owned(), file: file.to_owned() })
            }
            None => Ok(()),
        }
    }
}
