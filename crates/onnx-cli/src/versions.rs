//! Versions of operator sets: what `onnx convert --opset` does, and what `onnx info --versions` shows.

use std::fmt::Write as _;

use onnx_diag::{Caps, Clean, Quoted, Sink};
use onnx_ir::{Model, NodeId};
use onnx_pass::{Equivalence, Exactness, PassOptions, Verdict, prove_models};
use onnx_schema::{Registry, domain};
use onnx_types::{Execution, Symbol};
use onnx_version::{
    ConvertOptions, Plan, StepChange, Unconvertible, VersionError, claims, convert, findings,
    imported_version, nearest, plan, raised_ir_version,
};
use serde::Serialize;

use crate::exit::{Failure, LibraryError};
use crate::output::{BAD, DIM, HEADING, KEY, paint, shown};
use crate::size::plural;

impl LibraryError for VersionError {
    fn limit(&self) -> Option<&'static str> {
        match self {
            Self::Bodies(error) => error.limit(),
            _ => None,
        }
    }

    fn help(&self) -> Option<String> {
        match self {
            Self::NotImported => {
                Some("`onnx info` lists the operator sets that the model imports".to_owned())
            }
            Self::Imports { .. } => {
                Some("import one version: that for which the operators were written".to_owned())
            }
            Self::NoVersion(_, newest) => Some(format!("write a version from 1 to {newest}")),
            _ => None,
        }
    }
}

/// A version of an operator set that the user names.
pub(crate) type Target = (String, i64);

/// What was done for one operator set.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Item {
    domain: String,
    from: i64,
    to: i64,
    /// The version of the output: `to`, or the nearest one that all nodes reach.
    reached: Option<i64>,
    steps: Vec<StepItem>,
    refused: u64,
    unknown: Vec<String>,
    /// The version of the format that the output has because this set needs it; none if it has an older or the same one.
    ir_version: Option<i64>,
    #[serde(skip)]
    ir_version_before: i64,
}

/// Nodes of one operator that change in the same way.
#[derive(Clone, Debug, Serialize)]
struct StepItem {
    op: String,
    from: i64,
    to: i64,
    change: &'static str,
    nodes: u64,
}

fn name_of(domain: &str) -> String {
    if domain.is_empty() { "ai.onnx".to_owned() } else { domain.to_owned() }
}

impl Item {
    fn new(model: &Model, domain: &str, plan: &Plan, reached: Option<i64>) -> Self {
        let mut steps: Vec<StepItem> = Vec::new();
        for step in &plan.steps {
            let same = |item: &&mut StepItem| {
                (item.op.as_str(), item.from, item.to, item.change)
                    == (step.op.as_str(), step.since, step.to, step.change.name())
            };
            match steps.iter_mut().find(same) {
                Some(item) => item.nodes += 1,
                None => steps.push(StepItem {
                    op: step.op.clone(),
                    from: step.since,
                    to: step.to,
                    change: step.change.name(),
                    nodes: 1,
                }),
            }
        }
        let mut unknown: Vec<String> =
            plan.unknown.iter().map(|&node| model.str(model.node(node).op()).to_owned()).collect();
        unknown.sort_unstable();
        unknown.dedup();
        Self {
            domain: name_of(domain),
            from: plan.from,
            to: plan.to,
            reached,
            steps,
            refused: plan.refusals.len() as u64,
            unknown,
            ir_version: None,
            ir_version_before: model.info().ir_version,
        }
    }

    /// One line: what is done.
    pub(crate) fn summary(&self, plan: &Plan) -> String {
        if self.refused > 0 && self.reached.is_none() {
            return format!("{} {} -> {}: {}", shown(&self.domain), self.from, self.to, self.verdict());
        }
        let parts: Vec<String> = [StepChange::Form, StepChange::Replaced, StepChange::Expanded]
            .into_iter()
            .map(|change| (plan.count(change), change))
            .filter(|&(count, _)| count > 0)
            .map(|(count, change)| format!("{} {}", change.name(), plural(count as u64, "node")))
            .collect();
        let parts = if parts.is_empty() { "no node changes".to_owned() } else { parts.join(", ") };
        let format = self.format().map_or_else(String::new, |change| format!("; {change}"));
        format!(
            "{} {} -> {}: {parts}{format}",
            shown(&self.domain),
            self.from,
            self.reached.unwrap_or(self.to)
        )
    }

