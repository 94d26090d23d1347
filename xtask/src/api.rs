//! `cargo xtask api`: the public API of every crate as text, one file each in `docs/api`, so that a review sees changes of it.
//!
//! rustdoc describes a crate as JSON in a format that belongs to the compiler; [`FORMAT`] is the one that the library
//! `public-api` reads. With a compiler that writes another format, the comparison is skipped and says so.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use crate::codegen::{Mode, ensure};
use crate::{TaskResult, workspace};

/// The version of rustdoc's JSON that is understood: that of Rust 1.95.
const FORMAT: u64 = 57;

/// Writes the files, or compares them with `--check`.
pub(crate) fn run(args: &[String]) -> TaskResult {
    let mode = match args {
        [] => Mode::Write,
        [flag] if flag == "--check" => Mode::Check,
        _ => return Err("api takes no argument but `--check`".to_owned()),
    };
    snapshots(mode).map(|remark| println!("{remark}"))
}

/// The same, with a remark for the summary of CI.
pub(crate) fn snapshots(mode: Mode) -> Result<String, String> {
    let crates: Vec<String> = workspace::crates()?
        .into_iter()
        .filter(|name| workspace::root().join("crates").join(name).join("src/lib.rs").exists())
        .collect();
    document(&crates)?;
    for name in &crates {
        let json = workspace::target().join(format!("doc/{}.json", name.replace('-', "_")));
        let found = format_of(&json)?;
        if found != FORMAT {
            return Ok(format!(
                "not compared: this rustdoc writes format {found}, and {FORMAT} is understood"
            ));
        }
        let api = public_api::Builder::from_rustdoc_json(&json)
            .omit_blanket_impls(true)
            .omit_auto_trait_impls(true)
            .omit_auto_derived_impls(true)
            .include_function_parameter_names(true)
            .build()
            .map_err(|error| format!("{}: {error}", json.display()))?;
        let text: String = api.items().map(|item| format!("{item}\n")).collect();
        ensure(mode, &format!("docs/api/{name}.txt"), &text).map_err(|_| {
            format!("the public API of {name} is not that of docs/api/{name}.txt: run `cargo xtask api`, and review the difference")
        })?;
    }
    Ok(format!("{} crates", crates.len()))
}

/// Has rustdoc describe the crates. Its JSON is unstable, so only rustdoc runs as a nightly compiler would: with the
/// variable set for the compiler, too, all dependencies would be compiled anew.
fn document(crates: &[String]) -> TaskResult {
    let wrapper = workspace::target().join("rustdoc-json");
    let script = "#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec rustdoc \"$@\"\n";
    let failed = |error| format!("{}: {error}", wrapper.display());
    std::fs::create_dir_all(workspace::target()).map_err(failed)?;
    std::fs::write(&wrapper, script).map_err(failed)?;
    std::fs::set_permissions(&wrapper, std::fs::Permissions::from_mode(0o755)).map_err(failed)?;
    let status = Command::new("cargo")
        .args([
            "doc",
            "--quiet",
            "--no-deps",
            "--lib",
            "--locked",
            "--features",
            "onnxkit/formats,onnxkit/petgraph,onnxkit/smith",
        ])
        .args(crates.iter().flat_map(|name| ["--package", name]))
        .env("RUSTDOC", &wrapper)
        .env("RUSTDOCFLAGS", "-Z unstable-options --output-format json")
        .current_dir(workspace::root())
        .status()
        .map_err(|error| format!("`cargo` could not be started: {error}"))?;
    if status.success() { Ok(()) } else { Err("rustdoc failed to describe the crates".to_owned()) }
}

fn format_of(json: &Path) -> Result<u64, String> {
    #[derive(serde::Deserialize)]
    struct Head {
        format_version: u64,
    }
    let text = std::fs::read(json).map_err(|error| format!("{}: {error}", json.display()))?;
    let head: Head = serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", json.display()))?;
    Ok(head.format_version)
}
