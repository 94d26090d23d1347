//! `onnx simplify`: common passes, rewrite rules and constant folding.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use onnx_ir::Model;
use onnx_pass::PipelineReport;
use onnx_rewrite::{FUSIONS_PASS, RULES_PASS, RuleSet, fused_simplification, simplification};

use crate::exit::{Failure, Outcome};
use crate::output::{Out, shown};
use crate::rewrite::{Before, EditArgs, Kind, Why, describe_own, edit};
use crate::{rule_files, size, targets};

const EXAMPLES: &str = "\
Removes nodes that compute what is known, computes constants, merges equal nodes and applies
rewrite rules, until nothing changes. Every edit is proved before it is made: its structure and
types, and with --prove also what it computes; see `onnx rewrite --help`. Without -o, nothing is
written: the table states what would be.

Examples:
  onnx simplify model.onnx                                       what would change?
  onnx simplify model.onnx -o small.onnx
  onnx simplify model.onnx --exact --prove -o small.onnx         the same bits, and compared
  onnx simplify model.onnx --set batch=1 -o small.onnx           for this size only
  onnx simplify model.onnx --target none -o small.onnx           the fewest nodes, for no runtime
  onnx simplify model.onnx --fuse -o small.onnx                  also LayerNormalization, Gelu, ...
  onnx simplify model.onnx --rules mine.onnxrules -o small.onnx  also rules of one's own
  onnx simplify model.onnx --except 'Softmax()' -o small.onnx    these nodes stay as they are
  onnx simplify model.onnx --why /layer.0/Softmax                why is this node still there?
  onnx simplify model.onnx --journal edits.json                  each edit";

/// Arguments of `onnx simplify`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SimplifyArgs {
    /// The model; `-` is standard input. Also several, or directories: with `-o DIR/`, `--in-place` or `--dry-run`.
    #[arg(value_name = "IN", value_hint = ValueHint::FilePath)]
    pub(crate) input_file: PathBuf,
    /// Also fuse nodes into LayerNormalization, Gelu, Attention and others.
    ///
    /// This is done last: what an operator of the model's version computes is replaced by this operator.
    #[arg(long)]
    pub(crate) fuse: bool,
    /// The runtime that executes the result, or `none` for the fewest nodes.
    ///
    /// Groups of nodes that it executes as one kernel are kept whole, and its costs decide which edits save work. A target is
    /// given by its name or its file; `onnx explain --list targets` lists the names.
    #[arg(long, value_name = "NAME|FILE", default_value = "onnxruntime")]
    pub(crate) target: String,
    /// First change a size, as `onnx edit --set` does: bind (`batch=1`), free (`x[0]=batch`), rename or unify (`N=M`).
    #[arg(long, value_name = "DIM=SIZE")]
    pub(crate) set: Vec<String>,
    /// Show for nodes, by a selector, how far the rules match there in the result, and which condition excludes each.
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) why: Vec<String>,
    #[command(flatten)]
    pub(crate) edits: EditArgs,
}

pub(crate) fn run(args: &SimplifyArgs, out: &mut Out) -> Result<Outcome, Failure> {
    let execution = args.edits.input.bounds.execution();
    let registry = args.edits.documents.registry(&execution)?;
    let mut rules = RuleSet::standard().map_err(Failure::defect)?;
    let target =
        (args.target != "none").then(|| targets::load(&args.target, &execution.interrupt)).transpose()?;
    let idioms = target.as_deref().map(targets::idioms).transpose()?;
    let fitted = |rules: RuleSet| match &target {
        Some(target) => target.fitted(rules),
        None => rules,
    };
    rules = fitted(rules);
    for path in &args.edits.rules {
        rules = rules.and(&rule_files::load(path, &registry, &execution)?);
    }
    if let Some(target) = &target {
        rules = rules.with_costs(target.all_costs());
    }
    let mut known = rules.clone();
    let pipeline = if args.fuse {
        let fusions = fitted(RuleSet::fusions().map_err(Failure::defect)?);
        known = known.and(&fusions);
        fused_simplification(rules, fusions, &registry)
    } else {
        simplification(rules, &registry)
    };
    let pipeline = pipeline.map_err(Failure::new)?;
    let why = Some(Why { selectors: &args.why, rules: known });
    let kind = Kind {
        verb: "simplifying",
        report: "rewrite/1",
        describe: table,
        why,
        sizes: &args.set,
        idioms: idioms.as_ref(),
    };
    edit(&args.input_file, &args.edits, &pipeline, &kind, out)
}

/// Tells the operators whose number changes, and the edits by pass and rule.
fn table(done: &PipelineReport, before: &Before, model: &Model, out: &Out) {
    describe_own(done, before, model, out);
    if done.edits() == 0 {
        return;
    }
    let after = Before::of(model);
    let mut rows: Vec<(String, usize, usize)> = Vec::new();
    for op in before.operators.keys().chain(after.operators.keys()) {
        let count = |counts: &Before| counts.operators.get(op).copied().unwrap_or(0);
        let row = (op.clone(), count(before), count(&after));
        if row.1 != row.2 && !rows.contains(&row) {
            rows.push(row);
        }
    }
    // What loses most is first.
    rows.sort_by_key(|(op, before, after)| (*after as isize - *before as isize, op.clone()));
    for (op, before, after) in rows {
        let (before, after) = (size::grouped(before as u64), size::grouped(after as u64));
        out.details_of_summary(&format!("{before:>9} -> {after:>7}  {}\n", shown(&op)));
    }
    for (name, count) in edits(done) {
        let noun = if count == 1 { "edit" } else { "edits" };
        let count = size::grouped(count as u64);
        out.details_of_summary(&format!("{count:>9} {noun:<9} {}\n", shown(&name)));
    }
}

/// Number of edits of each pass and each rule, most first.
fn edits(done: &PipelineReport) -> Vec<(String, usize)> {
    let is_pass = |name: &str| done.passes.iter().any(|pass| pass.name == name);
    let standard = RuleSet::standard().unwrap_or_default();
    let has = |rules: &RuleSet, name: &str| rules.rules().any(|rule| rule.name() == name);
    // The fusions are read only if other rules do not have the name.
    let is_fusion = |name: &str| !has(&standard, name) && has(&RuleSet::fusions().unwrap_or_default(), name);
    let mut counts: Vec<(String, usize)> = Vec::new();
    for entry in &done.journal {
        let name = match () {
            () if is_pass(&entry.pass) => entry.pass.clone(),
            () if is_fusion(&entry.pass) => format!("{FUSIONS_PASS}/{}", entry.pass),
            () => format!("{RULES_PASS}/{}", entry.pass),
        };
        match counts.iter_mut().find(|(other, _)| *other == name) {
            Some((_, count)) => *count += entry.edits,
            None => counts.push((name, entry.edits)),
        }
    }
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts
}