    /// The change of the version of the format.
    fn format(&self) -> Option<String> {
        self.ir_version.map(|version| format!("IR version {} -> {version}", self.ir_version_before))
    }

    fn verdict(&self) -> String {
        match self.refused {
            0 => "possible".to_owned(),
            count => format!("not possible, {} without an equivalent", plural(count, "node")),
        }
    }

    /// One line: which version takes the place of one that cannot be reached.
    pub(crate) fn reached_summary(&self) -> String {
        let domain = shown(&self.domain);
        let format = self.format().map_or_else(String::new, |change| format!("; {change}"));
        match self.reached.filter(|&reached| reached != self.from) {
            Some(reached) if reached == self.to => format!("{domain} {} -> {reached}{format}", self.from),
            Some(reached) => {
                format!("{domain} {} -> {reached}{format}; {} is not possible", self.from, self.to)
            }
            None => format!("{domain} stays at {}; {} is not possible", self.from, self.to),
        }
    }

    /// The plan for people.
    pub(crate) fn page(&self, plan: &Plan) -> Result<String, Failure> {
        let mut text = String::new();
        let verdict = self.verdict();
        let head = format!("{} {} -> {}", shown(&self.domain), self.from, self.to);
        writeln!(
            text,
            "{}  {}",
            paint(HEADING, head),
            if self.refused == 0 { verdict } else { paint(BAD, verdict).to_string() }
        )?;
        let name = |step: &StepItem| format!("{} {} -> {}", shown(&step.op), step.from, step.to);
        let width = self.steps.iter().map(|step| name(step).chars().count()).max().unwrap_or(0).max(24);
        for step in &self.steps {
            let name = format!("{:<width$}", name(step));
            writeln!(text, "  {} {} {}", paint(KEY, name), plural(step.nodes, "node"), step.change)?;
        }
        if self.steps.is_empty() && self.refused == 0 {
            writeln!(text, "  {}", paint(DIM, "no node changes"))?;
        }
        if let Some(change) = self.format() {
            writeln!(text, "  {change}")?;
        }
        if !self.unknown.is_empty() {
            let names = self.unknown.iter().map(|name| shown(name)).collect::<Vec<_>>().join(", ");
            writeln!(text, "  {} {names}", paint(DIM, "no version has:"))?;
        }
        debug_assert_eq!(plan.refusals.len() as u64, self.refused);
        Ok(text)
    }
}

/// The conversion of a model to the versions that a user names.
#[derive(Default)]
pub(crate) struct Versions {
    /// Each operator set with its plan.
    pub(crate) sets: Vec<(Item, Plan)>,
    /// The nodes without an equivalent.
    pub(crate) found: Sink,
    /// Which versions are possible instead of those that are refused.
    pub(crate) possible: Vec<String>,
}

impl Versions {
    /// What helps against the refusals that are shown, each once.
    pub(crate) fn help(&self) -> Vec<&str> {
        let mut help: Vec<&str> = self.possible.iter().map(String::as_str).collect();
        for text in self.found.diagnostics().iter().filter_map(|found| found.help.as_deref()) {
            if !help.contains(&text) {
                help.push(text);
            }
        }
        help
    }
}

/// Returns which version is possible instead of one that is refused.
fn possible(domain: &str, plan: &Plan, reached: i64) -> String {
    let domain = name_of(domain);
    let (domain, from) = (shown(&domain), plan.from);
    let end = if plan.to < from { "oldest" } else { "newest" };
    let lists = "`onnx info --versions` lists what prevents each version";
    match reached == from {
        true => format!(
            "{from}, which the model imports, is the {end} version of {domain} that is possible; {lists}"
        ),
        false => format!("version {reached} is the {end} version of {domain} that is possible; {lists}"),
    }
}

/// How a conversion is planned.
#[derive(Clone, Copy, Default)]
pub(crate) struct Wanted {
    /// Whether versions that cannot be reached are replaced by the nearest ones that can.
    pub(crate) is_partial: bool,
    /// How many refusals are reported.
    pub(crate) caps: Option<Caps>,
    /// Whether sizes may be taken as positive.
    pub(crate) assumes_positive: bool,
}

/// What conversions know and may do.
#[derive(Clone, Copy)]
pub(crate) struct Setting<'a> {
    /// The operators that are known: the types of results of those of onnxruntime decide about steps, too.
    pub(crate) registry: &'a Registry,
    pub(crate) execution: &'a Execution,
}

