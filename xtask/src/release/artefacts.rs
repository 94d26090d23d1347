//! The artefacts of a release, built into one folder with checksums and the list of what the command contains.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::Purpose;
use crate::contents::{self, Artefact};
use crate::workspace::{self, DISTRIBUTION, copy_file, output, pack, read, reset, write};
use crate::{TaskResult, notices, package, wheel};

/// The shells for which the archive has completions, with the names of the files.
const COMPLETIONS: [(&str, &str); 3] = [("bash", "onnx.bash"), ("zsh", "_onnx"), ("fish", "onnx.fish")];

/// What changed.
const CHANGES: &str = "CHANGELOG.md";

/// What is in the archive as it is in the repository, except for links.
const DOCUMENTS: [&str; 4] = ["LICENSE-APACHE", "LICENSE-MIT", CHANGES, notices::path(Artefact::Command)];

/// What the archive says about itself; `VERSION` is replaced.
const README: &str = include_str!("archive.md");

/// The target of the npm package.
const WASM: &str = "wasm32-unknown-unknown";

/// The processor of this machine, and others by their names in platforms, for which artefacts are built.
pub(super) fn processors(others: &[&str]) -> Result<Vec<String>, String> {
    let mut found: Vec<String> = Vec::new();
    for name in std::iter::once(&std::env::consts::ARCH).chain(others) {
        for artefact in Artefact::ALL {
            artefact.target(name)?;
        }
        if !found.iter().any(|processor| processor == name) {
            found.push((*name).to_owned());
        }
    }
    Ok(found)
}

/// Builds all artefacts into `target/artefacts/VERSION`. The first processor is that of this machine.
pub(super) fn build(version: &str, processors: &[String], purpose: Purpose) -> TaskResult {
    let artefacts = workspace::target().join("artefacts");
    reset(&artefacts)?;
    let folder = artefacts.join(version);
    reset(&folder)?;
    for processor in processors {
        for artefact in Artefact::ALL {
            notices::check(artefact, artefact.target(processor)?)?;
        }
    }
    // What takes minutes is optimized after what fails earlier.
    timed("the source distribution of the Python package", || {
        super::sdist::build(&artefacts, &folder, purpose)
    })?;
    timed("the crates", || {
        match purpose {
            Purpose::Release => println!("{}", package::check()?),
            Purpose::Comparison => drop(package::archives()?),
        }
        crates(version, &folder)
    })?;
    timed("the npm package", || npm(&folder))?;
    let mut writer = None;
    for processor in processors {
        let target = Artefact::Command.target(processor)?;
        timed(&format!("the command for {target}"), || {
            let binary = super::command::build(target)?;
            let writer: &PathBuf = writer.get_or_insert_with(|| binary.clone());
            let name = archive_name(version, target);
            let file = folder.join(format!("{name}.tar.gz"));
            archive(&binary, writer, version, &name, &artefacts.join("tree"), &file)
        })?;
    }
    for processor in processors {
        let target = Artefact::Wheel.target(processor)?;
        timed(&format!("the Python package for {target}"), || wheel::release(target, &folder))?;
    }
    for artefact in Artefact::ALL {
        bill(artefact, artefact.targets()[0], &folder)?;
    }
    super::licenses::check(&folder, version, processors)?;
    checksums(&folder)?;
    println!("the artefacts are in {}", folder.display());
    Ok(())
}

/// The name of the archive of the command, and of the folder in it.
pub(super) fn archive_name(version: &str, target: &str) -> String {
    format!("{DISTRIBUTION}-{version}-{target}")
}

/// Says what is built, and how long it took.
fn timed(what: &str, build: impl FnOnce() -> TaskResult) -> TaskResult {
    println!("{what}");
    let start = Instant::now();
    build()?;
    println!("{what}: {} s", start.elapsed().as_secs());
    Ok(())
}

/// Packs the command with its documents, completions and manual pages, with the same bytes for the same files. `writer` is the same
/// command for this machine, which writes them.
pub(super) fn archive(
    binary: &Path,
    writer: &Path,
    version: &str,
    name: &str,
    tree: &Path,
    archive: &Path,
) -> TaskResult {
    let content = tree.join(name);
    reset(&content)?;
    copy_file(binary, &content.join("onnx"))?;
    for file in DOCUMENTS {
        copy_file(&workspace::root().join(file), &content.join(file))?;
    }
    // Its links lead to pages that are not in the archive.
    let changes = read(&workspace::root().join(CHANGES))?;
    let pages = format!("](https://github.com/onnxkit/onnxkit/blob/v{version}/docs/");
    write(&content.join(CHANGES), &changes.replace("](docs/", &pages))?;
    write(&content.join("README.md"), &README.replace("VERSION", version))?;
    for (shell, file) in COMPLETIONS {
        let script = output(Command::new(writer).args(["completions", shell]))?;
        write(&content.join("completions").join(file), &script)?;
    }
    output(Command::new(writer).args(["man", "-o"]).arg(content.join("man/man1")))?;
    pack(tree, name, archive)
}

