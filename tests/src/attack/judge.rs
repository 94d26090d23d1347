//! Compares what inference claims of a model with what was observed when it ran.

use std::collections::{BTreeMap, HashMap, HashSet};

use onnx_ir::{Model, NodeId, ValueId};
use onnx_shape_infer::{Elem, Fact, InferOptions, Inference, Relation, Strength, Ty, contrib, infer};
use onnx_types::{Dim, Symbol, Type, TypeKind};
use serde_json::Value as Json;

use super::deviations::{Deviation, Mismatch};
use super::generate::world::{BINDINGS, Sizes, main_values};
use super::observation::{Observation, Seen};
use super::unknown::{unknown, varying_ranks};

/// The rules that report a declared type or shape which contradicts the inferred one.
const DECLARED: [u16; 2] = [3016, 3025];

/// Something that is claimed and was observed otherwise.
#[derive(Clone, Debug)]
pub struct Failure {
    /// `wrong`, `false contradiction` or `fact`.
    pub kind: &'static str,
    /// The operator of the first node where it shows.
    pub op: String,
    /// `symbolic`, or `concrete` for inference with the sizes set.
    pub mode: &'static str,
    /// The value or the rule.
    pub at: String,
    /// What was claimed and what was observed.
    pub detail: String,
}

impl Failure {
    /// What failures of one class have in common.
    #[must_use]
    pub fn class(&self) -> String {
        format!("{}:{}:{}", self.kind, self.op, self.mode)
    }
}

/// What was found for one model.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Counts by name.
    pub counts: BTreeMap<String, u64>,
    /// What nothing excuses.
    pub failures: Vec<Failure>,
    /// Mismatches that a violated guard of the value excuses, by operator.
    pub guarded: BTreeMap<String, u64>,
    /// The first of them for each operator, with the guard.
    pub excuses: BTreeMap<String, String>,
    /// Mismatches that a documented deviation of the runtime explains, by its name.
    pub deviations: BTreeMap<&'static str, u64>,
    /// Values that are unknown although sizes determine them, by the operator where that begins.
    pub unknown: BTreeMap<String, u64>,
    /// The first value of each.
    pub origins: BTreeMap<String, String>,
}

impl Verdict {
    pub(super) fn count(&mut self, name: &str, number: u64) {
        *self.counts.entry(name.to_owned()).or_default() += number;
    }
}

/// Claims about one value for one choice of sizes.
enum Claim {
    Right,
    Open,
    Wrong(String),
}

/// One inference, evaluated with one binding, or with one run of it.
struct Look<'a> {
    model: &'a Model,
    inference: &'a Inference,
    /// The sizes of the dimension variables.
    sizes: &'a HashMap<Symbol, i64>,
    /// What the symbols that inference made stand for in one run: claims that share one must agree.
    observed: HashMap<Symbol, i64>,
    is_symbolic: bool,
}

