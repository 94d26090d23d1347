//! External data: whatever a directory holds and a location says, nothing outside the directory is read.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use onnx_codec::{Containment, FileSource, ReadMode};
use onnx_types::tensor::DataSource;
use tempfile::TempDir;

/// What no model may see.
const SECRET: &[u8] = b"the secret that lies outside";

/// Names of which paths, targets of links and locations are put together.
const PIECES: [&str; 18] = [
    "a",
    "b",
    "w.bin",
    "sub",
    "..",
    ".",
    "/",
    "//",
    "../secret",
    "..\\",
    "out",
    "model",
    "model2",
    "C:",
    "*/_ORT_MEM_ADDR_/*",
    "\u{202e}",
    "a\nb",
    "secret",
];

/// Choices made by bytes; when they are used up, every choice is 0.
struct Choices<'a>(&'a [u8]);

impl Choices<'_> {
    fn below(&mut self, bound: usize) -> usize {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        usize::from(first) % bound.max(1)
    }

    /// A path, wise or not: pieces, and bytes as they come.
    fn path(&mut self) -> String {
        let mut path = String::new();
        for _ in 0..=self.below(4) {
            match self.below(8) {
                0 => path.push(char::from(self.below(256) as u8)),
                1 => path.push('/'),
                _ => path.push_str(PIECES.get(self.below(PIECES.len())).copied().unwrap_or_default()),
            }
        }
        path
    }
}

/// Builds a directory as the bytes say and reads locations in it.
///
/// # Errors
///
/// What does not hold.
pub fn external_data(bytes: &[u8]) -> Result<(), String> {
    let world = world().map_err(|error| format!("the directory cannot be made: {error}"))?;
    let (root, mut choices) = (world.path(), Choices(bytes));
    // A hard link to the secret is legitimate where links are contained, and a secret no more.
    let mut is_linked = false;
    for _ in 0..=choices.below(6) {
        // What the system does not let be made is not there.
        is_linked |= entry(root, &mut choices).unwrap_or_default();
    }
    for _ in 0..=choices.below(4) {
        let location = choices.path();
        for containment in [Containment::Strict, Containment::Contained] {
            for mode in [ReadMode::Memory, ReadMode::Map] {
                let allowed = is_linked && containment == Containment::Contained;
                read(root, &location, allowed, (containment, mode))?;
            }
        }
    }
    Ok(())
}

/// `model/` with a file, and next to it a file that must not be read.
fn world() -> std::io::Result<TempDir> {
    let world = tempfile::tempdir()?;
    for folder in ["model/sub", "model2"] {
        fs::create_dir_all(world.path().join(folder))?;
    }
    fs::write(world.path().join("model/w.bin"), b"0123456789")?;
    for secret in ["secret", "model2/secret", "model2/w.bin"] {
        fs::write(world.path().join(secret), SECRET)?;
    }
    Ok(world)
}

/// Makes a file, a folder or a link in the directory of the model, and nowhere else; true for a second name of the secret.
fn entry(root: &Path, choices: &mut Choices<'_>) -> std::io::Result<bool> {
    let name: String = choices.path().replace(['/', '\0'], "_").replace("..", "__");
    let folder = root.join(["model", "model/sub"][choices.below(2)]);
    let path = folder.join(name);
    match choices.below(6) {
        // A new file, never what a link leads to.
        0 => fs::File::create_new(path)?.write_all(b"inside")?,
        1 => fs::create_dir(path)?,
        2 => link(Path::new(&choices.path()), &path)?,
        3 => link(&root.join(choices.path().trim_start_matches('/')), &path)?,
        4 => return fs::hard_link(root.join("secret"), path).map(|()| true),
        _ => fs::rename(folder.join("w.bin"), path)?,
    }
    Ok(false)
}

#[cfg(unix)]
fn link(target: &Path, path: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> std::io::Result<()> {
    Ok(())
}

fn read(root: &Path, location: &str, allowed: bool, how: (Containment, ReadMode)) -> Result<(), String> {
    let source = FileSource::for_model(root.join("model/model.onnx")).map_err(|error| error.to_string())?;
    let source = source.with_containment(how.0).with_mode(how.1);
    match source.read(location, 0, None) {
        Ok(bytes) if bytes == SECRET && !allowed => {
            return Err(format!("{location:?} reads the secret ({how:?})"));
        }
        Ok(_) => {}
        Err(error) => {
            let text = error.to_string();
            if text.len() > 8192 || text.chars().any(|c| c.is_control() || c == '\u{202e}') {
                return Err(format!("{location:?} is refused with {text:?}"));
            }
        }
    }
    let _ = source.read(location, u64::MAX - 1, Some(4));
    let _ = source.len(location);
    Ok(())
}
