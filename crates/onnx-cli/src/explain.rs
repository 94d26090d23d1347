//! `onnx explain`: what a rule or a limit means, and lists of them.

mod reporters;
mod rewrite_rules;

use std::fmt::Write as _;

use onnx_compose::Target;
use onnx_diag::{Reference, Rule, Severity};
use onnx_pass::Pass;
use onnx_schema::Registry;
use onnx_types::{LIMITS, Limit};
use serde_json::{Value, json};

use crate::args::{ExplainArgs, ListKind};
use crate::exit::{Failure, Outcome};
use crate::json::JsonText;
use crate::output::{BAD, DIM, HEADING, KEY, Out, WARN, paint};
use crate::{limits, rules, targets};

use rewrite_rules::RewriteRule;

pub(crate) fn run(args: &ExplainArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let subject = subject(args)?;
    if !out.is_for_people() {
        let (kind, key, items): (_, _, Vec<Value>) = match subject {
            Subject::Rules(rules) => ("rules/1", "rules", rules.into_iter().map(item).collect()),
            Subject::Limits(limits) => ("limits/1", "limits", limits.iter().map(limits::item).collect()),
            Subject::Targets(targets) => {
                ("targets/1", "targets", targets.iter().copied().map(targets::item).collect())
            }
            Subject::Passes(passes) => ("passes/1", "passes", passes.iter().map(pass_item).collect()),
            Subject::RewriteRules(rules) => {
                ("rewrite-rules/1", "rewrite_rules", rules.iter().map(RewriteRule::item).collect())
            }
        };
        out.result_kind(kind, key);
        out.items(items.iter().map(JsonText::of).collect::<Result<_, _>>()?);
        return Ok(Outcome::Fine);
    }
    let text = match subject {
        Subject::Rules(rules) if args.list.is_none() => {
            rules.into_iter().map(page).collect::<Result<_, _>>()?
        }
        Subject::Rules(rules) => list(rules)?,
        Subject::Limits(_) if args.list.is_some() => limits::table()?,
        Subject::Targets(targets) => targets::table(&targets),
        Subject::Passes(passes) if args.list.is_some() => pass_list(&passes),
        Subject::Passes(passes) => passes.iter().map(|pass| pass.page().to_owned()).collect(),
        Subject::RewriteRules(rules) if args.list.is_some() => rewrite_rules::list(&rules),
        Subject::RewriteRules(rules) => rules.iter().map(RewriteRule::page).collect::<Result<_, _>>()?,
        Subject::Limits(limits) => limits.iter().map(limits::page).collect::<Result<_, _>>()?,
    };
    out.text(&text)?;
    Ok(Outcome::Fine)
}

const ALL_LIMITS: &[Limit] = &LIMITS;

