//! `cargo xtask page`: the page in a browser. Compiles its TypeScript, compares the committed result, and clicks through it in
//! Chromium: as the command serves it, and as a static folder with the libraries as WebAssembly. Installs the npm package,
//! which has the same module.

use std::process::{Command, Stdio};

use crate::{TaskResult, channels, wasm, workspace};

/// Debian's packages that the tests need: the browser, the fonts of the reference pictures, and a runtime for scripts.
const PROGRAMS: [(&str, &str); 3] = [("chromium", "chromium"), ("node", "nodejs"), ("npm", "npm")];
const FONTS: &str = "fonts-dejavu-core";

/// Runs the tests of the page; arguments are passed on: a part of a name, or `--bless` for new reference pictures.
pub(crate) fn run(args: &[String]) -> TaskResult {
    tests(args).map(|remark| println!("{remark}"))
}

/// The tests, with a remark for the summary of CI.
pub(crate) fn check() -> Result<String, String> {
    tests(&[])
}

fn tests(args: &[String]) -> Result<String, String> {
    if let Err(problem) = install() {
        return Ok(format!("not tested, because the browser is not installed: {problem}"));
    }
    let web = workspace::root().join("web");
    let command = |name: &str, args: &[&str]| -> TaskResult {
        println!("$ {name} {}", args.join(" "));
        let status = Command::new(name)
            .args(args)
            .current_dir(&web)
            .stdin(Stdio::null())
            .status()
            .map_err(|error| format!("`{name}` could not be started: {error}"))?;
        if status.success() { Ok(()) } else { Err(format!("`{name} {}` failed", args.join(" "))) }
    };
    command("npm", &["ci", "--no-audit", "--no-fund"])?;
    command("npm", &["run", "check"])?;
    command("node", &["build.mjs", "--check"])?;
    workspace::run("cargo", &["build", "--locked", "--package", "onnx-cli"])?;
    let onnx = workspace::target().join("debug/onnx");
    let onnx = onnx.to_str().ok_or("the path of the workspace is not UTF-8")?;
    let mut arguments = vec!["test/run.mjs", onnx];
    arguments.extend(args.iter().map(String::as_str));
    command("node", &arguments)?;
    let module = match wasm::module() {
        Ok(module) => module,
        Err(problem) => return Ok(format!("without WebAssembly: {problem}")),
    };
    let text = |path: std::path::PathBuf| {
        path.into_os_string().into_string().map_err(|_| "the path of the workspace is not UTF-8".to_owned())
    };
    let (site, package) =
        (text(workspace::target().join("page/site"))?, text(workspace::target().join("page/npm"))?);
    let module = text(module)?;
    command("node", &["build.mjs", "--site", &site, &module])?;
    for suite in ["test/site.mjs", "test/files.mjs"] {
        let mut arguments = vec![suite, onnx, &site];
        arguments.extend(args.iter().map(String::as_str));
        command("node", &arguments)?;
    }
    command("node", &["npm/pack.mjs", &package, &module])?;
    channels::npm(std::path::Path::new(&package))?;
    let mut arguments = vec!["test/bundlers.mjs", package.as_str()];
    arguments.extend(args.iter().map(String::as_str));
    command("node", &arguments)?;
    Ok("Chromium, as served and as a folder; the npm package, also in bundlers".to_owned())
}

/// Installs what is missing. Packages come from where the system's packages come from.
fn install() -> TaskResult {
    let is_missing = |name: &str| {
        let version =
            Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        !version.is_ok_and(|status| status.success())
    };
    let missing: Vec<&str> =
        PROGRAMS.iter().filter(|(program, _)| is_missing(program)).map(|&(_, package)| package).collect();
    let has_fonts = std::path::Path::new("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf").exists();
    if missing.is_empty() && has_fonts {
        return Ok(());
    }
    let apt = |args: &[&str]| -> TaskResult {
        let status = Command::new("apt-get")
            .args(args)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .map_err(|error| format!("`apt-get` could not be started: {error}"))?;
        if status.success() { Ok(()) } else { Err(format!("`apt-get {}` failed", args.join(" "))) }
    };
    apt(&["update"])?;
    let install = ["install", "--yes", "--no-install-recommends", FONTS];
    apt(&[&install[..], &missing].concat())
}