impl Look<'_> {
    const fn mode(&self) -> &'static str {
        if self.is_symbolic { "symbolic" } else { "concrete" }
    }

    fn size(&self, symbol: Symbol) -> Option<i64> {
        self.sizes.get(&symbol).or_else(|| self.observed.get(&symbol)).copied()
    }

    fn symbols(&self, dim: Dim) -> Vec<Symbol> {
        self.inference.exprs().symbols(dim)
    }

    /// Whether the dimension variables determine a dimension.
    fn is_determined(&self, dim: Dim) -> bool {
        !dim.is_unknown() && self.symbols(dim).iter().all(|symbol| self.sizes.contains_key(symbol))
    }

    fn eval(&self, dim: Dim) -> Option<i64> {
        if dim.is_unknown() || self.symbols(dim).into_iter().any(|symbol| self.size(symbol).is_none()) {
            return None;
        }
        // An expression that means nothing for these sizes is a wrong claim, not an open one.
        Some(self.inference.exprs().eval(dim, &|symbol| self.size(symbol)).unwrap_or(i64::MIN))
    }

    /// Reads from a value what the symbols in its shape stand for, where they are not known yet.
    fn observe(&mut self, value: ValueId, seen: &Seen) {
        let (Some(claimed), Some(dims)) = (self.inference.shape(value), seen.dims()) else { return };
        if claimed.len() != dims.len() {
            return;
        }
        for (&dim, &size) in claimed.iter().zip(dims) {
            if let Dim::Var(symbol) = dim
                && !self.sizes.contains_key(&symbol)
            {
                self.observed.entry(symbol).or_insert(size);
            }
        }
    }

    fn fails(&self, relation: Relation) -> bool {
        relation.fails(|dim| self.eval(dim))
    }

    fn described(&self, fact: &Fact) -> String {
        let node = fact.node.map_or("", |node| self.model.str(self.model.node(node).name()));
        let text = |dim| self.shown(&[dim]);
        match fact.relation {
            Relation::Equal(a, b) => format!("{} = {} at {node}", text(a), text(b)),
            Relation::AtMost(a, b) => format!("{} <= {} at {node}", text(a), text(b)),
            Relation::Divides(a, b) => format!("{} divides {} at {node}", text(a), text(b)),
            relation => format!("{relation:?} at {node}"),
        }
    }

    /// A proved fact of the whole model that does not hold.
    fn violated_fact(&self) -> Option<&Fact> {
        let facts = self.inference.facts().all().iter();
        let mut proved = facts.filter(|fact| fact.strength == Strength::Proved && !fact.is_conditional());
        proved.find(|fact| self.fails(fact.relation))
    }

    /// A guard that does not hold, among those that the results for a value can depend on. A guard of another value excuses
    /// nothing.
    fn violated_guard(&self, value: ValueId) -> Option<String> {
        let guards = self.inference.guards_of(self.model, value).into_iter().map(|guard| guard.fact);
        let mut guards = guards.filter(|fact| fact.strength == Strength::Assumed);
        guards.find(|fact| self.fails(fact.relation)).map(|fact| self.described(&fact))
    }

    /// The same for what is concluded at a node.
    fn violated_at(&self, node: Option<NodeId>) -> bool {
        let output = node.and_then(|node| self.model.node(node).outputs().iter().flatten().copied().next());
        output.is_some_and(|output| self.violated_guard(output).is_some())
    }

    fn shown(&self, dims: &[Dim]) -> String {
        let text = |&dim: &Dim| {
            let text = self.inference.display(self.model, dim).to_string();
            if matches!(dim, Dim::Known(_)) { text } else { format!("{text}={:?}", self.eval(dim)) }
        };
        format!("[{}]", dims.iter().map(text).collect::<Vec<_>>().join(", "))
    }

    fn tensor(&self, elem: Option<&str>, dims: Option<&[Dim]>, seen: &Seen) -> Claim {
        let Seen::Tensor { elem: seen_elem, dims: sizes, .. } = seen else {
            return Claim::Wrong(format!("claimed a tensor, observed {}", seen.text()));
        };
        let wrong = |dims: &[Dim]| {
            let claimed = format!("{}{}", elem.unwrap_or("?"), self.shown(dims));
            Claim::Wrong(format!("claimed {claimed}, observed {}", seen.text()))
        };
        if elem.is_some_and(|elem| elem != seen_elem) {
            return wrong(dims.unwrap_or_default());
        }
        let Some(dims) = dims else { return Claim::Open };
        if dims.len() != sizes.len() {
            return wrong(dims);
        }
        let mut is_open = elem.is_none();
        for (&dim, &size) in dims.iter().zip(sizes) {
            match self.eval(dim) {
                None => is_open = true,
                Some(claimed) if claimed != size => return wrong(dims),
                Some(_) => is_open |= !self.is_determined(dim),
            }
        }
        if is_open { Claim::Open } else { Claim::Right }
    }

    fn claim(&self, value: ValueId, seen: &Seen) -> Claim {
        match self.inference.ty(value) {
            Ty::Unknown => Claim::Open,
            Ty::Tensor(..) => {
                let elem = self.inference.elem(value).map(|elem| elem.name());
                self.tensor(elem, self.inference.shape(value), seen)
            }
            Ty::Other(ty) => self.other(&ty, seen),
        }
    }

    fn other(&self, ty: &Type, seen: &Seen) -> Claim {
        match (&ty.kind, seen) {
            (TypeKind::Sequence(Some(inner)), Seen::Sequence(items)) => {
                let elem = (inner.elem().name() != "undefined").then(|| inner.elem().name());
                let dims = inner.shape().map(|shape| shape.dims());
                let claims = items.iter().map(|item| self.tensor(elem, dims, item));
                claims.fold(Claim::Right, |all, claim| match (all, claim) {
                    (Claim::Wrong(text), _) | (_, Claim::Wrong(text)) => Claim::Wrong(text),
                    // Items differ, so a sequence cannot say the sizes of each.
                    (_, _) => Claim::Right,
                })
            }
            (TypeKind::Optional(Some(_)), _) | (TypeKind::Sequence(None), _) => Claim::Open,
            _ => Claim::Wrong(format!("claimed another kind of value, observed {}", seen.text())),
        }
    }

    /// The number of claims about elements, and the first that is wrong; whether all elements are claimed.
    fn elements(&self, value: ValueId, seen: &Seen) -> (u64, Option<String>, bool) {
        let Seen::Tensor { elements: Some(elements), elem, .. } = seen else { return (0, None, true) };
        let Some(content) = self.inference.content(value) else { return (0, None, elements.is_empty()) };
        if content.len() != elements.len() {
            return (
                0,
                Some(format!("claimed {} elements, observed {}", content.len(), elements.len())),
                true,
            );
        }
        let (mut count, mut is_complete) = (0, true);
        for (claim, seen) in content.iter().zip(elements) {
            let is_right = match *claim {
                Elem::Unknown => None,
                Elem::Int(dim) => self.eval(dim).map(|number| is_number(seen, number)),
                Elem::Dyadic(dim, shift) => self.eval(dim).map(|number| {
                    let shift = i32::try_from(shift).unwrap_or(i32::MAX);
                    seen.as_f64().is_some_and(|seen| close(seen, number as f64 / 2_f64.powi(shift), elem))
                }),
                Elem::Quotient(dim, by) => self.eval(dim).map(|number| {
                    let exact = number as f64 / by as f64;
                    seen.as_f64()
                        .is_some_and(|seen| seen.floor() == exact.floor() && seen.ceil() == exact.ceil())
                }),
                Elem::Float(number) => Some(seen.as_f64().is_none_or(|seen| close(seen, number, elem))),
                #[allow(unreachable_patterns, reason = "new kinds of elements are not compared")]
                _ => None,
            };
            let is_determined = match *claim {
                Elem::Int(dim) | Elem::Dyadic(dim, _) | Elem::Quotient(dim, _) => self.is_determined(dim),
                _ => true,
            };
            count += u64::from(is_right.is_some());
            is_complete &= is_right.is_some() && is_determined;
            if is_right == Some(false) {
                let shown = match claim {
                    Elem::Int(dim) => self.shown(&[*dim]),
                    other => format!("{other:?}"),
                };
                return (count, Some(format!("claimed element {shown}, observed {seen}")), is_complete);
            }
        }
        (count, None, is_complete)
    }
}