impl<'a> Setting<'a> {
    fn options(self, set: Symbol) -> ConvertOptions<'a> {
        ConvertOptions::default()
            .with_domain(set)
            .with_registry(self.registry)
            .with_execution(self.execution.clone())
    }
}

/// Plans the conversion to all versions together. If the imports do not tell what the nodes mean, there are no plans, and the
/// diagnostics are about the imports. `is_partial` states that versions that cannot be reached are replaced by the
/// nearest ones that can.
pub(crate) fn plans(
    model: &mut Model,
    targets: &[Target],
    setting: Setting<'_>,
    wanted: Wanted,
) -> Result<Versions, Failure> {
    refuse_twice("--opset", targets)?;
    planned(model, targets, setting, wanted).map_err(|failure| failure.or_timeout(setting.execution))
}

fn planned(
    model: &mut Model,
    targets: &[Target],
    setting: Setting<'_>,
    Wanted { is_partial, caps, assumes_positive }: Wanted,
) -> Result<Versions, Failure> {
    let mut done = Versions::default();
    let mut refusals: Vec<Unconvertible> = Vec::new();
    let mut ir_version = model.info().ir_version;
    for (name, version) in targets {
        let options = options(model, name, setting).with_assume_positive_sizes(assumes_positive);
        let mut planned = match plan(model, *version, &options) {
            Ok(planned) => planned,
            Err(error @ VersionError::Imports { .. }) => {
                return Ok(Versions { found: error.findings(model), ..Versions::default() });
            }
            Err(error) => return Err(about(error, name)),
        };
        refusals.append(&mut planned.refusals.clone());
        let reached = match planned.is_possible() {
            true => Some(*version),
            false if is_partial => {
                let reach = nearest(model, *version, &options)?;
                let refused = std::mem::take(&mut planned.refusals);
                planned = plan(model, reach.version, &options)?;
                // Functions of other versions can prevent even the version of the model.
                let reached = planned.is_possible().then_some(reach.version);
                if reached.is_none() {
                    planned.steps.clear();
                }
                planned.refusals = refused;
                planned.to = *version;
                reached
            }
            false => {
                let reach = nearest(model, *version, &options)?;
                // Functions of other versions can prevent even the version of the model.
                if *version != planned.from && plan(model, reach.version, &options)?.is_possible() {
                    done.possible.push(possible(name, &planned, reach.version));
                }
                None
            }
        };
        let mut item = Item::new(model, name, &planned, reached);
        item.ir_version_before = ir_version;
        item.ir_version = reached
            .and_then(|version| raised_ir_version(model, options.domain, version))
            .filter(|&raised| raised > ir_version);
        ir_version = item.ir_version.unwrap_or(ir_version);
        done.sets.push((item, planned));
    }
    done.found = findings(model, &refusals);
    done.found.limit(caps.unwrap_or(Caps::DEFAULT));
    Ok(done)
}

/// Refuses two versions of one operator set.
pub(crate) fn refuse_twice(option: &str, targets: &[Target]) -> Result<(), Failure> {
    for (index, (name, version)) in targets.iter().enumerate() {
        let same = |(other, _): &&Target| name_of(other) == name_of(name);
        if let Some((_, first)) = targets.iter().take(index).find(same) {
            let name = name_of(name);
            let message = format_args!("`{option}` gives the operator set {} two versions", Quoted(&name));
            let help = match first == version {
                true => format!("give {version} once"),
                false => format!("leave {first} or {version} away"),
            };
            return Err(Failure::new(message).help(help));
        }
    }
    Ok(())
}

