//! `cargo xtask bench`: the criterion benches, or with `--peers` a run side by side with other tools.
//!
//! Absolute times say more about the machine than about the code. Each operation is therefore measured interleaved with
//! its peer, in one run, and only the ratio of the medians has a target. If both sides only compute, processor times
//! are used, on which other load has little effect.

mod bars;
mod page;
mod peers;

use std::path::PathBuf;

use crate::TaskResult;

const HELP: &str = "\
cargo xtask bench [ARGUMENT…]          the criterion benches; the arguments go to them, such as `--quick` or a name
cargo xtask bench --peers [--quick] [--models DIR]
                        [--only load|memory|weights|growth|text|forms|check|functions|convert|passes|simplify|infer|eval|rust]
                                       side by side with other tools, in an environment under target/bench;
                                       writes docs/performance.md unless `--quick`; `simplify` takes all models of DIR,
                                       which must have the numbers of their weights, with every simplifier
";

/// Runs the task.
pub(crate) fn run(args: &[String]) -> TaskResult {
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        print!("{HELP}");
        return Ok(());
    }
    if args.iter().any(|arg| arg == "--peers") {
        return peers::run(&options(args)?);
    }
    let mut command = vec!["bench", "-p", "onnx-benches", "--"];
    command.extend(args.iter().map(String::as_str));
    crate::workspace::run("cargo", &command)
}

/// What a run side by side is asked for.
struct Options {
    /// Small models and few rounds: whether it works, not how fast it is.
    quick: bool,
    /// The one group to run; all when empty.
    only: String,
    /// A folder of real models, to measure these, too.
    models: Option<PathBuf>,
}

fn options(args: &[String]) -> Result<Options, String> {
    let mut options = Options { quick: false, only: String::new(), models: None };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--peers" => {}
            "--quick" => options.quick = true,
            "--only" => {
                let group = args.next().cloned().unwrap_or_default();
                if !peers::GROUPS.iter().any(|(name, _)| *name == group) {
                    return Err(format!("there is no group `{group}`\n\n{HELP}"));
                }
                options.only = group;
            }
            "--models" => {
                let folder = args.next().ok_or("`--models` takes a folder")?;
                options.models = Some(PathBuf::from(folder));
            }
            other => return Err(format!("bench --peers takes no argument `{other}`\n\n{HELP}")),
        }
    }
    Ok(options)
}
