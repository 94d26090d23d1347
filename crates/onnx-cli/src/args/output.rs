//! Arguments of every command that writes files.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};

use super::COMMON;
use crate::exit::Failure;
use crate::format::{self, Format};
use crate::input::is_stream;
use crate::output::Out;
use crate::report::ModelReportArgs;
use crate::size;
use crate::store::{self, Effect};
use crate::weights::Placement;

/// How to write files.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct OutputArgs {
    /// Replace existing files of other kinds; external data that the input reads is never replaced.
    #[arg(long, display_order = 93, help_heading = COMMON)]
    pub(crate) force: bool,
}

/// Where and how a command writes a model. The option for its format has a separate type, since a command can have another option
/// of that name.
#[derive(Debug, Args)]
pub(crate) struct ModelOutputArgs<F: Args = FormatArgs> {
    /// Where to write; `-` is standard output.
    ///
    /// Without this, nothing is written: the summary states what would be.
    #[arg(short, long = "output", value_name = "OUT", value_hint = ValueHint::FilePath)]
    pub(crate) output_file: Option<PathBuf>,
    /// Do all the work and print the summary, but write no model and no data.
    #[arg(long, help_heading = COMMON)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) to: F,
    #[command(flatten)]
    pub(crate) weights: WeightsArgs,
    #[command(flatten)]
    pub(crate) report: ModelReportArgs,
    #[command(flatten)]
    pub(crate) write: OutputArgs,
}

/// The format of the model that a command writes.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct FormatArgs {
    /// The format of the output; without this, the extension decides, and standard output is `onnx`.
    #[arg(id = "output_format", long = "to", value_enum, value_name = "FORMAT", help_heading = COMMON)]
    pub(crate) format: Option<Format>,
}

/// No option: the format is that of the extension.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct FormatOfExtension;

/// The format that a user specifies for the output.
pub(crate) trait OutputFormat {
    /// How to name a format where the extension stands for none.
    const HELP: &str;

    /// The format; `None` if the extension decides.
    fn format(&self) -> Option<Format>;
}

impl OutputFormat for FormatArgs {
    const HELP: &str = "use .onnx, .onnxtxt, .textproto or .json, or say the format with `--to`";

    fn format(&self) -> Option<Format> {
        self.format
    }
}

impl OutputFormat for FormatOfExtension {
    const HELP: &str = "use .onnx, .onnxtxt, .textproto or .json";

    fn format(&self) -> Option<Format> {
        None
    }
}

/// Whether the output replaces the input.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct InPlaceArgs {
    /// Replace the input, which must be a regular file.
    #[arg(long, conflicts_with = "output_file")]
    pub(crate) in_place: bool,
}

/// The input of a command that changes models.
pub(crate) struct Changed<'a> {
    pub(crate) path: &'a Path,
    /// Its format, if the user specifies it.
    pub(crate) from: Option<Format>,
    /// Whether it is replaced.
    pub(crate) in_place: bool,
}

impl<F: Args + OutputFormat> ModelOutputArgs<F> {
    /// Where the output of a command goes, whose input is `changed`. Everything that is impossible is refused here, before
    /// any work is done.
    pub(crate) fn placement<'a>(
        &'a self,
        changed: Option<&Changed<'a>>,
        external: &'a ExternalArgs,
        out: &mut Out,
    ) -> Result<Placement<'a>, Failure> {
        let in_place = changed.filter(|changed| changed.in_place);
        if let Some(Changed { path, from, .. }) = in_place {
            check_in_place(path, from.or_else(|| Format::of(path)))?;
        }
        if let (Some(output), Some(changed)) = (self.output_file.as_deref(), changed)
            && Format::of(output) == Some(Format::Onnxtxt)
            && is_same_file(output, changed.path)
        {
            return Err(comments_would_be_lost("use another file for `-o`"));
        }
        let output = self.output_file.as_deref().or(in_place.map(|changed| changed.path));
        let from = changed.and_then(|changed| changed.from);
        let placement = match output {
            Some(path) => Placement {
                path,
                format: format::of_output(
                    path,
                    self.to.format().or(from.filter(|_| in_place.is_some())),
                    F::HELP,
                )?,
                effect: if self.dry_run { Effect::DryRun } else { Effect::Write },
                weights: &self.weights.weights,
                external,
            },
            None => {
                // The output is not named; it would be where the input is.
                let path = changed.map_or(Path::new("model.onnx"), |changed| changed.path);
                let format = self.to.format().or(from).or_else(|| Format::of(path)).unwrap_or(Format::Onnx);
                let weights = &self.weights.weights;
                Placement { path, format, effect: Effect::NoOutput("-o OUT"), weights, external }
            }
        };
        if placement.effect == Effect::Write {
            out.hold_summaries();
        }
        match placement.effect {
            Effect::Write if is_stream(placement.path) => out.be_brief(),
            Effect::Write => {}
            Effect::DryRun | Effect::NoOutput(_) => out.summary_is_result(),
        }
        placement.check()?;
        self.report.check(changed.map(|changed| changed.path), output, out)?;
        if output.is_some() {
            let help = "redirect it, or choose a format of text: `--to textproto`";
            store::refuse_terminal(placement.path, placement.format, help)?;
        }
        Ok(placement)
    }
}

