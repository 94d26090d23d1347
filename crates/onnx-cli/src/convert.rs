//! `onnx convert`: from one format to another, and weights out of the model or into it.

use std::collections::BTreeSet;
use std::path::Path;

use clap::ValueEnum as _;
use onnx_codec::EncodeOptions;
use onnx_diag::render::text;
use onnx_schema::Registry;
use onnx_text::PrintOptions;

use crate::args::{Changed, ConvertArgs, ConvertAssume, Weights};
use crate::change;
use crate::elided;
use crate::exit::{Failure, Outcome};
use crate::format::Format;
use crate::format_version;
use crate::input::{Loaded, display_name, load_as, load_to_copy};
use crate::json::JsonText;
use crate::number_formats;
use crate::ops::documents;
use crate::output::{Colours, Out};
use crate::part::{Part, Piece};
use crate::precondition::{has_type_errors, require_valid, require_valid_nodes, warn_of_type_errors};
use crate::progress::Progress;
use crate::store::{self, Destination};
use crate::versions::{self, Item, Setting, Versions, Wanted};
use crate::weights;

pub(crate) fn run(args: &ConvertArgs, out: &mut Out) -> Result<Outcome, Failure> {
    refuse_idle(args)?;
    let (in_place, severity) = (args.in_place.in_place, &args.input.severity);
    let changed = Changed { path: &args.input_file, from: args.input.from, in_place };
    let placement = args.output.placement(Some(&changed), &args.external, out)?;
    let progress = Progress::start("converting", 1);
    progress.begin(&display_name(&args.input_file));
    let mut loaded = match (&args.weights_from, args.part) {
        (Some(original), part) => load_with_original(args, original, part)?,
        (None, Part::Model) => load_to_copy(&args.input_file, &args.input)?,
        (None, part) => load_as(&args.input_file, &args.input, part)?,
    };
    progress.aside(|| loaded.report(&args.input.severity, args.keep_going, out))?;
    let before = if in_place { weights::locations(&loaded.model) } else { BTreeSet::new() };
    let assumes_positive = args.assume == Some(ConvertAssume::PositiveSizes);
    let caps = args.input.severity.caps();
    let wanted = Wanted { is_partial: args.keep_going, caps, assumes_positive };
    let execution = loaded.execution.clone();
    let registry = documents::registry_with_onnxruntime(&[], &execution)?;
    let setting = Setting { registry: &registry, execution: &execution };
    let versions = versions::plans(&mut loaded.model, &args.opset, setting, wanted)?;
    // A plan has no steps for types that the imported version of an operator does not take.
    if !args.opset.is_empty() && versions.found.is_empty() && matches!(loaded.piece, Piece::Model) {
        progress.aside(|| require_valid_nodes(&loaded, &registry, severity, args.keep_going, out))?;
    }
    let is_plan = !args.opset.is_empty() && args.output.output_file.is_none() && !in_place;
    if is_plan {
        // The plan is the result.
        out.release_summaries();
    }
    if !args.number_format.is_requested() {
        progress.aside(|| report_versions(&loaded, args, (&versions, &registry), is_plan, out))?;
    }
    if is_plan && versions.found.is_empty() {
        planned(&mut loaded, args, (&versions, assumes_positive, setting), &progress, out)?;
    }
    if is_plan || (!versions.found.is_empty() && !args.keep_going) {
        return Ok(if versions.found.is_empty() { Outcome::Fine } else { Outcome::Findings });
    }
    prove(&mut loaded, args, &versions, setting, &progress, out)?;
    versions::apply(&mut loaded.model, &args.opset, &versions, assumes_positive, setting)?;
    if args.number_format.is_requested() {
        require_model(&loaded, "number formats are those of whole models")?;
        progress.aside(|| require_valid_nodes(&loaded, &registry, severity, args.keep_going, out))?;
        progress.aside(|| require_valid(&loaded, &registry, severity, args.keep_going, out))?;
        loaded.held_in = Some(placement.held_in());
        let done = number_formats::convert(&mut loaded, &args.number_format, &registry, out)?;
        number_formats::report(&loaded, "number-format/1", &done, out)?;
    }
    if let Some(version) = args.ir_version {
        format_version::set_ir_version(&mut loaded, version, &progress, out)?;
    }
    let to = placement.destination(loaded.execution.clone(), args.output.write, loaded.files()?);
    if !matches!(loaded.piece, Piece::Model) {
        drop(progress);
        return write_part(&loaded, args.part, &to, out).map(|()| Outcome::Fine);
    }
    let files = weights::place(&mut loaded, &placement, out)?;
    store::write(&loaded.model, &to, &files, progress, out)?;
    weights::mention_left(&before, &loaded.model, out);
    Ok(if versions.found.is_empty() { Outcome::Fine } else { Outcome::Findings })
}

