//! Which files have rows in an output that is continued.
//!
//! A row has the path as it was written on the command line, so that a row and a file are compared in two ways: as they are written,
//! and then by the file that they name. Relative paths in rows are those of the current directory.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::args::ScanForm;
use crate::rows::name;
use crate::table::csv_text;

/// The rows of an output.
pub(super) struct Present {
    form: ScanForm,
    /// The paths in rows, with the number of rows: a file that is named twice has two, and different files can be written alike.
    rows: HashMap<String, u64>,
}

impl Present {
    pub(super) fn new(form: ScanForm) -> Self {
        Self { form, rows: HashMap::new() }
    }

    /// Adds a row with the path that it has.
    pub(super) fn add(&mut self, path: String) {
        *self.rows.entry(path).or_default() += 1;
    }

    /// Which of the files have a row. A row is that of one file.
    pub(super) fn take(&mut self, files: &[&Path]) -> Vec<bool> {
        // Before files are compared, so that rows of links and of what they lead to are not exchanged.
        let mut has_row: Vec<bool> =
            files.iter().map(|path| take_one(&mut self.rows, &self.form.written(&name(path)))).collect();
        let mut places = Places::default();
        let mut named = HashMap::new();
        for (path, count) in self.rows.drain().filter(|(_, count)| *count > 0) {
            let path = place_of(Path::new(&path), &mut |directory| places.of_row(directory));
            *named.entry(self.form.written(&path)).or_default() += count;
        }
        if named.is_empty() {
            return has_row;
        }
        for (path, has_row) in files.iter().zip(&mut has_row).filter(|(_, has_row)| !**has_row) {
            let path = place_of(path, &mut |directory| places.of(directory));
            *has_row = take_one(&mut named, &self.form.written(&path));
        }
        has_row
    }
}

impl ScanForm {
    /// A path as a row of this format has it.
    fn written(self, name: &str) -> String {
        if self == Self::Csv { csv_text(name) } else { name.to_owned() }
    }
}

fn take_one(rows: &mut HashMap<String, u64>, path: &str) -> bool {
    let count = rows.get_mut(path).filter(|count| **count > 0);
    count.map(|count| *count -= 1).is_some()
}

/// The name of a file in its directory, which `resolve` resolves. A link to a file is a separate file.
fn place_of(path: &Path, resolve: &mut impl FnMut(&Path) -> PathBuf) -> String {
    match (path.parent(), path.file_name()) {
        (Some(directory), Some(file)) => name(&resolve(directory).join(file)),
        _ => name(&resolve(path)),
    }
}

/// Directories without links, `.` and `..`.
#[derive(Default)]
struct Places(HashMap<PathBuf, PathBuf>);

impl Places {
    fn of(&mut self, directory: &Path) -> PathBuf {
        if let Some(place) = self.0.get(directory) {
            return place.clone();
        }
        let place = resolved(directory).unwrap_or_else(|| absolute(directory));
        self.0.insert(directory.to_owned(), place.clone());
        place
    }

    /// The same for a directory as a row has it. What is escaped there is the name of a directory unless another one is.
    fn of_row(&mut self, directory: &Path) -> PathBuf {
        let escaped = directory.to_string_lossy();
        match unescaped(&escaped) {
            Some(original) if resolved(directory).is_none() => self.of(&original),
            _ => self.of(directory),
        }
    }
}

fn resolved(directory: &Path) -> Option<PathBuf> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    directory.canonicalize().ok()
}

fn absolute(directory: &Path) -> PathBuf {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned())
}

/// A path of which bytes that are not UTF-8 and characters that tables escape were escaped; `None` if nothing was.
fn unescaped(path: &str) -> Option<PathBuf> {
    let mut pieces = path.split('\\');
    let mut bytes = pieces.next()?.as_bytes().to_vec();
    let mut is_changed = false;
    for piece in pieces {
        match unescaped_piece(piece) {
            Some((start, rest)) => {
                is_changed = true;
                bytes.extend(start);
                bytes.extend(rest.as_bytes());
            }
            None => {
                bytes.push(b'\\');
                bytes.extend(piece.as_bytes());
            }
        }
    }
    is_changed.then(|| path_of(bytes)).flatten()
}

