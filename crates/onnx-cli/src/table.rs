//! `--format table` and `--format csv`: one line for each input, made from what the command reports for programs.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt::Write as _;

use onnx_diag::{Clean, CommandFailure, CommandReport, Diagnostic, Input, Rule, Severity, Status};
use onnx_types::Interner;
use onnx_types::expr::ExprTable;
use serde_json::Value;

use crate::exit::Failure;
use crate::failures::COMMAND_WARNED;
use crate::output::{BAD, HEADING, paint, shown};
use crate::report::ReportFormat;
use crate::size::grouped;

/// A column of a table.
struct Column {
    name: &'static str,
    of: Source,
}

/// Where a cell is from.
enum Source {
    File,
    Bytes,
    Errors,
    Warnings,
    /// `ok`, or why there is more to say: the failure, or the first error or warning.
    Verdict,
    /// A part of the item of the input, as a JSON pointer.
    Item(&'static str),
    /// Diagnostics of rules that are errors, also where the command lowers them to warnings.
    Contradictions,
    /// A number or an expression in the item.
    Amount(&'static str),
    /// The sum of a number over a list in the item.
    Sum(&'static str, &'static str),
    /// The texts of a list in the item, with spaces.
    List(&'static str, &'static [&'static str]),
}

const fn column(name: &'static str, of: Source) -> Column {
    Column { name, of }
}

const INFO: &[Column] = &[
    column("file", Source::File),
    column("bytes", Source::Bytes),
    column("ir", Source::Item("/ir_version")),
    column("opsets", Source::List("/opsets", &["/domain", "/version"])),
    column("nodes", Source::Item("/graph/all_nodes")),
    column("inputs", Source::List("/inputs", &["/name"])),
    column("outputs", Source::List("/outputs", &["/name"])),
    column("producer", Source::Item("/producer_name")),
    column("verdict", Source::Verdict),
];

const COST: &[Column] = &[
    column("file", Source::File),
    column("macs", Source::Amount("/macs")),
    column("operations", Source::Amount("/operations")),
    column("parameters", Source::Item("/parameters")),
    column("weight_bytes", Source::Item("/weight_bytes")),
    column("activation_bytes", Source::Amount("/activation_bytes")),
    column("verdict", Source::Verdict),
];

const CHECK: &[Column] = &[
    column("file", Source::File),
    column("bytes", Source::Bytes),
    column("errors", Source::Errors),
    column("warnings", Source::Warnings),
    column("verdict", Source::Verdict),
];

const INFER: &[Column] = &[
    column("file", Source::File),
    column("values", Source::Item("/report/values")),
    column("unknown", Source::Item("/report/incomplete")),
    column("contradictions", Source::Contradictions),
    column("verdict", Source::Verdict),
];

const CONVERT: &[Column] = &[
    column("file", Source::File),
    column("from", Source::List("/sets", &["/domain", "/from"])),
    column("to", Source::List("/sets", &["/to"])),
    column("reached", Source::List("/sets", &["/reached"])),
    column("refused", Source::Sum("/sets", "/refused")),
    column("verdict", Source::Verdict),
];

const REWRITE: &[Column] = &[
    column("file", Source::File),
    column("bytes", Source::Bytes),
    column("before", Source::Item("/nodes/before")),
    column("after", Source::Item("/nodes/after")),
    column("edits", Source::Item("/edits")),
    column("verdict", Source::Verdict),
];

const EDIT: &[Column] =
    &[column("file", Source::File), column("bytes", Source::Bytes), column("verdict", Source::Verdict)];

const QUANTIZE: &[Column] = &[
    column("file", Source::File),
    column("before", Source::Item("/bytes/before")),
    column("after", Source::Item("/bytes/after")),
    column("verdict", Source::Verdict),
];

const COMPOSE: &[Column] = &[
    column("file", Source::File),
    column("bytes", Source::Bytes),
    column("before", Source::Item("/nodes_before")),
    column("after", Source::Item("/nodes_after")),
    column("verdict", Source::Verdict),
];

const HASH: &[Column] = &[
    column("file", Source::File),
    column("model", Source::Item("/model")),
    column("verdict", Source::Verdict),
];

/// The columns of a command; `None` if it has no table.
fn columns(command: &str) -> Option<&'static [Column]> {
    Some(match command {
        "info" => INFO,
        "cost" => COST,
        "check" => CHECK,
        "infer" => INFER,
        "convert" => CONVERT,
        "simplify" | "rewrite" => REWRITE,
        "edit" => EDIT,
        "quantize" => QUANTIZE,
        "extract" | "inline" | "outline" => COMPOSE,
        "hash" => HASH,
        _ => return None,
    })
}

/// Whether a command has a table.
pub(crate) fn has_table(command: &str) -> bool {
    columns(command).is_some()
}

/// The commands that have tables.
const COMMANDS: &str =
    "info, cost, check, infer, convert, quantize, simplify, rewrite, edit, extract, inline, outline and hash";

/// The format of a report whose lines are sorted: only tables have lines.
pub(crate) fn format(format: ReportFormat, sort: Option<&str>) -> ReportFormat {
    if sort.is_some() && format == ReportFormat::Text { ReportFormat::Table } else { format }
}

/// Refuses the formats of tables of a command that has none, and a column that is not in its table.
pub(crate) fn check(command: &str, format: ReportFormat, sort: Option<&str>) -> Result<(), Failure> {
    if !format.is_table() && sort.is_none() {
        return Ok(());
    }
    let Some(columns) = columns(command) else {
        let failure = Failure::new(format_args!("`onnx {command}` has no table"));
        return Err(match command.split(' ').next() {
            Some("weights") => {
                failure.help("`onnx weights list` and `onnx weights stats` sort their lists with `--sort`")
            }
            _ => failure.help(format!("{COMMANDS} have; `--format json` is for programs")),
        });
    };
    let Some(name) = sort.map(|name| name.trim_start_matches('-')) else { return Ok(()) };
    if !format.is_table() {
        return Err(Failure::new("`--sort-by` sorts the lines of a table, and this format has none")
            .help("write `--format table` or `--format csv`"));
    }
    if columns.iter().any(|column| column.name == name) {
        return Ok(());
    }
    let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    Err(Failure::new(format_args!("the table has no column `{}`", shown(name)))
        .help(format!("the columns are {}", names.join(", "))))
}

/// How a table is written.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// Aligned columns.
    Text,
    /// RFC 4180.
    Csv,
}

/// A table of the inputs of a report.
pub(crate) fn render(report: &CommandReport, items: &[Value], form: Form, sort: Option<&str>) -> String {
    let columns = columns(&report.command).unwrap_or_default();
    let mut by_name: HashMap<&str, &Value> = HashMap::new();
    for item in items {
        let names = ["file", "name"].into_iter().filter_map(|key| item.get(key).and_then(Value::as_str));
        names.for_each(|name| _ = by_name.entry(name).or_insert(item));
    }
    let mut rows: Vec<Vec<Value>> = report
        .inputs
        .iter()
        .enumerate()
        .map(|(index, input)| {
            let item = by_name.get(input.name.as_str()).copied();
            columns.iter().map(|column| cell(&column.of, report, (index, input), item)).collect()
        })
        .collect();
    if let Some(sort) = sort {
        let name = sort.trim_start_matches('-');
        let at = columns.iter().position(|column| column.name == name).unwrap_or_default();
        let is_amount = columns.get(at).is_some_and(|column| matches!(column.of, Source::Amount(_)));
        let mut keyed: Vec<(Option<Key>, Vec<Value>)> =
            rows.into_iter().map(|row| (Key::of(row.get(at), is_amount), row)).collect();
        keyed.sort_by(|(a, _), (b, _)| match (a, b) {
            (Some(a), Some(b)) if sort.starts_with('-') => b.compare(a),
            (Some(a), Some(b)) => a.compare(b),
            // What is not known is last in both orders.
            (a, b) => a.is_none().cmp(&b.is_none()),
        });
        rows = keyed.into_iter().map(|(_, row)| row).collect();
    }
    match form {
        Form::Text => text(columns, &rows),
        Form::Csv => csv(columns, &rows),
    }
}

fn cell(
    source: &Source,
    report: &CommandReport,
    (index, input): (usize, &Input),
    item: Option<&Value>,
) -> Value {
    let of_item = |pointer: &str| item.and_then(|item| item.pointer(pointer)).cloned().unwrap_or(Value::Null);
    let list = |pointer: &str| match of_item(pointer) {
        Value::Array(list) => list,
        _ => Vec::new(),
    };
    match source {
        Source::File => input.name.clone().into(),
        Source::Bytes => input.bytes.into(),
        // A file that cannot be read has an error, too.
        Source::Errors => match failure(report, index) {
            Some(_) => input.findings.counts().errors.max(1).into(),
            None => input.findings.counts().errors.into(),
        },
        Source::Warnings => input.findings.counts().warnings.into(),
        Source::Contradictions => {
            let counts = input.findings.rule_counts().filter(|count| is_contradiction(count.rule));
            counts.map(|count| count.found).fold(0, u64::saturating_add).into()
        }
        Source::Verdict => verdict(report, (index, input), item).into(),
        Source::Item(pointer) | Source::Amount(pointer) => of_item(pointer),
        Source::Sum(pointer, number) => {
            let number = |one: &Value| one.pointer(number).and_then(Value::as_u64).unwrap_or_default();
            list(pointer).iter().map(number).fold(0, u64::saturating_add).into()
        }
        Source::List(pointer, parts) => {
            let word = |one: &Value, part: &str| match one.pointer(part) {
                Some(Value::String(text)) => text.clone(),
                Some(Value::Null) | None => "-".to_owned(),
                Some(other) => other.to_string(),
            };
            let words = |one: &Value| parts.iter().map(|part| word(one, part)).collect::<Vec<_>>().join(" ");
            list(pointer).iter().map(words).collect::<Vec<_>>().join(", ").into()
        }
    }
}

/// What ended the work on an input.
fn failure(report: &CommandReport, index: usize) -> Option<&CommandFailure> {
    report.failures.iter().find(|failure| failure.input == Some(index))
}

/// What became of an input, in one line.
fn verdict(report: &CommandReport, (index, input): (usize, &Input), item: Option<&Value>) -> String {
    if let Some(failure) = failure(report, index) {
        // The name has a separate column.
        let rest = failure.message.strip_prefix(input.name.as_str()).and_then(|rest| rest.strip_prefix(": "));
        return rest.unwrap_or(&failure.message).to_owned();
    }
    let found = input.findings.diagnostics().iter();
    // They are warnings of a report, which is made in spite of them.
    if report.command == "infer"
        && let Some(found) = found.clone().find(|found| is_contradiction(found.rule))
    {
        return format!("{}: {}", found.rule.id(), found.message);
    }
    let has_type_errors =
        item.and_then(|item| item.get("has_type_errors")).and_then(Value::as_bool).unwrap_or_default();
    let worst = found.clone().map(|found| found.severity).max();
    let is_about_model = |found: &&Diagnostic| *found.rule != COMMAND_WARNED;
    match found
        .filter(is_about_model)
        .find(|found| Some(found.severity) == worst && input.findings.has_errors())
    {
        Some(found) => format!("{}: {}", found.rule.id(), found.message),
        // The model was changed in spite of them.
        None if has_type_errors => "errors in its types: `onnx check` lists them".to_owned(),
        None => match found_warning(input) {
            Some(warning) if *warning.rule == COMMAND_WARNED => {
                format!("{}: {}", warning.severity, warning.message)
            }
            Some(warning) => format!("warning: {}: {}", warning.rule.id(), warning.message),
            None if input.findings.has_errors() => Status::Findings.as_str().to_owned(),
            // Those beyond `--max-findings`.
            None if input.findings.counts().warnings > 0 => "warnings".to_owned(),
            None => Status::Ok.as_str().to_owned(),
        },
    }
}

/// The first warning about an input: of the command, or else of what was found in the model.
fn found_warning(input: &Input) -> Option<&Diagnostic> {
    let mut found = input.findings.iter();
    let of_command = found.clone().find(|found| *found.rule == COMMAND_WARNED);
    of_command.or_else(|| found.find(|found| found.severity == Severity::Warning))
}

/// Whether a rule says that a model contradicts itself.
fn is_contradiction(rule: &Rule) -> bool {
    rule.severity == Severity::Error
}

/// What a line is sorted by.
enum Key {
    Number(f64),
    Text(String),
}

impl Key {
    /// The key of a cell; `None` if there is nothing in it. An amount that is an expression counts as with sizes of 1.
    fn of(cell: Option<&Value>, is_amount: bool) -> Option<Self> {
        match cell? {
            Value::String(text) if text.is_empty() => None,
            // Numbers that readers of JSON may round are texts.
            Value::String(text) => match text.parse::<u64>() {
                Ok(number) => Some(Self::Number(number as f64)),
                Err(_) if is_amount => smallest(text).map(|number| Self::Number(number as f64)),
                Err(_) => Some(Self::Text(text.clone())),
            },
            Value::Null => None,
            other => Some(other.as_f64().map_or_else(|| Self::Text(other.to_string()), Self::Number)),
        }
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Number(one), Self::Number(two)) => one.total_cmp(two),
            (Self::Text(one), Self::Text(two)) => one.cmp(two),
            (Self::Number(_), Self::Text(_)) => Ordering::Less,
            (Self::Text(_), Self::Number(_)) => Ordering::Greater,
        }
    }
}

