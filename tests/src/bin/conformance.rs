//! `conformance`: how far this implementation agrees with the reference and with itself. Run it with
//! `cargo xtask conformance`, which builds it first.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program talks to its terminal")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use onnx_tests::conformance::data::Data;
use onnx_tests::conformance::runner::{Options, Suite, run};
use onnx_tests::conformance::{bundle, suites};

const HELP: &str = "\
cargo xtask conformance [--suite NAME] [--corpus PATH] [--models PATH] [--case ID] [--jobs N] [--list N]

  --suite NAME   only this suite: roundtrip, text, check, infer or models
  --corpus PATH  recorded cases of the reference: a folder with manifest*.jsonl and blobs, or its archives
  --models PATH  models: a folder of .onnx files, or .tar.zst archives of them
  --case ID      only the cases whose identifier contains ID
  --op NAME      in the suites infer and models: only what is found at nodes of this operator
  --jobs N       look at N cases at once; as many as there are processors by default
  --list N       list up to N failures of each kind; 10 by default
  --program PATH the program `onnx`, which is asked the same questions; `cargo xtask conformance --cli` gives it
  --bundle       with --corpus and --models: choose anew the models in tests/models

Without --corpus and --models the models in tests/models are covered, and failures are compared with the committed
ones in tests/conformance/results; BLESS=1 writes them.
";

struct Arguments {
    suite: Option<String>,
    data: Data,
    options: Options,
    list: usize,
    bundle: bool,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| matches!(argument.as_str(), "--help" | "-h")) {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    match parse(&arguments).and_then(|arguments| conformance(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("conformance: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn parse(arguments: &[String]) -> Result<Arguments, String> {
    let jobs = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let mut parsed = Arguments {
        suite: None,
        data: Data::default(),
        options: Options { jobs, only: None },
        list: 10,
        bundle: false,
    };
    let mut arguments = arguments.iter();
    while let Some(name) = arguments.next() {
        if name == "--bundle" {
            parsed.bundle = true;
            continue;
        }
        let value = arguments.next().ok_or_else(|| format!("`{name}` needs a value"))?;
        let number = || match value.parse::<usize>() {
            Ok(number) if number > 0 => Ok(number),
            _ => Err(format!("`{name}` needs a number above 0, not `{value}`")),
        };
        match name.as_str() {
            "--suite" => parsed.suite = Some(value.clone()),
            "--corpus" => parsed.data.corpus = Some(existing(value)?),
            "--program" => parsed.data.program = Some(existing(value)?),
            "--models" => parsed.data.models = Some(existing(value)?),
            "--op" => parsed.data.op = Some(value.clone()),
            "--case" => parsed.options.only = Some(value.clone()),
            "--jobs" => parsed.options.jobs = number()?,
            "--list" => parsed.list = number()?,
            _ => return Err(format!("there is no argument `{name}`\n\n{HELP}")),
        }
    }
    Ok(parsed)
}

fn existing(path: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(path);
    if path.exists() { Ok(path) } else { Err(format!("`{}` does not exist", path.display())) }
}

fn conformance(arguments: &Arguments) -> Result<(), String> {
    if arguments.bundle {
        return bundle::choose(&arguments.data).map(|summary| println!("{summary}"));
    }
    let mut suites = suites::all()?;
    if let Some(wanted) = &arguments.suite {
        suites.retain(|suite| suite.name() == wanted);
        if suites.is_empty() {
            return Err(format!("there is no suite `{wanted}`"));
        }
    }
    // Inputs of an earlier run would mislead; it is fine when there are none.
    let _ = std::fs::remove_dir_all(target()?.join("failed"));
    let mut reports = Vec::new();
    let mut problems = Vec::new();
    for suite in &suites {
        one_suite(suite.as_ref(), arguments, &mut reports, &mut problems)?;
    }
    write_report(&reports)?;
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

fn one_suite(
    suite: &dyn Suite,
    arguments: &Arguments,
    reports: &mut Vec<serde_json::Value>,
    problems: &mut Vec<String>,
) -> Result<(), String> {
    let report = run(suite, &arguments.data, &arguments.options)?;
    print!("{}", report.listing(arguments.list));
    println!("{}", suite.summary(&report));
    println!("{}: {} cases in {:.1} s", suite.name(), report.cases(), report.time().as_secs_f64());
    if arguments.options.only.is_none() && arguments.data.is_bundled() {
        let bless = std::env::var_os("BLESS").is_some();
        problems.extend(report.compare(bless).err());
    } else {
        match report.unexplained() {
            Ok(0) if report.failures().is_empty() => {}
            Ok(0) => println!("{}: every failure is a deviation with a reason", suite.name()),
            Ok(unexplained) => problems.push(format!("{}: {unexplained} failures", suite.name())),
            Err(problem) => problems.push(problem),
        }
    }
    let failed = target()?.join("failed");
    report
        .write_inputs(&failed, arguments.list)
        .map_err(|error| format!("`{}`: {error}", failed.display()))?;
    reports.push(report.json());
    Ok(())
}

/// Where the report goes.
fn target() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("the workspace has no folder")?;
    Ok(root.join("target/conformance"))
}

fn write_report(reports: &[serde_json::Value]) -> Result<(), String> {
    let path = target()?.join("report.json");
    let fail = |error: std::io::Error| format!("`{}` cannot be written: {error}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(fail)?;
    }
    let text = serde_json::to_string_pretty(reports).map_err(|error| error.to_string())?;
    std::fs::write(&path, text).map_err(fail)?;
    println!("report: {}", path.display());
    Ok(())
}