/// Proves or tests the claim of each converted node. Returns how many there are of each verdict.
///
/// # Errors
///
/// Returns the first claim that is refuted.
pub(crate) fn prove(
    model: &mut Model,
    targets: &[Target],
    versions: &Versions,
    setting: Setting<'_>,
) -> Result<String, Failure> {
    let pass_options =
        PassOptions::default().with_registry(setting.registry).with_execution(setting.execution.clone());
    let (mut proved, mut tested, mut untested) = (0_u64, 0_u64, 0_u64);
    for ((name, _), (item, plan)) in targets.iter().zip(&versions.sets) {
        let Some(version) = item.reached else { continue };
        let options = options(model, name, setting);
        let claims = claims(model, version, &options).map_err(|error| within(error, setting.execution))?;
        let changed: u64 = [StepChange::Form, StepChange::Replaced, StepChange::Expanded]
            .into_iter()
            .map(|change| plan.count(change) as u64)
            .sum();
        untested += changed.saturating_sub(claims.len() as u64);
        for claim in claims {
            setting.execution.interrupt.check()?;
            // An operator whose rounding is open has another form on each side, which exact claims would tell apart.
            let claim_of = Equivalence::of_models(&claim.before, &claim.after, Exactness::Rounding);
            let verdict = match claim_of {
                Ok(equivalence) => onnx_pass::prove(&equivalence, &pass_options),
                Err(error) => Verdict::Untested(error.to_string()),
            };
            // A body rounds more often than the operator. In 64 bits, that can decide a tie or leave some of a sum that
            // cancels; as the models run, both are within the tolerances.
            let verdict = match verdict {
                Verdict::Refuted(_) => {
                    prove_models(&claim.before, &claim.after, Exactness::Rounding, &pass_options)
                }
                other => other,
            };
            match verdict {
                Verdict::Proved(_) => proved += 1,
                Verdict::Tested { .. } => tested += 1,
                Verdict::Untested(_) | Verdict::Measured { .. } => untested += 1,
                Verdict::Refuted(found) => {
                    let node = node_name(model, claim.node);
                    return Err(Failure::new(format_args!(
                        "the conversion of {} is refuted: {}",
                        Quoted(&node),
                        found.difference
                    )));
                }
            }
        }
    }
    Ok(format!("claims: {proved} proved, {tested} tested, {untested} not tested"))
}

/// Converts the model to the versions that were reached.
pub(crate) fn apply(
    model: &mut Model,
    targets: &[Target],
    versions: &Versions,
    assumes_positive: bool,
    setting: Setting<'_>,
) -> Result<(), Failure> {
    let mut after = model.clone();
    for ((name, _), (item, _)) in targets.iter().zip(&versions.sets) {
        // Also if the model has the version: functions may import another one.
        let Some(version) = item.reached else { continue };
        let options = options(&mut after, name, setting).with_assume_positive_sizes(assumes_positive);
        convert(&mut after, version, &options).map_err(|error| within(error, setting.execution))?;
    }
    *model = after;
    Ok(())
}

fn options<'a>(model: &mut Model, name: &str, setting: Setting<'a>) -> ConvertOptions<'a> {
    let set = model.intern(name);
    setting.options(set)
}

/// The failure of a conversion: the timeout if it was exceeded.
fn within(error: VersionError, execution: &Execution) -> Failure {
    Failure::from(error).or_timeout(execution)
}

fn about(error: VersionError, domain: &str) -> Failure {
    match error {
        VersionError::NotImported => Failure::new(format_args!(
            "the model does not import the operator set {}",
            Quoted(&name_of(domain))
        ))
        .help("`onnx info` lists the operator sets that the model imports"),
        VersionError::NoVersion(version, newest) => Failure::new(format_args!(
            "the operator set {} has no version {version}; the newest one is {newest}",
            Quoted(&name_of(domain))
        ))
        .help("`onnx info --versions MODEL` lists the versions that the model can be converted to"),
        error => error.into(),
    }
}

/// What each version of an operator set would need.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SetFacts {
    domain: String,
    version: i64,
    /// The oldest version to which the model can be converted.
    lowest: i64,
    versions: Vec<VersionFacts>,
}

/// What one version would need.
#[derive(Clone, Debug, Serialize)]
struct VersionFacts {
    version: i64,
    is_possible: bool,
    changed: u64,
    replaced: u64,
    expanded: u64,
    refused: u64,
    /// The first node without an equivalent, with the reason.
    first: Option<FirstRefusal>,
}

#[derive(Clone, Debug, Serialize)]
struct FirstRefusal {
    op: String,
    node: String,
    reason: String,
    help: &'static str,
    /// The operator of the node, if an earlier step put another one into its place.
    #[serde(skip)]
    replaced: Option<String>,
}

/// Plans the conversion to every version of every operator set that the model imports.
pub(crate) fn facts(model: &Model, setting: Setting<'_>) -> Result<Vec<SetFacts>, Failure> {
    let mut sets = Vec::new();
    for (set, name) in [(domain::ONNX, "ai.onnx"), (domain::ML, "ai.onnx.ml")] {
        if let Some(version) = imported_version(model, set) {
            sets.push(set_facts(model, (set, name), version, setting)?);
        }
    }
    Ok(sets)
}