/// Builds the module, and packs it with the code around it.
fn npm(folder: &Path) -> TaskResult {
    let web = workspace::root().join("web");
    let module = ["build", "--locked", "--profile", "page", "--target", WASM, "--package", "onnx-wasm"];
    let (name, flags) = workspace::without_paths()?;
    workspace::install_target(WASM)?;
    output(Command::new("cargo").args(module).env(name, flags).current_dir(workspace::root()))?;
    let wasm = workspace::target().join(WASM).join("page/onnx_wasm.wasm");
    let package = workspace::target().join("artefacts/npm");
    output(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(&web))?;
    output(Command::new("node").arg("npm/pack.mjs").arg(&package).arg(&wasm).current_dir(&web))?;
    let pack = ["pack", "--silent", "--ignore-scripts", "--pack-destination"];
    output(Command::new("npm").args(pack).arg(folder).arg(&package).current_dir(&web)).map(drop)
}

/// The archives that [`package::archives`] has made.
fn crates(version: &str, folder: &Path) -> TaskResult {
    let target = folder.join("crates");
    for name in workspace::crates()? {
        let file = format!("{}-{version}.crate", package::published(&name));
        let from = workspace::target().join("package/tree/target/package").join(&file);
        copy_file(&from, &target.join(&file))?;
    }
    Ok(())
}

/// Writes the list of contents of an artefact.
fn bill(artefact: Artefact, target: &str, folder: &Path) -> TaskResult {
    let (root, crates) = contents::crates(artefact, target)?;
    let lock = read(&workspace::root().join("Cargo.lock"))?;
    let document = super::sbom::document(artefact, &root, &crates, &lock);
    write(&folder.join(super::sbom::file(artefact)), &format!("{document:#}\n"))
}

/// Writes the digests of all files, by name.
fn checksums(folder: &Path) -> TaskResult {
    let files = "find . -type f ! -name SHA256SUMS -printf '%P\\0' | LC_ALL=C sort -z";
    let script = format!("{files} | xargs -0 sha256sum > SHA256SUMS");
    output(Command::new("sh").args(["-c", &script]).current_dir(folder)).map(drop)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A program that writes what the command writes.
    const COMMAND: &str =
        "#!/bin/sh\n[ $1 = completions ] && echo \"for $2\" && exit\nmkdir -p $3 && echo page > $3/onnx.1\n";

    #[test]
    fn processors_of_a_release_are_named_once() {
        let this = std::env::consts::ARCH;
        assert_eq!(processors(&[this, "aarch64"]).unwrap()[0], this);
        assert_eq!(processors(&["x86_64", "aarch64"]).unwrap().len(), 2);
        let problem = processors(&["x86-64"]).unwrap_err();
        assert_eq!(problem, "a release has no command for `x86-64`; it has x86_64 and aarch64");
    }

    #[test]
    fn archives_have_the_names_that_cargo_binstall_computes() {
        let manifest = read(&workspace::root().join("crates/onnx-cli/Cargo.toml")).unwrap();
        let name = archive_name("{ version }", "{ target }");
        for line in [
            format!("pkg-url = \"{{ repo }}/releases/download/v{{ version }}/{name}.tar.gz\""),
            format!("bin-dir = \"{name}/{{ bin }}{{ binary-ext }}\""),
            "pkg-fmt = \"tgz\"".to_owned(),
        ] {
            assert!(manifest.lines().any(|found| found == line), "the manifest of the command lacks {line}");
        }
    }

    #[test]
    fn cargo_dist_builds_the_same_command() {
        let text = read(&workspace::root().join("dist-workspace.toml")).unwrap();
        let list = |key: &str| {
            let start = format!("{key} = ");
            let line = text.lines().find_map(|line| line.strip_prefix(&start)).unwrap();
            serde_json::from_str::<Vec<String>>(line).unwrap()
        };
        assert_eq!(list("targets"), Artefact::Command.targets());
        for file in DOCUMENTS {
            assert!(list("include").iter().any(|included| included == file), "{file}");
        }
        // The name of the profile that it builds is not a setting.
        let workspace = read(&workspace::root().join("Cargo.toml")).unwrap();
        assert!(workspace.lines().any(|line| line == "[profile.dist]"));
    }

    #[test]
    fn archives_of_equal_files_are_equal() {
        let folder = workspace::target().join("artefacts-test");
        reset(&folder).unwrap();
        let made = |mode: u32, place: &str| {
            let binary = folder.join(place).join("onnx");
            write(&binary, COMMAND).unwrap();
            fs::set_permissions(&binary, fs::Permissions::from_mode(mode)).unwrap();
            let target = folder.join(place).join("a.tar.gz");
            archive(
                &binary,
                &binary,
                "1.2.0",
                "onnxkit-1.2.0-host",
                &folder.join(place).join("tree"),
                &target,
            )
            .unwrap();
            (fs::read(&target).unwrap(), target)
        };
        let (first, path) = made(0o700, "a");
        assert_eq!(made(0o775, "b").0, first);
        let listed = output(Command::new("tar").arg("-tvf").arg(path)).unwrap();
        let listed: Vec<String> = listed
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>())
            .map(|words| format!("{} {}", words[0], words.last().unwrap()))
            .filter(|line| line.starts_with('-'))
            .collect();
        let root = "onnxkit-1.2.0-host";
        let file = |name: &str| format!("-rw-r--r-- {root}/{name}");
        let expected = [
            file("CHANGELOG.md"),
            file("LICENSE-APACHE"),
            file("LICENSE-MIT"),
            file("README.md"),
            file("THIRD-PARTY-LICENSES"),
            file("completions/_onnx"),
            file("completions/onnx.bash"),
            file("completions/onnx.fish"),
            file("man/man1/onnx.1"),
            format!("-rwxr-xr-x {root}/onnx"),
        ];
        assert_eq!(listed, expected);
        fs::remove_dir_all(&folder).unwrap();
    }
}
