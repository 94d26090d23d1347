//! `cargo xtask package`: whether every crate could be published, without publishing anything.
//!
//! A copy of the tracked files is made under `target/package`, in which the packages have the names under which they would
//! be published; each contains the licenses, and no tests, which need the workspace. `cargo package` makes the archives
//! there. A folder with them and with what they depend on stands for the registry: the command is installed from it, and a
//! project that depends on all libraries is built and run.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workspace::{copy_file, read, reset, write};
use crate::{TaskResult, workspace};

const LICENSES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// What is not part of a package: tests, also those next to the sources, which are compiled for tests only.
const EXCLUDE: &str = "exclude = [\"tests\", \"examples\", \"src/**/tests\", \"src/**/tests.rs\"]\n";

/// The file in which cargo states the commit of a package.
const COMMIT: &str = ".cargo_vcs_info.json";

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The file that names the folder of packages as the registry.
const CONFIGURATION: &str = "registry.toml";

/// The number of examples that are built.
const EXAMPLES: usize = 3;

/// Packs all crates, installs the command and uses the libraries.
pub(crate) fn run(args: &[String]) -> TaskResult {
    if !args.is_empty() {
        return Err("package takes no arguments".to_owned());
    }
    check().map(|remark| println!("{remark}"))
}

/// The same, with a remark for the summary of CI.
pub(crate) fn check() -> Result<String, String> {
    let (tree, crates) = archives()?;
    let registry = registry(&tree, &crates)?;
    let project = project(&registry, &crates)?;
    install(&project)?;
    use_libraries(&project)?;
    Ok(format!("{} packages", crates.len()))
}

/// Makes the archives, and returns the folder of the copy and the names of the crates.
pub(crate) fn archives() -> Result<(PathBuf, Vec<String>), String> {
    let tree = workspace::target().join("package/tree");
    let crates = workspace::crates()?;
    copy(&tree)?;
    rename(&tree, &crates)?;
    pack(&tree, &crates)?;
    Ok((tree, crates))
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
            .args(["--", "crates", "Cargo.toml", "Cargo.lock", "README.md"])
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
    commit(&root, tree)
}