fn check_in_place(path: &Path, format: Option<Format>) -> Result<(), Failure> {
    if is_stream(path) {
        return Err(Failure::new("`--in-place` needs a regular file").help("use `-o OUT`"));
    }
    if format == Some(Format::Onnxtxt) {
        return Err(comments_would_be_lost("use `-o OUT`"));
    }
    Ok(())
}

fn comments_would_be_lost(help: &str) -> Failure {
    Failure::new("a text is not replaced, because its comments would be lost").help(help)
}

/// Whether two paths name one existing file.
fn is_same_file(a: &Path, b: &Path) -> bool {
    let [a, b] = [a, b].map(|path| if is_stream(path) { None } else { std::fs::canonicalize(path).ok() });
    a.is_some() && a == b
}

/// Where the weights of a model are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Weights {
    /// Embedded weights stay in the model unless it would be too large for protobuf; external data stays reachable.
    #[default]
    Auto,
    /// All weights stay where they are; references may become unreachable.
    Keep,
    /// All weights are in the model.
    Embed,
    /// Large tensors are in a separate file: of this name, or of the name of the output and `.data`.
    External(Option<String>),
}

/// Where weights are written.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct WeightsArgs {
    /// Where the weights of the output are: `auto`, `keep`, `embed` or `external[=NAME]`.
    ///
    /// `keep` leaves them where they are, `embed` writes them into the model, and `external` into a separate file, relative
    /// to the directory of OUT. `auto` embeds external data only in streams, copies it only into other directories, and
    /// moves weights out of models of 2 GiB.
    #[arg(long, value_name = "WHERE", value_parser = weights, default_value = "auto", display_order = 92)]
    pub(crate) weights: Weights,
}

/// Reads `auto`, `keep`, `embed`, `external` or `external=NAME`.
fn weights(text: &str) -> Result<Weights, String> {
    Ok(match text.split_once('=') {
        None if text == "auto" => Weights::Auto,
        None if text == "keep" => Weights::Keep,
        None if text == "embed" => Weights::Embed,
        None if text == "external" => Weights::External(None),
        Some(("external", name)) if !name.is_empty() => Weights::External(Some(name.to_owned())),
        _ if ["link", "hardlink", "symlink"].contains(&text) => {
            return Err("links are not made: `keep` leaves the data where it is, and `ln DATA DIR/` links it next to the output"
                .to_owned());
        }
        _ => {
            let near = onnx_schema::nearest(text, ["auto", "keep", "embed", "external"].into_iter());
            let near = near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
            return Err(format!(
                "{near}The values are `auto`, `keep`, `embed`, `external` and `external=NAME`"
            ));
        }
    })
}

/// How external data is written.
#[derive(Clone, Debug, Args)]
pub(crate) struct ExternalArgs {
    /// Leave tensors smaller than this in the model (default: 1024).
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub(crate) threshold: Option<u64>,
    /// Let tensors begin at multiples of this power of two; without this, 64, and 4096 for large tensors.
    #[arg(long, value_name = "SIZE", value_parser = size::parse, hide_short_help = true)]
    pub(crate) align: Option<u64>,
    /// Begin another file where one would grow beyond this size.
    #[arg(long, value_name = "SIZE", value_parser = size::parse)]
    pub(crate) shard_size: Option<u64>,
    /// Move tensors in attributes as well; few readers expect that.
    #[arg(long, hide_short_help = true)]
    pub(crate) all_tensors: bool,
    /// State the SHA-1 digests of the external files, which reads all weights once.
    #[arg(long, hide_short_help = true)]
    pub(crate) checksum: bool,
    /// Whether the command has these options, so that messages may name them.
    #[arg(skip = true)]
    pub(crate) are_options: bool,
}

impl ExternalArgs {
    /// For commands without these options.
    pub(crate) const DEFAULT: Self = Self {
        threshold: None,
        align: None,
        shard_size: None,
        all_tensors: false,
        checksum: false,
        are_options: false,
    };

    /// The first of these options that is given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let options = [
            (self.threshold.is_some(), "--threshold"),
            (self.align.is_some(), "--align"),
            (self.shard_size.is_some(), "--shard-size"),
            (self.all_tensors, "--all-tensors"),
            (self.checksum, "--checksum"),
        ];
        options.into_iter().find_map(|(is_given, name)| is_given.then_some(name))
    }
}
