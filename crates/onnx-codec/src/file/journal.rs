//! The journal of files that take their names together: the next reader or writer finishes what a process that was killed has begun.
//!
//! It is in the directory of the files, and exists only while they take their names. All files are complete and on disk when it
//! appears, so that nothing is needed to finish but renaming. A journal counts only if it and the temporary files belong to the
//! user that finds it: in a directory that several users can change, no user replaces a file of another one by it.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use super::dir::{Dir, Entry, FileEntry};
use super::set::INCOMPLETE;
use super::stage::{Held, Staged, Temporaries, is_temporary_name};

/// The name of a journal. There is one at a time, since its writer has the lock of the directory.
const NAME: &str = ".onnx-set.journal";

/// The first line, for people who find the file.
const HEAD: &str =
    "onnx: the files of a set take their names; reading or writing one of them with onnx finishes this";

/// The last line.
const END: &str = "end";

/// Longer files are not journals.
const MOST_BYTES: u64 = 64 << 20;

/// A journal that exists until this is dropped.
#[derive(Debug)]
pub(crate) struct Journal {
    dir: Arc<Dir>,
}

impl Drop for Journal {
    fn drop(&mut self) {
        // A journal without temporary files changes nothing.
        let _ = self.dir.remove(OsStr::new(NAME));
    }
}

impl Journal {
    /// Writes the journal of temporary files, the names that they take, and the files that have these. It is on disk then. The caller
    /// has the lock of the directory.
    pub(crate) fn begin(
        dir: &Arc<Dir>,
        temporaries: &Temporaries,
        held: &mut Held<'_>,
        files: &[(&OsStr, &OsStr, Option<FileEntry>)],
    ) -> io::Result<Self> {
        let mut text = format!("{HEAD}\n");
        for (temporary, name, old) in files {
            let old = old.as_ref().map_or_else(|| "-".to_owned(), identity);
            let _ = writeln!(text, "{} {} {old}", temporary.to_string_lossy(), hexadecimal(name));
        }
        text.push_str(END);
        text.push('\n');
        let mut staged = Staged::new_held(dir, temporaries, held)?;
        staged.write_with(|out| out.write_all(text.as_bytes()))?;
        staged.sync()?;
        staged.place(held, OsStr::new(NAME), None)?;
        let journal = Self { dir: Arc::clone(dir) };
        dir.sync()?;
        Ok(journal)
    }
}

/// A line of a journal.
struct Line {
    temporary: OsString,
    name: OsString,
    /// The identity of the file that is replaced.
    old: Option<String>,
}

/// Finishes what a journal in the directory of a file says, before the file is read.
///
/// # Errors
///
/// Returns an error if the file is in the journal, and the work cannot be finished.
pub(crate) fn finish_for(path: &Path) -> io::Result<()> {
    let resolved = match path.is_symlink() {
        // The link of a stream, such as /dev/stdin, leads to no file of a directory; a broken one is an error of the reader.
        true => match path.canonicalize() {
            Ok(resolved) => resolved,
            Err(_) => return Ok(()),
        },
        false => path.to_owned(),
    };
    let folder = resolved.parent().unwrap_or(Path::new(""));
    if folder.join(NAME).symlink_metadata().is_err() {
        return Ok(());
    }
    let dir = Dir::open(folder)?;
    let Err(error) = finish(&dir) else { return Ok(()) };
    let lines = read(&dir).unwrap_or_default().unwrap_or_default();
    if !lines.iter().any(|line| Some(line.name.as_os_str()) == resolved.file_name()) {
        return Ok(());
    }
    let message = format!(
        "it belongs to a set of files that was not written completely, and the set cannot be finished: {error}"
    );
    Err(io::Error::new(error.kind(), message))
}

/// Finishes what a journal in a directory says, if there is one.
pub(crate) fn finish(dir: &Dir) -> io::Result<()> {
    if matches!(dir.entry(OsStr::new(NAME))?, Entry::Missing) {
        return Ok(());
    }
    // A writer that is at work has the lock.
    let _lock = dir.lock()?;
    finish_locked(dir)
}

