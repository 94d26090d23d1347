//! Files from `.tar.zst` archives and folders, one at a time.

use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ruzstd::decoding::StreamingDecoder;

/// The largest window an archive may ask for: `zstd --long=27`.
const WINDOW: u64 = 128 << 20;

/// One file: its path in the archive or below the folder, with `/` between the parts, and its content to read.
pub struct Entry<'a> {
    /// The path.
    pub name: &'a str,
    /// The content, which the caller may read or skip.
    pub content: &'a mut dyn Read,
}

impl Entry<'_> {
    /// The whole content.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn read(&mut self) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        self.content
            .read_to_end(&mut bytes)
            .map_err(|error| format!("`{}` cannot be read: {error}", self.name))?;
        Ok(bytes)
    }
}

/// What is done with each file; `Break` ends the visit.
pub type Visit<'v> = dyn FnMut(Entry<'_>) -> Result<ControlFlow<()>, String> + 'v;

/// Visits the files of an archive, of all archives in a folder, or else those of the folder itself.
///
/// Nothing is unpacked: the content of a file is read when the visitor reads it. The order is that of the archive, in
/// folders that of the names.
///
/// # Errors
///
/// When something cannot be read, or the visitor fails.
pub fn visit(path: &Path, visit: &mut Visit<'_>) -> Result<(), String> {
    if path.is_file() {
        return archive(path, visit).map(drop);
    }
    let archives: Vec<PathBuf> = list(path)?.into_iter().filter(|path| is_archive(path)).collect();
    for path in &archives {
        if archive(path, visit)?.is_break() {
            return Ok(());
        }
    }
    if archives.is_empty() { folder(path, visit) } else { Ok(()) }
}

fn is_archive(path: &Path) -> bool {
    path.to_string_lossy().ends_with(".tar.zst")
}

fn list(path: &Path) -> Result<Vec<PathBuf>, String> {
    let fail = |error| format!("`{}` cannot be listed: {error}", path.display());
    let mut paths = fs::read_dir(path)
        .map_err(fail)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(fail)?;
    paths.sort();
    Ok(paths)
}

fn archive(path: &Path, visit: &mut Visit<'_>) -> Result<ControlFlow<()>, String> {
    let fail = |error: &dyn std::fmt::Display| format!("`{}` cannot be read: {error}", path.display());
    let file = BufReader::new(File::open(path).map_err(|error| fail(&error))?);
    let unpacked = StreamingDecoder::new_with_max_window_size(file, WINDOW).map_err(|error| fail(&error))?;
    let mut archive = tar::Archive::new(BufReader::with_capacity(1 << 16, unpacked));
    for entry in archive.entries().map_err(|error| fail(&error))? {
        let mut entry = entry.map_err(|error| fail(&error))?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let name = name.strip_prefix("./").unwrap_or(&name);
        if visit(Entry { name, content: &mut entry })?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

fn folder(root: &Path, visit: &mut Visit<'_>) -> Result<(), String> {
    let mut open = list(root)?;
    open.reverse();
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(list(&path)?.into_iter().rev());
            continue;
        }
        let fail = |error| format!("`{}` cannot be read: {error}", path.display());
        let mut file = BufReader::new(File::open(&path).map_err(fail)?);
        let relative = path.strip_prefix(root).unwrap_or(&path);
        let parts: Vec<_> = relative.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        if visit(Entry { name: &parts.join("/"), content: &mut file })?.is_break() {
            return Ok(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_visited_by_name() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("b")).unwrap();
        for name in ["c", "b/2", "b/1", "a"] {
            fs::write(root.path().join(name), name).unwrap();
        }
        let mut seen = Vec::new();
        visit(root.path(), &mut |mut entry| {
            assert_eq!(entry.read()?, entry.name.as_bytes());
            seen.push(entry.name.to_owned());
            Ok(if entry.name == "b/2" { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })
        .unwrap();
        assert_eq!(seen, ["a", "b/1", "b/2"]);
    }
}
