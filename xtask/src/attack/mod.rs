//! `cargo xtask attack <kind>`: independent stress tests, which look for what the other tests did not think of.
//!
//! Each kind is one module with one `run` function that receives the arguments after the kind's name.

mod infer;

use crate::TaskResult;

const HELP: &str = "\
cargo xtask attack <kind>

  infer         random models held against onnxruntime: --count N, --seed S; `attack infer --help` lists all
";

/// Runs the task.
pub(crate) fn run(args: &[String]) -> TaskResult {
    match args.split_first() {
        Some((kind, rest)) if kind == "infer" => infer::run(rest),
        None => {
            print!("{HELP}");
            Ok(())
        }
        Some((help, _)) if matches!(help.as_str(), "help" | "--help" | "-h") => {
            print!("{HELP}");
            Ok(())
        }
        Some((other, _)) => Err(format!("there is no attack `{other}`\n\n{HELP}")),
    }
}