fn is_number(seen: &Json, number: i64) -> bool {
    seen.as_i64().map_or_else(|| seen.as_f64() == Some(number as f64), |seen| seen == number)
}

fn close(a: f64, b: f64, elem: &str) -> bool {
    let tolerance = if matches!(elem, "float16" | "bfloat16") { 1e-2 } else { 1e-6 };
    (a - b).abs() <= tolerance * b.abs().max(1.0)
}

/// Removes nodes and all that depend on them.
pub fn prune(model: &mut Model, removed: impl Fn(&str) -> bool) {
    let graph = model.main_graph();
    let nodes: Vec<NodeId> = model.nodes(graph).collect();
    let mut gone: HashSet<ValueId> = HashSet::new();
    let mut erased = Vec::new();
    for node in nodes {
        let uses = operands(model, node).into_iter().any(|value| gone.contains(&value));
        if uses || removed(model.str(model.node(node).name())) {
            gone.extend(model.node(node).outputs().iter().flatten());
            erased.push(node);
        }
    }
    let outputs = model.graph(graph).outputs().len();
    for index in (0..outputs).rev() {
        let value = model.graph(graph).outputs()[index].value();
        if gone.contains(&value) {
            model.remove_graph_output(graph, index);
        }
    }
    for node in erased.into_iter().rev() {
        // Nothing uses it any more.
        let _ = model.erase_node(node);
    }
}

/// What a node uses, its nested graphs included.
pub fn operands(model: &Model, node: NodeId) -> Vec<ValueId> {
    let nested = model.node(node).nested_graphs().flat_map(|graph| model.captures(graph));
    model.node(node).inputs().flatten().chain(nested).collect()
}

