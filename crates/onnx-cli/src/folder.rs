//! Directories that a command makes for its files.

use std::path::{Path, PathBuf};

use crate::exit::Failure;
use crate::input::is_stdin;

/// Directories that were made for files. Unless they are kept, those that are empty are removed.
pub(crate) struct CreatedFolder(Vec<PathBuf>);

impl CreatedFolder {
    /// Makes a directory and those above it, as far as they do not exist.
    pub(crate) fn new(directory: &Path) -> Result<Self, Failure> {
        refuse_stream(directory)?;
        let is_missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let made = directory.ancestors().take_while(is_missing).map(Path::to_owned).collect();
        // Dropped on failure: some of the directories may have been made.
        let created = Self(made);
        std::fs::create_dir_all(directory).map_err(|error| Failure::cannot_write(directory, error))?;
        Ok(created)
    }

    /// Leaves the directories there: the files are written.
    pub(crate) fn keep(mut self) {
        self.0.clear();
    }
}

/// Refuses `-` as the name of a directory.
pub(crate) fn refuse_stream(directory: &Path) -> Result<(), Failure> {
    if !is_stdin(directory) {
        return Ok(());
    }
    Err(Failure::new("several files cannot be written to standard output")
        .help("name a directory: `-o DIR`; one that is called `-` is written `./-`"))
}

impl Drop for CreatedFolder {
    fn drop(&mut self) {
        for directory in &self.0 {
            // What is not empty has files of others, and stays.
            let _ = std::fs::remove_dir(directory);
        }
    }
}
