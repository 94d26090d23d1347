//! Rewrite rules: their pages, and lists of them.

use std::fmt::Write as _;

use onnx_pass::{Exactness, Pass};
use onnx_rewrite::{FUSIONS_PASS, RULES_PASS, RuleSet};
use serde_json::{Value, json};

use crate::exit::Failure;
use crate::output::{DIM, HEADING, KEY, paint};

/// A rule of the program that edits models.
pub(super) struct RewriteRule {
    name: String,
    class: Exactness,
    page: String,
    /// The rule as it is written; `None` if it is a function in Rust.
    text: Option<String>,
    /// Whether it is applied only with `--fuse`.
    is_fusion: bool,
}

/// The rules that simplify, and then the fusions.
pub(super) fn all() -> Result<Vec<RewriteRule>, Failure> {
    let mut rules = Vec::new();
    for (set, is_fusion) in [(standard()?, false), (fusions()?, true)] {
        rules.extend(set.rules().map(|rule| RewriteRule {
            name: rule.name().to_owned(),
            class: rule.class(),
            page: rule.page().to_owned(),
            text: Some(rule.text().to_owned()),
            is_fusion,
        }));
        rules.extend(set.functions().map(|rule| RewriteRule {
            name: rule.name().to_owned(),
            class: rule.class(),
            page: rule.page().to_owned(),
            text: None,
            is_fusion,
        }));
    }
    Ok(rules)
}

/// The pass that applies all rules, or all fusions, by its name.
pub(super) fn pass(name: &str) -> Result<Option<Pass>, Failure> {
    Ok(match name {
        RULES_PASS => Some(standard()?.pass(RULES_PASS)),
        FUSIONS_PASS => Some(fusions()?.pass(FUSIONS_PASS)),
        _ => None,
    })
}

fn standard() -> Result<RuleSet, Failure> {
    RuleSet::standard().map_err(Failure::new)
}

fn fusions() -> Result<RuleSet, Failure> {
    RuleSet::fusions().map_err(Failure::new)
}

impl RewriteRule {
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The rule, as an item of `rewrite-rules/1`.
    pub(super) fn item(&self) -> Value {
        json!({
            "name": self.name,
            "class": self.class.name(),
            "fusion": self.is_fusion,
            "text": self.page,
            "rule": self.text,
        })
    }

    /// The page, for people.
    pub(super) fn page(&self) -> Result<String, Failure> {
        let mut text = String::new();
        writeln!(text, "{} ({})\n\n{}\n", paint(HEADING, &self.name), self.class.name(), self.page)?;
        let command = if self.is_fusion { "onnx simplify --fuse" } else { "onnx simplify" };
        writeln!(text, "{} {command}", paint(DIM, "applied by:   "))?;
        match self.class {
            Exactness::Exact => {}
            _ => writeln!(text, "{} onnx simplify --exact", paint(DIM, "excluded with:"))?,
        }
        if let Some(rule) = &self.text {
            writeln!(text)?;
            for line in rule.lines() {
                writeln!(
                    text,
                    "{}",
                    if line.is_empty() { String::new() } else { format!("    {}", paint(KEY, line)) }
                )?;
            }
        }
        Ok(text)
    }

    /// The first sentence of the page.
    fn summary(&self) -> String {
        let words: Vec<&str> = self.page.split_whitespace().collect();
        let page = words.join(" ");
        match page.split_once(". ") {
            Some((first, _)) => format!("{first}."),
            None => page,
        }
    }
}

/// The rules, one a line.
pub(super) fn list(rules: &[RewriteRule]) -> String {
    let width = rules.iter().map(|rule| rule.name.len()).max().unwrap_or(0);
    let line = |rule: &RewriteRule| {
        let name = paint(KEY, format!("{:width$}", rule.name));
        format!("{name}  {:8}  {}\n", rule.class.name(), rule.summary())
    };
    rules.iter().map(line).collect()
}