fn set_facts(
    model: &Model,
    (set, name): (Symbol, &str),
    version: i64,
    setting: Setting<'_>,
) -> Result<SetFacts, Failure> {
    let options = setting.options(set);
    let mut versions = Vec::new();
    for target in onnx_schema::opset_versions(set).into_iter().flatten() {
        let plan = plan(model, target, &options).map_err(|error| within(error, setting.execution))?;
        let first = plan.refusals.first().map(|refusal| FirstRefusal {
            op: refusal.op.clone(),
            node: node_name(model, refusal.node),
            reason: refusal.reason.to_string(),
            help: refusal.reason.help(),
            replaced: Some(model.str(model.node(refusal.node).op()))
                .filter(|own| *own != refusal.op)
                .map(str::to_owned),
        });
        versions.push(VersionFacts {
            version: target,
            is_possible: plan.is_possible(),
            changed: plan.count(StepChange::Form) as u64,
            replaced: plan.count(StepChange::Replaced) as u64,
            expanded: plan.count(StepChange::Expanded) as u64,
            refused: plan.refusals.len() as u64,
            first,
        });
    }
    let lowest = versions.iter().find(|facts| facts.is_possible).map_or(version, |facts| facts.version);
    Ok(SetFacts { domain: name.to_owned(), version, lowest, versions })
}

/// The name of a node, or that of its first output.
fn node_name(model: &Model, node: NodeId) -> String {
    let record = model.node(node);
    let output = || record.outputs().iter().flatten().next().map(|&value| model.value(value).name());
    let name = if record.name().is_empty() { output().unwrap_or(record.name()) } else { record.name() };
    model.str(name).to_owned()
}

/// The page of `onnx info --versions`.
pub(crate) fn page(file: &str, sets: &[SetFacts]) -> Result<String, Failure> {
    let mut text = String::new();
    writeln!(text, "{}", paint(HEADING, Clean(file)))?;
    for set in sets {
        let oldest = format!("the oldest possible version is {}", set.lowest);
        writeln!(text, "\n{} {}  {}", paint(KEY, shown(&set.domain)), set.version, paint(DIM, oldest))?;
        for facts in &set.versions {
            writeln!(text, "  {:>3}  {}", facts.version, line(facts, set.version))?;
        }
    }
    Ok(text)
}

fn line(facts: &VersionFacts, imported: i64) -> String {
    if let Some(first) = &facts.first {
        let more = match facts.refused {
            0 | 1 => String::new(),
            count => format!(" (and {} more)", count - 1),
        };
        let place = first.replaced.iter().map(|own| format!(" in place of `{}`", shown(own)));
        let place = place.collect::<String>();
        let (op, node, reason) = (shown(&first.op), Quoted(&first.node), shown(&first.reason));
        let text = format!("`{op}`{place} {node}: {reason}{more}");
        return format!("{} {text}", paint(BAD, "no"));
    }
    let counts = [(facts.changed, "changed"), (facts.replaced, "replaced"), (facts.expanded, "expanded")];
    let parts: Vec<String> = counts
        .into_iter()
        .filter(|&(count, _)| count > 0)
        .map(|(count, what)| format!("{} {what}", plural(count, "node")))
        .collect();
    let parts = parts.join(", ");
    match (facts.version == imported, parts.is_empty()) {
        (true, true) => "imported".to_owned(),
        (true, false) => format!("imported; in functions of other versions {parts}"),
        (false, true) => "no node changes".to_owned(),
        (false, false) => parts,
    }
}

#[cfg(test)]
mod tests {
    use onnx_text::{ParseOptions, parse_model};

    use super::{Execution, Registry, Setting, Wanted, apply, facts, plans};
    use crate::stopping::{TEXT, check_stops};

    fn standard(execution: &Execution) -> Setting<'_> {
        Setting { registry: Registry::STANDARD, execution }
    }

    #[test]
    fn conversions_end_with_the_timeout() {
        let model = parse_model(TEXT, &ParseOptions::default()).unwrap();
        let targets = [(String::new(), 12)];
        check_stops(2, |execution| {
            plans(&mut model.clone(), &targets, standard(&execution), Wanted::default()).map(|_| ())
        });
        check_stops(2, |execution| facts(&model, standard(&execution)));
        let versions = plans(&mut model.clone(), &targets, standard(&Execution::DEFAULT), Wanted::default());
        let versions = versions.unwrap();
        check_stops(2, |execution| {
            apply(&mut model.clone(), &targets, &versions, false, standard(&execution))
        });
    }
}
