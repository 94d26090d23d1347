//! The names that every interner starts with.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::facts::Facts;

/// The domains with a constant: its name, the text, what it is.
const DOMAINS: [(&str, &str, &str); 7] = [
    ("ONNX", "", "The domain of the ONNX operators, written as the empty name."),
    ("AI_ONNX", "ai.onnx", "The other spelling of the domain of the ONNX operators."),
    ("ML", "ai.onnx.ml", "The domain of the classical machine learning operators."),
    ("PREVIEW", "ai.onnx.preview", "The domain of operators that are still being worked out."),
    (
        "PREVIEW_TRAINING",
        "ai.onnx.preview.training",
        "The domain of the training operators that are still in preview.",
    ),
    ("TRAINING", "ai.onnx.training", "The domain reserved for training operators; it has none yet."),
    ("MICROSOFT", "com.microsoft", "The domain of the operators that ONNX Runtime adds."),
];

/// The name table and where its parts begin.
pub(super) struct Names {
    all: Vec<String>,
    index: BTreeMap<String, usize>,
    /// The first operator name.
    pub(super) first_op: usize,
    /// All operator names in order.
    pub(super) ops: Vec<String>,
    attributes: Vec<String>,
}

impl Names {
    /// Domains, operators and attributes, each in alphabetical order, every text once.
    pub(super) fn of(facts: &Facts) -> Result<Self, String> {
        let schemas = &facts.core.schemas;
        let ops: BTreeSet<String> = schemas.iter().map(|schema| schema.op.clone()).collect();
        let attributes: BTreeSet<String> = schemas
            .iter()
            .flat_map(|schema| &schema.attributes)
            .map(|attribute| attribute.name.clone())
            .collect();
        let mut names = Self {
            all: Vec::new(),
            index: BTreeMap::new(),
            first_op: DOMAINS.len(),
            ops: ops.into_iter().collect(),
            attributes: attributes.into_iter().collect(),
        };
        let domains = DOMAINS.iter().map(|&(_, text, _)| text.to_owned());
        let texts: Vec<String> =
            domains.chain(names.ops.iter().cloned()).chain(names.attributes.iter().cloned()).collect();
        for text in texts {
            if !names.index.contains_key(&text) {
                names.index.insert(text.clone(), names.all.len());
                names.all.push(text);
            }
        }
        for group in [&names.ops, &names.attributes] {
            let constants: BTreeSet<String> = group.iter().map(|text| constant(text)).collect();
            if constants.len() != group.len() {
                return Err("two names lead to one constant: extend `constant`".to_owned());
            }
        }
        for (position, op) in names.ops.iter().enumerate() {
            if names.symbol(op)? != names.first_op + position {
                return Err(format!("the operator name `{op}` is also a domain"));
            }
        }
        for domain in facts.core.domains.iter().map(|domain| &domain.domain) {
            names.symbol(domain)?;
        }
        Ok(names)
    }

    /// The fixed index of a name.
    pub(super) fn symbol(&self, text: &str) -> Result<usize, String> {
        self.index.get(text).copied().ok_or_else(|| format!("`{text}` is not in the name table: add it"))
    }

    /// The Rust path of a domain's constant.
    pub(super) fn domain(text: &str) -> String {
        let known = DOMAINS.iter().find(|&&(_, domain, _)| domain == text);
        format!("domain::{}", known.map_or("UNKNOWN", |&(name, _, _)| name))
    }

    /// The file `names.rs`.
    pub(super) fn source(&self) -> String {
        let mut out = String::from("use onnx_types::Symbol;\n\n");
        let _ = writeln!(
            out,
            "/// The names that every interner starts with; the position is the symbol's index."
        );
        let _ = writeln!(out, "pub(crate) static NAMES: [&str; {}] = {:?};\n", self.all.len(), self.all);
        let _ = writeln!(out, "/// The index of the first operator name.");
        let _ = writeln!(out, "pub(crate) const FIRST_OP: u32 = {};\n", self.first_op);
        out.push_str("/// The symbols of domains.\npub mod domain {\nuse super::Symbol;\n\n");
        for (name, text, doc) in DOMAINS {
            self.write_constant(&mut out, name, text, doc);
        }
        out.push_str("}\n\n/// The symbols of the operators of all ONNX domains.\npub mod op {\nuse super::Symbol;\n\n");
        for text in &self.ops {
            self.write_constant(&mut out, &constant(text), text, &format!("The operator name `{text}`."));
        }
        out.push_str("}\n\n/// The symbols of the attributes of all ONNX operators.\npub mod attr {\nuse super::Symbol;\n\n");
        for text in &self.attributes {
            self.write_constant(&mut out, &constant(text), text, &format!("The attribute name `{text}`."));
        }
        out.push_str("}\n");
        out
    }

    fn write_constant(&self, out: &mut String, name: &str, text: &str, doc: &str) {
        let index = self.index.get(text).copied().unwrap_or_default();
        let _ = writeln!(out, "/// {doc}\npub const {name}: Symbol = Symbol::from_index({index});");
    }
}

/// The name of a constant: words of a camel-case or snake-case name in capitals, joined by underscores.
///
/// A word begins where a capital follows a small letter, or where the last capital of several is followed by a small
/// letter: `QLinearConv` is `Q_LINEAR_CONV`, `GatherND` is `GATHER_ND`. `NaN` is one word.
pub(super) fn constant(text: &str) -> String {
    let text: Vec<char> = text.replace("NaN", "Nan").chars().collect();
    let mut name = String::new();
    for (position, &letter) in text.iter().enumerate() {
        let before = position.checked_sub(1).and_then(|at| text.get(at));
        let after = text.get(position + 1);
        let begins = letter.is_ascii_uppercase()
            && before.is_some_and(|before| {
                before.is_ascii_lowercase()
                    || (before.is_ascii_uppercase() && after.is_some_and(char::is_ascii_lowercase))
            });
        if begins {
            name.push('_');
        }
        name.push(letter.to_ascii_uppercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::constant;

    #[test]
    fn constants_are_split_into_words() {
        for (text, expected) in [
            ("MatMul", "MAT_MUL"),
            ("LSTM", "LSTM"),
            ("QLinearConv", "Q_LINEAR_CONV"),
            ("GatherND", "GATHER_ND"),
            ("IsNaN", "IS_NAN"),
            ("ReduceL1", "REDUCE_L1"),
            ("PRelu", "P_RELU"),
            ("SVMClassifier", "SVM_CLASSIFIER"),
            ("Col2Im", "COL2IM"),
            ("transA", "TRANS_A"),
            ("else_branch", "ELSE_BRANCH"),
        ] {
            assert_eq!(constant(text), expected);
        }
    }
}
