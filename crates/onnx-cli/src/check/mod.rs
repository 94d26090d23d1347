//! `onnx check`: reports every defect of models, of standalone parts of models, and of operator set documents.

mod claim;
mod fix;
mod idle;
mod mechanical;
mod model;
mod operator_set;
mod report;
mod shapes;

use std::collections::HashSet;
use std::path::Path;

use bytes::Bytes;
use onnx_check::{CustomOperators, Profile};
use onnx_compose::{Target, unsupported, unsupported_in_bodies};
use onnx_diag::{Caps, Policy, Rule, STOPPED, Severity, Sink};
use onnx_ir::{Model, OpsetImport};
use onnx_schema::{LATEST_IR_VERSION, Registry, domain, latest_opset};
use onnx_shape_infer::InferOptions;

use crate::args::{CheckArgs, RuleProfile};
use crate::change::TEXT_CAPS;
use crate::exit::{Failure, Faults, Outcome};
use crate::format::Format;
use crate::input::{Loaded, display_name, expand, load_as};
use crate::output::Out;
use crate::part::Part;
use crate::progress::Progress;
use crate::report::ReportFormat;
use crate::{jobs, rule_files, rules, targets};

pub(crate) use mechanical::is_fixable;
pub(crate) use model::ModelChecks;

use fix::Repaired;
use idle::Content;
use report::Totals;

pub(crate) fn run(args: &CheckArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let execution = args.input.bounds.execution();
    let target = args.target.as_deref().map(|name| targets::load(name, &execution.interrupt)).transpose()?;
    let mut policy = args.input.severity.policy(severities(args, target.as_deref())?)?;
    if !args.notes {
        policy = onnx_check::ON_REQUEST.iter().fold(policy, |policy, rule| policy.count(rule));
    }
    idle::refuse(args)?;
    let registry = args.documents.registry(&execution)?;
    let extensions: &[&str] =
        if args.part == Part::Model { &["onnx", "onnxops", "onnxrules"] } else { &["pb"] };
    let files = expand(&args.files, extensions);
    idle::refuse_for(args, &files)?;
    let (files, mut done) = match fix::repair_into(args, out)? {
        Some((file, done)) => (vec![Ok(file)], done),
        None => (files, Vec::new()),
    };
    if args.fix {
        out.result_kind("check/1", "models");
    }
    let progress = Progress::start("checking", files.len());
    let mut totals = Totals::of(files.len());
    let process = |path: &Path| {
        progress.begin(&display_name(path));
        let found = checked(path, args, &policy, (&registry, target.as_deref()));
        progress.end();
        found
    };
    jobs::in_order(files, args.jobs, process, |name, result| match result {
        Ok(checked) => {
            show(args, &name, &checked, &progress, out)?;
            let Checked { sink, repaired, format, bytes, contradiction, .. } = checked;
            totals.add(&sink);
            if !repaired.text.is_empty() {
                out.output(Path::new(&name), Some(format), repaired.bytes, !args.dry_run);
            }
            done.extend(repaired.fixes);
            let items =
                if args.fix { vec![fix::item(&name, &std::mem::take(&mut done))?] } else { Vec::new() };
            progress.aside(|| out.input_of(&name, Some(format), bytes, sink, items))?;
            match contradiction {
                Some(failure) => progress.aside(|| out.refused(Some(&name), &failure)),
                None => Ok(()),
            }
        }
        Err(failure) => {
            totals.failed += u64::from(*failure.rule != STOPPED);
            let input = (!name.is_empty()).then_some(name.as_str());
            progress.aside(|| out.refused(input, &failure))
        }
    })?;
    drop(progress);
    if out.is_for_people() && !out.is_quiet() {
        out.text(&totals.text()?)?;
    }
    Ok(Outcome::Fine)
}

/// Writes what people read about a file.
fn show(
    args: &CheckArgs,
    name: &str,
    checked: &Checked,
    progress: &Progress,
    out: &mut Out,
) -> Result<(), Failure> {
    let Checked { sink, source, repaired, repairable, .. } = checked;
    if !out.is_for_people() {
        progress.aside(|| out.aside(&repaired.text));
        return Ok(());
    }
    // Only errors are wanted.
    if out.is_quiet() && !sink.has_errors() {
        return Ok(());
    }
    let mut shown = sink.clone();
    if out.is_quiet() {
        shown.retain_errors();
    }
    let text = report::text(args, name, &shown, (source.as_deref(), repairable))?;
    progress.aside(|| out.text(&repaired.text).and_then(|()| out.text(&text)))
}

/// Everything that is wrong with one file.
struct Checked {
    sink: Sink,
    /// The text of the model, if it is one.
    source: Option<Bytes>,
    /// What was repaired before.
    repaired: Repaired,
    format: &'static str,
    bytes: Option<u64>,
    /// Why the operators of a document cannot be used, if no rule found it.
    contradiction: Option<Failure>,
    /// The rules of which `--fix` repairs violations.
    repairable: Vec<&'static Rule>,
}

