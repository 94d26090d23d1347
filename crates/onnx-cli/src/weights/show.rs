//! `onnx weights show`: elements.

use std::fmt::Write as _;

use onnx_select::Selectors;
use serde_json::{Value, json};

use super::verbs::{chosen, facts, loaded, report, require_elements, ty};
use crate::args::ShowWeightsArgs;
use crate::exit::{Failure, Outcome};
use crate::output::{HEADING, KEY, Out, paint, shown};
use crate::run::{elements, words};

/// Elements of a tensor that are shown.
const MOST: usize = 64;

pub(super) fn run(args: &ShowWeightsArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let loaded = loaded(&args.chosen, out)?;
    let weights = chosen(&loaded.model, &args.chosen.at)?;
    require_elements(&weights)?;
    let source = loaded.source()?;
    let selectors = Selectors::new(&loaded.model);
    let most = if args.all { usize::MAX } else { MOST };
    let mut items: Vec<Value> = Vec::new();
    for weight in &weights {
        loaded.execution.interrupt.check()?;
        let about = |failure: Failure| failure.about(&shown(&weight.name));
        let tensor = weight.load(&source)?;
        if out.is_for_people() {
            let mut words = words(&tensor, most).map_err(about)?;
            if weight.elements() > words.len() as u64 {
                words.push("… (--all shows all)".to_owned());
            }
            let mut text = String::new();
            writeln!(text, "{}  {}", paint(HEADING, shown(&weight.name)), paint(KEY, ty(&tensor)))?;
            writeln!(text, "  {}", words.join(", "))?;
            out.text(&text)?;
            continue;
        }
        let mut item = facts(&selectors, weight);
        if let Some(fields) = item.as_object_mut() {
            fields.insert("first".to_owned(), json!(elements(&tensor, most).map_err(about)?));
        }
        items.push(item);
    }
    report(&loaded, "weights-show/1", json!({ "weights": items }), out)?;
    Ok(Outcome::Fine)
}