/// What is explained or listed.
enum Subject {
    Rules(Vec<&'static Rule>),
    Limits(&'static [Limit]),
    Passes(Vec<Pass>),
    Targets(Vec<&'static Target>),
    RewriteRules(Vec<RewriteRule>),
}

fn subject(args: &ExplainArgs) -> Result<Subject, Failure> {
    Ok(match (&args.list, &args.name) {
        (Some(ListKind::Limits), _) => Subject::Limits(ALL_LIMITS),
        (Some(ListKind::Passes), _) => Subject::Passes(Pass::standard()),
        (Some(ListKind::Targets), _) => Subject::Targets(targets::all()),
        (Some(ListKind::RewriteRules), _) => Subject::RewriteRules(rewrite_rules::all()?),
        (None, Some(name)) => named(name)?,
        (Some(ListKind::Rules), _) | (None, None) => Subject::Rules(rules::all()),
    })
}

/// What has a name. Diagnostics print the names of rules of diagnostics, edits those of passes and rewrite rules.
fn named(name: &str) -> Result<Subject, Failure> {
    if let Some(index) = ALL_LIMITS.iter().position(|limit| limit.name == name) {
        return Ok(Subject::Limits(ALL_LIMITS.get(index..=index).unwrap_or_default()));
    }
    if let Some(pass) = Pass::find(name, Registry::STANDARD) {
        return Ok(Subject::Passes(vec![pass]));
    }
    if let Some(pass) = rewrite_rules::pass(name)? {
        return Ok(Subject::Passes(vec![pass]));
    }
    if let Some(target) = Target::named(name) {
        return Ok(Subject::Targets(vec![target]));
    }
    let mut rewrite_rules = rewrite_rules::all()?;
    if let Some(index) = rewrite_rules.iter().position(|rule| rule.name() == name) {
        return Ok(Subject::RewriteRules(vec![rewrite_rules.swap_remove(index)]));
    }
    if let Some(command) = command(name) {
        return Err(Failure::new(format_args!("`{command}` is a command"))
            .help(format!("`onnx {command} --help` explains it")));
    }
    if let Some(operator) = operator(name) {
        return Err(Failure::new(format_args!("`{operator}` is an operator"))
            .help(format!("`onnx ops show {operator}` explains it")));
    }
    match rules::find(name) {
        Ok(rule) => Ok(Subject::Rules(vec![rule])),
        Err(error) => {
            let passes = Pass::standard();
            let mut names: Vec<&str> = ALL_LIMITS.iter().map(|limit| limit.name).collect();
            names.extend(passes.iter().map(Pass::name));
            targets::names().for_each(|name| names.push(name));
            names.extend(rewrite_rules.iter().map(RewriteRule::name));
            Err(match onnx_schema::nearest(name, names.into_iter()) {
                Some(nearest) => Failure::new(format_args!("nothing has the name `{}`", name.escape_debug()))
                    .help(format!("did you mean `{nearest}`?")),
                None => error,
            })
        }
    }
}

/// The operator of ONNX with this name, in whatever case.
fn operator(name: &str) -> Option<&'static str> {
    let mut names = onnx_schema::operators().filter_map(<[_]>::first).map(onnx_schema::Schema::name);
    names.find(|operator| operator.eq_ignore_ascii_case(name))
}

/// The command of this name.
fn command(name: &str) -> Option<String> {
    let cli = <crate::args::Cli as clap::CommandFactory>::command();
    cli.find_subcommand(name)
        .filter(|command| !command.is_hide_set())
        .map(|command| command.get_name().to_owned())
}

/// A pass, as an item of `passes/1`.
fn pass_item(pass: &Pass) -> Value {
    json!({
        "name": pass.name(),
        "summary": pass.summary(),
        "class": pass.class().name(),
        "requires": pass.requires().collect::<Vec<_>>(),
        "text": pass.page(),
    })
}

/// The passes, one a line.
fn pass_list(passes: &[Pass]) -> String {
    let width = passes.iter().map(|pass| pass.name().len()).max().unwrap_or(0);
    let line = |pass: &Pass| {
        format!(
            "{}  {:8}  {}\n",
            paint(KEY, format!("{:width$}", pass.name())),
            pass.class().name(),
            pass.summary()
        )
    };
    passes.iter().map(line).collect()
}

/// A rule, as an item of `rules/1`.
fn item(rule: &Rule) -> Value {
    json!({
        "code": rule.id().to_string(),
        "name": rule.slug,
        "severity": rule.severity.as_str(),
        "summary": rule.summary,
        "specification": (!rule.spec.is_empty()).then_some(rule.spec),
        "explanation": (!rule.explain.is_empty()).then_some(rule.explain),
    })
}

fn style(severity: Severity) -> anstyle::Style {
    match severity {
        Severity::Error => BAD,
        Severity::Warning => WARN,
        Severity::Note => KEY,
    }
}

fn list(rules: Vec<&Rule>) -> Result<String, Failure> {
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
    let (family, reporter) = (Family::of(rule), reporters::of(rule));
    if family.is_about_models() && reporter.is_none() {
        let reference = match rule.reference {
            Reference::Enforced => "rejects models that have this defect",
            Reference::Partly => "rejects some models that have this defect, and accepts others",
            Reference::NotEnforced => "accepts models that have this defect",
        };
        writeln!(text, "{} {reference}", paint(DIM, "reference checker:"))?;
    }
    let (commands, silencing) = match reporter {
        Some(reporter) => (reporter.commands, reporter.silencing.map(str::to_owned)),
        None => (family.commands(), family.silencing(rule)),
    };
    writeln!(text, "{} {commands}", paint(DIM, "reported by:      "))?;
    if let Some(command) = silencing {
        writeln!(text, "{} {command}", paint(DIM, "to silence it:    "))?;
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

/// The rules of one part of the program, which determines who reports them.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Text,
    Reading,
    Checking,
    Inference,
    Runs,
    Comparison,
    Failures,
}

impl Family {
    fn of(rule: &Rule) -> Self {
        let is_in = |rules: &[&Rule]| rules.contains(&rule);
        match rule {
            _ if *rule == onnx_eval::fault::OUTPUT_DIFFERS => Self::Comparison,
            _ if is_in(onnx_eval::fault::RULES) => Self::Runs,
            _ if is_in(onnx_shape_infer::fault::RULES) => Self::Inference,
            _ if is_in(onnx_text::rules::ALL) => Self::Text,
            _ if is_in(&onnx_check::RULES) => Self::Checking,
            _ if is_in(crate::failures::ALL) || *rule == onnx_diag::STOPPED => Self::Failures,
            _ => Self::Reading,
        }
    }

    /// Whether the defect is one of models, so that the reference can have an opinion.
    const fn is_about_models(self) -> bool {
        !matches!(self, Self::Runs | Self::Comparison | Self::Failures)
    }

    const fn commands(self) -> &'static str {
        match self {
            Self::Text => "commands that read ONNX text",
            Self::Reading => "commands that read a model",
            Self::Checking => "onnx check",
            Self::Inference => "onnx infer, onnx check, and onnx run for the shapes of inputs",
            Self::Runs => "onnx run, onnx compare",
            Self::Comparison => "onnx compare",
            Self::Failures => "all commands",
        }
    }

    /// A command that does not report a rule; `None` if what it reports ends the command, as errors of a text and of a run do.
    fn silencing(self, rule: &Rule) -> Option<String> {
        let slug = rule.slug;
        let is_error = rule.severity == Severity::Error;
        match self {
            Self::Text | Self::Runs if is_error => None,
            Self::Failures => None,
            Self::Text | Self::Reading | Self::Checking => Some(format!("onnx check --allow {slug} FILE")),
            Self::Inference => Some(format!("onnx check --allow {slug} FILE")),
            Self::Runs => Some(format!("onnx run --allow {slug} MODEL")),
            Self::Comparison => Some("onnx compare A B, with a greater --rtol, --atol or --ulps".to_owned()),
        }
    }
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
