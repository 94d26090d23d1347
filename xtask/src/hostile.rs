//! `cargo xtask hostile`: every hostile case with what it took and what it may take, as a table.
//!
//! `fuzz/steps` runs files and texts. It is built so that every branch and every allocation is counted, and runs each
//! case with half a megabyte of stack. Cases that need a directory, or every operator, are tests of their crates; those
//! are also run, and listed by name.

use std::process::{Command, Stdio};

use crate::{TaskResult, workspace};

const HELP: &str = "\
cargo xtask hostile [PART OF A NAME] [--no-tests] [--no-growth] [--growth]

  --no-tests   not the tests of directories and operators
  --no-growth  not the growing models, whose command takes many minutes to build with counters
  --growth     only growing models: every command on every axis of growth
";

/// What makes the compiler call a function at every branch.
const COUNTED: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 \
    -Cllvm-args=-sanitizer-coverage-trace-pc";

/// The only platform on which steps are counted.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// The tests of hostile input that are not in the table: their packages and names.
const TESTS: &[&[&str]] = &[
    &["-p", "onnx-codec", "--test", "external", "--test", "externalize", "--test", "files"],
    &["-p", "onnx-shape-infer", "--test", "nesting", "--test", "properties"],
    &["-p", "onnx-proto", "--test", "reader"],
    &["-p", "onnx-text", "--test", "text", "hostile"],
    &["-p", "onnx-tests", "--test", "hostile", "varied"],
];

/// Runs the task.
pub(crate) fn run(args: &[String]) -> TaskResult {
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        print!("{HELP}");
        return Ok(());
    }
    let only: Vec<&String> = args.iter().filter(|arg| !arg.starts_with("--")).collect();
    let has = |option: &str| args.iter().any(|arg| arg == option);
    let is_option = |arg: &&String| ["--no-tests", "--no-growth", "--growth"].contains(&arg.as_str());
    if let Some(unknown) = args.iter().find(|arg| arg.starts_with("--") && !is_option(arg)) {
        return Err(format!("hostile takes no argument `{unknown}`\n\n{HELP}"));
    }
    if has("--growth") {
        return growth(&only);
    }
    let table = table(&only);
    let table = if has("--no-growth") { table } else { table.and(growth(&only)) };
    let tests = if has("--no-tests") { Ok(()) } else { tests() };
    table.and(tests)
}

/// Builds and runs the table.
fn table(only: &[&String]) -> TaskResult {
    run_steps(only.iter().map(|only| only.as_str()))
}

/// Builds the command with counters, and runs it on models that grow.
fn growth(only: &[&String]) -> TaskResult {
    let folder = workspace::target().join("hostile");
    let counter = folder.join("counter.o");
    let root = workspace::root();
    std::fs::create_dir_all(&folder).map_err(|error| format!("`{}`: {error}", folder.display()))?;
    let mut rustc = Command::new("rustc");
    rustc.args([
        "--edition",
        "2024",
        "--crate-type",
        "lib",
        "--emit",
        "obj",
        "-O",
        "-C",
        "panic=abort",
        "-o",
    ]);
    succeed(rustc.arg(&counter).arg("steps/counter.rs").current_dir(root.join("fuzz")))?;
    let mut cargo = Command::new("cargo");
    // The same profile as that of the other cases, which belongs to another workspace.
    cargo.args(["build", "--quiet", "--locked", "--release", "--package", "onnx-cli"]);
    cargo.args(["--config", "profile.release.opt-level=1", "--target", PLATFORM, "--target-dir"]);
    cargo.arg(folder.join("command")).current_dir(root);
    cargo.env("RUSTFLAGS", format!("{COUNTED} -Clink-arg={}", counter.display()));
    succeed(&mut cargo)?;
    let program = folder.join("command").join(PLATFORM).join("release/onnx");
    let program = program.display().to_string();
    let only = only.iter().map(|only| only.as_str());
    run_steps(["--growth", program.as_str()].into_iter().chain(only))
}

/// Builds the program that counts steps, and runs it.
fn run_steps<'a>(arguments: impl Iterator<Item = &'a str>) -> TaskResult {
    let folder = workspace::target().join("hostile");
    let mut cargo = Command::new("cargo");
    // Not locked: the lock file of the program follows that of the main workspace.
    cargo.args(["build", "--quiet", "--profile", "counted", "--package", "onnx-steps"]);
    cargo.args(["--target", PLATFORM, "--target-dir"]).arg(&folder);
    succeed(cargo.current_dir(workspace::root().join("fuzz")).env("RUSTFLAGS", COUNTED))?;
    let program = folder.join(PLATFORM).join("counted/onnx-steps");
    let status = Command::new(&program)
        .args(arguments)
        .status()
        .map_err(|error| format!("`{}` could not be started: {error}", program.display()))?;
    if status.success() { Ok(()) } else { Err("some hostile cases are out of bounds".to_owned()) }
}

/// Runs a program that must succeed.
fn succeed(command: &mut Command) -> TaskResult {
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command.status().map_err(|error| format!("`{name}` could not be started: {error}"))?;
    if status.success() { Ok(()) } else { Err("the hostile cases do not build".to_owned()) }
}

/// Runs the tests of directories and operators, and lists them.
fn tests() -> TaskResult {
    let mut failed = 0;
    println!("\ntests of directories and operators");
    for arguments in TESTS {
        let output = Command::new("cargo")
            .args(["test", "--quiet", "--locked", "--no-fail-fast"])
            .args(&arguments[..arguments.len() - filters(arguments)])
            .arg("--")
            // The names of tests that pass are only listed when asked for.
            .args(["--format", "pretty"])
            .args(&arguments[arguments.len() - filters(arguments)..])
            .current_dir(workspace::root())
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| format!("`cargo` could not be started: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        for (name, outcome) in text.lines().filter_map(result) {
            println!("{name:<64} {outcome}");
            failed += usize::from(outcome != "ok");
        }
        failed += usize::from(!output.status.success());
    }
    if failed == 0 { Ok(()) } else { Err("some tests of hostile input fail".to_owned()) }
}

/// How many of the last arguments are filters of tests, not arguments of cargo.
fn filters(arguments: &[&str]) -> usize {
    let is_value = |index: usize| index > 0 && arguments[index - 1].starts_with('-');
    (0..arguments.len()).filter(|&index| !arguments[index].starts_with('-') && !is_value(index)).count()
}

/// The name and the outcome in a line such as `test t1_x ... ok`.
fn result(line: &str) -> Option<(&str, &str)> {
    line.strip_prefix("test ")?.split_once(" ... ").filter(|(_, outcome)| matches!(*outcome, "ok" | "FAILED"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_tests_are_read() {
        assert_eq!(result("test t1_x ... ok"), Some(("t1_x", "ok")));
        assert_eq!(result("test t1_x ... FAILED"), Some(("t1_x", "FAILED")));
        assert_eq!(result("test t1_x ... says something"), None);
        assert_eq!(filters(&["-p", "a", "--test", "b"]), 0);
        assert_eq!(filters(&["-p", "a", "--test", "b", "c"]), 1);
    }
}
