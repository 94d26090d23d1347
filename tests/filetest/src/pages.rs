//! The pages of rules: their *Wrong* and *Right* examples are tests.

use onnx_diag::Rule;

use crate::expect::{Finding, Strictness, compare, expectations};

/// An ONNX text on a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageExample<'a> {
    /// The heading that precedes it.
    pub heading: &'a str,
    /// The text.
    pub text: String,
}

/// The ONNX texts on a page, in order.
#[must_use]
pub fn examples(page: &str) -> Vec<PageExample<'_>> {
    let mut examples = Vec::new();
    let mut heading = "";
    let mut open: Option<String> = None;
    for line in page.lines() {
        match &mut open {
            Some(text) if line.starts_with("```") => {
                examples.push(PageExample { heading, text: std::mem::take(text) });
                open = None;
            }
            Some(text) => {
                text.push_str(line);
                text.push('\n');
            }
            None if line == "```onnx" => open = Some(String::new()),
            None => heading = line.strip_prefix("## ").unwrap_or(heading),
        }
    }
    examples
}

/// Returns an error unless *Wrong* raises what its comments mark, where they mark it, and *Right* raises nothing, on the
/// pages of all rules.
///
/// # Errors
///
/// With the differences.
pub fn examples_hold<'a>(
    rules: impl IntoIterator<Item = &'a Rule>,
    findings: impl Fn(&Rule, &str) -> Vec<Finding>,
) -> Result<(), String> {
    let mut report = String::new();
    for rule in rules {
        for PageExample { heading, text } in examples(rule.explain) {
            let result = expectations(&text).and_then(|expected| {
                if expected.is_empty() == (heading == "Wrong") {
                    return Err("only *Wrong* marks lines, and it marks at least one".to_owned());
                }
                compare(&expected, &findings(rule, &text), Strictness::Loose)
            });
            if let Err(problem) = result {
                report.push_str(&format!("{} {}: {heading}\n{problem}\n", rule.id(), rule.slug));
            }
        }
    }
    if report.is_empty() { Ok(()) } else { Err(report) }
}

/// Returns an error unless the page of each rule has the slug as its title, and the five headings.
///
/// # Errors
///
/// With what is missing.
pub fn pages_are_complete<'a>(rules: impl IntoIterator<Item = &'a Rule>) -> Result<(), String> {
    let mut report = String::new();
    for rule in rules {
        if !rule.explain.starts_with(&format!("# {}\n", rule.slug)) {
            report.push_str(&format!("{}: the title is not the slug\n", rule.slug));
        }
        for heading in ["What", "Why", "Wrong", "Right", "Spec"] {
            if !rule.explain.contains(&format!("\n## {heading}\n")) {
                report.push_str(&format!("{}: `## {heading}` is missing\n", rule.slug));
            }
        }
    }
    if report.is_empty() { Ok(()) } else { Err(report) }
}

#[cfg(test)]
mod tests {
    use onnx_diag::{Reference, Severity};

    use super::*;

    const fn rule(explain: &'static str) -> Rule {
        Rule::new(1, "a-rule", Severity::Error, "A rule.")
            .with_reference(Reference::Enforced)
            .with_explain(explain)
    }

    #[test]
    fn pages_have_their_headings() {
        let page = rule("# a-rule\n\n## What\n\n## Why\n\n## Wrong\n\n## Right\n\n## Spec\n");
        assert_eq!(pages_are_complete([&page]), Ok(()));
        let page = rule("# rule\n\n## What\n\n## Why\n\n## Wrong\n\n## Spec\n");
        let report = pages_are_complete([&page]).unwrap_err();
        assert_eq!(report, "a-rule: the title is not the slug\na-rule: `## Right` is missing\n");
    }

    #[test]
    fn examples_are_compared_with_what_is_found() {
        let page = rule("## Wrong\n```onnx\nx  # error: ONNX0001\n```\n## Right\n```onnx\ny\n```\n");
        let wrong = Finding {
            position: Some((1, 1)),
            severity: Severity::Error,
            code: "ONNX0001".to_owned(),
            message: String::new(),
            by_column: false,
        };
        let only_wrong =
            |_: &Rule, text: &str| if text.starts_with('x') { vec![wrong.clone()] } else { Vec::new() };
        assert_eq!(examples_hold([&page], only_wrong), Ok(()));
        let always = examples_hold([&page], |_, _| vec![wrong.clone()]).unwrap_err();
        assert!(always.starts_with("ONNX0001 a-rule: Right\nnot expected: line 1"), "{always}");
        let never = examples_hold([&page], |_, _| Vec::new()).unwrap_err();
        assert!(never.starts_with("ONNX0001 a-rule: Wrong\nnot found:    line 1"), "{never}");
        let page = rule("## Right\n```onnx\nx  # error: ONNX0001\n```\n");
        assert!(examples_hold([&page], only_wrong).unwrap_err().contains("only *Wrong* marks lines"));
    }
}
