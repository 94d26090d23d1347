//! `cargo xtask ci`: exactly what CI runs, in the same order, with the time of each step.
//!
//! All steps run even when one fails, so that one run shows everything there is to mend. Steps that share no build output
//! with the tests run at the same time: much of a build of this workspace is a chain of crates that keeps one processor busy.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::TaskResult;

/// What a step says in the summary when it succeeds; mostly nothing.
type StepResult = Result<String, String>;

/// One step of CI.
struct Step {
    name: &'static str,
    runs: Runs,
    run: fn() -> StepResult,
}

/// When a step runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runs {
    Always,
    /// Only with `--quick`, instead of a step that takes longer.
    Quick,
    /// Not with `--quick`.
    Full,
}

/// The arguments of `cargo test` for `--quick`: unit tests, file tests and the pages of rules. The suites of `onnx-tests`
/// and doc tests take minutes, and those of `xtask` repeat the step `tidy`.
const QUICK_TESTS: &[&str] = &[
    "--exclude",
    "xtask",
    "--exclude",
    "onnx-tests",
    "--exclude",
    "onnx-benches",
    "--lib",
    "--bins",
    "--test",
    "filetests",
    "--test",
    "rule_pages",
];

const STEPS: &[Step] = &[
    Step { name: "format", runs: Runs::Always, run: || cargo(&["fmt", "--all", "--check"]) },
    Step { name: "clippy", runs: Runs::Always, run: clippy },
    Step { name: "tidy", runs: Runs::Always, run: || crate::tidy::run(&[]).map(|()| String::new()) },
    Step { name: "codegen --check", runs: Runs::Always, run: codegen },
    Step { name: "tests of libraries", runs: Runs::Quick, run: || tests(QUICK_TESTS) },
    Step { name: "test totals, doc tests included", runs: Runs::Full, run: || tests(&[]) },
    Step { name: "dependencies", runs: Runs::Always, run: dependencies },
    // The command that these steps need is one that the tests have built.
    Step { name: "page", runs: Runs::Full, run: crate::page::check },
    Step { name: "channels", runs: Runs::Full, run: crate::channels::commands },
];

/// The steps of a complete run that need nothing of what [`STEPS`] build: another process runs them at the same time.
const SECOND: &[Step] = &[
    Step { name: "docs", runs: Runs::Full, run: docs },
    Step { name: "public API", runs: Runs::Full, run: || crate::api::snapshots(crate::codegen::Mode::Check) },
    Step { name: "WebAssembly", runs: Runs::Full, run: crate::wasm::check },
    Step { name: "packages", runs: Runs::Full, run: crate::package::check },
    Step { name: "Python package", runs: Runs::Full, run: crate::wheel::check },
    // The tests that are not in its table are among those of the first process.
    Step {
        name: "hostile",
        runs: Runs::Full,
        run: || {
            crate::hostile::run(&["--no-tests", "--no-growth"].map(str::to_owned)).map(|()| String::new())
        },
    },
];

/// The argument with which this program runs [`SECOND`].
const SECOND_ARGUMENT: &str = "--second-process";

/// A complete run takes up to 40 minutes on two cores: one that takes as long as this waits for something.
const LIMIT: Duration = Duration::from_mins(70);

/// Runs all steps; `--quick` leaves out those that take minutes, and runs only the tests of the libraries.
pub(crate) fn run(args: &[String]) -> TaskResult {
    match args {
        [] => complete(),
        [arg] if arg == "--quick" => summary(&outcomes(STEPS, Runs::Quick), " of the quick steps"),
        [arg] if arg == SECOND_ARGUMENT => summary(&outcomes(SECOND, Runs::Full), " of the second process"),
        _ => Err(format!("ci does not take the arguments `{}`; it knows `--quick`", args.join(" "))),
    }
}

/// Runs [`STEPS`] and [`SECOND`] at the same time. What the second process prints is shown when both are done.
fn complete() -> TaskResult {
    let log = crate::workspace::target().join("ci-second-process.log");
    let start = Instant::now();
    crate::watchdog::start(LIMIT, log.clone());
    let second = start_second(&log);
    let mut outcomes = outcomes(STEPS, Runs::Full);
    let result = second.and_then(|mut child| {
        let status = child.wait().map_err(|error| format!("the second process was lost: {error}"))?;
        println!("\n{}", String::from_utf8_lossy(&std::fs::read(&log).unwrap_or_default()));
        let failed = || "a step of its summary above".to_owned();
        if status.success() { Ok(String::new()) } else { Err(failed()) }
    });
    outcomes.push(("all of the second process, meanwhile", start.elapsed(), result));
    summary(&outcomes, "")
}

/// Starts the second process. It builds in a folder of its own, since cargo lets one command at a time build in a folder.
fn start_second(log: &std::path::Path) -> Result<Child, String> {
    let failed = |error| format!("the second process could not be started: {error}");
    let target = crate::workspace::target();
    std::fs::create_dir_all(&target).map_err(failed)?;
    let output = File::create(log).map_err(failed)?;
    let errors = output.try_clone().map_err(failed)?;
    Command::new(std::env::current_exe().map_err(failed)?)
        .args(["ci", SECOND_ARGUMENT])
        .env("CARGO_TARGET_DIR", target.join("second"))
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .spawn()
        .map_err(failed)
}

