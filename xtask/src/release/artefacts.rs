//! The artefacts of a release, built into one folder with checksums and the list of what the command contains.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::contents::{self, Artefact};
use crate::workspace::{self, DISTRIBUTION, copy_file, output, pack, read, reset, write};
use crate::{TaskResult, notices, package, wasm, wheel};

/// The largest binary that is accepted.
const MAX_BINARY: usize = 20 << 20;

/// The shells for which the archive has completions, with the names of the files.
const COMPLETIONS: [(&str, &str); 3] = [("bash", "onnx.bash"), ("zsh", "_onnx"), ("fish", "onnx.fish")];

/// What the archive says about itself; `VERSION` is replaced.
const README: &str = include_str!("archive.md");

/// The target of the npm package.
const WASM: &str = "wasm32-unknown-unknown";

/// Builds all artefacts into `target/artefacts/VERSION`.
pub(super) fn build(version: &str) -> TaskResult {
    let artefacts = workspace::target().join("artefacts");
    reset(&artefacts)?;
    let folder = artefacts.join(version);
    reset(&folder)?;
    let host = host()?;
    let artefacts_of = [(Artefact::Command, host.as_str()), (Artefact::Wheel, &host), (Artefact::Npm, WASM)];
    for (artefact, target) in artefacts_of {
        notices::check(artefact, target)?;
    }
    // What takes minutes is optimized after what fails earlier.
    println!("the source distribution of the Python package");
    super::sdist::build(&artefacts, &folder)?;
    println!("the crates");
    println!("{}", package::check()?);
    crates(version, &folder)?;
    println!("the npm package");
    npm(&folder)?;
    println!("the command");
    let name = format!("{DISTRIBUTION}-{version}-{host}");
    let archived = folder.join(format!("{name}.tar.gz"));
    archive(&command(&host)?, version, &name, &artefacts.join("tree"), &archived)?;
    println!("the Python package");
    wheel::release(&folder)?;
    for (artefact, target) in artefacts_of {
        bill(artefact, target, &folder)?;
    }
    super::licenses::check(&folder, version, &host)?;
    checksums(&folder)?;
    println!("the artefacts are in {}", folder.display());
    Ok(())
}

/// The triple that the compiler builds for.
fn host() -> Result<String, String> {
    let text = output(Command::new("rustc").arg("-vV"))?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| "`rustc -vV` does not state a host".to_owned())
}

/// Builds the command. Functions with the same code become one where the linker of the toolchain is LLD, which can do that; no
/// code here compares addresses of functions.
fn command(host: &str) -> Result<PathBuf, String> {
    let (name, mut flags) = workspace::without_paths()?;
    if host == "x86_64-unknown-linux-gnu" {
        flags.push_str("\x1f-Clink-arg=-Wl,--icf=all");
    }
    output(
        Command::new("cargo")
            .args(["build", "--locked", "--profile", "dist", "--package", "onnx-cli"])
            .env(name, flags)
            .current_dir(workspace::root()),
    )?;
    let binary = workspace::target().join("dist/onnx");
    let contents = fs::read(&binary).map_err(|error| format!("{}: {error}", binary.display()))?;
    if contents.len() > MAX_BINARY {
        return Err(format!("the command has {} bytes; at most {MAX_BINARY} are accepted", contents.len()));
    }
    super::libraries::check(&contents)?;
    Ok(binary)
}

/// Packs the command with its documents, completions and manual pages, with the same bytes for the same files.
pub(super) fn archive(binary: &Path, version: &str, name: &str, tree: &Path, archive: &Path) -> TaskResult {
    let content = tree.join(name);
    reset(&content)?;
    copy_file(binary, &content.join("onnx"))?;
    for file in ["LICENSE-APACHE", "LICENSE-MIT", "CHANGELOG.md", notices::path(Artefact::Command)] {
        copy_file(&workspace::root().join(file), &content.join(file))?;
    }
    write(&content.join("README.md"), &README.replace("VERSION", version))?;
    for (shell, file) in COMPLETIONS {
        let script = output(Command::new(binary).args(["completions", shell]))?;
        write(&content.join("completions").join(file), &script)?;
    }
    output(Command::new(binary).args(["man", "-o"]).arg(content.join("man/man1")))?;
    pack(tree, name, archive)
}

/// Builds the module, and packs it with the code around it.
fn npm(folder: &Path) -> TaskResult {
    let web = workspace::root().join("web");
    let module = ["build", "--locked", "--profile", "page", "--target", WASM, "--package", "onnx-wasm"];
    let (name, flags) = workspace::without_paths()?;
    wasm::install(WASM)?;
    output(Command::new("cargo").args(module).env(name, flags).current_dir(workspace::root()))?;
    let wasm = workspace::target().join(WASM).join("page/onnx_wasm.wasm");
    let package = workspace::target().join("artefacts/npm");
    output(Command::new("npm").args(["ci", "--no-audit", "--no-fund"]).current_dir(&web))?;
    output(Command::new("node").arg("npm/pack.mjs").arg(&package).arg(&wasm).current_dir(&web))?;
    let pack = ["pack", "--silent", "--ignore-scripts", "--pack-destination"];
    output(Command::new("npm").args(pack).arg(folder).arg(&package).current_dir(&web)).map(drop)
}

/// The archives that [`package::check`] has made and compiled.
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
    let document = super::sbom::document(&root, &crates, &lock);
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
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A program that writes what the command writes.
    const COMMAND: &str =
        "#!/bin/sh\n[ $1 = completions ] && echo \"for $2\" && exit\nmkdir -p $3 && echo page > $3/onnx.1\n";

    #[test]
    fn archives_of_equal_files_are_equal() {
        let folder = workspace::target().join("artefacts-test");
        reset(&folder).unwrap();
        let made = |mode: u32, place: &str| {
            let binary = folder.join(place).join("onnx");
            write(&binary, COMMAND).unwrap();
            fs::set_permissions(&binary, fs::Permissions::from_mode(mode)).unwrap();
            let target = folder.join(place).join("a.tar.gz");
            archive(&binary, "1.2.0", "onnxkit-1.2.0-host", &folder.join(place).join("tree"), &target)
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
