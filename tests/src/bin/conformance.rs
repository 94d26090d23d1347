//! `conformance`: how far this implementation agrees with the reference and with itself. Run it with
//! `cargo xtask conformance`, which builds it first.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program talks to its terminal")]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use onnx_tests::conformance::data::Data;
use onnx_tests::conformance::report::Report;
use onnx_tests::conformance::runner::{Options, Suite, run};
use onnx_tests::conformance::{bundle, html, suites};

const HELP: &str = "\
cargo xtask conformance [--suite NAME] [--corpus PATH] [--backend PATH] [--models PATH] [--case ID] [--jobs N] [--list N]

  --suite NAME   only this suite: roundtrip, text, check, infer, models, execution,
                 contrib, backend, smith, bodies, inline, convert, compose, passes, simplify, expand, eval, quantize,
                 models-eval, models-simplify, models-convert or runtime; or upstream, the reference's own tests
                 in Python, which has other arguments: --suite upstream --help
  --corpus PATH  recorded cases of the reference: a folder with manifest*.jsonl and blobs, or its archives
  --backend PATH the official backend tests with their data: a folder, or an archive of it
  --models PATH  models: a folder of .onnx files, or .tar.zst archives of them
  --case ID      only the cases whose identifier contains ID
  --op NAME      in the suites infer and models: only what is found at nodes of this operator
  --trust-defaults  in the suite infer: initializers that are inputs, too, count as constants, as in the reference
  --runs FILE    in the suite execution: what tests/conformance/execute.py wrote down of runs of the cases
  --count N      in the suites smith, passes, simplify, expand, eval and quantize: how many models are generated
  --seed S       in the suites passes, simplify, eval and quantize: the seed of the first model; the others follow
  --jobs N       visits N cases at once; as many as there are processors by default
  --list N       list up to N failures of each kind; 10 by default
  --program PATH the program `onnx`, which is asked the same questions; `cargo xtask conformance --cli` gives it
  --reference PATH the official models and the reference's answers, beside what is covered otherwise
  --bundle       with --corpus and --models: choose anew the models in tests/models
  --offline      go without the reference and onnxruntime where they are missing: compare with what is committed

Without --corpus and --models the models in tests/models are covered. Failures need a reason in
tests/conformance/deviations; the others of the bundled models are compared with the committed ones in
tests/conformance/results, which BLESS=1 writes. A run fails if it has no case, or if a peer that a suite asks is missing.
`cargo xtask conformance` makes an environment with the peers, and takes one more:

  --cli          build the program `onnx` and ask it, too
";

struct Arguments {
    suite: Option<String>,
    data: Data,
    options: Options,
    list: usize,
    bundle: bool,
    /// Whether suites do without their peers.
    offline: bool,
    /// A corpus that comes on top.
    reference: Option<PathBuf>,
}

/// The result of a suite on a collection.
struct Done {
    collection: &'static str,
    report: Report,
    summary: String,
    unexplained: usize,
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
        offline: false,
        reference: None,
    };
    let mut arguments = arguments.iter();
    while let Some(name) = arguments.next() {
        if matches!(name.as_str(), "--bundle" | "--trust-defaults" | "--offline") {
            parsed.bundle |= name == "--bundle";
            parsed.offline |= name == "--offline";
            parsed.data.trust_defaults |= name == "--trust-defaults";
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
            "--backend" => parsed.data.backend = Some(existing(value)?),
            "--program" => parsed.data.program = Some(existing(value)?),
            "--models" => parsed.data.models = Some(existing(value)?),
            "--reference" => parsed.reference = Some(existing(value)?),
            "--runs" => parsed.data.runs = Some(existing(value)?),
            "--op" => parsed.data.op = Some(value.clone()),
            "--case" => parsed.options.only = Some(value.clone()),
            "--count" => parsed.data.count = Some(number()?),
            "--seed" => parsed.data.seed = Some(number()? as u64),
            "--jobs" => parsed.options.jobs = number()?,
            "--list" => parsed.list = number()?,
            _ => return Err(format!("unknown argument `{name}`\n\n{HELP}")),
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
            return Err(format!("unknown suite `{wanted}`"));
        }
    }
    // Inputs of an earlier run would mislead; it is fine when there are none.
    let _ = std::fs::remove_dir_all(target()?.join("failed"));
    let mut collections =
        vec![(if arguments.data.is_bundled() { "bundled" } else { "given" }, arguments.data.clone())];
    if let Some(reference) = &arguments.reference {
        let corpus = Some(reference.clone());
        collections
            .push(("reference", Data { corpus, models: None, backend: None, ..arguments.data.clone() }));
    }
    let (mut done, mut problems) = (Vec::new(), Vec::new());
    for (collection, data) in &collections {
        for suite in &suites {
            done.push(one_suite(suite.as_ref(), collection, data, arguments, &mut problems)?);
        }
    }
    problems.extend(without_cases(&suites, &done, arguments));
    print!("{}", table(&done));
    write_report(&done)?;
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