/// Makes a repository of the tree with the commit of the workspace, which `cargo package` states. The names in its manifests are
/// changes that are not committed, and each package states that, too.
fn commit(root: &Path, tree: &Path) -> TaskResult {
    let git =
        |folder: &Path, args: &[&str]| workspace::output(Command::new("git").args(args).current_dir(folder));
    let head = git(root, &["rev-parse", "HEAD"])?;
    let objects = git(root, &["rev-parse", "--path-format=absolute", "--git-path", "objects"])?;
    git(tree, &["init", "--quiet"])?;
    write(&tree.join(".git/objects/info/alternates"), &objects)?;
    git(tree, &["update-ref", "HEAD", head.trim()])?;
    git(tree, &["read-tree", "HEAD"]).map(drop)
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
            text.push_str(EXCLUDE);
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

/// Makes a folder with the source code of the archives and of what they depend on, and checks what each archive contains.
fn registry(tree: &Path, crates: &[String]) -> Result<PathBuf, String> {
    let registry = workspace::target().join("package/registry");
    reset(&registry)?;
    let vendor = ["vendor", "--quiet", "--locked", "--versioned-dirs"];
    workspace::output(Command::new("cargo").args(vendor).arg(&registry).current_dir(workspace::root()))?;
    for name in crates {
        let folder = format!("{}-{VERSION}", published(name));
        let archive = tree.join(format!("target/package/{folder}.crate"));
        workspace::output(Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(&registry))?;
        for file in LICENSES.iter().chain(&["README.md", "Cargo.toml", COMMIT]) {
            if !registry.join(&folder).join(file).exists() {
                return Err(format!("the package of {name} has no {file}"));
            }
        }
        let digest = workspace::output(Command::new("sha256sum").arg(&archive))?;
        let digest = digest.split(' ').next().unwrap_or_default();
        let checksum = serde_json::json!({ "files": {}, "package": digest });
        write(&registry.join(&folder).join(".cargo-checksum.json"), &checksum.to_string())?;
    }
    Ok(registry)
}

/// Makes a project outside of the workspace that depends on all libraries, with the first three examples of the facade as
/// its programs.
fn project(registry: &Path, crates: &[String]) -> Result<PathBuf, String> {
    let project = workspace::target().join("package/project");
    reset(&project)?;
    let source = format!(
        "[source.crates-io]\nreplace-with = \"packages\"\n\n[source.packages]\ndirectory = \"{}\"\n",
        registry.display()
    );
    write(&project.join(CONFIGURATION), &source)?;
    let mut manifest =
        String::from("[package]\nname = \"project\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n");
    manifest.push_str("tempfile = \"3\"\n");
    for name in
        crates.iter().filter(|name| workspace::root().join("crates").join(name).join("src/lib.rs").exists())
    {
        manifest.push_str(&format!("{} = \"={VERSION}\"\n", published(name)));
    }
    write(&project.join("Cargo.toml"), &manifest)?;
    let facade = read(&workspace::root().join("crates").join(workspace::DISTRIBUTION).join("src/lib.rs"))?;
    let examples = examples(&facade);
    if examples.len() != EXAMPLES {
        return Err(format!("the documentation of the facade has {} examples", examples.len()));
    }
    for (number, example) in examples.iter().enumerate() {
        // The last line of an example states the type of its error.
        let program = format!(
            "fn example() -> Result<(), impl std::fmt::Debug> {{\n{example}}}\n\nfn main() {{\n    example().unwrap();\n}}\n"
        );
        write(&project.join(format!("src/bin/example{number}.rs")), &program)?;
    }
    Ok(project)
}

/// The first examples of the documentation at the top of a file, as the compiler reads them.
fn examples(source: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut is_code = false;
    for line in source.lines().map_while(|line| line.strip_prefix("//!")) {
        let line = line.strip_prefix(' ').unwrap_or(line);
        if line == "```" {
            is_code = !is_code;
            if is_code {
                found.push(String::new());
            }
        } else if let Some(example) = found.last_mut().filter(|_| is_code) {
            example.push_str(line.strip_prefix("# ").unwrap_or(line));
            example.push('\n');
        }
    }
    found.truncate(EXAMPLES);
    found
}

/// Installs the command from the folder of packages, and runs the first examples of the documents with it.
fn install(project: &Path) -> TaskResult {
    let root = workspace::target().join("package/installed");
    let package = format!("{}@{VERSION}", published("onnx-cli"));
    let arguments = ["install", "--quiet", "--locked", "--offline", "--debug", "--force", "--root"];
    cargo(project, Command::new("cargo").args(arguments).arg(&root).arg(package))?;
    crate::channels::crates(&root.join("bin/onnx"))
}

/// Builds the project, and runs its programs.
fn use_libraries(project: &Path) -> TaskResult {
    cargo(project, Command::new("cargo").args(["build", "--quiet", "--offline", "--bins"]))?;
    for number in 0..EXAMPLES {
        let program = folder_of_builds().join(format!("debug/example{number}"));
        workspace::output(Command::new(program).current_dir(project))?;
    }
    Ok(())
}

/// Where the packages are compiled: the builds of the workspace have other settings.
fn folder_of_builds() -> PathBuf {
    workspace::target().join("package/build")
}

/// Runs `cargo` with the folder of packages. `cargo install` reads no file of the folder that it runs in.
fn cargo(project: &Path, command: &mut Command) -> TaskResult {
    let command = command
        .args(["--config", CONFIGURATION])
        .arg("--target-dir")
        .arg(folder_of_builds())
        .current_dir(project);
    workspace::output(command).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_have_their_hidden_lines() {
        let source = "//! Text\n//!\n//! ```\n//! # use a;\n//! b();\n//! ```\n//!\n//! ```\n//! c();\n//! ```\n\nmod x;\n";
        assert_eq!(examples(source), ["use a;\nb();\n", "c();\n"]);
    }
}
