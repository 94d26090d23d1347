//! What `onnx-version` does to a node at each version of its operator: the rows of its table of steps as sentences.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use onnx_functions::has_body;
use onnx_schema::{Schema, domain, latest_opset};
use onnx_version::{Down, STEPS, VersionChange};

use super::homes::key;
use super::{domain_name, path};
use crate::documents::HEADER;

/// The functions of steps.
const STEP_FUNCTIONS: &str = "crates/onnx-version/src/steps";

/// The steps of all operators.
pub(super) struct Conversions {
    rows: BTreeMap<(&'static str, &'static str, i64), (VersionChange, Down)>,
    /// The documentation of the functions, by the list that they are in, the operator and the version.
    functions: BTreeMap<(String, String, i64), String>,
}

impl Conversions {
    /// # Errors
    ///
    /// When a file of the functions cannot be read, or a function has no documentation.
    pub(super) fn new() -> Result<Self, String> {
        let rows = STEPS.iter().flat_map(|&(domain, op, versions)| {
            versions.iter().map(move |&(version, up, down)| ((domain, op, version), (up, down)))
        });
        Ok(Self { rows: rows.collect(), functions: functions()? })
    }

    fn function(&self, list: &str, schema: &Schema) -> Option<&str> {
        let list = match schema.domain() {
            domain::ML => format!("{list}_ML"),
            _ => list.to_owned(),
        };
        self.functions.get(&(list, key(schema.name()), schema.since_version())).map(String::as_str)
    }

    /// What a node needs to get to a version, and from it to the one before. Empty for operators that are not converted.
    pub(super) fn told(&self, schema: &'static Schema) -> [String; 2] {
        if ![domain::ONNX, domain::ML].contains(&schema.domain()) {
            return [String::new(), String::new()];
        }
        let row = self.rows.get(&(schema.domain_name(), schema.name(), schema.since_version()));
        let up = match row {
            Some((VersionChange::Adapted, _)) => {
                self.function("ADAPTED", schema).unwrap_or("refused").to_owned()
            }
            Some((VersionChange::Moved, _)) => "the attribute becomes a constant operand".to_owned(),
            Some(_) => "nothing".to_owned(),
            None => String::new(),
        };
        [up, self.downwards(schema, row.map(|&(_, down)| down))]
    }

    fn downwards(&self, schema: &'static Schema, row: Option<Down>) -> String {
        let since = schema.since_version();
        let before = schema.versions().iter().filter(|other| other.since_version() < since);
        let before = before.max_by_key(|other| other.since_version());
        if before.is_none_or(|before| before.is_deprecated() && !schema.is_deprecated()) {
            return self.without_form(schema);
        }
        match row {
            Some(Down::Adapted) => self.function("DOWN", schema).unwrap_or("refused").to_owned(),
            Some(Down::Constant) => "a constant operand becomes an attribute".to_owned(),
            Some(Down::Axes) => "axes are counted from the front".to_owned(),
            _ => "only the checks".to_owned(),
        }
    }

    /// What takes the place of an operator that older versions do not have.
    fn without_form(&self, schema: &'static Schema) -> String {
        if schema.since_version() <= 1 {
            return String::new();
        }
        if let Some(told) = self.function("LOWERED", schema) {
            return told.to_owned();
        }
        let next = schema.versions().iter().map(Schema::since_version);
        let next = next.filter(|&since| since > schema.since_version()).min();
        let last = next.map_or(latest_opset(schema.domain()), |next| Some(next.saturating_sub(1)));
        match (schema.since_version()..=last.unwrap_or(0)).any(|version| has_body(schema, version)) {
            true => "the body of the operator takes its place".to_owned(),
            false => "refused: no other operators compute it".to_owned(),
        }
    }
}

/// The page with all steps.
pub(super) fn page(
    conversions: &Conversions,
    operators: &[super::Operator<'_>],
) -> Result<String, std::fmt::Error> {
    let mut text = format!("{HEADER}# Steps between versions\n\n");
    text.push_str(
        "What `onnx convert` does to a node at each version that changes its operator; [the page about versions]\
         (../versions.md) explains it. In every step, attributes whose default changes are written out. Downwards, every step \
         checks that the older version allows the types, operands, results and attributes of the node, and attributes that \
         it does not have go if they have no effect. The pages of the operators say what each version changes in the schema.\n",
    );
    let mut domain = None;
    for operator in operators {
        let told: Vec<(i64, [String; 2])> = operator
            .schemas
            .iter()
            .rev()
            .map(|schema| (schema.since_version(), conversions.told(schema)))
            .filter(|(_, told)| told.iter().any(|told| !told.is_empty()))
            .collect();
        if told.is_empty() {
            continue;
        }
        if domain.replace(operator.newest.domain()) != Some(operator.newest.domain()) {
            write!(text, "\n## {}\n\n", domain_name(operator.newest))?;
            text.push_str("| operator | version | upwards | downwards |\n|---|---|---|---|\n");
        }
        for (version, [up, down]) in told {
            let name = operator.newest.name();
            let page = path(operator.newest);
            writeln!(text, "| [{name}]({page}) | {version} | {} | {} |", shown(&up), shown(&down))?;
        }
    }
    Ok(text)
}

/// A cell of a table.
pub(super) fn shown(text: &str) -> &str {
    if text.is_empty() { "–" } else { text }
}

/// The documentation of the functions in the lists of `steps/mod.rs`.
fn functions() -> Result<BTreeMap<(String, String, i64), String>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(STEP_FUNCTIONS);
    let read = |path: &Path| fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()));
    let (mut list, mut files, mut found) = (String::new(), BTreeMap::new(), BTreeMap::new());
    for line in read(&root.join("mod.rs"))?.lines() {
        if let Some(name) = line.strip_prefix("const ").and_then(|rest| rest.split(':').next()) {
            name.clone_into(&mut list);
        }
        let row = line.trim().strip_prefix("(op::").and_then(|rest| rest.strip_suffix("),"));
        let Some([op, version, function]) =
            row.and_then(|row| <[&str; 3]>::try_from(row.split(", ").collect::<Vec<_>>()).ok())
        else {
            continue;
        };
        let failed = || format!("`{function}` of {op}, version {version}, is not documented");
        let (module, name) = function.rsplit_once("::").ok_or_else(failed)?;
        if !files.contains_key(module) {
            let file = root.join(format!("{}.rs", module.replace("::", "/")));
            files.insert(module.to_owned(), read(&file)?);
        }
        let text = files.get(module).and_then(|text| documentation(text, name)).ok_or_else(failed)?;
        found.insert((list.clone(), key(op), version.parse().map_err(|_| failed())?), text);
    }
    Ok(found)
}

/// The documentation of a function, as a clause.
fn documentation(text: &str, function: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().collect();
    let at = lines.iter().position(|line| line.starts_with(&format!("pub(crate) fn {function}(")))?;
    let mut told: Vec<&str> =
        lines.get(..at)?.iter().rev().map_while(|line| line.strip_prefix("/// ")).collect();
    told.reverse();
    let told = told.join(" ");
    let told = told.trim_start_matches("Downwards: ").trim_start_matches("Upwards: ").trim_end_matches('.');
    let mut letters = told.chars();
    let first = letters.next()?;
    Some(first.to_lowercase().chain(letters).collect::<String>().replace('|', "\\|"))
}
