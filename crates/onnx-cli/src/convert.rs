//! `onnx convert`: from one format to another, and weights out of the model or into it.

use std::path::Path;

use clap::ValueEnum as _;
use onnx_codec::EncodeOptions;
use onnx_diag::Sink;
use onnx_diag::render::text;
use onnx_text::PrintOptions;
use onnx_version::{ConvertOptions, VersionError};

use crate::args::{Changed, ConvertArgs};
use crate::elided;
use crate::exit::{Failure, Outcome};
use crate::format::Format;
use crate::input::{Loaded, display_name, load_as, load_to_copy};
use crate::output::{Colours, Out};
use crate::part::{Part, Piece};
use crate::progress::Progress;
use crate::store::{self, Destination};
use crate::{size, weights};

pub(crate) fn run(args: &ConvertArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let in_place = args.in_place.in_place;
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
    let refused = progress.aside(|| change_versions(&mut loaded, args, out))?;
    let mut found = refused.clone();
    found.merge(loaded.findings.clone());
    out.input(&loaded, found)?;
    if !refused.is_empty() {
        return Ok(Outcome::Findings);
    }
    let to = placement.destination(loaded.execution.clone(), args.output.write, loaded.files()?);
    if !matches!(loaded.piece, Piece::Model) {
        drop(progress);
        return write_part(&loaded, args.part, &to, out).map(|()| Outcome::Fine);
    }
    let files = weights::place(&mut loaded, &placement, out)?;
    store::write(&loaded.model, &to, &files, progress, out)?;
    Ok(Outcome::Fine)
}

/// Converts the model to the versions of operator sets that the user names. Returns what prevents it.
fn change_versions(loaded: &mut Loaded, args: &ConvertArgs, out: &Out) -> Result<Sink, Failure> {
    let mut model = loaded.model.clone();
    for (name, version) in &args.opset {
        let set = model.intern(name);
        let done =
            match onnx_version::convert(&mut model, *version, &ConvertOptions::default().with_domain(set)) {
                Ok(done) => done,
                Err(error @ VersionError::Refused(_)) => {
                    let found = error.findings(&model);
                    out.findings(
                        &found,
                        &text::Options::new(&loaded.name).with_style(&Colours).with_concise(true),
                    );
                    return Ok(found);
                }
                Err(error) => return Err(Failure::new(error)),
            };
        let changed = size::plural(done.changed as u64, "node");
        let name = if name.is_empty() { "ai.onnx" } else { name };
        out.summary(&format!("{name} {} -> {version}: changed {changed}", done.from));
    }
    if !args.opset.is_empty() {
        loaded.model = model;
    }
    Ok(Sink::new())
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
