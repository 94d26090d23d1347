//! `docs/performance.md`, written from what a run side by side found.

use std::fmt::Write as _;
use std::fs;

use serde_json::{Value, json};

use crate::TaskResult;

const HEAD: &str = "\
<!-- Written by `cargo xtask bench --peers`; not edited by hand. -->
# Performance

In every row both sides were measured interleaved, in one run on one machine; the result is the ratio of the medians,
ours to theirs, unless the row states otherwise. If both sides only compute, times are processor times. Results differ
between machines and days: run `cargo xtask bench --peers` for the figures of yours, with `--models DIR` to include real
models.
`MISS` marks a target (`bar`) that this project set itself and missed in the run that wrote the page.

Every process that is timed keeps the memory that it has freed: `MALLOC_TRIM_THRESHOLD_` and `MALLOC_MMAP_THRESHOLD_` of
the allocator are raised, on both sides. Otherwise it depends on chance, such as which size was freed last, whether a
round gets its pages from the system again, which can cost more than the work itself. So a median is that of a process
that has done the same before, as a server has, and it excludes the first round of each process. The rows that begin
with `first` show the cost for a process that does the work once, as a command does: they contain only the first rounds,
with fresh memory.

| group | what it measures |
|---|---|
| load | bytes to the graph and back, and deep copies, against upb (the parser of the `onnx` package), prost and onnx-ir |
| memory | bytes of the heap that live after reading |
| weights | opening, checking, inferring, printing (elided) and copying a model with 1 GiB of weights, inline or external |
| growth | the exponent by which time grows from 10,000 to 1,000,000 nodes: 1 is linear; for single edits, 0 is constant |
| text | printing and parsing, against `onnx.printer` and `onnx.parser` |
| forms | megabytes of tensors that become protobuf's text, JSON or ONNX text in a second, and return |
| check | a verdict, from the file and in memory, against `onnx.checker` |
| convert | conversion to a newer operator set version, against `onnx.version_converter`, and its growth |
| functions | inlining calls, against decoding the model, `onnx.inliner` and the pass of onnx-ir, and its growth |
| simplify | `onnx simplify` with structure, rules and types proved, against onnxsim, onnxslim, the optimizer of onnxscript and onnxoptimizer on the same files; its growth with the model, and one sweep of 10, 100 and 1,000 generated rules |
| passes | common passes in a context, against those of onnx-ir; a pipeline of 20 passes with structure, rules and types proved, against reading the file, the passes of onnx-ir, onnxoptimizer and onnxslim; its growth |
| infer | bytes to inferred bytes, against `onnx.shape_inference` and onnxruntime's symbolic inference |
| eval | running a real model of each family on small inputs, against onnxruntime without optimization (one thread each) and `onnx.reference`, and the cost of planning |
| rust | bytes to the graph, against other Rust libraries, which do different amounts of work |

Of the libraries in the group `rust`, the rows of messages measure how long it takes to decode the bytes into messages.
rten, tract-onnx and onnx-ir make a graph of operators that they can run, while optimizing, inferring shapes and
simplifying are switched off as far as each allows it; onnx-std makes messages and a graph. All are built with cargo's
release profile, our programs with link-time optimization as well. A row without a result states the reason.
";

/// Writes the page.
pub(super) fn write(bars: &[Value], versions: &Value) -> TaskResult {
    let path = crate::workspace::root().join("docs/performance.md");
    fs::write(&path, render(bars, versions)).map_err(|error| format!("{}: {error}", path.display()))?;
    println!("the page is {}", path.display());
    Ok(())
}

/// The rows of the page that was written last.
pub(super) fn rows() -> Vec<Value> {
    let path = crate::workspace::root().join("docs/performance.md");
    parse(&fs::read_to_string(path).unwrap_or_default())
}

fn parse(page: &str) -> Vec<Value> {
    let mut group = "";
    let mut rows = Vec::new();
    for line in page.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            group = name;
        }
        let line = line.replace("\\|", "\0");
        let cells: Vec<String> = line.split('|').map(|cell| cell.trim().replace('\0', "|")).collect();
        let [_, what, sides, shown, limit, verdict, _] = cells.as_slice() else { continue };
        if !group.is_empty() && what != "what" && !what.starts_with("---") {
            rows.push(json!({
                "group": group, "what": what, "sides": sides, "shown": shown, "limit": limit, "verdict": verdict,
            }));
        }
    }
    rows
}

fn render(bars: &[Value], versions: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().replace('|', "\\|");
    let mut page = HEAD.to_owned();
    let missed = bars.iter().filter(|row| row["verdict"] == "MISS").count();
    let judged = bars.iter().filter(|row| row["verdict"] != "").count();
    // Writing to a `String` cannot fail.
    let _ = writeln!(
        page,
        "\nMachine: {}. {} of {judged} results meet their targets.",
        machine(),
        judged - missed
    );
    let _ = write!(page, "Versions:");
    for (name, version) in versions.as_object().into_iter().flatten() {
        let _ = write!(page, " {name} {}", text(version));
    }
    page.push_str(".\n");
    let mut group = String::new();
    for row in bars {
        if row["group"] != group.as_str() {
            group = text(&row["group"]);
            let _ = writeln!(page, "\n## {group}\n");
            page.push_str("| what | ours / theirs | result | bar | |\n|---|---|---|---|---|\n");
        }
        let [what, sides, shown, limit, verdict] =
            ["what", "sides", "shown", "limit", "verdict"].map(|key| text(&row[key]));
        let _ = writeln!(page, "| {what} | {sides} | {shown} | {limit} | {verdict} |");
    }
    page
}

/// Processor, cores and system, as far as they can be found out.
fn machine() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("an unknown processor", |(_, name)| name);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{model}, {cores} cores, {}", std::env::consts::OS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_under_their_group_and_misses_are_counted() {
        let row = |group: &str, verdict: &str| {
            json!({
                "group": group, "what": "a|b", "sides": "1 ms / 2 ms", "shown": "0.50", "limit": "≤ 1",
                "verdict": verdict,
            })
        };
        let bars = [row("load", "PASS"), row("load", ""), row("text", "MISS")];
        let page = render(&bars, &json!({ "onnx": "1.23.2" }));
        assert!(page.contains("1 of 2 results meet their targets"), "{page}");
        assert!(page.contains("Versions: onnx 1.23.2."), "{page}");
        assert_eq!(page.matches("\n## ").count(), 2, "{page}");
        assert!(page.contains("| a\\|b | 1 ms / 2 ms | 0.50 | ≤ 1 | MISS |"), "{page}");
        assert_eq!(parse(&page), bars);
    }
}