/// The node of the main graph that is `node` or has it in a nested graph; `None` for nodes of functions.
fn in_main_graph(model: &Model, node: NodeId) -> Option<NodeId> {
    let mut node = node;
    while model.node(node).graph() != model.main_graph() {
        node = model.owner_node(model.node(node).graph())?;
    }
    Some(node)
}

/// Compares a model, which is the one that ran, with its runs.
pub fn judge(model: &Model, sizes: &Sizes, seen: &Observation) -> Verdict {
    let mut verdict = Verdict::default();
    let registry = contrib::registry();
    let mut model = model.clone();
    verdict.count("models", 1);
    verdict.count("nodes", model.nodes(model.main_graph()).count() as u64);
    let runs = seen.runs.iter().filter(|run| run.values.is_some()).count() as u64;
    verdict.count("runs", runs);
    verdict.count("runs that failed", seen.runs.len() as u64 - runs);
    let inference = infer(&model, &InferOptions::default().with_registry(&registry));
    let mut open: HashSet<ValueId> = HashSet::new();
    let mut incomplete: HashSet<ValueId> = HashSet::new();
    for binding in 0..BINDINGS {
        let bound: Vec<(Symbol, i64)> =
            sizes.iter().map(|(name, sizes)| (model.intern(name), sizes[binding])).collect();
        let sizes: HashMap<Symbol, i64> = bound.iter().copied().collect();
        let look = Look {
            model: &model,
            inference: &inference,
            sizes: &sizes,
            observed: HashMap::new(),
            is_symbolic: true,
        };
        compare(look, binding, seen, &mut verdict, &mut open, &mut incomplete);
        let options = InferOptions::default().with_registry(&registry).with_sizes(&bound);
        let concrete = infer(&model, &options);
        let look = Look {
            model: &model,
            inference: &concrete,
            sizes: &sizes,
            observed: HashMap::new(),
            is_symbolic: false,
        };
        compare(look, binding, seen, &mut verdict, &mut open, &mut incomplete);
    }
    let unranked: Vec<ValueId> =
        open.iter().copied().filter(|&value| inference.shape(value).is_none()).collect();
    let varying = if unranked.is_empty() {
        HashSet::new()
    } else {
        varying_ranks(&mut model, sizes, &unranked, &registry)
    };
    unknown(&model, seen, &open, &incomplete, &varying, &mut verdict);
    verdict
}

/// Compares one inference with the runs of one binding.
fn compare(
    mut look: Look<'_>,
    binding: usize,
    seen: &Observation,
    verdict: &mut Verdict,
    open: &mut HashSet<ValueId>,
    incomplete: &mut HashSet<ValueId>,
) {
    let runs: Vec<_> =
        seen.runs.iter().filter(|run| run.binding == binding).filter_map(|run| run.values.as_ref()).collect();
    let values = main_values(look.model);
    for (index, run) in runs.into_iter().enumerate() {
        look.observed.clear();
        for &value in &values {
            if let Some(observed) = run.get(look.model.str(look.model.value(value).name())) {
                look.observe(value, observed);
            }
        }
        if let Some(fact) = look.violated_fact() {
            violation(&look, fact, run, verdict);
        }
        let spoilt = compare_run(&look, run, &values, verdict, open, incomplete);
        // The report of inference is the same for all runs, except for the sizes of its symbols.
        if index == 0 && look.inference.findings().has_errors() {
            contradiction(&look, run, &spoilt, verdict);
        }
    }
}

/// Compares one inference with one run; the result has the values with a mismatch and what depends on them, which is not
/// compared.
fn compare_run(
    look: &Look<'_>,
    run: &BTreeMap<String, Seen>,
    values: &[ValueId],
    verdict: &mut Verdict,
    open: &mut HashSet<ValueId>,
    incomplete: &mut HashSet<ValueId>,
) -> HashSet<ValueId> {
    let mut spoilt: HashSet<ValueId> = HashSet::new();
    for &value in values {
        let name = look.model.str(look.model.value(value).name());
        let Some(observed) = run.get(name) else { continue };
        let producer = look.model.value(value).producer();
        let used = producer.map(|node| operands(look.model, node)).unwrap_or_default();
        if used.iter().any(|operand| spoilt.contains(operand)) {
            spoilt.insert(value);
            continue;
        }
        verdict.count("values compared", 1);
        let wrong = match look.claim(value, observed) {
            Claim::Wrong(text) => Some(text),
            claim => {
                if look.is_symbolic && matches!(claim, Claim::Open) {
                    open.insert(value);
                }
                let (count, wrong, is_complete) = look.elements(value, observed);
                verdict.count("elements compared", count);
                if look.is_symbolic && !is_complete {
                    incomplete.insert(value);
                }
                wrong
            }
        };
        let Some(detail) = wrong else { continue };
        spoilt.insert(value);
        let mismatch = Mismatch {
            model: look.model,
            node: producer,
            run,
            claimed: look.inference.shape(value),
            seen: observed,
        };
        report(look, value, &detail, &mismatch, verdict);
    }
    spoilt
}