/// The bytes that the escape at the beginning means, behind its backslash, and what follows it.
fn unescaped_piece(piece: &str) -> Option<(Vec<u8>, &str)> {
    let rest = piece.get(1..)?;
    let character = |c: char| c.to_string().into_bytes();
    match piece.as_bytes().first()? {
        b'n' => Some((character('\n'), rest)),
        b't' => Some((character('\t'), rest)),
        b'r' => Some((character('\r'), rest)),
        b'x' => {
            let digits = rest.get(..2)?;
            Some((vec![u8::from_str_radix(digits, 16).ok()?], rest.get(2..)?))
        }
        b'u' => {
            let (digits, rest) = rest.strip_prefix('{')?.split_once('}')?;
            Some((character(char::from_u32(u32::from_str_radix(digits, 16).ok()?)?), rest))
        }
        _ => None,
    }
}

fn path_of(bytes: Vec<u8>) -> Option<PathBuf> {
    #[cfg(unix)]
    return Some(PathBuf::from(<OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes)));
    #[cfg(not(unix))]
    return String::from_utf8(bytes).ok().map(|path| PathBuf::from(OsString::from(path)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn taken(form: ScanForm, rows: &[&str], files: &[PathBuf]) -> Vec<bool> {
        let mut present = Present::new(form);
        rows.iter().for_each(|path| present.add((*path).to_owned()));
        present.take(&files.iter().map(PathBuf::as_path).collect::<Vec<_>>())
    }

    #[test]
    fn a_row_is_that_of_the_file_that_it_names() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        let files: Vec<PathBuf> = ["a/m.onnx", "a/b/m.onnx"].map(|file| root.join(file)).to_vec();
        let row = |path: &str| format!("{}/{path}", root.display());
        for other in ["./a/m.onnx", "a//m.onnx", "a/b/../m.onnx", "a/./m.onnx"] {
            assert_eq!(taken(ScanForm::Jsonl, &[&row(other)], &files), [true, false], "{other}");
        }
        assert_eq!(taken(ScanForm::Jsonl, &[&row("m.onnx"), &row("a/n.onnx")], &files), [false, false]);
        // A directory that is gone has no files that could be meant.
        assert_eq!(taken(ScanForm::Jsonl, &[&row("none/m.onnx")], &files), [false, false]);
    }

    /// A row that is written as another file of the same directory is not exchanged with that of the first one.
    #[cfg(unix)]
    #[test]
    fn each_row_is_of_one_file() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("a")).unwrap();
        std::os::unix::fs::symlink("a", root.join("link")).unwrap();
        let files: Vec<PathBuf> = ["a/m.onnx", "link/m.onnx"].map(|file| root.join(file)).to_vec();
        let rows: Vec<String> = files.iter().map(|path| path.display().to_string()).collect();
        assert_eq!(taken(ScanForm::Jsonl, &[&rows[1]], &files), [false, true]);
        assert_eq!(taken(ScanForm::Jsonl, &[&rows[0], &rows[1]], &files), [true, true]);
        assert_eq!(taken(ScanForm::Jsonl, &[&rows[1]], &files[..1]), [true]);
        assert_eq!(taken(ScanForm::Jsonl, &[&rows[1]], &[files[0].clone(), files[0].clone()]), [true, false]);
    }

    /// Names that rows have with escapes.
    #[cfg(unix)]
    #[test]
    fn names_with_escapes_are_those_of_their_files() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt as _;

        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for directory in [&b"d\xff"[..], b"d\n", b"d\xff\x01"] {
            std::fs::create_dir_all(root.join(OsStr::from_bytes(directory)).join("sub")).unwrap();
            let file = root.join(OsStr::from_bytes(directory)).join(OsStr::from_bytes(b"m\xfe,\"\n.onnx"));
            let roundabout = file.parent().unwrap().join("sub/..").join(file.file_name().unwrap());
            for form in [ScanForm::Jsonl, ScanForm::Csv] {
                let row = form.written(&name(&roundabout));
                assert_eq!(taken(form, &[&row], std::slice::from_ref(&file)), [true], "{row:?}");
            }
        }
    }

    #[test]
    fn escapes_are_undone() {
        assert_eq!(unescaped("a/b"), None);
        assert_eq!(unescaped("a\\b\\"), None);
        assert_eq!(unescaped("\\n\\u{1b}x"), Some(PathBuf::from("\n\u{1b}x")));
        assert_eq!(unescaped("\\xzz\\u{110000}\\x4"), None);
        #[cfg(unix)]
        assert_eq!(unescaped("a\\xff").map(|path| name(&path)), Some("a\\xff".to_owned()));
    }
}
