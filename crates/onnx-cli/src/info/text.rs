//! The page that a person reads.

use std::fmt::{self, Display, Write as _};

use anstyle::Style;
use onnx_diag::Clean;

use super::facts::{Facts, Operator, OperatorStatus, Opset, OpsetStatus, Port, Tally};
use crate::exit::Failure;
use crate::output::{BAD, DIM, HEADING, KEY, WARN, paint, shown};
use crate::size::{bytes, count, grouped, plural};

/// How many lines of a list are shown.
const MOST_LINES: usize = 12;
/// The widest column of names; longer ones push what follows to the right.
const WIDEST: usize = 96;

/// Composes the page.
pub(super) fn page(facts: &Facts, all: bool) -> Result<String, Failure> {
    let mut page = Page { out: String::new(), most: if all { usize::MAX } else { MOST_LINES } };
    page.head(facts)?;
    page.ports("Inputs", &facts.inputs)?;
    page.ports("Outputs", &facts.outputs)?;
    page.operators(facts)?;
    page.functions(facts)?;
    page.weights(facts)?;
    page.findings(facts)?;
    Ok(page.out)
}

struct Page {
    out: String,
    most: usize,
}

impl Page {
    fn heading(&mut self, text: impl Display, aside: impl Display) -> fmt::Result {
        writeln!(self.out, "\n{}  {}", paint(HEADING, text), paint(DIM, aside))
    }

    /// A property of the model, which is omitted if `value` is empty.
    fn property(&mut self, key: &str, value: &str) -> fmt::Result {
        if value.is_empty() {
            return Ok(());
        }
        writeln!(self.out, "  {} {value}", paint(DIM, format_args!("{key:<14}")))
    }

    /// Shows the beginning of a list and counts the rest.
    fn list<T>(&mut self, items: &[T], mut line: impl FnMut(&mut String, &T) -> fmt::Result) -> fmt::Result {
        // A single line more takes no more room than saying so.
        let shown = if items.len() <= self.most.saturating_add(1) { items.len() } else { self.most };
        for item in items.iter().take(shown) {
            line(&mut self.out, item)?;
        }
        if let Some(more) = items.len().checked_sub(shown).filter(|&more| more > 0) {
            let rest = format_args!("… and {} more (--all shows them)", grouped(more as u64)).to_string();
            writeln!(self.out, "  {}", paint(DIM, rest))?;
        }
        Ok(())
    }

    fn head(&mut self, facts: &Facts) -> fmt::Result {
        let size = format_args!("{} {}", bytes(facts.bytes), facts.format).to_string();
        writeln!(self.out, "{}  {}", paint(HEADING, Clean(&facts.file)), paint(DIM, size))?;
        let ir = match facts.ir_releases {
            Some([first, last]) if first == last => format!("{} (ONNX {first})", facts.ir_version),
            Some([first, last]) => format!("{} (ONNX {first} to {last})", facts.ir_version),
            None if facts.ir_version == 0 => format!("{}", paint(BAD, "missing")),
            None => format!("{} {}", facts.ir_version, paint(WARN, "(of no release known to this program)")),
        };
        self.property("IR version", &ir)?;
        for (i, opset) in facts.opsets.iter().take(self.most).enumerate() {
            self.property(if i == 0 { "opsets" } else { "" }, &opset_text(opset))?;
        }
        if facts.opsets.is_empty() {
            self.property("opsets", &paint(WARN, "none imported").to_string())?;
        }
        let producer = join(&[&facts.producer_name, &facts.producer_version]);
        self.property("producer", &producer)?;
        self.property("domain", &optional(&facts.domain))?;
        if facts.model_version != 0 {
            self.property("model version", &facts.model_version.to_string())?;
        }
        self.property("documentation", &optional(&first_line(&facts.doc_string)))?;
        for (i, entry) in facts.metadata.iter().take(self.most).enumerate() {
            let text = format!("{} = {}", shown(&entry.key), shown(&first_line(&entry.value)));
            self.property(if i == 0 { "metadata" } else { "" }, &text)?;
        }
        self.graph(facts)
    }

    fn graph(&mut self, facts: &Facts) -> fmt::Result {
        let graph = &facts.graph;
        let mut text = format!("{}, {}", shown(&graph.name), plural(graph.nodes, "node"));
        if graph.all_nodes > graph.nodes {
            write!(text, " ({} with those of other graphs)", grouped(graph.all_nodes))?;
        }
        self.property("graph", &text)?;
        if graph.subgraphs > 0 {
            let text = format!("{}, nested {} deep", grouped(graph.subgraphs), graph.depth);
            self.property("subgraphs", &text)?;
        }
        for (name, count) in [
            ("training steps", graph.training_steps),
            ("quantization", graph.quantization_annotations),
            ("devices", graph.device_configurations),
        ] {
            if count > 0 {
                self.property(name, &grouped(count))?;
            }
        }
        Ok(())
    }

