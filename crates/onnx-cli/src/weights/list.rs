//! `onnx weights list`: types, dimensions, sizes and storage, without reading elements.

use std::fmt::Write as _;

use onnx_select::Selectors;
use onnx_types::tensor::Payload;
use onnx_weights::Weight;
use serde_json::json;

use super::verbs::{chosen, facts, loaded, report, ty};
use crate::args::{ListOrder, ListWeightsArgs};
use crate::exit::{Failure, Outcome};
use crate::output::{DIM, HEADING, KEY, Out, paint, shown};
use crate::size::{bytes, count, grouped, plural};
use crate::wrap;

/// Lines of a list.
pub(super) const MOST_LINES: usize = 40;
/// Columns of the names, at least.
const LEAST_WIDTH: usize = 40;

pub(super) fn run(args: &ListWeightsArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let loaded = loaded(&args.chosen, out)?;
    let mut weights = chosen(&loaded.model, &args.chosen.at)?;
    match args.sort {
        ListOrder::Model => {}
        ListOrder::Size => weights.sort_by_key(|weight| std::cmp::Reverse(weight.bytes())),
        ListOrder::Name => weights.sort_by(|a, b| a.name.cmp(&b.name)),
    }
    if out.is_for_people() {
        out.text(&wrap::for_terminal(&page(&loaded.name, &weights, args.all)?))?;
    }
    let selectors = Selectors::new(&loaded.model);
    let items: Vec<_> = match out.is_for_people() {
        true => Vec::new(),
        false => weights.iter().map(|weight| facts(&selectors, weight)).collect(),
    };
    report(&loaded, "weights-list/1", json!({ "weights": items }), out)?;
    Ok(Outcome::Fine)
}

fn page(name: &str, weights: &[Weight<'_>], all: bool) -> Result<String, Failure> {
    let mut page = String::new();
    let elements = weights.iter().map(Weight::elements).fold(0, u64::saturating_add);
    let size = weights.iter().map(Weight::bytes).fold(0, u64::saturating_add);
    let facts = format!(
        "{} of {} elements, {}",
        plural(weights.len() as u64, "tensor"),
        count(elements),
        bytes(size)
    );
    writeln!(page, "{}  {}", paint(HEADING, shown(name)), paint(DIM, facts))?;
    let most = if all { usize::MAX } else { MOST_LINES };
    let names = weights.iter().take(most).map(|weight| shown(&weight.name).chars().count());
    let width = names.max().unwrap_or_default().max(LEAST_WIDTH);
    for weight in weights.iter().take(most) {
        let name = paint(KEY, format_args!("{:<width$}", shown(&weight.name))).to_string();
        let place = paint(DIM, storage(weight)).to_string();
        writeln!(page, "  {name} {:>9}  {}  {place}", bytes(weight.bytes()), ty(weight.tensor))?;
    }
    if let Some(more) = weights.len().checked_sub(most).filter(|&more| more > 0) {
        let text = format!("… and {} more (--all shows them)", grouped(more as u64));
        writeln!(page, "  {}", paint(DIM, text))?;
    }
    Ok(page)
}

/// Where the elements are, unless they are in the model.
fn storage(weight: &Weight<'_>) -> String {
    match weight.tensor.payload() {
        Payload::External(data) => format!("in {}", shown(data.location().unwrap_or_default())),
        Payload::Elided(_) => "elided".to_owned(),
        _ => String::new(),
    }
}