/// What came of each of the steps of a mode, with the time that it took.
fn outcomes(steps: &[Step], mode: Runs) -> Vec<(&'static str, Duration, StepResult)> {
    let mut outcomes = Vec::new();
    for step in steps.iter().filter(|step| step.runs == Runs::Always || step.runs == mode) {
        println!("\n=== {}", step.name);
        let start = Instant::now();
        let result = (step.run)();
        if let Err(problem) = &result {
            eprintln!("{}: {problem}", step.name);
        }
        outcomes.push((step.name, start.elapsed(), result));
    }
    outcomes
}

/// Prints what came of the steps, and fails if one of them did.
fn summary(outcomes: &[(&str, Duration, StepResult)], of: &str) -> TaskResult {
    println!("\n=== summary{of}");
    for (name, time, result) in outcomes {
        let (word, remark) = match result {
            Ok(remark) => ("ok", remark.as_str()),
            Err(problem) => ("FAILED", problem.lines().next().unwrap_or_default()),
        };
        let separator = if remark.is_empty() { "" } else { ": " };
        println!("{word:>6} {:>7.1} s  {name}{separator}{remark}", time.as_secs_f64());
    }
    let failed: Vec<&str> =
        outcomes.iter().filter(|(_, _, result)| result.is_err()).map(|(name, _, _)| *name).collect();
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", "))) }
}

/// A non-interactive `cargo` command in the root of the workspace.
fn command(args: &[&str]) -> Command {
    println!("$ cargo {}", args.join(" "));
    let mut command = Command::new("cargo");
    command.args(args).current_dir(crate::workspace::root()).stdin(Stdio::null());
    command
}

fn cargo(args: &[&str]) -> StepResult {
    println!("$ cargo {}", args.join(" "));
    crate::workspace::run("cargo", args).map(|()| String::new())
}

/// Compiles the code of the features that are not enabled by default, too, which the tests leave out.
fn clippy() -> StepResult {
    let targets = ["clippy", "--workspace", "--all-targets", "--features", "onnx-cli/parquet", "--locked"];
    cargo(&[&targets[..], &["--", "-D", "warnings"]].concat())
}

fn codegen() -> StepResult {
    // The documents that `onnx-tests` generates are compared by a test of it, which need not build a program for that.
    crate::codegen::sources(crate::codegen::Mode::Check)
        .map(|()| "the generated files are current".to_owned())
}

fn docs() -> StepResult {
    let mut doc = command(&["doc", "--workspace", "--no-deps", "--locked"]);
    let status = doc.env("RUSTDOCFLAGS", "-D warnings").status();
    match status {
        Ok(status) if status.success() => Ok(String::new()),
        Ok(_) => Err("the documentation has warnings or errors".to_owned()),
        Err(error) => Err(format!("`cargo` could not be started: {error}")),
    }
}

fn dependencies() -> StepResult {
    let installed = Command::new("cargo")
        .args(["deny", "--version"])
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .status();
    if installed.is_ok_and(|status| status.success()) {
        return cargo(&["deny", "check", "bans", "licenses", "sources"]);
    }
    Ok("cargo-deny is not installed; tidy covers licences, bans and sources".to_owned())
}

/// Runs tests, shows what they print as they go, and adds up their results.
fn tests(chosen: &[&str]) -> StepResult {
    let mut test = command(&[&["test", "--workspace", "--locked", "--no-fail-fast"], chosen].concat());
    let mut child = test
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("`cargo` could not be started: {error}"))?;
    let mut totals = Totals::default();
    if let Some(stdout) = child.stdout.take() {
        // Tests may print anything, valid text or not.
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            println!("{line}");
            totals.add(&line);
        }
    }
    let status = child.wait().map_err(|error| format!("`cargo test` was lost: {error}"))?;
    match (status.success(), totals.failed) {
        (true, _) => Ok(totals.to_string()),
        (false, 0) => Err(format!("{totals}; some tests did not build or did not finish")),
        (false, _) => Err(totals.to_string()),
    }
}

/// The sum of the results of all test binaries.
#[derive(Debug, Default, PartialEq, Eq)]
struct Totals {
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Totals {
    /// Adds a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; …`; other lines are not results.
    fn add(&mut self, line: &str) {
        let Some(result) = line.strip_prefix("test result: ") else { return };
        let words: Vec<&str> = result.split([' ', ';']).filter(|word| !word.is_empty()).collect();
        for pair in words.windows(2) {
            let Ok(count) = pair[0].parse::<u64>() else { continue };
            match pair[1] {
                "passed" => self.passed += count,
                "failed" => self.failed += count,
                "ignored" => self.ignored += count,
                _ => {}
            }
        }
    }
}

impl std::fmt::Display for Totals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed, {} ignored", self.passed, self.failed, self.ignored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_add_up() {
        let mut totals = Totals::default();
        for line in [
            "running 3 tests",
            "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 2 filtered out; finished in 0.00s",
            "test result: FAILED. 7 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.00s",
            "a test printed: test result: 9 passed",
        ] {
            totals.add(line);
        }
        assert_eq!(totals, Totals { passed: 10, failed: 2, ignored: 1 });
        assert_eq!(totals.to_string(), "10 passed, 2 failed, 1 ignored");
    }

    #[test]
    fn the_summary_names_what_failed() {
        let outcome = |name, result| (name, Duration::ZERO, result);
        assert_eq!(summary(&[outcome("a", Ok(String::new()))], ""), Ok(()));
        let failed = [outcome("a", Err("x\ny".to_owned())), outcome("b", Ok("z".to_owned()))];
        assert_eq!(summary(&failed, " of two"), Err("failed: a".to_owned()));
    }
}