/// The value of an expression with sizes of 1.
fn smallest(expression: &str) -> Option<i64> {
    let (mut exprs, mut names) = (ExprTable::new(), Interner::new());
    let dim = exprs.try_parse(&mut names, expression).ok()?;
    exprs.eval(dim, &|_| Some(1))
}

/// A cell without separators.
fn plain(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Null) | None => String::new(),
        Some(other) => other.to_string(),
    }
}

/// The longest expression of a table; the other forms have them in full.
const MAX_AMOUNT: usize = 64;

/// The most entries of a list in a table.
const MAX_LISTED: usize = 4;

/// The variables of a long expression, as a function of them: `f(batch, seq)`.
fn variables(expression: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == '.';
    for word in expression.split(|letter| !is_part(letter)) {
        let is_name = word.starts_with(|first: char| first.is_alphabetic() || first == '_');
        let is_function = ["min", "max", "floor", "ceil", "bcast", "mod"].contains(&word);
        if is_name && !is_function && !names.contains(&word) {
            names.push(word);
        }
    }
    match names.split_at_checked(MAX_LISTED) {
        Some((first, [_, ..])) => format!("f({}, …)", shown(&first.join(", "))),
        _ => format!("f({})", shown(&names.join(", "))),
    }
}

/// The first entries of a list, and how many there are more.
fn first_of_list(list: &str) -> String {
    let entries: Vec<&str> = list.split(", ").collect();
    match entries.split_at_checked(MAX_LISTED) {
        Some((first, rest @ [_, _, ..])) => format!("{}, … {} more", first.join(", "), rest.len()),
        _ => list.to_owned(),
    }
}

