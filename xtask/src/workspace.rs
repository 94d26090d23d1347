//! Where the workspace is, and running its commands.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::TaskResult;

/// The root folder of the workspace.
pub(crate) fn root() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

/// The folder that `cargo` builds in.
pub(crate) fn target() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    root().join(target)
}

/// The name of the Python package and of the facade in registries, and the prefix of the names of the other crates there.
pub(crate) const DISTRIBUTION: &str = "onnxkit";

/// The names of the crates that are for users of Rust, which are those of their folders. A crate that says `publish = false`
/// is a part of a package of another language.
pub(crate) fn crates() -> Result<Vec<String>, String> {
    let folder = root().join("crates");
    let entries = fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let is_for_rust = |entry: &fs::DirEntry| {
        let manifest = fs::read_to_string(entry.path().join("Cargo.toml")).unwrap_or_default();
        !manifest.lines().any(|line| line == "publish = false")
    };
    let mut names: Vec<String> = entries
        .flatten()
        .filter(is_for_rust)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}

/// Runs a command in the root folder and fails when it does.
pub(crate) fn run(program: &str, args: &[&str]) -> TaskResult {
    let status = Command::new(program)
        .args(args)
        .current_dir(root())
        .status()
        .map_err(|error| format!("`{program}` could not be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`{program} {}` failed: {status}", args.join(" "))) }
}

/// Runs a command and returns what it prints.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("`{name}` could not be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("`{name}` failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Makes a folder that is empty.
pub(crate) fn reset(folder: &Path) -> TaskResult {
    remove(folder)?;
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// Copies a file, and makes the folder of the copy.
pub(crate) fn copy_file(from: &Path, to: &Path) -> TaskResult {
    make_parent(to)?;
    fs::copy(from, to).map(drop).map_err(|error| format!("{} to {}: {error}", from.display(), to.display()))
}

/// Removes a folder that may not exist.
pub(crate) fn remove(folder: &Path) -> TaskResult {
    match fs::remove_dir_all(folder) {
        Err(error) if folder.exists() => Err(format!("{}: {error}", folder.display())),
        _ => Ok(()),
    }
}

/// The text of a file.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes a file, and makes its folder.
pub(crate) fn write(path: &Path, text: &str) -> TaskResult {
    make_parent(path)?;
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn make_parent(path: &Path) -> TaskResult {
    let Some(parent) = path.parent() else { return Ok(()) };
    fs::create_dir_all(parent).map_err(|error| format!("{}: {error}", parent.display()))
}

/// The only entry of a folder.
pub(crate) fn only_entry(folder: &Path) -> Result<PathBuf, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    match (paths.pop(), paths.is_empty()) {
        (Some(path), true) => Ok(path),
        _ => Err(format!("{} does not contain one entry", folder.display())),
    }
}

/// Packs a folder of a tree into an archive, with the same bytes for the same files: the mask of the user, the order of the file system
/// and times are not part of it.
pub(crate) fn pack(tree: &Path, name: &str, archive: &Path) -> TaskResult {
    let neutral =
        ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--mode=u+w,a+rX,go-w"];
    output(
        Command::new("tar")
            .args(neutral)
            .args(["--format=gnu", "--use-compress-program=gzip -n", "-cf"])
            .arg(archive)
            .arg("-C")
            .arg(tree)
            .arg(name),
    )
    .map(drop)
}

/// The variable with flags that replace the paths of this machine in what is compiled, so that another machine builds the same
/// bytes.
pub(crate) fn without_paths() -> Result<(&'static str, String), String> {
    let home = std::env::var("CARGO_HOME")
        .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")))
        .map_err(|_| "neither CARGO_HOME nor HOME is set".to_owned())?;
    let root = root();
    let flags = [(home.as_str(), "/cargo"), (&root.to_string_lossy(), "/source")];
    let flags = flags.map(|(from, to)| format!("--remap-path-prefix={from}={to}"));
    Ok(("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f")))
}

/// Adds the standard library for a target where it is missing. It comes from where the toolchain came from.
pub(crate) fn install_target(target: &str) -> Result<(), String> {
    let status = Command::new("rustup")
        .args(["target", "add", target])
        .current_dir(root())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map_err(|error| format!("`rustup` could not be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("`rustup target add {target}` failed")) }
}
