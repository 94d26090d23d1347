//! The page of `onnx info --functions`.

use std::fmt::Write as _;

use onnx_diag::Clean;

use super::facts::{Facts, FunctionFacts};
use crate::exit::Failure;
use crate::output::{BAD, DIM, HEADING, KEY, paint, shown};
use crate::size::{grouped, plural};

/// Number of functions that are shown without `--all`.
const MOST_FUNCTIONS: usize = 100;

/// Composes the page: functions with the most calls first.
pub(super) fn page(facts: &Facts, all: bool) -> Result<String, Failure> {
    let mut text = String::new();
    let count = plural(facts.functions.len() as u64, "function");
    writeln!(text, "{}  {}", paint(HEADING, Clean(&facts.file)), paint(DIM, count))?;
    let mut functions: Vec<&FunctionFacts> = facts.functions.iter().collect();
    functions.sort_by_key(|function| std::cmp::Reverse(function.calls));
    let most = if all { usize::MAX } else { MOST_FUNCTIONS };
    for function in functions.iter().take(most) {
        entry(&mut text, function)?;
    }
    if let Some(more) = functions.len().checked_sub(most).filter(|&more| more > 0) {
        let rest = format!("… and {} more (--all shows them)", grouped(more as u64));
        writeln!(text, "{}", paint(DIM, rest))?;
    }
    Ok(text)
}

fn entry(text: &mut String, function: &FunctionFacts) -> Result<(), Failure> {
    let mut name = format!("{}.{}", shown(&function.domain), shown(&function.name));
    if !function.overload.is_empty() {
        write!(name, ":{}", shown(&function.overload))?;
    }
    let list = |names: &[String]| names.iter().map(|name| shown(name)).collect::<Vec<_>>().join(", ");
    write!(text, "\n{} ({})", paint(KEY, name), list(&function.inputs))?;
    writeln!(text, " => ({})", list(&function.outputs))?;
    let nodes = plural(function.nodes, "node");
    let expanded = match function.expanded_nodes {
        Some(expanded) if expanded == function.nodes => String::new(),
        Some(u64::MAX) => ", more than 18 quintillion with those of functions that it calls".to_owned(),
        Some(expanded) => format!(", {} with those of functions that it calls", grouped(expanded)),
        None => format!(", {}", paint(BAD, "calls itself")),
    };
    writeln!(text, "  {}, {nodes}{expanded}", plural(function.calls, "call"))?;
    let imports = function.opsets.iter().map(|set| format!("{} {}", shown(&set.domain), set.version));
    let imports = imports.collect::<Vec<_>>().join(", ");
    let attributes = list(&function.attributes);
    let optional = list(&function.optional_attributes);
    for (key, value) in [("attributes", attributes), ("optional", optional), ("opsets", imports)] {
        if !value.is_empty() {
            writeln!(text, "  {} {value}", paint(DIM, format!("{key:<10}")))?;
        }
    }
    Ok(())
}