/// Like [`finish`], for callers that have the lock of the directory.
pub(crate) fn finish_locked(dir: &Dir) -> io::Result<()> {
    let Some(lines) = read(dir)? else { return Ok(()) };
    for line in lines {
        line.finish(dir)?;
    }
    dir.sync()?;
    dir.remove(OsStr::new(NAME))
}

/// The lines of the journal of a directory; `None` if there is none that counts.
fn read(dir: &Dir) -> io::Result<Option<Vec<Line>>> {
    let name = OsStr::new(NAME);
    let Entry::File(entry) = dir.entry(name)? else { return Ok(None) };
    if entry.len > MOST_BYTES {
        return Ok(None);
    }
    let file = dir.open_entry(name)?;
    if !dir.is_own(&file)? {
        return Ok(None);
    }
    let mut text = String::new();
    if file.take(MOST_BYTES).read_to_string(&mut text).is_err() {
        return Ok(None);
    }
    Ok(parse(&text))
}

fn parse(text: &str) -> Option<Vec<Line>> {
    let mut lines = text.lines();
    if lines.next()? != HEAD {
        return None;
    }
    let mut found = Vec::new();
    for line in lines {
        if line == END {
            return Some(found);
        }
        let mut parts = line.split(' ');
        let (temporary, name, old) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() || !is_temporary_name(temporary) {
            return None;
        }
        let old = (old != "-").then(|| old.to_owned());
        found.push(Line { temporary: temporary.into(), name: from_hexadecimal(name)?, old });
    }
    None
}

impl Line {
    /// Gives the file its name, unless something else has taken it since.
    fn finish(&self, dir: &Dir) -> io::Result<()> {
        let Entry::File(_) = dir.entry(&self.temporary)? else { return Ok(()) };
        if !dir.is_own(&dir.open_entry(&self.temporary)?)? {
            return Ok(());
        }
        let is_replaced = match dir.entry(&self.name)? {
            Entry::Missing => true,
            Entry::File(entry) => {
                self.old.as_deref() == Some(&*identity(&entry)) || is_mark(dir, &self.name, &entry)?
            }
            Entry::Link | Entry::Other(_) => false,
        };
        match is_replaced {
            true => dir.rename(&self.temporary, &self.name),
            false => dir.remove(&self.temporary),
        }
    }
}

/// Whether a file is one whose contents say that it is not complete.
fn is_mark(dir: &Dir, name: &OsStr, entry: &FileEntry) -> io::Result<bool> {
    if entry.len != INCOMPLETE.len() as u64 {
        return Ok(false);
    }
    let mut contents = Vec::new();
    dir.open_entry(name)?.take(entry.len).read_to_end(&mut contents)?;
    Ok(contents == INCOMPLETE)
}

/// What tells a file from one that is written later.
fn identity(entry: &FileEntry) -> String {
    format!("{}:{}", entry.id.text(), entry.len)
}