fn text(columns: &[Column], rows: &[Vec<Value>]) -> String {
    let shown_cell = |(value, column): (&Value, &Column)| match (value, &column.of) {
        (Value::Number(number), _) => number.as_u64().map_or_else(|| number.to_string(), grouped),
        (Value::Null, _) => "-".to_owned(),
        (Value::String(text), _) if text.is_empty() => "-".to_owned(),
        (Value::String(text), Source::Amount(_)) if text.len() > MAX_AMOUNT => variables(text),
        (Value::String(text), Source::List(..)) => shown(&first_of_list(text)),
        (other, _) => shown(&plain(Some(other))),
    };
    let cells: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().zip(columns).map(shown_cell).collect()).collect();
    let width = |at: usize| {
        let of_rows = cells.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count());
        let heading = columns.get(at).map_or(0, |column| column.name.len());
        of_rows.max().unwrap_or_default().max(heading)
    };
    let widths: Vec<usize> = (0..columns.len()).map(width).collect();
    let is_number = |at: usize| rows.iter().any(|row| row.get(at).is_some_and(Value::is_number));
    let are_numbers: Vec<bool> = (0..columns.len()).map(is_number).collect();
    let line = |cells: &[String]| {
        let mut line = String::new();
        for (at, cell) in cells.iter().enumerate() {
            let width = widths.get(at).copied().unwrap_or_default();
            let gap = if at == 0 { "" } else { "  " };
            // Writing to a string cannot fail.
            let _ = match are_numbers.get(at) == Some(&true) {
                true => write!(line, "{gap}{cell:>width$}"),
                false => write!(line, "{gap}{cell:width$}"),
            };
        }
        line.trim_end().to_owned()
    };
    let headings: Vec<String> = columns.iter().map(|column| column.name.to_owned()).collect();
    let mut text = format!("{}\n", paint(HEADING, line(&headings)));
    for row in &cells {
        let text_of_row = line(row);
        let is_ok = row.last().is_some_and(|verdict| verdict == "ok");
        let _ = match is_ok {
            true => writeln!(text, "{text_of_row}"),
            false => writeln!(text, "{}", paint(BAD, text_of_row)),
        };
    }
    text
}

