//! The page that a person reads.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use onnx_cost::{Amount, Cost, NodeCost};
use onnx_diag::Clean;

use super::domain;
use crate::exit::Failure;
use crate::output::{DIM, HEADING, KEY, WARN, is_terminal, paint, shown};
use crate::run::Set;
use crate::size::{bytes, count, grouped, plural};

/// Lines of a list.
const MOST_LINES: usize = 10;
/// Characters of an expression in a list.
const MOST_CHARS: usize = 40;

/// Composes the page.
pub(super) fn page(name: &str, cost: &Cost, set: &[Set], all: bool) -> Result<String, Failure> {
    let mut page = Page { out: String::new(), most: if all { usize::MAX } else { MOST_LINES } };
    if let Some(contradiction) = &cost.contradiction {
        // Nothing else is true of a model that does not run.
        page.title(name, set)?;
        let text = format!("the model does not run with these sizes: {}", Clean(contradiction));
        page.property("not valid", paint(WARN, text))?;
        return Ok(page.out);
    }
    page.head(name, cost, set)?;
    page.operators(cost)?;
    page.nodes(cost)?;
    page.unknown(cost)?;
    Ok(page.out)
}

struct Page {
    out: String,
    most: usize,
}

impl Page {
    fn property(&mut self, key: &str, value: impl fmt::Display) -> fmt::Result {
        writeln!(self.out, "  {} {value}", paint(DIM, format_args!("{key:<12}")))
    }

    fn title(&mut self, name: &str, set: &[Set]) -> fmt::Result {
        let sizes: Vec<String> = set.iter().map(|(dim, size)| format!("{} = {size}", shown(dim))).collect();
        writeln!(self.out, "{}  {}", paint(HEADING, Clean(name)), paint(DIM, sizes.join(", ")))
    }

    fn head(&mut self, name: &str, cost: &Cost, set: &[Set]) -> fmt::Result {
        self.title(name, set)?;
        self.property("operations", amount(&cost.operations, count))?;
        self.property("MACs", amount(&cost.macs, count))?;
        self.property(
            "parameters",
            format_args!("{}, {}", count(cost.parameters), bytes(cost.weight_bytes)),
        )?;
        self.property("activations", amount(&cost.activation_bytes, bytes))?;
        let at = cost.peak_node.as_ref().map(|node| format!(" at {}", shown(node))).unwrap_or_default();
        let least = if cost.unknown_values > 0 { "at least " } else { "" };
        self.property("peak", format_args!("{least}{}{at}", amount(&cost.peak_bytes, bytes)))?;
        let mut remarks = Vec::new();
        if cost.unknown_nodes > 0 {
            remarks.push(format!("operations of {}", plural(cost.unknown_nodes, "node")));
        }
        if cost.unknown_values > 0 {
            remarks.push(format!("sizes of {}", plural(cost.unknown_values, "value")));
        }
        if cost.loops_counted_once > 0 {
            let loops = plural(cost.loops_counted_once, "loop");
            remarks.push(format!("iterations of {loops}, counted once"));
        }
        if !remarks.is_empty() {
            self.property("not known", paint(WARN, remarks.join("; ")))?;
        }
        Ok(())
    }

    fn operators(&mut self, cost: &Cost) -> fmt::Result {
        let total: u64 = cost.operators.iter().fold(0, |sum, row| sum.saturating_add(row.rank));
        writeln!(self.out, "\n{}", paint(HEADING, "Operators"))?;
        for row in cost.operators.iter().take(self.most) {
            let operations = unless_unknown(row.unknown_nodes == row.nodes, &row.operations);
            let op = paint(KEY, format_args!("{:<24}", full_name(&row.domain, &row.op))).to_string();
            let nodes = grouped(row.nodes);
            writeln!(self.out, "  {op} {nodes:>7}  {:>6}  {operations}", share(row.rank, total))?;
        }
        self.rest(cost.operators.len())
    }

    fn nodes(&mut self, cost: &Cost) -> fmt::Result {
        let mut nodes: Vec<&NodeCost> = cost.nodes.iter().filter(|node| !node.has_graphs).collect();
        let total: u64 = nodes.iter().fold(0, |sum, node| sum.saturating_add(node.rank));
        nodes.sort_by_key(|node| std::cmp::Reverse(node.rank));
        writeln!(self.out, "\n{}", paint(HEADING, "Nodes"))?;
        for node in nodes.iter().take(self.most) {
            let op = paint(KEY, format_args!("{:<24}", full_name(&node.domain, &node.op))).to_string();
            let operations = unless_unknown(node.why_unknown.is_some(), &node.operations);
            let times = match &node.times {
                Amount::Known(1) => String::new(),
                times => format!("{} × ", amount(times, count)),
            };
            let path =
                if node.path.is_empty() { String::new() } else { format!("  in {}", shown(&node.path)) };
            let name = shown(&node.name);
            let share = share(node.rank, total);
            writeln!(self.out, "  {op} {share:>6}  {times}{operations}  {name}{}", paint(DIM, path))?;
        }
        self.rest(nodes.len())
    }

    fn unknown(&mut self, cost: &Cost) -> fmt::Result {
        let mut reasons: BTreeMap<(String, &str), u64> = BTreeMap::new();
        for node in &cost.nodes {
            if let Some(why) = &node.why_unknown {
                let tally = reasons.entry((full_name(&node.domain, &node.op), why)).or_default();
                *tally = tally.saturating_add(1);
            }
        }
        if reasons.is_empty() {
            return Ok(());
        }
        writeln!(self.out, "\n{}", paint(HEADING, "Not known"))?;
        let len = reasons.len();
        for ((op, why), tally) in reasons.into_iter().take(self.most) {
            let op = paint(KEY, format_args!("{op:<24}")).to_string();
            writeln!(self.out, "  {op} {:>7}  {}", grouped(tally), Clean(why))?;
        }
        self.rest(len)
    }

    fn rest(&mut self, len: usize) -> fmt::Result {
        match len.checked_sub(self.most).filter(|&more| more > 0) {
            Some(more) => {
                let text = format!("… and {} more (--all shows them)", grouped(more as u64));
                writeln!(self.out, "  {}", paint(DIM, text))
            }
            None => Ok(()),
        }
    }
}

fn full_name(of: &str, op: &str) -> String {
    if domain(of) == "ai.onnx" { shown(op) } else { shown(&format!("{of}.{op}")) }
}

fn share(part: u64, total: u64) -> String {
    // Precision is lost beyond 2^53, far to the right of what is shown.
    #[expect(clippy::cast_precision_loss, reason = "three digits are shown")]
    let percent = if total == 0 { 0.0 } else { 100.0 * part as f64 / total as f64 };
    format!("{percent:.1} %")
}

fn unless_unknown(is_unknown: bool, operations: &Amount) -> String {
    if is_unknown { "?".to_owned() } else { cut(&amount(operations, count)) }
}

fn amount(amount: &Amount, number: fn(u64) -> String) -> String {
    match amount {
        Amount::Known(known) => number(*known),
        Amount::Expression(text) => Clean(text).to_string(),
        _ => "not known, or too large an expression (`--set` gives sizes)".to_owned(),
    }
}

/// A text that fits into a list on a terminal. Elsewhere, it is complete.
fn cut(text: &str) -> String {
    if !is_terminal() {
        return text.to_owned();
    }
    match text.char_indices().nth(MOST_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}
