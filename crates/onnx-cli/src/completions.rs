//! `onnx completions`: a script that teaches a shell the command line.

use clap::builder::PossibleValuesParser;
use clap::{Arg, Command, CommandFactory as _};
use clap_complete::Shell;
use onnx_pass::Pass;
use onnx_types::{ElemType, LIMITS};

use crate::args::{Cli, CompletionsArgs, program};
use crate::exit::{Failure, Outcome};
use crate::output::Out;
use crate::{rules, targets};

pub(crate) fn run(args: &CompletionsArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut with_values(program(), &Values::new()), "onnx", &mut script);
    if args.shell == Shell::Bash {
        script = with_attached_values(&script)?;
    }
    out.bytes([script.as_slice()])?;
    Ok(Outcome::Fine)
}

/// The script for Bash, in which `--option=value` is three words: the generated one takes `=` as the option.
fn with_attached_values(script: &[u8]) -> Result<Vec<u8>, Failure> {
    const PREVIOUS: &str = "    prev=\"$3\"\n";
    let script = std::str::from_utf8(script).map_err(Failure::defect)?;
    let (before, after) = script
        .split_once(PREVIOUS)
        .ok_or_else(|| Failure::defect("the script for Bash has no previous word"))?;
    let option = "    if [[ \"${prev}\" == \"=\" && ${COMP_CWORD} -ge 2 ]]; then\n        \
                  prev=\"${COMP_WORDS[COMP_CWORD-2]}\"\n    fi\n";
    Ok([before, PREVIOUS, option, after].concat().into_bytes())
}

/// The names that arguments take, which their parsers do not list.
struct Values {
    commands: Vec<String>,
    operators: Vec<String>,
    passes: Vec<String>,
    rules: Vec<String>,
    limits: Vec<String>,
    targets: Vec<String>,
    quantized: Vec<String>,
}

impl Values {
    fn new() -> Self {
        let cli = Cli::command();
        let commands = cli.get_subcommands().filter(|command| !command.is_hide_set());
        let operators = onnx_schema::operators().filter_map(<[_]>::first);
        let quantized = ElemType::all().filter(|&elem| onnx_quantize::is_quantized_type(elem));
        Self {
            commands: commands.map(|command| command.get_name().to_owned()).collect(),
            operators: operators.map(|schema| schema.name().to_owned()).collect(),
            passes: Pass::standard().iter().map(|pass| pass.name().to_owned()).collect(),
            rules: rules::all().into_iter().map(|rule| rule.slug.to_owned()).collect(),
            limits: LIMITS.iter().map(|limit| limit.name.to_owned()).collect(),
            targets: targets::names().map(str::to_owned).collect(),
            quantized: quantized.map(|elem| elem.to_string()).collect(),
        }
    }

    /// The values of an argument of a command, for a shell.
    fn of(&self, command: &str, argument: &Arg) -> Option<Vec<String>> {
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let long = argument.get_long().unwrap_or_default();
        Some(match (command, long) {
            (_, "target") => self.targets.clone(),
            (_, "pass") => self.passes.clone(),
            (_, "limit") => self.limits.iter().map(|name| format!("{name}=")).collect(),
            (_, "allow") => self.rules.clone(),
            (_, "deny") => [words(&["warnings", "notes"]), self.rules.clone()].concat(),
            (_, "weights") => words(&["auto", "keep", "embed", "external"]),
            (_, "with") => words(&["onnxruntime"]),
            ("quantize", "to" | "weight-type") => self.quantized.clone(),
            ("smith", "op") => self.operators.clone(),
            ("show", "") if argument.get_id() == "op" => self.operators.clone(),
            ("explain", "") => {
                [&self.rules, &self.passes, &self.limits, &self.targets].map(Clone::clone).concat()
            }
            ("man", "") => self.commands.clone(),
            _ => return None,
        })
    }
}

/// The command with these values, which would be too strict for reading arguments: targets can be files, passes a list.
fn with_values(command: Command, values: &Values) -> Command {
    let name = command.get_name().to_owned();
    let command = command.mut_args(|argument| {
        let is_free = argument.get_action().takes_values() && argument.get_possible_values().is_empty();
        match values.of(&name, &argument).filter(|_| is_free) {
            // The process ends with the script.
            Some(values) => argument
                .value_parser(PossibleValuesParser::new(values.into_iter().map(|value| &*value.leak()))),
            None => argument,
        }
    });
    command.mut_subcommands(|subcommand| with_values(subcommand, values))
}
