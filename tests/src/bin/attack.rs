//! `attack`: random models held against onnxruntime. Run it with `cargo xtask attack infer`, which builds it first.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program talks to its terminal")]

use std::path::PathBuf;
use std::process::ExitCode;

use onnx_tests::attack::generate::generate;
use onnx_tests::attack::runner::{Options, Runner};

const HELP: &str = "\
cargo xtask attack infer [--count N] [--seconds N] [--seed S] [--shrink N] [--folder PATH]

  --count N      the number of models; 1000 by default
  --seconds N    begin no further model after so many seconds
  --seed S       the seed of the first model; the others follow
  --shrink N     reduce so many failures of each class to small models; 2 by default
  --folder PATH  where reports and reproducers are written; target/attack by default
  --record FILE  append the models without failures to a file, with what was observed, for the replay in CI
  --print        print the model of the seed, and run nothing
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.iter().any(|argument| matches!(argument.as_str(), "--help" | "-h")) {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    match attack(&arguments) {
        Ok(code) => code,
        Err(problem) => {
            eprintln!("attack: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn attack(arguments: &[String]) -> Result<ExitCode, String> {
    let (kind, rest) = arguments.split_first().ok_or(HELP)?;
    if kind != "infer" {
        return Err(format!("unknown attack `{kind}`\n\n{HELP}"));
    }
    let mut options = Options {
        count: 1000,
        seed: 0,
        shrunk: 2,
        folder: PathBuf::from("target/attack"),
        seconds: 0,
        progress: 100,
        record: None,
    };
    let mut is_printed = false;
    let mut rest = rest.iter();
    while let Some(name) = rest.next() {
        if name == "--print" {
            is_printed = true;
            continue;
        }
        let value = rest.next().ok_or_else(|| format!("`{name}` needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("`{name}` needs a number, not `{value}`"));
        match name.as_str() {
            "--count" => options.count = number()?,
            "--seconds" => options.seconds = number()?,
            "--seed" => options.seed = number()?,
            "--shrink" => options.shrunk = usize::try_from(number()?).unwrap_or(usize::MAX),
            "--record" => options.record = Some(PathBuf::from(value)),
            "--folder" => options.folder = PathBuf::from(value),
            _ => return Err(format!("unknown argument `{name}`\n\n{HELP}")),
        }
    }
    if is_printed {
        let case = generate(options.seed)?;
        println!("# {:?}\n{}", case.sizes, case.text);
        return Ok(ExitCode::SUCCESS);
    }
    let summary = Runner::new(options).run(&mut |text| eprint!("{text}"))?;
    print!("{}", summary.table());
    Ok(if summary.classes.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