/// What a field of a table with commas says for a text. Names act in a log: characters that are not printed are escaped, line breaks
/// too.
pub(crate) fn csv_text(text: &str) -> String {
    Clean(text).to_string()
}

/// Text as a field of a table with commas.
pub(crate) fn csv_field(text: &str) -> String {
    match csv_text(text) {
        text if text.contains([',', '"']) => format!("\"{}\"", text.replace('"', "\"\"")),
        text => text,
    }
}

fn csv(columns: &[Column], rows: &[Vec<Value>]) -> String {
    let headings: Vec<&str> = columns.iter().map(|column| column.name).collect();
    let mut text = format!("{}\r\n", headings.join(","));
    for row in rows {
        let fields: Vec<String> = row.iter().map(|value| csv_field(&plain(Some(value)))).collect();
        let _ = write!(text, "{}\r\n", fields.join(","));
    }
    text
}

#[cfg(test)]
mod tests {
    use onnx_diag::{Sink, Tool};
    use serde_json::json;

    use super::*;

    fn rendered(form: Form, sort: Option<&str>) -> String {
        let mut report = CommandReport::new(Tool { name: "t", version: "1", rules_url: "" }, "simplify");
        report.input("a,b.onnx", None, Some(1000), Sink::new());
        report.input("c.onnx", None, Some(20), Sink::new());
        let items = [
            json!({ "file": "a,b.onnx", "nodes": { "before": 1200, "after": 9 }, "edits": 3 }),
            json!({ "file": "c.onnx", "nodes": { "before": 7, "after": 7 }, "edits": 0 }),
        ];
        render(&report, &items, form, sort)
    }

