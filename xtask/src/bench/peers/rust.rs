//! Reading models with other Rust libraries, which are built in a separate workspace.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Run, keeping_memory, output};
use crate::TaskResult;
use crate::bench::bars::{Bar, Outcome, Samples};

/// The package, which is outside our workspace.
const PACKAGE: &str = "benches/rust-peers";

/// How long a library may take for one process, all rounds together, before its row says that it took longer.
const SECONDS: &str = "20";

/// One way of reading a model: the program (named after its crate), the mode, the description, and our sample for
/// comparison.
type Way = (&'static str, &'static str, &'static str, &'static str);

const WAYS: &[Way] = &[
    ("rten-onnx", "messages", "decode / rten-onnx, messages only", "decode"),
    ("tract-onnx", "messages", "decode / tract-onnx, messages only", "decode"),
    ("rten", "graph", "decode / rten, not optimized", "decode"),
    ("tract-onnx", "graph", "decode / tract-onnx, graph", "decode"),
    ("onnx-ir", "graph", "decode / onnx-ir of burn, not simplified", "decode"),
    ("onnx-std", "file", "load file / onnx-std", "load"),
];

/// Builds each library apart and measures those that can be built; the rows of others say why they cannot.
pub(super) fn rust(run: &mut Run) -> TaskResult {
    let mut programs = BTreeMap::new();
    for (name, ..) in WAYS {
        programs.entry(*name).or_insert_with(|| build(run, name));
    }
    for (kind, nodes) in [("chain", 2000), ("transformer", 2000), ("chain", 20_000), ("transformer", 20_000)]
    {
        let path = run.model(kind, nodes)?;
        let name = format!("{kind} {}k", nodes / 1000);
        let mut ours = Samples::default();
        let mut theirs: Vec<Result<Samples, String>> = WAYS.iter().map(|_| Ok(Samples::default())).collect();
        for _ in 0..if run.quick { 1 } else { 3 } {
            ours.add(&run.measure(&["model", &path, "3"])?)?;
            for ((program, way, ..), samples) in WAYS.iter().zip(&mut theirs) {
                let Ok(list) = samples else { continue };
                let added =
                    programs[program].clone().and_then(|program| list.add(&read(&program, &path, way)?));
                if let Err(reason) = added {
                    *samples = Err(reason);
                }
            }
        }
        for ((program, way, what, our), samples) in WAYS.iter().zip(theirs) {
            let what = format!("{what}, {name}");
            let row = match samples.and_then(|samples| Ok((samples.median("read")?, samples))) {
                Ok((median, samples)) => {
                    run.keep(&format!("rust {program} {way} {name}"), Samples::default(), samples);
                    Outcome::times("rust", what, ours.median(our)?, median, Bar::None)
                }
                Err(reason) => Outcome::without("rust", what, &reason),
            };
            run.push(row);
        }
        run.keep(&format!("rust {name}"), ours, Samples::default());
    }
    Ok(())
}

/// Builds the program for one library, which takes minutes the first time; the reason if it cannot be built.
fn build(run: &Run, name: &str) -> Result<PathBuf, String> {
    println!("building {name}, which takes minutes when it is not built yet");
    let target = run.folder.join("rust-peers");
    let mut command = Command::new("cargo");
    command.args(["build", "--quiet", "--release", "--locked", "--features", name, "--bin", name]);
    command.arg("--manifest-path").arg(crate::workspace::root().join(PACKAGE).join("Cargo.toml"));
    command.arg("--target-dir").arg(&target);
    match output(&mut command) {
        Ok(_) => Ok(target.join("release").join(name)),
        Err(printed) => {
            let reason = printed.lines().find(|line| line.contains("error")).unwrap_or(&printed);
            Err(format!("not built: {reason}"))
        }
    }
}

/// What one process prints that reads a model a few times.
fn read(program: &Path, path: &str, way: &str) -> Result<String, String> {
    let mut command = keeping_memory(Path::new("timeout"));
    let printed = command.arg(SECONDS).arg(program).args([path, "3", way]).output();
    let printed = printed.map_err(|error| format!("`timeout` could not be started: {error}"))?;
    match printed.status.code() {
        Some(0) => Ok(String::from_utf8_lossy(&printed.stdout).into_owned()),
        // What `timeout` says when it had to end the program.
        Some(124) => Err(format!("four rounds took more than {SECONDS} s")),
        _ => {
            let told = String::from_utf8_lossy(&printed.stderr);
            Err(format!("not read: {}", told.lines().last().unwrap_or("the program ended without a word")))
        }
    }
}

/// The versions of the libraries, as the lock file has them.
pub(super) fn versions() -> Vec<(String, String)> {
    let lock =
        fs::read_to_string(crate::workspace::root().join(PACKAGE).join("Cargo.lock")).unwrap_or_default();
    locked(&lock)
}

fn locked(lock: &str) -> Vec<(String, String)> {
    let value = |line: &str, key: &str| Some(line.strip_prefix(key)?.trim_matches('"').to_owned());
    let lines: Vec<&str> = lock.lines().collect();
    let mut versions: Vec<(String, String)> = lines
        .windows(2)
        .filter_map(|pair| {
            let (name, version) = (value(pair.first()?, "name = ")?, value(pair.last()?, "version = ")?);
            WAYS.iter().any(|(way, ..)| *way == name).then(|| (format!("crate {name}"), version))
        })
        .collect();
    versions.sort();
    versions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_of_the_lock_file_and_all_are_there() {
        let lock = "[[package]]\nname = \"rten\"\nversion = \"0.27.0\"\n\n[[package]]\nname = \"other\"\nversion = \"1.0.0\"\n";
        assert_eq!(locked(lock), [("crate rten".to_owned(), "0.27.0".to_owned())]);
        let names: std::collections::BTreeSet<&str> = WAYS.iter().map(|(name, ..)| *name).collect();
        assert_eq!(versions().len(), names.len());
    }
}
