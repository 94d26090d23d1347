//! What another process needs to read the same files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::UNIX_EPOCH;

use onnx_types::tensor::{DataError, DataErrorReason};

use super::handle::Identity;
use super::{FileSource, Refusal, roots};
use crate::file::FileError;
use crate::file::dir::Dir;

impl FileSource {
    /// The directories of the files without symbolic links: that of the model, and that of the file which the model is a link to.
    #[must_use]
    pub fn directories(&self) -> Vec<PathBuf> {
        match &self.roots {
            Ok(roots) => roots.paths().map(Path::to_owned).collect(),
            Err(_) => Vec::new(),
        }
    }

    /// Returns `true` if contents are mapped, not copied.
    #[must_use]
    pub const fn is_mapped(&self) -> bool {
        self.mode.is_mapped()
    }

    /// A text that differs for different contents of a file: its size, its number in the file system, and the time of its last change.
    /// On another device, a copy of the file has another one.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be opened.
    pub fn stamp(&self, location: &str) -> Result<String, DataError> {
        let identity = self.identity(location).map_err(|reason| DataError::of_file(location, reason))?;
        Ok(identity.stamp())
    }

    /// The external data of a model that came from another process: in the [directories](Self::directories) that the source has there,
    /// of files that have the same [stamps](Self::stamp) as there. Other files are refused when they are read, and so are all of them
    /// if the directory cannot be opened.
    #[must_use]
    pub fn of_other_process(directories: &[PathBuf], stamps: BTreeMap<String, String>) -> Self {
        let opened = || -> Result<_, FileError> {
            let Some((first, rest)) = directories.split_first() else { return Ok(None) };
            let mut roots = roots(first)?;
            if let Some(real) = rest.first() {
                roots.add(Dir::open(real).map_err(|error| FileError::read(real, error))?);
            }
            Ok(Some(roots))
        };
        let mut source = Self::new(match opened() {
            Ok(roots) => roots.ok_or(Refusal::Stream),
            Err(error) => Err(Refusal::Directory(error.to_string().into())),
        });
        let normalized = stamps.into_iter().map(|(location, stamp)| (super::normalized(&location), stamp));
        source.stamps = Some(Arc::new(normalized.collect()));
        source
    }

    /// The identity of a file that is open, or is opened.
    fn identity(&self, location: &str) -> Result<Identity, DataErrorReason> {
        self.contents(location)?;
        let files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let known = files.known.get(&super::normalized(location));
        known.map(|known| known.identity.clone()).ok_or(DataErrorReason::NotFound)
    }
}

impl Identity {
    /// See [`FileSource::stamp`]. The device is not part of it: machines that share a file system number it differently.
    pub(super) fn stamp(&self) -> String {
        let modified = self.modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let modified = modified.map_or(0, |since| since.as_nanos());
        format!("{}-{}-{modified}", self.len, self.place.1)
    }
}