    fn ports(&mut self, title: &str, ports: &[Port]) -> fmt::Result {
        // Before IR version 4 every initializer had to be an input too; such inputs are not listed as inputs.
        let (defaults, real): (Vec<&Port>, Vec<&Port>) = ports.iter().partition(|port| port.has_default);
        self.heading(title, grouped(real.len() as u64))?;
        let width = column(real.iter().take(self.most).map(|port| shown(&port.name).chars().count()));
        self.list(&real, |out, port| {
            let name = shown(&port.name);
            writeln!(out, "  {}  {}", paint(KEY, format_args!("{name:<width$}")), port.r#type)
        })?;
        if !defaults.is_empty() {
            let text =
                format!("{} with a default: initializers", plural(defaults.len() as u64, "more input"));
            writeln!(self.out, "  {}", paint(DIM, text))?;
        }
        Ok(())
    }

    fn operators(&mut self, facts: &Facts) -> fmt::Result {
        let operators = &facts.operators;
        let kinds = plural(operators.len() as u64, "kind");
        self.heading("Operators", format_args!("{} of {kinds}", plural(facts.graph.all_nodes, "node")))?;
        let full = |op: &Operator| {
            if op.domain == "ai.onnx" {
                shown(&op.name)
            } else {
                format!("{}::{}", shown(&op.domain), shown(&op.name))
            }
        };
        let width = column(operators.iter().take(self.most).map(|op| full(op).chars().count()));
        let digits = operators.first().map_or(0, |op| grouped(op.count).len());
        let mut line = |out: &mut String, op: &Operator| {
            let (remark, style) = remark(op.status);
            let name = paint(KEY, format_args!("{:<width$}", full(op))).to_string();
            write!(out, "  {name}  {:>digits$}", grouped(op.count))?;
            if remark.is_empty() {
                out.push('\n')
            } else {
                writeln!(out, "  {}", paint(style, remark))?
            }
            Ok(())
        };
        self.list(operators, &mut line)?;
        // What is wrong is shown even where the list is cut.
        let cut = operators.len() > self.most.saturating_add(1);
        let hidden = operators.iter().skip(self.most).filter(|op| cut && op.status > OperatorStatus::Custom);
        for op in hidden.take(MOST_LINES) {
            line(&mut self.out, op)?;
        }
        Ok(())
    }

    fn functions(&mut self, facts: &Facts) -> fmt::Result {
        if facts.functions.is_empty() {
            return Ok(());
        }
        self.heading("Functions", grouped(facts.functions.len() as u64))?;
        let mut functions: Vec<_> = facts.functions.iter().collect();
        functions.sort_by_key(|function| std::cmp::Reverse(function.calls));
        let full = |name: &str, domain: &str, overload: &str| {
            let overload = if overload.is_empty() { String::new() } else { format!(":{}", shown(overload)) };
            format!("{}::{}{overload}", shown(domain), shown(name))
        };
        let names = functions.iter().map(|f| full(&f.name, &f.domain, &f.overload));
        let width = column(names.take(self.most).map(|name| name.chars().count()));
        self.list(&functions, |out, f| {
            let name = full(&f.name, &f.domain, &f.overload);
            let name = paint(KEY, format_args!("{name:<width$}")).to_string();
            writeln!(out, "  {name}  {:>10}  {:>10}", plural(f.calls, "call"), plural(f.nodes, "node"))
        })
    }

    fn weights(&mut self, facts: &Facts) -> fmt::Result {
        let weights = &facts.weights;
        let Tally { elements, tensors, bytes: size } = weights.initializers;
        if tensors == 0 && weights.constants.tensors == 0 {
            return Ok(());
        }
        let place = if weights.external.is_empty() { ", all in this file" } else { "" };
        let aside =
            format!("{} in {}, {}{place}", count(elements), plural(tensors, "initializer"), bytes(size));
        self.heading("Parameters", aside)?;
        if weights.sparse_initializers > 0 {
            writeln!(self.out, "  {} among them", plural(weights.sparse_initializers, "sparse initializer"))?;
        }
        let rows: Vec<_> = weights.by_type.iter().map(|row| Row::new(row.element_type, row.tally)).collect();
        self.table(&rows)?;
        let constants = weights.constants;
        if constants.tensors > 0 {
            let text = format!(
                "{} of these in attributes, {}",
                plural(constants.tensors, "tensor"),
                bytes(constants.bytes)
            );
            writeln!(self.out, "  {}", paint(DIM, text))?;
        }
        self.places(facts)
    }

    /// Where the weights are, if not all of them are in the model.
    fn places(&mut self, facts: &Facts) -> fmt::Result {
        let weights = &facts.weights;
        if weights.external.is_empty() {
            return Ok(());
        }
        let files = plural(weights.external.len() as u64, "external file");
        self.heading("Weights", format_args!("in {files}"))?;
        let mut rows = vec![Row::new("this file", weights.inside)];
        rows.retain(|_| weights.inside.tensors > 0);
        rows.extend(weights.external.iter().map(|file| {
            let mut row = Row::new(&shown(&file.location), file.tally);
            row.remark = match (&file.problem, file.file_bytes) {
                (Some(problem), _) => paint(BAD, Clean(problem)).to_string(),
                (None, Some(size)) => paint(DIM, format_args!("of {}", bytes(size))).to_string(),
                (None, None) => String::new(),
            };
            row
        }));
        self.table(&rows)
    }

    fn table(&mut self, rows: &[Row]) -> fmt::Result {
        let widths: [usize; 4] = std::array::from_fn(|i| {
            column(
                rows.iter()
                    .take(self.most)
                    .filter_map(|row| row.cells.get(i))
                    .map(|cell| cell.chars().count()),
            )
        });
        let [name_width, count_width, tensor_width, size_width] = widths;
        self.list(rows, |out, row| {
            let [name, count, tensors, size] = &row.cells;
            let name = paint(KEY, format_args!("{name:<name_width$}")).to_string();
            write!(out, "  {name}  {count:>count_width$}  {size:>size_width$}  {tensors:>tensor_width$}")?;
            if !row.remark.is_empty() {
                write!(out, "  {}", row.remark)?;
            }
            out.push('\n');
            Ok(())
        })
    }

    fn findings(&mut self, facts: &Facts) -> fmt::Result {
        let found = &facts.findings;
        let total = found.errors.saturating_add(found.warnings).saturating_add(found.notes);
        if total == 0 {
            return Ok(());
        }
        let style = if found.errors > 0 { BAD } else { WARN };
        let text = format!("reading the file gave {}: see `onnx check`", plural(total, "finding"));
        writeln!(self.out, "\n{}", paint(style, text))
    }
}

/// A line of a table: name, elements, tensors, bytes.
struct Row {
    cells: [String; 4],
    remark: String,
}

impl Row {
    fn new(name: &str, tally: Tally) -> Self {
        let cells =
            [name.to_owned(), count(tally.elements), plural(tally.tensors, "tensor"), bytes(tally.bytes)];
        Self { cells, remark: String::new() }
    }
}

/// The width of a column: that of its widest cell, within reason.
fn column(widths: impl Iterator<Item = usize>) -> usize {
    widths.max().unwrap_or_default().min(WIDEST)
}

const fn remark(status: OperatorStatus) -> (&'static str, Style) {
    match status {
        OperatorStatus::Known => ("", DIM),
        OperatorStatus::Function => ("function of the model", DIM),
        OperatorStatus::Onnxruntime => ("onnxruntime", DIM),
        OperatorStatus::Custom => ("custom", WARN),
        OperatorStatus::Deprecated => ("deprecated", WARN),
        OperatorStatus::Version => ("not in the imported version", BAD),
        OperatorStatus::Unimported => ("its domain is not imported", BAD),
        OperatorStatus::Unknown => ("unknown operator", BAD),
    }
}

fn opset_text(opset: &Opset) -> String {
    let name = format!("{} {}", shown(&opset.domain), opset.version);
    match (opset.status, opset.release) {
        (OpsetStatus::Known, Some(release)) => format!("{name} (ONNX {release})"),
        (OpsetStatus::Known, None) => name,
        (OpsetStatus::Unknown, _) => {
            format!("{name} {}", paint(WARN, "(a version this program does not know)"))
        }
        (OpsetStatus::Functions, _) => format!("{name} (functions of the model)"),
        (OpsetStatus::Onnxruntime, _) => format!("{name} (onnxruntime)"),
        (OpsetStatus::Custom, _) => format!("{name} {}", paint(WARN, "(custom)")),
    }
}

fn optional(text: &str) -> String {
    if text.is_empty() { String::new() } else { shown(text) }
}

fn join(parts: &[&str]) -> String {
    let parts: Vec<String> = parts.iter().filter(|part| !part.is_empty()).map(|part| shown(part)).collect();
    parts.join(" ")
}

/// The first line of a text that has any letters.
fn first_line(text: &str) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default().trim();
    if lines.next().is_some() { format!("{first} …") } else { first.to_owned() }
}
