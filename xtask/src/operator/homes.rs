//! Where the files of an operator are: at the same path, `ops/<group>/<op>`, in each crate.
//!
//! Paths are found by reading the rows: what follows `infer(`, `eval(` and `row(` in the sources.

use std::collections::BTreeMap;

/// The rows of traits, by group.
pub(crate) const TRAITS: &str = "crates/onnx-schema/src/traits/";
/// The sources of inference.
pub(crate) const INFERENCE: &str = "crates/onnx-shape-infer/src/";
/// The sources of evaluation.
pub(crate) const KERNELS: &str = "crates/onnx-eval/src/";
/// The sources of the generator of models.
pub(crate) const RECIPES: &str = "crates/onnx-smith/src/";
/// The file tests of inference.
pub(crate) const FILETESTS: &str = "crates/onnx-shape-infer/tests/filetests/";

/// The modules with the constants of the operators that onnxruntime adds, and their domains.
const RUNTIME_MODULES: [(&str, &str); 4] = [
    ("default::", ""),
    ("microsoft::", "com.microsoft"),
    ("nchwc::", "com.microsoft.nchwc"),
    ("nhwc::", "com.ms.internal.nhwc"),
];

/// An operator with rows in a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Home {
    /// Path relative to the sources of the crate, without the extension: `ops/tensor/reshape`.
    pub(crate) path: String,
    /// The line of the row, counted from 1.
    pub(crate) line: usize,
}

/// The name of an operator without what its constant writes differently: `DEPTH_TO_SPACE` and `DepthToSpace` are the same.
pub(crate) fn key(name: &str) -> String {
    name.replace('_', "").to_uppercase()
}

/// The homes of the operators of ONNX in a crate, by [`key`]: the files below `root` in which `marker` is followed by the
/// constant of the operator, or by a list of constants.
pub(crate) fn homes<'a>(
    files: impl Iterator<Item = (&'a str, &'a str)>,
    root: &str,
    marker: &str,
) -> BTreeMap<String, Vec<Home>> {
    let mut homes: BTreeMap<String, Vec<Home>> = BTreeMap::new();
    for (path, text) in files {
        let own = path.strip_prefix(root).and_then(|path| path.strip_suffix(".rs"));
        let Some(own) = own.filter(|path| path.starts_with("ops/")) else { continue };
        for (line, rest) in after(text, marker) {
            let list = rest.strip_prefix("&[").and_then(|list| list.split(']').next());
            let (list, most) = list.map_or((rest, 1), |list| (list, usize::MAX));
            if !list.trim_start().starts_with("op::") {
                continue;
            }
            for constant in list.split("op::").skip(1).take(most) {
                let home = Home { path: own.to_owned(), line };
                homes.entry(key(word(constant))).or_default().push(home);
            }
        }
    }
    homes
}

/// The rows of traits in a file: the key of each operator, and the line, counted from 1, where its row begins.
pub(crate) fn trait_rows(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let rows = lines.iter().enumerate().filter(|(_, line)| line.starts_with("    row("));
    let found = rows.filter_map(|(index, line)| {
        let next = lines.get(index + 1).copied().unwrap_or_default();
        let constant = [*line, next].into_iter().find_map(|line| line.split("op::").nth(1))?;
        Some((key(word(constant)), index + 1))
    });
    found.collect()
}

/// The homes of the operators that onnxruntime adds, by domain and [`key`].
pub(crate) fn runtime_homes<'a>(
    files: impl Iterator<Item = (&'a str, &'a str)>,
) -> BTreeMap<(&'static str, String), Home> {
    let mut homes = BTreeMap::new();
    for (path, text) in files {
        let own = path.strip_prefix(INFERENCE).and_then(|path| path.strip_suffix(".rs"));
        let Some(own) = own.filter(|path| path.starts_with("contrib/")) else { continue };
        for (line, rest) in after(text, "infer(") {
            let found = RUNTIME_MODULES
                .iter()
                .find_map(|&(module, domain)| Some((domain, word(rest.strip_prefix(module)?))));
            if let Some((domain, constant)) = found {
                homes.insert((domain, key(constant)), Home { path: own.to_owned(), line });
            }
        }
    }
    homes
}

/// What follows each occurrence of a marker outside of comments, with the number of the line.
fn after<'a>(text: &'a str, marker: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    text.match_indices(marker).filter_map(move |(at, _)| {
        let before = text.get(..at)?;
        let line = before.rsplit('\n').next().unwrap_or_default();
        let is_word = line.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_');
        let is_comment = line.trim_start().starts_with("//");
        let number = before.matches('\n').count() + 1;
        (!is_word && !is_comment)
            .then(|| (number, text.get(at + marker.len()..).unwrap_or_default().trim_start()))
    })
}

/// The identifier that a text begins with.
fn word(text: &str) -> &str {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    text.split(|letter| !is_part(letter)).next().unwrap_or_default()
}

/// Whether a text of ONNX has a node of an operator with this [`key`].
pub(crate) fn calls(text: &str, key_of: &str) -> bool {
    let code = text.lines().map(|line| line.split("# ").next().unwrap_or_default());
    code.flat_map(|line| line.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_')))
        .any(|name| name.starts_with(|letter: char| letter.is_ascii_uppercase()) && key(name) == key_of)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str, marker: &str) -> Vec<(String, usize)> {
        let path = format!("{INFERENCE}ops/math/unary.rs");
        let homes = homes([(path.as_str(), text)].into_iter(), INFERENCE, marker);
        let all =
            homes.into_iter().flat_map(|(key, homes)| homes.into_iter().map(move |home| (key.clone(), home)));
        all.map(|(key, home)| {
            assert_eq!(home.path, "ops/math/unary");
            (key, home.line)
        })
        .collect()
    }

    #[test]
    fn rows_name_operators() {
        assert_eq!(
            found("infer(op::REDUCE_L1, x)\ninfer(\n  op::ABS)", "infer("),
            [("ABS".to_owned(), 2), ("REDUCEL1".to_owned(), 1)]
        );
        assert_eq!(
            found("row(&[op::MAX, op::P_RELU], max)", "row("),
            [("MAX".to_owned(), 1), ("PRELU".to_owned(), 1)]
        );
        assert_eq!(found("// infer(op::ABS)\nreinfer(op::ABS) infer(x)", "infer("), []);
    }

    #[test]
    fn texts_call_operators() {
        assert!(calls("  y = ai.onnx.ml.DepthToSpace <a = 1> (x)", "DEPTHTOSPACE"));
        assert!(!calls("  y = Relu (if)  # If is not called", "IF"));
    }
}
