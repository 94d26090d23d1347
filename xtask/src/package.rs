//! `cargo xtask package`: whether every crate could be published, without publishing anything.
//!
//! A copy of the tracked files is made under `target/package`, in which the packages have the names under which they would
//! be published; each contains the licenses, and no tests, which need the workspace. `cargo package` makes the archives
//! there. They are unpacked and compiled; each sees the other packages, but nothing else of the workspace.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workspace::{copy_file, read, reset, write};
use crate::{TaskResult, workspace};

const LICENSES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// Packs and compiles all crates.
pub(crate) fn run(args: &[String]) -> TaskResult {
    if !args.is_empty() {
        return Err("package takes no arguments".to_owned());
    }
    check().map(|remark| println!("{remark}"))
}

/// The same, with a remark for the summary of CI.
pub(crate) fn check() -> Result<String, String> {
    let tree = workspace::target().join("package/tree");
    let crates = workspace::crates()?;
    copy(&tree)?;
    rename(&tree, &crates)?;
    pack(&tree, &crates)?;
    let unpacked = unpack(&tree, &crates)?;
    compile(&unpacked)?;
    Ok(format!("{} packages", crates.len()))
}

/// The name under which a crate would be published: the prefix is not `onnx-`, since the name `onnx-ir` belongs to another
/// project. The names of the libraries in code stay `onnx_ir` and so on.
pub(crate) fn published(name: &str) -> String {
    name.replacen("onnx-", &format!("{}-", workspace::DISTRIBUTION), 1)
}

fn copy(tree: &Path) -> TaskResult {
    let root = workspace::root();
    let list = workspace::output(
        Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .args(["--", "crates", "Cargo.toml", "README.md"])
            .args(LICENSES)
            .current_dir(&root),
    )?;
    reset(tree)?;
    for path in list.split('\0').filter(|path| !path.is_empty()) {
        let (from, to) = (root.join(path), tree.join(path));
        // A file that is deleted but still tracked.
        if from.exists() {
            copy_file(&from, &to)?;
        }
    }
    Ok(())
}

fn rename(tree: &Path, crates: &[String]) -> TaskResult {
    let manifest = tree.join("Cargo.toml");
    let mut text = String::new();
    for line in read(&manifest)?.lines() {
        let line = if line.starts_with("members = ") { r#"members = ["crates/*"]"# } else { line };
        text.push_str(line);
        text.push('\n');
    }
    for name in crates {
        let entry = format!("{name} = {{ path = ");
        text = text.replace(&entry, &format!("{name} = {{ package = \"{}\", path = ", published(name)));
    }
    write(&manifest, &text)?;
    for name in crates {
        let folder = tree.join("crates").join(name);
        let manifest = folder.join("Cargo.toml");
        let mut text = without_tests(&read(&manifest)?).replacen(
            &format!("name = \"{name}\"\n"),
            &format!("name = \"{}\"\n", published(name)),
            1,
        );
        if folder.join("src/lib.rs").exists() {
            text.push_str(&format!("\n[lib]\nname = \"{}\"\n", name.replace('-', "_")));
        }
        write(&manifest, &text)?;
        for license in LICENSES {
            copy_file(&workspace::root().join(license), &folder.join(license))?;
        }
    }
    Ok(())
}

/// The manifest of a crate without what its tests need: they depend on the workspace, and on each other in cycles.
fn without_tests(manifest: &str) -> String {
    let mut text = String::new();
    let mut is_kept = true;
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_kept = !line.contains("dev-dependencies");
        }
        if is_kept {
            text.push_str(line);
            text.push('\n');
        }
        if line == "[package]" {
            text.push_str("exclude = [\"tests\", \"examples\"]\n");
        }
    }
    text
}

fn pack(tree: &Path, crates: &[String]) -> TaskResult {
    let status = Command::new("cargo")
        .args(["package", "--quiet", "--no-verify", "--allow-dirty", "--target-dir", "target"])
        .args(crates.iter().flat_map(|name| ["--package".to_owned(), published(name)]))
        .current_dir(tree)
        .status()
        .map_err(|error| format!("`cargo` could not be started: {error}"))?;
    if !status.success() {
        return Err(format!("`cargo package` failed for the {} crates in {}", crates.len(), tree.display()));
    }
    Ok(())
}

/// Unpacks the archives side by side, checks what each contains, and makes them find each other.
fn unpack(tree: &Path, crates: &[String]) -> Result<PathBuf, String> {
    let unpacked = workspace::target().join("package/unpacked");
    reset(&unpacked)?;
    let version = env!("CARGO_PKG_VERSION");
    let mut root = String::from("[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n\n[patch.crates-io]\n");
    for name in crates {
        let folder = format!("{}-{version}", published(name));
        let archive = tree.join(format!("target/package/{folder}.crate"));
        let mut tar = Command::new("tar");
        workspace::output(tar.arg("-xzf").arg(&archive).arg("-C").arg(&unpacked))?;
        for file in LICENSES.iter().chain(&["README.md", "Cargo.toml"]) {
            if !unpacked.join(&folder).join(file).exists() {
                return Err(format!("the package of {name} has no {file}"));
            }
        }
        root.push_str(&format!("{} = {{ path = \"{folder}\" }}\n", published(name)));
    }
    write(&unpacked.join("Cargo.toml"), &root)?;
    copy_file(&workspace::root().join("Cargo.lock"), &unpacked.join("Cargo.lock"))?;
    Ok(unpacked)
}

fn compile(unpacked: &Path) -> TaskResult {
    let status = Command::new("cargo")
        .args(["check", "--quiet", "--workspace", "--lib", "--bins", "--target-dir"])
        .arg(workspace::target())
        .current_dir(unpacked)
        .status()
        .map_err(|error| format!("`cargo` could not be started: {error}"))?;
    if status.success() { Ok(()) } else { Err("the packages do not compile".to_owned()) }
}