/// Repairs a file if that is wanted, and checks it.
fn checked(
    path: &Path,
    args: &CheckArgs,
    policy: &Policy,
    (registry, target): (&Registry, Option<&Target>),
) -> Result<Checked, Failure> {
    let content = Content::of(path, args);
    if content == Content::Rules {
        if args.fix {
            return Err(Failure::new("only models are repaired").about(&display_name(path)));
        }
        let execution = args.input.bounds.execution();
        let text = rule_files::text(path, &execution)?;
        let mut sink = Sink::with(profile(args).severities(policy.clone()), caps(args));
        rule_files::check(&text, args.prove.then_some(&execution), registry, &mut sink);
        execution.interrupt.check()?;
        return Ok(Checked {
            sink,
            bytes: Some(text.len() as u64),
            source: Some(text.into_bytes().into()),
            repaired: Repaired::default(),
            format: rule_files::EXTENSION,
            contradiction: None,
            repairable: Vec::new(),
        });
    }
    if content == Content::OperatorSet {
        if args.fix {
            return Err(Failure::new("only models are repaired")
                .about(&display_name(path))
                .help("leave `--fix` away to see what is wrong with the document"));
        }
        let sink = Sink::with(profile(args).severities(policy.clone()), caps(args));
        return operator_set::check(path, sink, registry, &args.input.bounds.execution());
    }
    let is_repaired = args.output_file.is_some() && !args.dry_run;
    let mut repaired = if args.fix && !is_repaired { fix::repair(path, args)? } else { Repaired::default() };
    let loaded = match repaired.after.take() {
        Some(loaded) => Ok(loaded),
        None => load_as(path, &args.input, args.part),
    };
    Ok(Checked { repaired, ..findings(loaded, args, policy, (registry, target))? })
}

/// How many diagnostics are kept.
fn caps(args: &CheckArgs) -> Caps {
    let limits = args.input.bounds.limits();
    let default = match args.report.format {
        ReportFormat::Text => TEXT_CAPS,
        _ => Caps { per_rule: limits.findings_per_rule, total: limits.findings },
    };
    args.input.severity.caps().unwrap_or(default)
}

fn findings(
    loaded: Result<Loaded, Failure>,
    args: &CheckArgs,
    policy: &Policy,
    (registry, target): (&Registry, Option<&Target>),
) -> Result<Checked, Failure> {
    let is_for_people = args.report.format == ReportFormat::Text;
    let checks = checks(args, policy, registry);
    let mut sink = checks.sink();
    let mut loaded = match loaded {
        Ok(loaded) => loaded,
        Err(failure) if failure.outcome() == Outcome::Limit => return Err(failure),
        Err(Failure { faults: Some(faults), .. }) => return Ok(unparsed(*faults, sink)),
        Err(failure) => return Err(failure),
    };
    checks.add_read(&mut loaded, &mut sink);
    if rules::verify(&loaded.model, &mut sink) {
        if args.part != Part::Model {
            surround(&mut loaded.model, args);
        }
        checks.check(&loaded, &mut sink)?;
        // Before inference, because what it finds at a node with an error is left out.
        if let Some(target) = target {
            sink = tolerate(sink, target, args)?;
        }
        if args.prove && args.part == Part::Model {
            claim::test(&loaded.model, &loaded.execution, registry, &mut sink)?;
            loaded.execution.interrupt.check()?;
        }
        if args.infers() && args.part == Part::Model {
            checks.infer(&loaded, target, &mut sink)?;
            if let Some(target) = target {
                sink = tolerate(sink, target, args)?;
            }
        }
        if !args.shapes.is_empty() {
            shapes::test(&mut loaded, args, registry, &mut sink)?;
        }
        if let Some(target) = target {
            let inference = loaded.infer(InferOptions::default().with_registry(registry))?;
            sink.merge(unsupported(&loaded.model, target, &inference, registry));
            sink.merge(unsupported_in_bodies(&loaded.model, target, registry, &loaded.execution)?);
        }
    }
    if !is_for_people {
        crate::report::select(&loaded.model, &mut sink);
    }
    let (format, bytes) = (loaded.format.id(), Some(loaded.bytes));
    let repaired = Repaired::default();
    let source = loaded.text.take();
    let is_advice = is_for_people && !args.fix && !args.concise && args.part == Part::Model;
    let repairable = if is_advice { repairable(loaded, &sink) } else { Vec::new() };
    Ok(Checked { sink, source, repaired, format, bytes, contradiction: None, repairable })
}

