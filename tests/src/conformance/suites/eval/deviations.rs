//! The list of differences that have a reason.
//!
//! A line of `tests/conformance/deviations/eval.txt` is
//!
//! ```text
//! OPERATOR VERSIONS TYPES OPERANDS KIND PEER # which result is correct, and why
//! ```
//!
//! | part | values |
//! |---|---|
//! | `OPERATOR` | `Add`, `ai.onnx.ml.Scaler` |
//! | `VERSIONS` | the versions that introduced the operator or changed it: `7`, `7-12`, `*` |
//! | `TYPES` | `*`, or element types of which an operand or a result has one: `int8,uint8` |
//! | `OPERANDS` | `*`, or what an operand has: `empty` (no elements), `blank` (an empty string), `nan` (or an infinity), `zero` (a float) |
//! | `KIND` | `type`, `shape`, `elements`, or `fails` if our evaluator does |
//! | `PEER` | `reference` or `onnxruntime`; `both`, if they agree with each other |

use std::path::Path;

use onnx_schema::Schema;
use onnx_types::ElemType;

use crate::conformance::report::Report;

/// A difference.
pub(super) struct Found<'a> {
    /// The operators of the node, its own first.
    pub(super) ops: &'a [&'static Schema],
    /// The element types of its operands and results.
    pub(super) elems: &'a [ElemType],
    /// What is special about its operands.
    pub(super) operands: &'a [&'static str],
    pub(super) kind: &'a str,
    pub(super) peer: &'a str,
}

struct Deviation {
    line: String,
    op: String,
    versions: (i64, i64),
    elems: Option<Vec<String>>,
    operands: String,
    kind: String,
    peer: String,
}

/// The list.
pub(super) struct Deviations(Vec<Deviation>);

impl Deviations {
    /// The committed list.
    pub(super) fn committed() -> Result<Self, String> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("conformance/deviations/eval.txt");
        let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(parse).collect::<Result<_, _>>().map(Self)
    }

    /// The line that explains a difference.
    pub(super) fn of(&self, found: &Found<'_>) -> Option<&str> {
        self.0.iter().find(|deviation| deviation.explains(found)).map(|deviation| deviation.line.as_str())
    }

    /// The name of the count of differences that a line explains.
    pub(super) fn count(line: &str) -> String {
        format!("listed: {line}")
    }

    /// The lines that explained nothing in a run.
    pub(super) fn unused(&self, report: &Report) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .map(|deviation| deviation.line.as_str())
            .filter(|line| report.count(&Self::count(line)) == 0)
    }
}

impl Deviation {
    fn explains(&self, found: &Found<'_>) -> bool {
        let is_op = |schema: &&Schema| {
            let name = match schema.domain_name() {
                "" => schema.name().to_owned(),
                domain => format!("{domain}.{}", schema.name()),
            };
            name == self.op && (self.versions.0..=self.versions.1).contains(&schema.since_version())
        };
        let has_elem =
            |elems: &Vec<String>| found.elems.iter().any(|elem| elems.iter().any(|name| name == elem.name()));
        self.kind == found.kind
            && self.peer == found.peer
            && (self.operands == "*" || found.operands.contains(&self.operands.as_str()))
            && found.ops.iter().any(is_op)
            && self.elems.as_ref().is_none_or(has_elem)
    }
}

fn parse(line: &str) -> Result<Deviation, String> {
    let unclear = || format!("this line of the deviations of `eval` is not understood: {line}");
    let (key, reason) = line.split_once(" # ").ok_or_else(unclear)?;
    if reason.trim().is_empty() {
        return Err(unclear());
    }
    let [op, versions, elems, operands, kind, peer] = key.split(' ').collect::<Vec<_>>()[..] else {
        return Err(unclear());
    };
    let number = |text: &str| text.parse::<i64>().map_err(|_| unclear());
    let versions = match versions.split_once('-') {
        _ if versions == "*" => (0, i64::MAX),
        Some((low, high)) => (number(low)?, number(high)?),
        None => (number(versions)?, number(versions)?),
    };
    Ok(Deviation {
        line: key.to_owned(),
        op: op.to_owned(),
        versions,
        elems: (elems != "*").then(|| elems.split(',').map(str::to_owned).collect()),
        operands: operands.to_owned(),
        kind: kind.to_owned(),
        peer: peer.to_owned(),
    })
}