fn one_suite(
    suite: &dyn Suite,
    collection: &'static str,
    data: &Data,
    arguments: &Arguments,
    problems: &mut Vec<String>,
) -> Result<Done, String> {
    let absent = suite.peer(data).filter(|_| !arguments.offline).and_then(|peer| peer.absent());
    if let Some(reason) = absent {
        let offline = "`--offline` compares only with what is committed";
        return Err(format!("{}, {collection}: {reason}; {offline}", suite.name()));
    }
    let report = run(suite, data, &arguments.options)?;
    let summary = suite.summary(&report);
    println!("\n{}, {collection}:", suite.name());
    print!("{}", report.listing(arguments.list));
    println!("{summary}");
    for stale in report.stale_deviations() {
        println!("remark: this listed deviation explains nothing in this run: {stale}");
        if suite.refuses_stale_deviations() {
            problems.push(format!("{}, {collection}: remove the deviation `{stale}`", suite.name()));
        }
    }
    let mut unexplained = 0;
    if arguments.options.only.is_none() && data.is_bundled() && suite.has_bundled_cases() {
        let bless = std::env::var_os("BLESS").is_some();
        if let Err(problem) = report.compare(bless) {
            unexplained = problem.lines().count();
            problems.push(problem);
        }
    } else {
        unexplained = report.unexplained()?;
        if unexplained > 0 {
            problems.push(format!("{}, {collection}: {unexplained} failures", suite.name()));
        }
    }
    let failed = target()?.join("failed");
    report
        .write_inputs(&failed, arguments.list)
        .map_err(|error| format!("`{}`: {error}", failed.display()))?;
    Ok(Done { collection, report, summary, unexplained })
}

/// What is wrong with a run without a case: a suite that was asked for, or all of them.
fn without_cases(suites: &[Box<dyn Suite>], done: &[Done], arguments: &Arguments) -> Option<String> {
    if done.iter().any(|done| done.report.cases() > 0) {
        return None;
    }
    let reason = match (&arguments.options.only, suites) {
        (Some(only), _) => format!("no case contains `{only}`"),
        (None, [suite]) if suite.peer(&arguments.data).is_some_and(|peer| peer.absent().is_some()) => {
            "it needs a peer, so that it has no cases with `--offline`".to_owned()
        }
        (None, [suite]) => suite.needs().to_owned(),
        (None, _) => "no suite has cases with these arguments".to_owned(),
    };
    Some(format!("{}: no case was visited: {reason}", arguments.suite.as_deref().unwrap_or("all suites")))
}

/// The results in short.
fn table(done: &[Done]) -> String {
    let mut text = format!(
        "\n{:<10} {:<10} {:>7} {:>9} {:>14} {:>8} {:>8}\n",
        "suite", "cases of", "cases", "failures", "with a reason", "without", "seconds"
    );
    for Done { collection, report, unexplained, .. } in done {
        let failures = report.failures().len();
        text.push_str(&format!(
            "{:<10} {collection:<10} {:>7} {failures:>9} {:>14} {unexplained:>8} {:>8.1}\n",
            report.suite(),
            report.cases(),
            failures.saturating_sub(*unexplained),
            report.time().as_secs_f64(),
        ));
    }
    text
}

/// Where the report goes.
fn target() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("the workspace has no folder")?;
    Ok(root.join("target/conformance"))
}

/// Writes `report.json` for machines and `report.html` for people.
#[expect(clippy::disallowed_methods, reason = "a developer reads it")]
fn write_report(done: &[Done]) -> Result<(), String> {
    let folder = target()?;
    let fail = |error: std::io::Error| format!("`{}` cannot be written: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(fail)?;
    let reports: Vec<_> = (done.iter())
        .map(|done| {
            let mut json = done.report.json();
            json["collection"] = done.collection.into();
            json["unexplained"] = done.unexplained.into();
            json
        })
        .collect();
    let text = serde_json::to_string_pretty(&reports).map_err(|error| error.to_string())?;
    std::fs::write(folder.join("report.json"), text).map_err(fail)?;
    let rows: Vec<_> = (done.iter())
        .map(|Done { collection, report, summary, unexplained }| html::Row {
            collection,
            report,
            summary,
            unexplained: *unexplained,
        })
        .collect();
    std::fs::write(folder.join("report.html"), html::page(&rows)).map_err(fail)?;
    println!("report: {0}/report.json and {0}/report.html", folder.display());
    Ok(())
}
