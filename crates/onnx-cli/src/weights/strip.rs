//! `onnx weights strip`: a model without the elements of its weights.

use std::collections::HashSet;

use onnx_ir::TensorPlace;
use onnx_weights::{StripOptions, restore, strip, stripped_seed};
use serde_json::json;

use super::verbs::{chosen, report};
use super::{external_locations, place};
use crate::args::{Changed, ExternalArgs, StripArgs};
use crate::exit::{Failure, Outcome};
use crate::input::{Loaded, display_name, load};
use crate::output::Out;
use crate::progress::Progress;
use crate::size::{bytes, plural};
use crate::store;

pub(super) fn run(args: &StripArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let in_place = args.in_place.in_place;
    let input = &args.chosen.input;
    let changed = Changed { path: &args.chosen.input_file, from: input.from, in_place };
    let placement = args.output.placement(Some(&changed), &ExternalArgs::DEFAULT, out)?;
    let progress = Progress::start("stripping", 1);
    progress.begin(&display_name(&args.chosen.input_file));
    // Not as a copy: most of the file is not read.
    let mut loaded = load(&args.chosen.input_file, input)?;
    progress.aside(|| loaded.report(&input.severity, false, out))?;
    let inputs = loaded.files()?;
    let places: HashSet<TensorPlace> =
        chosen(&loaded.model, &args.chosen.at)?.into_iter().map(|weight| weight.place).collect();
    let options = StripOptions::default()
        .with_seed(args.seed)
        .with_everything(args.everything)
        .with_min_elements(args.min_elements);
    let done = strip(&mut loaded.model, &options, &|weight| places.contains(&weight.place));
    let item = json!({
        "seed": args.seed,
        "stripped": done.stripped,
        "stripped_bytes": done.stripped_bytes,
        "kept": done.kept,
        "kept_bytes": done.kept_bytes,
        "kept_external": external_locations(&loaded),
    });
    progress.aside(|| {
        let stripped = plural(done.stripped as u64, "tensor");
        let (removed, kept) = (bytes(done.stripped_bytes), bytes(done.kept_bytes));
        let others = plural(done.kept as u64, "tensor");
        out.summary(&format!("stripped {stripped} of {removed}; {others} of {kept} stay"));
        report(&loaded, "weights-strip/1", item, out)
    })?;
    let to = placement.destination(loaded.execution.clone(), args.output.write, inputs);
    let files = place(&mut loaded, &placement, out)?;
    store::write(&loaded.model, &to, &files, progress, out)?;
    Ok(Outcome::Fine)
}

/// Generates the elements that were stripped from a model that is to run.
pub(crate) fn generate_stripped(loaded: &mut Loaded, out: &Out) -> Result<(), Failure> {
    let Some(seed) = stripped_seed(&loaded.model) else { return Ok(()) };
    let count = restore(&mut loaded.model, seed, &loaded.execution)?;
    if count == 0 {
        return Ok(());
    }
    let tensors = plural(count as u64, "tensor");
    out.warning(
        &format!("{tensors} of {} were stripped, and are generated from the seed {seed}", loaded.name),
        None,
    );
    Ok(())
}