/// The rules of which a repair takes violations away. It is tried, because one of the same rule can be beyond repair.
fn repairable(mut loaded: Loaded, sink: &Sink) -> Vec<&'static Rule> {
    let shown = || sink.rule_counts().filter(|count| count.found > count.hidden).map(|count| count.rule);
    // Comments of a text would be lost.
    if loaded.format == Format::Onnxtxt || !shown().any(|rule| sink.has_errors() || is_fixable(rule)) {
        return Vec::new();
    }
    let done = fix::repairs(&mut loaded).unwrap_or_default();
    let rules: HashSet<String> = done.iter().map(|fix| fix.rule.id().to_string()).collect();
    shown().filter(|rule| rules.contains(&rule.id().to_string())).collect()
}

/// The severities for a target: what does not keep it from loading a model is a warning, unless warnings are errors, and what does
/// is an error.
fn severities(args: &CheckArgs, target: Option<&Target>) -> Result<Policy, Failure> {
    let Some(target) = target else { return Ok(Policy::new()) };
    let denies_warnings = args.input.severity.deny.iter().any(|what| rules::is_class(what));
    let tolerated = target.tolerates.iter().filter(|_| !denies_warnings);
    let everywhere = tolerated.filter(|tolerance| tolerance.is_everywhere());
    let tolerated = everywhere.map(|tolerance| (&tolerance.rule, Severity::Warning));
    let refused = target.refuses.iter().map(|code| (code, Severity::Error));
    let mut all = tolerated.chain(refused);
    all.try_fold(Policy::new(), |policy, (code, severity)| Ok(policy.set(rules::find(code)?, severity)))
}

/// Makes warnings of the errors that a target tolerates where they are, unless the user says what the rule is.
fn tolerate(sink: Sink, target: &Target, args: &CheckArgs) -> Result<Sink, Failure> {
    let caps = caps(args);
    let severity = &args.input.severity;
    if severity.deny.iter().any(|what| rules::is_class(what)) {
        return Ok(sink);
    }
    let mut policy = sink.policy().clone();
    for tolerance in target.tolerates.iter().filter(|tolerance| !tolerance.is_everywhere()) {
        let rule = rules::find(&tolerance.rule)?;
        // What comes later may be elsewhere.
        if !sink.rule_counts().any(|count| count.rule == rule) {
            continue;
        }
        let chosen = severity.deny.iter().chain(&severity.allow);
        let is_chosen =
            chosen.map(|name| rules::find(name)).any(|found| found.is_ok_and(|found| found == rule));
        if !is_chosen && tolerance.covers(&sink) {
            policy = policy.set(rule, Severity::Warning);
        }
    }
    let mut tolerated = Sink::with(policy, caps);
    tolerated.merge(sink);
    Ok(tolerated)
}

fn profile(args: &CheckArgs) -> Profile {
    match args.profile {
        RuleProfile::Spec => Profile::Spec,
        RuleProfile::Reference => Profile::Reference,
    }
}

/// How a model is checked.
fn checks<'a>(args: &CheckArgs, policy: &Policy, registry: &'a Registry) -> ModelChecks<'a> {
    let custom_operators =
        if args.check_custom_domains { CustomOperators::Refuse } else { CustomOperators::default() };
    ModelChecks {
        policy: policy.clone(),
        caps: caps(args),
        profile: profile(args),
        custom_operators,
        opset_compatibility: !args.skip_opset_compatibility,
        recommendations: args.recommendations,
        data: args.data,
        ..ModelChecks::new(registry, &args.input.bounds.limits())
    }
}

/// Gives a part the IR version and the operator sets that the user says are around it.
fn surround(model: &mut Model, args: &CheckArgs) {
    let imports: Vec<_> = args
        .opsets
        .iter()
        .map(|(domain, version)| OpsetImport::new(model.intern(domain), *version))
        .collect();
    let mut info = model.info_mut();
    info.ir_version = args.ir_version.unwrap_or(LATEST_IR_VERSION);
    info.opset_imports = imports;
    // A function says itself what it imports.
    if info.opset_imports.is_empty()
        && args.part != Part::Function
        && let Some(latest) = latest_opset(domain::ONNX)
    {
        info.opset_imports.push(OpsetImport::new(domain::ONNX, latest));
    }
}

/// What is wrong with a text that cannot be parsed. Silencing the rules does not make it a model, so that is ignored.
fn unparsed(faults: Faults, mut sink: Sink) -> Checked {
    let Faults { findings, source, .. } = faults;
    let silenced = findings.diagnostics().iter().all(|found| sink.policy().severity(found.rule).is_none());
    if silenced {
        sink = findings;
    } else {
        sink.merge(findings);
    }
    let bytes = u64::try_from(source.len()).ok();
    let format = Format::Onnxtxt.id();
    let repaired = Repaired::default();
    Checked {
        sink,
        source: Some(source),
        repaired,
        format,
        bytes,
        contradiction: None,
        repairable: Vec::new(),
    }
}
