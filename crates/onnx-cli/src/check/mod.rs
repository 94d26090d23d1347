//! `onnx check`: everything that is wrong with models, and with parts of them that stand alone.

mod fix;
mod report;
mod workers;

use std::path::Path;

use bytes::Bytes;
use onnx_check::{CheckOptions, CustomOperators, ExternalFiles, Profile, check_part};
use onnx_diag::{Caps, Policy, Sink};
use onnx_ir::{Model, OpsetImport};
use onnx_schema::{LATEST_IR_VERSION, OpsetRegistry, domain, latest_opset};

use crate::args::{CheckArgs, ReportFormat, RuleProfile};
use crate::exit::{Failure, Faults, Outcome};
use crate::input::{Loaded, display_name, expand, load_as};
use crate::ops::documents;
use crate::output::Out;
use crate::part::Part;
use crate::progress::Progress;
use crate::rules;
use crate::tensors;

use report::{Report, Totals};

/// How many findings a person reads.
const TEXT_CAPS: Caps = Caps { per_rule: 10, total: 100 };

pub(crate) fn run(mut args: CheckArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let policy = rules::policy(&args.deny, &args.allow)?;
    if args.part == Part::Model && (args.ir_version.is_some() || !args.opsets.is_empty()) {
        return Err(Failure::new("a model states its IR version and its operator sets itself")
            .help("`--ir-version` and `--opset` are for parts: see `--as`"));
    }
    let registry = documents::registry(&args.ops)?;
    let extension = if args.part == Part::Model { "onnx" } else { "pb" };
    let files = expand(&args.files, &[extension]);
    // Several files are looked at by a thread each.
    args.input.one_thread |= files.len() > 1;
    let args = &args;
    let progress = Progress::start("checking", files.len());
    let mut report = Report { args, checked: Vec::new(), failures: Vec::new() };
    let mut totals = Totals::default();
    let look = |path: &Path| {
        progress.begin(&display_name(path));
        let repaired = if args.fix { fix::repair(path, args) } else { Ok(String::new()) };
        let found = repaired
            .and_then(|repaired| Ok(Checked { repaired, ..findings(path, args, &policy, &registry)? }));
        progress.end();
        found
    };
    workers::in_order(files, look, |name, result| {
        match result {
            Ok(Checked { sink, source, repaired }) => {
                totals.add(&sink);
                if args.format == ReportFormat::Text {
                    progress.aside(|| out.text(&repaired))?;
                    let text = report.text(&name, &sink, source.as_deref())?;
                    progress.aside(|| out.text(&text))?;
                } else {
                    progress.aside(|| out.aside(&repaired));
                    report.checked.push((name, sink));
                }
            }
            Err(failure) => {
                totals.failed += 1;
                progress.aside(|| out.failure(&failure));
                report.failures.push((name, failure));
            }
        }
        Ok(())
    })?;
    drop(progress);
    match args.format {
        ReportFormat::Text => out.text(&totals.text()?)?,
        ReportFormat::Json => out.bytes([report.json(&totals)?.as_bytes()])?,
        ReportFormat::Sarif => out.bytes([report.sarif()?.as_bytes()])?,
    }
    Ok(totals.outcome())
}

/// Everything that is wrong with one model.
struct Checked {
    sink: Sink,
    /// The text of the model, if it is one.
    source: Option<Bytes>,
    /// What was repaired before.
    repaired: String,
}

fn findings(
    path: &Path,
    args: &CheckArgs,
    policy: &Policy,
    registry: &OpsetRegistry,
) -> Result<Checked, Failure> {
    let loaded = load_as(path, &args.input, args.part);
    let limits = args.input.bounds.limits();
    let caps = match (args.limit, args.format) {
        (Some(0), _) => Caps::NONE,
        (Some(limit), _) => Caps { per_rule: limit, total: limit },
        (None, ReportFormat::Text) => TEXT_CAPS,
        (None, _) => Caps { per_rule: limits.findings_per_rule, total: limits.findings },
    };
    let mut sink = Sink::with(policy.clone(), caps);
    let mut loaded = match loaded {
        Ok(loaded) => loaded,
        Err(Failure { faults: Some(faults), .. }) => return Ok(unparsed(*faults, sink)),
        Err(failure) => return Err(failure),
    };
    let read = std::mem::take(&mut loaded.findings);
    if args.profile == RuleProfile::Reference {
        for finding in read.into_diagnostics().into_iter().filter(|finding| !finding.beyond_reference) {
            sink.report(finding);
        }
    } else {
        sink.merge(read);
    }
    if rules::verify(&loaded.model, &mut sink) {
        if args.part != Part::Model {
            surround(&mut loaded.model, args);
        }
        let options = CheckOptions { registry: registry.clone(), ..options(&loaded, args, policy, caps)? };
        sink.merge(check_part(&loaded.model, loaded.piece.checked(), &options));
        if args.full && args.part == Part::Model {
            inferred(&mut loaded, args, &mut sink)?;
        }
    }
    Ok(Checked { sink, source: loaded.text, repaired: String::new() })
}

/// What the library is asked.
fn options(loaded: &Loaded, args: &CheckArgs, policy: &Policy, caps: Caps) -> Result<CheckOptions, Failure> {
    let custom_operators =
        if args.check_custom_domains { CustomOperators::Refuse } else { CustomOperators::default() };
    let profile = match args.profile {
        RuleProfile::Spec => Profile::Spec,
        RuleProfile::Reference => Profile::Reference,
    };
    Ok(CheckOptions {
        policy: policy.clone(),
        caps,
        data: args.data,
        custom_operators,
        skip_opset_compatibility: args.skip_opset_compatibility,
        profile,
        recommendations: args.recommendations,
        external: external(loaded, args)?,
        registry: OpsetRegistry::standard(),
        two_threads_from: args.input.two_threads_from(CheckOptions::LARGE),
    })
}

/// Adds what inference finds. The reference follows no elements there.
fn inferred(loaded: &mut Loaded, args: &CheckArgs, sink: &mut Sink) -> Result<(), Failure> {
    let source = loaded.source()?;
    let registry = onnx_shape_infer::contrib::registry();
    let mut options = onnx_shape_infer::Options::default().with_data(&source).with_registry(&registry);
    options.limits = loaded.limits;
    options.check_types = true;
    options.values = args.profile == RuleProfile::Spec;
    let inference = onnx_shape_infer::infer(&mut loaded.model, &options);
    for found in inference.findings().diagnostics() {
        sink.report(found.clone());
    }
    Ok(())
}

/// The files beside the model; digests take reading them, so they are compared only when all elements are.
fn external(loaded: &Loaded, args: &CheckArgs) -> Result<Option<ExternalFiles>, Failure> {
    let mut is_needed = false;
    tensors::for_each(&loaded.model, |_, tensor| is_needed |= tensor.is_external());
    if !is_needed {
        return Ok(None);
    }
    if loaded.place.directory().is_none() && !args.data {
        // A model from a stream is checked without its data.
        return Ok(None);
    }
    let files = ExternalFiles::new(loaded.source()?);
    Ok(Some(if args.data { files.with_digests() } else { files }))
}

/// Gives a part the IR version and the operator sets that the user says are around it.
fn surround(model: &mut Model, args: &CheckArgs) {
    let imports: Vec<_> = args
        .opsets
        .iter()
        .map(|(domain, version)| OpsetImport::new(model.intern(domain), *version))
        .collect();
    let info = model.info_mut();
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
        return Checked { sink: findings, source: Some(source), repaired: String::new() };
    }
    sink.merge(findings);
    Checked { sink, source: Some(source), repaired: String::new() }
}
