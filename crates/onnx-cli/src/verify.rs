//! `onnx verify`: whether the graph in memory holds together.

use std::fmt::Write as _;

use onnx_diag::render::text;
use onnx_diag::{Caps, Clean, Policy, Sink};

use crate::args::VerifyArgs;
use crate::exit::{Failure, Outcome};
use crate::input::{display_name, expand, load};
use crate::output::{Colours, GOOD, Out, paint};
use crate::progress::Progress;
use crate::rules;
use crate::size::plural;

pub(crate) fn run(args: &VerifyArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let files = expand(&args.files, &["onnx"]);
    let progress = Progress::start("verifying", files.len());
    let mut outcome = Outcome::Fine;
    for file in files {
        let result = file.and_then(|path| {
            progress.begin(&display_name(&path));
            verify(&path, args)
        });
        match result {
            Ok((text, sound)) => {
                progress.aside(|| out.text(&text))?;
                outcome = outcome.max(if sound { Outcome::Fine } else { Outcome::Findings });
            }
            Err(failure) => {
                progress.aside(|| out.failure(&failure));
                outcome = outcome.max(failure.outcome());
            }
        }
        progress.end();
    }
    Ok(outcome)
}

/// The line about one model, and whether it is sound.
fn verify(path: &std::path::Path, args: &VerifyArgs) -> Result<(String, bool), Failure> {
    let loaded = load(path, &args.input)?;
    let model = &loaded.model;
    let mut sink = Sink::with(Policy::new(), Caps::DEFAULT);
    let mut text = String::new();
    if rules::verify(model, &mut sink) {
        let [nodes, values, graphs] =
            [(model.node_count(), "node"), (model.value_count(), "value"), (model.graph_count(), "graph")]
                .map(|(count, noun)| plural(count as u64, noun));
        let name = Clean(&loaded.name);
        writeln!(text, "{name}: {} ({nodes}, {values}, {graphs})", paint(GOOD, "sound"))?;
        return Ok((text, true));
    }
    let options = text::Options { style: &Colours, ..text::Options::new(&loaded.name) };
    text::render(&mut text, &sink, &options)?;
    Ok((text, false))
}
