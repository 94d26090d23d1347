//! `cargo xtask fuzz`: every property of `onnx_tests::properties`, tried by libFuzzer for as long as one likes.
//!
//! The targets are a separate workspace, `fuzz/`, built by the nightly toolchain into `target/fuzz`. The results are
//! stored there: the corpus, from which the next run continues, failing inputs as files, and the totals of all runs in
//! `figures.json`.

mod figures;
mod log;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{TaskResult, workspace};
use figures::Figures;
use log::Run;

const HELP: &str = "\
cargo xtask fuzz [--minutes N] [--target NAME] [--sanitizer address] [--no-build]

  --minutes N          how long each target runs; 1 by default
  --target NAME        only this target
  --sanitizer address  with the address sanitizer: slower, and sees more where there is unsafe code
  --no-build           run what was built before
  --figures            only print the sum of all runs so far
";

/// The only platform on which libFuzzer is used here.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// What the compiler is asked for, so that the fuzzer sees where an input leads.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
    -Cllvm-args=-sanitizer-coverage-trace-compares --cfg fuzzing";

/// Bounds for each input: longer, slower or hungrier ones are findings.
const BOUNDS: [&str; 4] = ["-max_len=8192", "-timeout=20", "-rss_limit_mb=2048", "-print_final_stats=1"];

/// After this number of failing inputs, a target is stopped until they are fixed.
const FINDINGS: u64 = 20;

struct Options {
    minutes: f64,
    target: Option<String>,
    sanitizer: Option<String>,
    build: bool,
}

/// Runs the task.
pub(crate) fn run(args: &[String]) -> TaskResult {
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        print!("{HELP}");
        return Ok(());
    }
    let home = workspace::target().join("fuzz");
    let mut figures = Figures::read(&home.join("figures.json"))?;
    if args.iter().any(|arg| arg == "--figures") {
        print!("{}", figures.table());
        return Ok(());
    }
    let options = options(args)?;
    let targets = targets()?;
    if let Some(name) = options.target.as_ref().filter(|name| !targets.contains(name)) {
        return Err(format!("there is no target `{name}`; there are {}", targets.join(", ")));
    }
    if options.build {
        build(&home, options.sanitizer.as_deref())?;
    }
    let mut findings = 0;
    for target in targets.iter().filter(|target| options.target.as_ref().is_none_or(|name| name == *target)) {
        let run = fuzz(&home, target, options.minutes)?;
        println!("{target}: {run}");
        findings += run.findings;
        figures.add(target, &run);
        figures.write()?;
    }
    println!("\nthe sum of all runs so far:\n{}", figures.table());
    if findings == 0 {
        return Ok(());
    }
    let folder = home.join("artifacts");
    Err(format!(
        "{findings} findings, in {}; once fixed, copy each to tests/regressions/<target>/<what-was-wrong>",
        folder.display()
    ))
}

fn options(args: &[String]) -> Result<Options, String> {
    let mut options = Options { minutes: 1.0, target: None, sanitizer: None, build: true };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().cloned().ok_or_else(|| format!("`{arg}` takes a value\n\n{HELP}"));
        match arg.as_str() {
            "--minutes" => {
                let text = value()?;
                let minutes = text.parse::<f64>().ok().filter(|minutes| (0.01..=10_000.0).contains(minutes));
                options.minutes = minutes.ok_or_else(|| format!("`{text}` is not a number of minutes"))?;
            }
            "--target" => options.target = Some(value()?),
            "--sanitizer" => options.sanitizer = Some(value()?),
            "--no-build" => options.build = false,
            other => return Err(format!("fuzz takes no argument `{other}`\n\n{HELP}")),
        }
    }
    Ok(options)
}

/// The names of the targets, in the order in which `fuzz/Cargo.toml` lists them.
fn targets() -> Result<Vec<String>, String> {
    let path = workspace::root().join("fuzz/Cargo.toml");
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let files = text.lines().filter_map(|line| line.strip_prefix("path = \"fuzz_targets/"));
    Ok(files.filter_map(|rest| rest.strip_suffix(".rs\"")).map(str::to_owned).collect())
}

/// Builds the targets, and writes the inputs to start from.
fn build(home: &Path, sanitizer: Option<&str>) -> TaskResult {
    let seeds = home.join("seeds").to_string_lossy().into_owned();
    workspace::run(
        "cargo",
        &["run", "--quiet", "--locked", "--package", "onnx-tests", "--bin", "seeds", "--", &seeds],
    )?;
    let mut flags = COVERAGE.to_owned();
    if let Some(name) = sanitizer {
        flags.push_str(" -Zsanitizer=");
        flags.push_str(name);
    }
    println!("building the targets with the nightly toolchain, which takes some minutes");
    let status = Command::new("cargo")
        // Not locked: the lock file of the targets follows that of the main workspace.
        .args(["+nightly", "build", "--release", "--bins", "--target", PLATFORM, "--target-dir"])
        .arg(home)
        .current_dir(workspace::root().join("fuzz"))
        .env("RUSTFLAGS", flags)
        // What the task itself was built with says nothing about another toolchain.
        .env_remove("RUSTC")
        .env_remove("RUSTUP_TOOLCHAIN")
        .env_remove("CARGO")
        .status()
        .map_err(|error| format!("`cargo` could not be started: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("the targets were not built: {status}")) }
}

/// Runs one target until its time is over; each finding ends the fuzzer, which is started again.
fn fuzz(home: &Path, target: &str, minutes: f64) -> Result<Run, String> {
    let end = Duration::from_secs_f64(minutes * 60.0);
    let start = Instant::now();
    let folder = |name: &str| -> Result<PathBuf, String> {
        let folder = home.join(name).join(target);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(folder)
    };
    let (corpus, seeds, artifacts) = (folder("corpus")?, folder("seeds")?, folder("artifacts")?);
    let program = home.join(PLATFORM).join("release").join(target);
    let mut sum = Run::default();
    while start.elapsed() + Duration::from_secs(1) < end && sum.findings < FINDINGS {
        let left = (end - start.elapsed()).as_secs().max(1);
        let output = Command::new(&program)
            .args([&corpus, &seeds])
            .args(BOUNDS)
            .arg(format!("-max_total_time={left}"))
            .arg(format!("-artifact_prefix={}/", artifacts.display()))
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("`{}` could not be started: {error}", program.display()))?;
        let text = String::from_utf8_lossy(&output.stderr);
        let run = Run::of(&text, output.status.success());
        if let Some(finding) = run.finding.as_ref() {
            println!("{target}: {finding}");
        }
        sum.add(&run);
    }
    sum.seconds = start.elapsed().as_secs_f64();
    Ok(sum)
}