    #[test]
    fn a_line_for_each_input() {
        let expected = "\
file      bytes  before  after  edits  verdict
a,b.onnx  1,000   1,200      9      3  ok
c.onnx       20       7      7      0  ok
";
        let plain = anstream::adapter::strip_str(&rendered(Form::Text, None)).to_string();
        assert_eq!(plain, expected);
        let expected = "file,bytes,before,after,edits,verdict\r\nc.onnx,20,7,7,0,ok\r\n\"a,b.onnx\",1000,1200,9,3,ok\r\n";
        assert_eq!(rendered(Form::Csv, Some("before")), expected);
        assert!(rendered(Form::Csv, Some("-before")).contains("verdict\r\n\"a,b"));
    }

    #[test]
    fn columns_and_commands_are_checked() {
        let table = ReportFormat::Table;
        assert!(check("simplify", table, Some("-before")).is_ok());
        assert!(check("simplify", table, Some("size")).is_err());
        assert!(check("diff", table, None).is_err());
        assert!(check("diff", ReportFormat::Json, None).is_ok());
        assert!(check("simplify", ReportFormat::Json, Some("before")).is_err());
    }

    #[test]
    fn amounts_are_sorted_by_their_values() {
        let mut report = CommandReport::new(Tool { name: "t", version: "1", rules_url: "" }, "cost");
        let amounts = [
            json!("96*unk__0"),
            json!(8_178_368_512_u64),
            json!("349151936*batch"),
            Value::Null,
            json!("9*batch*(seq + 1)"),
            json!("9007199254740993"),
        ];
        let items: Vec<Value> = amounts
            .iter()
            .enumerate()
            .map(|(at, macs)| json!({ "name": format!("f{at}"), "macs": macs }))
            .collect();
        for at in 0..items.len() {
            report.input(format!("f{at}"), None, None, Sink::new());
        }
        let order = |sort| {
            let text = render(&report, &items, Form::Csv, Some(sort));
            text.lines()
                .skip(1)
                .map(|line| line.get(..2).unwrap_or_default().to_owned())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(order("macs"), "f4 f0 f2 f1 f5 f3");
        assert_eq!(order("-macs"), "f5 f1 f2 f0 f4 f3");
    }
}
