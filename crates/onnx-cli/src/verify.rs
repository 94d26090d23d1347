//! `onnx debug verify`: whether the graph in memory holds together.

use std::fmt::Write as _;

use onnx_diag::Clean;
use onnx_diag::render::text;
use serde_json::json;

use crate::args::VerifyArgs;
use crate::exit::{Failure, Outcome};
use crate::input::{Loaded, expand, load};
use crate::json::JsonText;
use crate::output::{Colours, GOOD, Out, paint};
use crate::size::plural;
use crate::{jobs, report, rules};

pub(crate) fn run(args: &VerifyArgs, out: &mut Out) -> Result<Outcome, Failure> {
    out.result_kind("verify/1", "models");
    jobs::one_by_one(expand(&args.files, &["onnx"]), "verifying", out, |path, progress, out| {
        let mut loaded = load(path, &args.input)?;
        loaded.judge(&args.input.severity)?;
        out.limit_findings(args.input.severity.caps());
        progress.aside(|| verify(&mut loaded, out))?;
        Ok(Outcome::Fine)
    })
}

/// Reports whether one model is consistent. A file that could not be decoded completely is not reported as consistent.
fn verify(loaded: &mut Loaded, out: &mut Out) -> Result<(), Failure> {
    let model = &loaded.model;
    let mut sink = std::mem::take(&mut loaded.findings);
    let is_sound = rules::verify(model, &mut sink);
    let counts = [model.node_count(), model.value_count(), model.graph_count()];
    if !out.is_for_people() {
        report::select(model, &mut sink);
        let [nodes, values, graphs] = counts;
        let facts = json!({
            "file": loaded.name, "name": loaded.name, "sound": is_sound, "nodes": nodes, "values": values, "graphs": graphs,
        });
        let items = vec![JsonText::of(&facts)?];
        return out.input_of(&loaded.name, Some(loaded.format.id()), Some(loaded.bytes), sink, items);
    }
    let mut text = String::new();
    let options = text::Options::new(&loaded.name).with_style(&Colours);
    text::render(&mut text, &sink, &options)?;
    if is_sound && !sink.has_errors() {
        let [nodes, values, graphs] = counts;
        let [nodes, values, graphs] = [(nodes, "node"), (values, "value"), (graphs, "graph")]
            .map(|(count, noun)| plural(count as u64, noun));
        let name = Clean(&loaded.name);
        writeln!(text, "{name}: {} ({nodes}, {values}, {graphs})", paint(GOOD, "sound"))?;
    }
    out.text(&text)?;
    out.input(loaded, sink)
}
