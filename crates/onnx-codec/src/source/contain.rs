//! Which links a location may go through, and how that is kept.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use onnx_types::tensor::DataErrorReason;

use super::refused;
use crate::file::dir::{Dir, is_special, may_be_link};

/// Which links external data may go through.
///
/// All of them refuse absolute locations, `..`, and files that are not regular files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Containment {
    /// None: no component may be a symbolic link, and the file may have no second name. This is the reference's policy.
    Strict,
    /// A symbolic link may lead to a file inside the directory of the model, or inside the directory of the file that the
    /// model itself is a link to. This suits caches that keep files under the digest of their contents and link to them.
    /// A file with several hard links is accepted and [noted](super::FileSource::notes).
    #[default]
    Contained,
    /// Links may lead anywhere. For models of one's own.
    Trusted,
}

/// The directories that may contain external data.
#[derive(Debug)]
pub(super) struct Roots {
    /// The directory of the model, to which locations are relative.
    model: Dir,
    /// The directory of the file that the model is a link to, where that is another one.
    real: Option<Dir>,
}

impl Roots {
    pub(super) fn new(model: Dir) -> Self {
        Self { model, real: None }
    }

    /// The paths of the directories without symbolic links.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(&self.model).chain(&self.real).map(Dir::path)
    }

    pub(super) fn add(&mut self, real: Dir) {
        self.real = (real.path() != self.model.path()).then_some(real);
    }

    /// Opens a file by a policy.
    pub(super) fn open(
        &self,
        components: &[&OsStr],
        containment: Containment,
    ) -> Result<File, DataErrorReason> {
        if containment == Containment::Trusted {
            return self.model.open_file_anywhere(components).map_err(reason);
        }
        match self.model.open_file(components) {
            Err(error) if may_be_link(&error) => match containment {
                Containment::Strict => Err(self.strict_reason(components, error)),
                _ => self.open_through_link(components),
            },
            other => other.map_err(reason),
        }
    }

    /// Finds out where links lead, and opens that file relative to the handle of a root, through no link. So the answer
    /// to the first question need not be true any more when the file is opened: what is opened is inside a root.
    fn open_through_link(&self, components: &[&OsStr]) -> Result<File, DataErrorReason> {
        let mut path = self.model.path().to_owned();
        path.extend(components);
        let target = path.canonicalize().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => refused("it is a symbolic link that leads nowhere"),
            _ => reason(error),
        })?;
        for root in std::iter::once(&self.model).chain(&self.real) {
            // Compared component by component: `/models2` is not inside `/models`.
            if let Ok(inside) = target.strip_prefix(root.path()) {
                let components: Vec<&OsStr> = inside.iter().collect();
                return match components.as_slice() {
                    [] => Err(refused("it is a directory, not a regular file")),
                    components => root.open_file(components).map_err(reason),
                };
            }
        }
        Err(refused(
            "it is a symbolic link to a file outside the directory of the model; copy the file there",
        ))
    }

    /// In the middle of a path a link and a file look alike to the caller of `open`.
    fn strict_reason(&self, components: &[&OsStr], error: io::Error) -> DataErrorReason {
        let mut path: PathBuf = self.model.path().to_owned();
        let is_link = components.iter().any(|component| {
            path.push(component);
            path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink())
        });
        match is_link {
            true => refused(
                "it is or goes through a symbolic link, which strict containment does not allow; copy it",
            ),
            false => reason(error),
        }
    }
}

/// The reason for which a file could not be opened.
#[expect(clippy::needless_pass_by_value, reason = "this is the shape that `map_err` takes")]
pub(super) fn reason(error: io::Error) -> DataErrorReason {
    if is_special(&error) {
        return refused("it is a socket or a device, not a regular file");
    }
    if may_be_link(&error) && error.kind() != io::ErrorKind::NotADirectory {
        return refused("its symbolic links form a cycle, or changed while it was opened");
    }
    match error.kind() {
        io::ErrorKind::NotFound => DataErrorReason::NotFound,
        io::ErrorKind::OutOfMemory => DataErrorReason::Memory,
        _ => DataErrorReason::Io(error.to_string()),
    }
}
