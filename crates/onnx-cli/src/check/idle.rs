//! Options of `onnx check` that would have no effect: refused with the reason.

use std::path::{Path, PathBuf};

use crate::args::{CheckArgs, RuleProfile};
use crate::exit::Failure;
use crate::input::display_name;
use crate::ops::documents;
use crate::part::Part;
use crate::rule_files;

/// What a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Model,
    Part,
    Rules,
    OperatorSet,
}

impl Content {
    /// What is expected in a file. Its extension says it, unless the arguments do.
    pub(super) fn of(path: &Path, args: &CheckArgs) -> Self {
        match () {
            () if args.part != Part::Model => Self::Part,
            () if args.input.from.is_some() => Self::Model,
            () if rule_files::is_rule_file(path) => Self::Rules,
            () if documents::is_document(path) => Self::OperatorSet,
            () => Self::Model,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Model => "a model",
            Self::Part => "a part of a model",
            Self::Rules => "rewrite rules",
            Self::OperatorSet => "an operator set",
        }
    }

    /// The options that are given and have no effect on this, and what they are for.
    fn idle(self, args: &CheckArgs) -> Vec<(&'static str, &'static str)> {
        const MODELS: &str = "models";
        const WHOLE: &str = "whole models";
        let of_models = [
            (!args.shapes.is_empty(), "--shapes", WHOLE),
            (args.fast, "--fast", WHOLE),
            (args.full, "--full", WHOLE),
        ];
        let of_parts = [
            (args.target.is_some(), "--target", MODELS),
            (args.data, "--data", MODELS),
            (args.input.data_dir.is_some(), "--data-dir", MODELS),
            (args.check_custom_domains, "--check-custom-domains", MODELS),
            (args.skip_opset_compatibility, "--skip-opset-compatibility", MODELS),
            (args.recommendations, "--recommendations", MODELS),
        ];
        let prove = [(args.prove, "--prove", "rule files and claims")];
        let reference = [(args.profile == RuleProfile::Reference, "--profile reference", MODELS)];
        let options: &[&[(bool, &'static str, &'static str)]] = match self {
            Self::Model => &[],
            Self::Part => &[&of_models, &prove],
            Self::Rules => &[&of_models, &of_parts, &reference],
            Self::OperatorSet => &[&of_models, &of_parts, &prove, &reference],
        };
        let given = options.iter().flat_map(|options| options.iter()).filter(|(is_given, ..)| *is_given);
        given.map(|&(_, option, what)| (option, what)).collect()
    }
}

/// Refuses options that would have no effect, whatever the files are.
pub(super) fn refuse(args: &CheckArgs) -> Result<(), Failure> {
    if args.part == Part::Model && (args.ir_version.is_some() || !args.opsets.is_empty()) {
        return Err(Failure::new("a model states its IR version and its operator sets itself")
            .help("`--ir-version` and `--opset` are for parts: see `--as`"));
    }
    let of_specification = [(args.notes, "--notes"), (args.recommendations, "--recommendations")];
    let given = of_specification.into_iter().find(|(is_given, _)| *is_given);
    match given.filter(|_| args.profile == RuleProfile::Reference) {
        Some((_, option)) => Err(Failure::new(format_args!(
            "`{option}` is not for `--profile reference`: the reference reports errors only"
        ))
        .help("leave one of them out")),
        None => Ok(()),
    }
}

/// Refuses an option that would have no effect on any file. Of several files, as a hook or a directory names them, an option is for
/// those that have a use for it.
pub(super) fn refuse_for(args: &CheckArgs, files: &[Result<PathBuf, Failure>]) -> Result<(), Failure> {
    let mut paths = files.iter().filter_map(|file| file.as_deref().ok());
    let Some(path) = paths.next() else { return Ok(()) };
    let content = Content::of(path, args);
    let mut idle = content.idle(args);
    for other in paths {
        if idle.is_empty() {
            return Ok(());
        }
        let of_other = Content::of(other, args).idle(args);
        idle.retain(|option| of_other.contains(option));
    }
    match idle.first() {
        None => Ok(()),
        Some((option, what)) => {
            let name = display_name(path);
            let message = format_args!("{name}: `{option}` is for {what}, and this is {}", content.name());
            Err(Failure::new(message).help(format!("leave `{option}` away for this file")))
        }
    }
}