/// Puts a proved fact that does not hold where it belongs.
fn violation(look: &Look<'_>, fact: &Fact, run: &BTreeMap<String, Seen>, verdict: &mut Verdict) {
    if let Some(deviation) = Deviation::accepting(look.model, fact.node, run) {
        *verdict.deviations.entry(deviation.name).or_default() += 1;
        return;
    }
    if look.violated_at(fact.node) {
        *verdict.guarded.entry("fact".to_owned()).or_default() += 1;
        return;
    }
    let op = fact.node.map_or("-", |node| look.model.str(look.model.node(node).op())).to_owned();
    let detail = look.described(fact);
    verdict.failures.push(Failure { kind: "fact", op, mode: look.mode(), at: detail.clone(), detail });
}

/// Puts a mismatch where it belongs.
fn report(look: &Look<'_>, value: ValueId, detail: &str, mismatch: &Mismatch<'_>, verdict: &mut Verdict) {
    let node = look.model.value(value).producer();
    let op = node.map_or("input", |node| look.model.str(look.model.node(node).op())).to_owned();
    if let Some(deviation) = Deviation::explaining(mismatch) {
        *verdict.deviations.entry(deviation.name).or_default() += 1;
        return;
    }
    if let Some(guard) = look.violated_guard(value) {
        verdict.excuses.entry(op.clone()).or_insert_with(|| format!("{detail}; violated: {guard}"));
        *verdict.guarded.entry(op).or_default() += 1;
        return;
    }
    let at = look.model.str(look.model.value(value).name()).to_owned();
    let detail = format!("{at}: {detail}");
    verdict.failures.push(Failure { kind: "wrong", op, mode: look.mode(), at, detail });
}

/// Puts contradictions that are reported for a model which runs where they belong.
fn contradiction(
    look: &Look<'_>,
    run: &BTreeMap<String, Seen>,
    spoilt: &HashSet<ValueId>,
    verdict: &mut Verdict,
) {
    let errors = look.inference.findings().diagnostics().iter();
    for found in errors.filter(|found| found.severity == onnx_diag::Severity::Error) {
        let locus = format!("{:?}", found.locus);
        let node = look.model.all_graphs().flat_map(|graph| look.model.nodes(graph)).find(|&node| {
            let name = look.model.str(look.model.node(node).name());
            !name.is_empty() && locus.contains(&format!("\"{name}\""))
        });
        let op = node.map_or("?", |node| look.model.str(look.model.node(node).op())).to_owned();
        let outer = node.and_then(|node| in_main_graph(look.model, node));
        if outer.is_some_and(|node| operands(look.model, node).iter().any(|value| spoilt.contains(value))) {
            verdict.count("contradictions behind a mismatch", 1);
            continue;
        }
        if let Some(deviation) = Deviation::accepting(look.model, node, run) {
            *verdict.deviations.entry(deviation.name).or_default() += 1;
            continue;
        }
        // A type that the generator declared wrongly: the model is at fault, although the runtime accepts it.
        if DECLARED.contains(&found.rule.code) {
            *verdict.counts.entry("contradictions to wrong declarations".to_owned()).or_default() += 1;
            continue;
        }
        if look.violated_at(node) {
            *verdict.guarded.entry(format!("contradiction at {op}")).or_default() += 1;
            continue;
        }
        let detail = format!("{}: {}", found.rule.code, found.message);
        let at = node.map_or("", |node| look.model.str(look.model.node(node).name())).to_owned();
        verdict.failures.push(Failure { kind: "false contradiction", op, mode: look.mode(), at, detail });
    }
}
