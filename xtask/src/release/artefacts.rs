//! The artefacts of a release, built into one folder with checksums and the list of what the command contains.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::workspace::{self, DISTRIBUTION, output};
use crate::{TaskResult, package, wheel};

/// The largest binary that is accepted.
const MAX_BINARY: u64 = 20 << 20;

/// The shells for which the archive has completions, with the names of the files.
const COMPLETIONS: [(&str, &str); 3] = [("bash", "onnx.bash"), ("zsh", "_onnx"), ("fish", "onnx.fish")];

/// The page of WebAssembly.
const WASM: &str = "wasm32-unknown-unknown";

/// Builds all artefacts into `target/artefacts/VERSION`.
pub(super) fn build(version: &str) -> TaskResult {
    let artefacts = workspace::target().join("artefacts");
    if artefacts.exists() {
        fs::remove_dir_all(&artefacts).map_err(|error| format!("{}: {error}", artefacts.display()))?;
    }
    let folder = artefacts.join(version);
    make(&folder)?;
    let host = host()?;
    println!("the command");
    archive(&command()?, version, &host, &folder)?;
    println!("the Python package");
    wheel::release(&folder)?;
    println!("the npm package");
    npm(&folder)?;
    println!("the crates");
    println!("{}", package::check()?);
    crates(version, &folder)?;
    bill(&host, &folder)?;
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

/// Builds the command. Paths of this machine are replaced in it, so that another machine builds the same bytes.
fn command() -> Result<PathBuf, String> {
    let root = workspace::root();
    let home = std::env::var("CARGO_HOME")
        .or_else(|_| std::env::var("HOME").map(|home| format!("{home}/.cargo")))
        .map_err(|_| "neither CARGO_HOME nor HOME is set".to_owned())?;
    let flags =
        format!("--remap-path-prefix={home}=/cargo\x1f--remap-path-prefix={}=/source", root.display());
    output(
        Command::new("cargo")
            .args(["build", "--locked", "--profile", "dist", "--package", "onnx-cli"])
            .env("CARGO_ENCODED_RUSTFLAGS", flags)
            .current_dir(&root),
    )?;
    let binary = workspace::target().join("dist/onnx");
    let bytes = fs::metadata(&binary).map_err(|error| format!("{}: {error}", binary.display()))?.len();
    if bytes > MAX_BINARY {
        return Err(format!("the command has {bytes} bytes; at most {MAX_BINARY} are accepted"));
    }
    Ok(binary)
}

/// Packs the command with its documents and completions, with the same bytes for the same files.
fn archive(binary: &Path, version: &str, host: &str, folder: &Path) -> TaskResult {
    let name = format!("{DISTRIBUTION}-{version}-{host}");
    let tree = workspace::target().join("artefacts/tree");
    let content = tree.join(&name);
    make(&content.join("completions"))?;
    copy(binary, &content.join("onnx"))?;
    for file in ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "CHANGELOG.md"] {
        copy(&workspace::root().join(file), &content.join(file))?;
    }
    for (shell, file) in COMPLETIONS {
        let script = output(Command::new(binary).args(["completions", shell]))?;
        let path = content.join("completions").join(file);
        fs::write(&path, script).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let owner = ["--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner", "--format=ustar"];
    output(
        Command::new("tar")
            .args(owner)
            .args(["--use-compress-program=gzip -n", "-cf"])
            .arg(folder.join(format!("{name}.tar.gz")))
            .arg("-C")
            .arg(&tree)
            .arg(&name),
    )
    .map(drop)
}

/// Builds the module, and packs it with the code around it.
fn npm(folder: &Path) -> TaskResult {
    let web = workspace::root().join("web");
    let module = ["build", "--locked", "--profile", "page", "--target", WASM, "--package", "onnx-wasm"];
    workspace::run("cargo", &module)?;
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
    make(&target)?;
    for name in workspace::crates()? {
        let file = format!("{}-{version}.crate", package::published(&name));
        let from = workspace::target().join("package/tree/target/package").join(&file);
        copy(&from, &target.join(&file))?;
    }
    Ok(())
}

fn bill(host: &str, folder: &Path) -> TaskResult {
    let root = workspace::root();
    let text = output(
        Command::new("cargo")
            .args(["metadata", "--locked", "--format-version", "1", "--filter-platform", host])
            .current_dir(&root),
    )?;
    let metadata: Value =
        serde_json::from_str(&text).map_err(|error| format!("`cargo metadata`: {error}"))?;
    let lock = root.join("Cargo.lock");
    let lock = fs::read_to_string(&lock).map_err(|error| format!("{}: {error}", lock.display()))?;
    let document = super::sbom::document(&metadata, &lock, "onnx-cli")?;
    let path = folder.join("sbom.cdx.json");
    fs::write(&path, format!("{document:#}\n")).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes the digests of all files, by name.
fn checksums(folder: &Path) -> TaskResult {
    let files = "find . -type f ! -name SHA256SUMS -printf '%P\\0' | LC_ALL=C sort -z";
    let script = format!("{files} | xargs -0 sha256sum > SHA256SUMS");
    output(Command::new("sh").args(["-c", &script]).current_dir(folder)).map(drop)
}

fn make(folder: &Path) -> TaskResult {
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

fn copy(from: &Path, to: &Path) -> TaskResult {
    fs::copy(from, to).map(drop).map_err(|error| format!("{}: {error}", from.display()))
}
