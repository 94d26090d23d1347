//! What to do about a file that cannot be read or written.

use std::io::{self, ErrorKind};
use std::path::Path;

use onnx_codec::FileError;
use onnx_codec::file::ReplaceRefusal;

use crate::output::shown;
use crate::spelling::quoted;

/// The help for a file.
pub(crate) fn of(error: &FileError) -> Option<String> {
    let kind = error.source.kind();
    if kind == ErrorKind::NotFound
        && let Some(help) = not_a_path(&error.path)
    {
        return Some(help.to_owned());
    }
    if has_too_many_files(&error.source) {
        return Some("allow the process more open files: `ulimit -n`".to_owned());
    }
    if error.operation == "read" {
        return of_reading(&error.path, kind);
    }
    let help = match error.refusal() {
        None => return of_path(&error.path, kind).or_else(|| of_writing(&error.source)),
        Some(refusal) if refusal.yields_to_force() => "`--force` replaces it anyway",
        Some(ReplaceRefusal::WouldLoseElements) => {
            "`--full` writes a text with all elements; `-o` names another file"
        }
        Some(_) => "name another file: no file that is read or needed is replaced",
    };
    Some(help.to_owned())
}

fn of_reading(path: &Path, kind: ErrorKind) -> Option<String> {
    match kind {
        ErrorKind::NotFound => {
            let name = path.to_string_lossy();
            if name.contains(['*', '?', '[']) {
                let help = "no file has this pattern as its name: leave out quotes around it, so that the shell finds the files that \
                            match, or name their directory";
                return Some(help.to_owned());
            }
            similar_file(path).map(|name| format!("did you mean `{name}`?"))
        }
        ErrorKind::IsADirectory => {
            Some("the command takes one model: name a file in the directory".to_owned())
        }
        ErrorKind::NotADirectory => not_a_directory(path),
        ErrorKind::PermissionDenied => Some(format!("{} shows who may read it", listed(path))),
        ErrorKind::FileTooLarge => Some("store it in a regular file first".to_owned()),
        _ => None,
    }
}

/// The help for a path that is not written, if the reason is in the path.
fn of_path(path: &Path, kind: ErrorKind) -> Option<String> {
    match kind {
        ErrorKind::NotFound => {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty() && !parent.exists())?;
            Some(format!("make the directory first: `mkdir -p {}`", name(parent)))
        }
        ErrorKind::NotADirectory | ErrorKind::AlreadyExists => not_a_directory(path),
        ErrorKind::IsADirectory => Some(format!("name a file in the directory: `{}/NAME`", name(path))),
        ErrorKind::PermissionDenied => {
            let what = if path.exists() { path } else { parent_of(path) };
            Some(format!("{} shows who may write there; `-o` names another file", listed(what)))
        }
        _ => None,
    }
}

/// The help for an error of writing.
pub(crate) fn of_writing(error: &io::Error) -> Option<String> {
    let help = match error.kind() {
        ErrorKind::StorageFull => {
            "the disk is full: remove files there (`df -h` shows what is free), or write to another disk"
        }
        ErrorKind::QuotaExceeded => {
            "your quota is used up: remove files of yours there, or write to another disk"
        }
        ErrorKind::ReadOnlyFilesystem => "the file system cannot be written: name a file on another one",
        ErrorKind::FileTooLarge => {
            "the file system or `ulimit -f` does not allow files of this size; `--weights external --shard-size 2GiB` writes smaller ones"
        }
        ErrorKind::InvalidFilename => "the name is too long for the file system: use a shorter one",
        _ => return None,
    };
    Some(help.to_owned())
}

/// The help for a path below a file.
fn not_a_directory(path: &Path) -> Option<String> {
    let file = path.ancestors().skip(1).find(|above| above.is_file())?;
    Some(format!("`{}` is a file, not a directory: use another name", shown(&file.to_string_lossy())))
}

fn parent_of(path: &Path) -> &Path {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    parent.unwrap_or(Path::new("."))
}

/// A path as a shell reads it, without what acts on a terminal.
fn name(path: &Path) -> String {
    shown(&quoted(&path.to_string_lossy()))
}

/// The command that shows the permissions of a file or directory.
fn listed(path: &Path) -> String {
    format!("`ls -ld {}`", name(path))
}

/// The help for a path that is text of a shell, or an address.
fn not_a_path(path: &Path) -> Option<&'static str> {
    let name = path.to_str()?;
    let is_scheme = |scheme: &str| {
        !scheme.is_empty()
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    };
    if name.starts_with('~') {
        return Some(
            "the shell replaces `~` only at the beginning of a word and outside quotes: `$HOME` is the same",
        );
    }
    let is_address = name.split_once("://").is_some_and(|(scheme, _)| is_scheme(scheme));
    is_address.then_some("nothing is downloaded: get the file first, such as with `curl -LO URL`")
}

/// Whether the process or the system has as many open files as it may have.
fn has_too_many_files(error: &io::Error) -> bool {
    cfg!(unix) && matches!(error.raw_os_error(), Some(23 | 24))
}

/// The file next to one that does not exist whose name is most probably meant.
fn similar_file(path: &Path) -> Option<String> {
    /// More files are not compared.
    const MOST_FILES: usize = 10_000;
    let name = path.file_name()?.to_str()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let files = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?.take(MOST_FILES);
    let names = files.filter_map(|file| file.ok()?.file_name().into_string().ok());
    // What a name says must not depend on the order of the directory.
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    let with_extension = names.iter().find(|other| other.strip_suffix(".onnx") == Some(name));
    let found = match with_extension {
        Some(found) => found.as_str(),
        // Names of models share an extension, which says nothing.
        None => onnx_schema::nearest(
            name,
            names.iter().map(String::as_str).filter(|other| has_similar_stem(name, other)),
        )?,
    };
    Some(shown(&path.with_file_name(found).to_string_lossy()))
}

/// Whether the names of two files are similar without their extensions.
fn has_similar_stem(name: &str, other: &str) -> bool {
    let stem = |name: &str| name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_ascii_lowercase();
    let (name, other) = (stem(name), stem(other));
    name == other || onnx_schema::nearest(&name, std::iter::once(other.as_str())).is_some()
}