fn hexadecimal(name: &OsStr) -> String {
    name.as_encoded_bytes().iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The name of a file of the directory itself.
#[cfg(unix)]
fn from_hexadecimal(text: &str) -> Option<OsString> {
    use std::os::unix::ffi::OsStringExt;
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let bytes: Option<Vec<u8>> =
        pairs.iter().map(|&[high, low]| Some(digit(high)? << 4 | digit(low)?)).collect();
    let bytes = bytes.filter(|bytes| rest.is_empty() && !bytes.is_empty() && !bytes.contains(&b'/'))?;
    (bytes != b"." && bytes != b"..").then(|| OsString::from_vec(bytes))
}

/// Journals of other systems do not count; see [`Dir::is_own`].
#[cfg(not(unix))]
fn from_hexadecimal(_: &str) -> Option<OsString> {
    None
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    /// A directory with a journal of one file, which is to take the name `m` from a file with the contents `old`.
    fn killed(temporary: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at(temporary), "new").unwrap();
        std::fs::write(at("m"), "old").unwrap();
        let dir = Dir::open(folder.path()).unwrap();
        let Entry::File(old) = dir.entry(OsStr::new("m")).unwrap() else { panic!("no file") };
        let line = format!("{temporary} {} {}", hexadecimal(OsStr::new("m")), identity(&old));
        std::fs::write(at(NAME), format!("{HEAD}\n{line}\n{END}\n")).unwrap();
        folder
    }

    fn contents(folder: &tempfile::TempDir) -> (String, usize) {
        let contents = String::from_utf8(read_all(&folder.path().join("m"))).unwrap();
        (contents, std::fs::read_dir(folder.path()).unwrap().count())
    }

    fn read_all(path: &Path) -> Vec<u8> {
        super::super::read(path, super::super::ReadMode::Memory).unwrap().to_vec()
    }

    const TEMPORARY: &str = ".onnx-0123456789abcdef.tmp";

    #[test]
    fn readers_and_writers_finish_what_a_journal_says() {
        let folder = killed(TEMPORARY);
        assert_eq!(contents(&folder), ("new".to_owned(), 1));
        let folder = killed(TEMPORARY);
        std::fs::write(folder.path().join("m"), INCOMPLETE).unwrap();
        assert_eq!(contents(&folder), ("new".to_owned(), 1));
        // Through a link, too.
        let folder = killed(TEMPORARY);
        let other = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(folder.path().join("m"), other.path().join("link")).unwrap();
        assert_eq!(read_all(&other.path().join("link")), b"new");
        // A file that is written after the process was killed stays.
        let folder = killed(TEMPORARY);
        super::super::write_atomically(folder.path().join("n"), |out| out.write_all(b"other")).unwrap();
        assert_eq!(contents(&folder), ("new".to_owned(), 2));
    }

    #[test]
    fn links_that_lead_to_no_file_of_a_directory_are_read_without_a_journal() {
        use std::os::fd::AsRawFd as _;
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        finish_for(&link).unwrap();
        let error = super::super::read(&link, super::super::ReadMode::Memory).unwrap_err();
        assert!(error.to_string().contains("No such file"), "{error}");
        // On Linux the text of the link of a descriptor is not a path if the file has no name: a memory file, a pipe, or one that was removed.
        if Path::new("/proc/self/fd").is_dir() {
            let path = folder.path().join("m");
            std::fs::write(&path, "contents").unwrap();
            let file = std::fs::File::open(&path).unwrap();
            std::fs::remove_file(&path).unwrap();
            let (reader, mut writer) = io::pipe().unwrap();
            io::Write::write_all(&mut writer, b"contents").unwrap();
            drop(writer);
            for descriptor in [file.as_raw_fd(), reader.as_raw_fd()] {
                assert_eq!(read_all(Path::new(&format!("/proc/self/fd/{descriptor}"))), b"contents");
            }
        }
    }

    #[test]
    fn files_that_others_wrote_since_stay() {
        let folder = killed(TEMPORARY);
        std::fs::write(folder.path().join("m"), "by another program").unwrap();
        assert_eq!(contents(&folder), ("by another program".to_owned(), 1));
    }

    #[test]
    fn what_is_no_journal_changes_nothing() {
        for temporary in ["x", "../x.tmp", ".onnx-0123456789abcdeg.tmp"] {
            let line = format!("{HEAD}\n{temporary} 6d -\n{END}\n");
            assert!(parse(&line).is_none(), "{temporary}");
        }
        let name = |name: &str| parse(&format!("{HEAD}\n{TEMPORARY} {name} -\n{END}\n")).is_some();
        assert!(name("6d") && !name("6") && !name("") && !name("2f6d") && !name("2e2e") && !name("6g"));
        assert!(parse(&format!("{HEAD}\n{TEMPORARY} 6d -\n")).is_none() && parse("").is_none());
        let folder = killed(TEMPORARY);
        let journal = folder.path().join(NAME);
        let elsewhere = folder.path().join("elsewhere");
        std::fs::rename(&journal, &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &journal).unwrap();
        assert_eq!(contents(&folder), ("old".to_owned(), 4));
    }
}
