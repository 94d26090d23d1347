//! `onnx explain`: what a rule means.

use std::fmt::Write as _;

use onnx_diag::{Reference, Rule, Severity};

use crate::args::ExplainArgs;
use crate::exit::{Failure, Outcome};
use crate::output::{BAD, DIM, HEADING, KEY, Out, WARN, paint};
use crate::rules;

pub(crate) fn run(args: &ExplainArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let text = match &args.rule {
        Some(name) => page(rules::find(name)?)?,
        None => list()?,
    };
    out.text(&text)?;
    Ok(Outcome::Fine)
}

fn style(severity: Severity) -> anstyle::Style {
    match severity {
        Severity::Error => BAD,
        Severity::Warning => WARN,
        Severity::Note => KEY,
    }
}

fn list() -> Result<String, Failure> {
    let rules = rules::all();
    let widest = rules.iter().map(|rule| rule.slug.len()).max().unwrap_or_default();
    let mut text = String::new();
    for rule in rules {
        let severity = paint(style(rule.severity), format!("{:<7}", rule.severity.as_str()));
        writeln!(text, "{}  {severity}  {:<widest$}  {}", rule.id(), rule.slug, paint(DIM, rule.summary))?;
    }
    Ok(text)
}

fn page(rule: &Rule) -> Result<String, Failure> {
    let mut text = String::new();
    let severity = paint(style(rule.severity), rule.severity);
    writeln!(text, "{} {} ({severity})", paint(HEADING, rule.id()), paint(HEADING, rule.slug))?;
    writeln!(text, "\n{}\n", rule.summary)?;
    if !rule.spec.is_empty() {
        writeln!(text, "{} {}", paint(DIM, "specification:    "), rule.spec)?;
    }
    let reference = match rule.reference {
        Reference::Enforced => "rejects models that have this defect",
        Reference::Partly => "rejects some models that have this defect, and accepts others",
        Reference::NotEnforced => "accepts models that have this defect",
    };
    writeln!(text, "{} {reference}", paint(DIM, "reference checker:"))?;
    if can_be_silenced(rule) {
        writeln!(text, "{} onnx check --allow {} FILE", paint(DIM, "to silence it:    "), rule.slug)?;
    }
    if onnx_check::ON_REQUEST.contains(&rule) {
        writeln!(
            text,
            "{} onnx check --notes FILE (otherwise counted only)",
            paint(DIM, "to print it:      ")
        )?;
    }
    if !rule.explain.is_empty() {
        text.push('\n');
        // The page begins with the name of the rule, which is printed above already.
        let title = format!("# {}\n", rule.slug);
        let page = rule.explain.strip_prefix(title.as_str()).unwrap_or(rule.explain);
        markdown(&mut text, page)?;
    }
    Ok(text)
}

/// Returns `true` if a file that violates a rule can still be processed: a text with syntax errors is not a model, and a
/// failure is not a diagnostic.
fn can_be_silenced(rule: &Rule) -> bool {
    let is_text = onnx_text::rules::ALL.contains(&rule);
    let is_text_error = is_text && rule.severity == Severity::Error;
    !is_text_error && !crate::failures::ALL.contains(&rule)
}

/// Markdown for a terminal: headings are highlighted, and code is indented instead of fenced; the rest is unchanged.
fn markdown(out: &mut String, source: &str) -> Result<(), Failure> {
    let mut fenced = false;
    for line in source.trim().lines() {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if fenced {
            writeln!(out, "    {}", paint(KEY, line))?;
        } else if let Some(heading) = line.strip_prefix('#') {
            writeln!(out, "{}", paint(HEADING, heading.trim_start_matches('#').trim()))?;
        } else {
            writeln!(out, "{line}")?;
        }
    }
    Ok(())
}