/// Does what is asked for in addition to a plan: the proof, and the version of the format.
fn planned(
    loaded: &mut Loaded,
    args: &ConvertArgs,
    (versions, assumes_positive, setting): (&Versions, bool, Setting<'_>),
    progress: &Progress,
    out: &Out,
) -> Result<(), Failure> {
    prove(loaded, args, versions, setting, progress, out)?;
    if let Some(version) = args.ir_version {
        versions::apply(&mut loaded.model, &args.opset, versions, assumes_positive, setting)?;
        format_version::set_ir_version(loaded, version, progress, out)?;
    }
    Ok(())
}

/// Proves or tests the conversion, if that is asked for.
fn prove(
    loaded: &mut Loaded,
    args: &ConvertArgs,
    versions: &Versions,
    setting: Setting<'_>,
    progress: &Progress,
    out: &Out,
) -> Result<(), Failure> {
    if args.prove {
        let proof = versions::prove(&mut loaded.model, &args.opset, versions, setting)?;
        progress.aside(|| out.summary(&proof));
    }
    Ok(())
}

/// Refuses options that a part of a model does not have.
fn refuse_idle(args: &ConvertArgs) -> Result<(), Failure> {
    let of_models = [
        (args.ir_version.is_some(), "--ir-version"),
        (args.output.weights.weights != Weights::Auto, "--weights"),
        (!args.opset.is_empty() && args.part != Part::Function, "--opset"),
    ];
    match of_models.into_iter().find(|(is_given, _)| *is_given && args.part != Part::Model) {
        Some((_, option)) => {
            Err(Failure::new(format_args!("`{option}` is for whole models, and a part of one is given"))
                .help(format!("leave `{option}` or `--as` away")))
        }
        None => Ok(()),
    }
}

/// Tells what is done for each operator set, and what prevents it.
fn report_versions(
    loaded: &Loaded,
    args: &ConvertArgs,
    (versions, registry): (&Versions, &Registry),
    is_plan: bool,
    out: &mut Out,
) -> Result<(), Failure> {
    for (item, plan) in &versions.sets {
        match is_plan && out.is_for_people() {
            true => out.text(&item.page(plan)?)?,
            false if versions.found.is_empty() || is_plan => out.summary(&item.summary(plan)),
            false if args.keep_going => out.summary(&item.reached_summary()),
            false => {}
        }
    }
    if !versions.found.is_empty() {
        let options = text::Options::new(&loaded.name).with_style(&Colours).with_concise(true);
        let mut few = versions.found.clone();
        few.limit(args.input.severity.caps().unwrap_or(change::TEXT_CAPS));
        out.findings(&few, &options);
        versions.help().into_iter().for_each(|help| out.help(help));
    }
    let is_converted = !versions.sets.is_empty() && versions.found.is_empty();
    let has_type_errors = is_converted && has_type_errors(loaded, registry)?;
    warn_of_type_errors(has_type_errors, &args.input_file, out);
    let mut found = versions.found.clone();
    found.merge(loaded.findings.clone());
    if versions.sets.is_empty() || out.is_for_people() {
        return out.input(loaded, found);
    }
    out.result_kind("convert/1", "models");
    let sets: Vec<&Item> = versions.sets.iter().map(|(item, _)| item).collect();
    let item = serde_json::json!({ "name": loaded.name, "sets": sets, "has_type_errors": has_type_errors });
    let item = JsonText::of(&item)?;
    out.input_of(&loaded.name, Some(loaded.format.id()), Some(loaded.bytes), found, vec![item])
}

/// Refuses a part of a model.
fn require_model(loaded: &Loaded, what: &str) -> Result<(), Failure> {
    match loaded.piece {
        Piece::Model => Ok(()),
        _ => Err(Failure::new(what).about(&loaded.name).help("leave out `--as`")),
    }
}

/// Reads a text in which tensors are elided.
fn load_with_original(args: &ConvertArgs, original: &Path, part: Part) -> Result<Loaded, Failure> {
    let execution = args.input.bounds.execution();
    let format = args.input.from.or_else(|| Format::of(&args.input_file));
    if format.is_some_and(|format| format != Format::Onnxtxt) {
        return Err(Failure::new(
            "`--weights-from` is for ONNX text, the only format in which tensors are elided",
        )
        .help("if the input is ONNX text, add `--from onnxtxt`"));
    }
    elided::load_with(&args.input_file, original, part, execution)
}

/// Writes a part of a model as a binary message or as ONNX text.
fn write_part(loaded: &Loaded, part: Part, to: &Destination<'_>, out: &mut Out) -> Result<(), Failure> {
    loaded.execution.interrupt.check()?;
    let bytes = match to.format {
        Format::Onnx => {
            loaded.piece.encode(&loaded.model, &EncodeOptions::within(&to.execution.limits))?.to_vec()
        }
        Format::Onnxtxt => loaded.piece.print(&loaded.model, &PrintOptions::full())?.text.into_bytes(),
        Format::Textproto | Format::Json => {
            return Err(Failure::new(format_args!("{} is written of whole models only", to.format.name()))
                .help("use `--to onnx` or `--to onnxtxt`"));
        }
    };
    let what = part.to_possible_value();
    store::write_message(to, &bytes, what.as_ref().map_or("part", |what| what.get_name()), out)
}
