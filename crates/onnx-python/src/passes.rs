//! Simplification, rewrite rules, and passes that are written in Python.
//!
//! A pass in Python sees a copy of the model, whose keys are those of the model itself, and describes patches. They are
//! made and proved one by one when its function returns, so that no borrowed state reaches Python.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

use onnxkit::codec::FileSource;
use onnxkit::compose::{TARGETS, Target};
use onnxkit::ir::{self, AttrValue, Attribute, EditError, NodeId, Position, ValueId};
use onnxkit::pass::passes::Report;
use onnxkit::pass::{
    Exactness, Idioms, Level, Pass, PassCx, PassOptions, Patch, Pipeline, PipelineReport, Reason, Verdict,
};
use onnxkit::rewrite::{IdiomSet, RuleSet, fused_simplification, simplification};
use onnxkit::schema::Registry;
use onnxkit::types::tensor::Tensor as Elements;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};
use serde_json::{Value as Json, json};

use crate::attr;
use crate::change::{resized, size_target};
use crate::fault::{Fault, Outcome};
use crate::graph::operand;
use crate::json::{listed, to_py};
use crate::model::Model;
use crate::node::{Node, node_of};
use crate::number::{Int, number};
use crate::tensor::Tensor;
use crate::value::Value;
use crate::work::Work;

/// Rewrite rules.
#[pyclass(frozen, module = "onnxkit")]
pub(crate) struct Rules(RuleSet);

#[pymethods]
impl Rules {
    /// Reads rules from text.
    #[staticmethod]
    #[pyo3(signature = (text, **options))]
    fn parse(py: Python<'_>, text: &str, options: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let rules = Work::of(options)?.run(py, |execution| {
            RuleSet::parse_until(text, Registry::STANDARD, &execution.interrupt)?
                .map_err(|error| Fault::of_findings("RuleError", "the rules are malformed", error.findings()))
        })?;
        Ok(Self(rules))
    }

    /// The names of the rules.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.rules().map(|rule| rule.name().to_owned()).collect()
    }

    /// The rules as text.
    #[getter]
    fn text(&self) -> String {
        self.0.rules().map(|rule| rule.text().to_owned()).collect::<Vec<_>>().join("\n")
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().text() == self.text())
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.text().hash(&mut hasher);
        hasher.finish()
    }

    fn __repr__(&self) -> String {
        format!("<Rules: {}>", self.names().join(", "))
    }
}

/// A value of a patch: one of the model, or a result of a step.
#[derive(Clone, Copy)]
enum Operand {
    Old(ValueId),
    New(usize, usize),
}

/// One step of a patch.
enum Step {
    Node {
        op: String,
        domain: String,
        inputs: Vec<Option<Operand>>,
        attributes: Vec<(String, AttrValue)>,
        outputs: usize,
    },
    Constant(Elements),
    Shape(ValueId),
    Content(ValueId),
}

/// A patch that a pass in Python describes.
struct Plan {
    sources: Vec<NodeId>,
    /// The values that the claim is about, if the pass says; by default, the operands of the nodes.
    taps: Option<Vec<ValueId>>,
    steps: Vec<Step>,
    replaced: Vec<(ValueId, Operand)>,
}

fn operand_of(model: &Py<Model>, object: &Bound<'_, PyAny>) -> PyResult<Operand> {
    if object.cast::<Value>().is_ok() {
        return Ok(Operand::Old(operand(model, object)?));
    }
    let (step, output): (usize, usize) = object.getattr("_place")?.extract()?;
    Ok(Operand::New(step, output))
}

fn step_of(model: &Py<Model>, step: &Bound<'_, PyAny>) -> PyResult<Step> {
    let kind: String = step.get_item(0)?.extract()?;
    match kind.as_str() {
        "constant" => Ok(Step::Constant(Tensor::of_py(&step.get_item(1)?, None)?)),
        "shape" => Ok(Step::Shape(operand(model, &step.get_item(1)?)?)),
        "content" => Ok(Step::Content(operand(model, &step.get_item(1)?)?)),
        _ => {
            let (op, domain, outputs): (String, String, Int<usize>) =
                (step.get_item(1)?.extract()?, step.get_item(2)?.extract()?, step.get_item(5)?.extract()?);
            let mut inputs = Vec::new();
            for input in step.get_item(3)?.try_iter()? {
                let input = input?;
                inputs.push(if input.is_none() { None } else { Some(operand_of(model, &input)?) });
            }
            let version = model.get().read(step.py(), |inner| {
                let known = inner.model.names().get(&domain);
                Ok(known.and_then(|domain| inner.model.opset_version(domain)))
            })?;
            let mut attributes = Vec::new();
            for (name, value) in step.get_item(4)?.cast::<PyDict>()? {
                let name: String = name.extract()?;
                let kind = version.and_then(|version| attr::attribute_kind(&domain, &op, version, &name));
                attributes.push((name, attr::of_py(model, &value, kind)?));
            }
            Ok(Step::Node { op, domain, inputs, attributes, outputs: outputs.0 })
        }
    }
}

fn plan_of(model: &Py<Model>, patch: &Bound<'_, PyAny>) -> PyResult<Plan> {
    let mut plan = Plan { sources: Vec::new(), taps: None, steps: Vec::new(), replaced: Vec::new() };
    let taps = patch.getattr("_taps")?;
    if !taps.is_none() {
        let taps = taps.try_iter()?.map(|value| operand(model, &value?));
        plan.taps = Some(taps.collect::<PyResult<_>>()?);
    }
    for node in patch.getattr("_sources")?.try_iter()? {
        plan.sources.push(node_of(model, node?.cast::<Node>()?)?);
    }
    for step in patch.getattr("_steps")?.try_iter()? {
        plan.steps.push(step_of(model, &step?)?);
    }
    for pair in patch.getattr("_replaced")?.try_iter()? {
        let pair = pair?;
        let old = operand(model, &pair.get_item(0)?)?;
        plan.replaced.push((old, operand_of(model, &pair.get_item(1)?)?));
    }
    Ok(plan)
}

impl Plan {
    fn old_values(&self) -> Vec<ValueId> {
        let inputs = self.steps.iter().flat_map(|step| match step {
            Step::Node { inputs, .. } => inputs.iter().flatten().copied().collect(),
            Step::Shape(value) | Step::Content(value) => vec![Operand::Old(*value)],
            Step::Constant(_) => Vec::new(),
        });
        let old = |operand| match operand {
            Operand::Old(value) => Some(value),
            Operand::New(..) => None,
        };
        inputs.chain(self.replaced.iter().map(|&(_, new)| new)).filter_map(old).collect()
    }

    /// The operands of the nodes that the patch is about and what it uses, without what these nodes make themselves.
    fn default_taps(&self, model: &ir::Model, old: &[ValueId]) -> Vec<ValueId> {
        let inputs = self.sources.iter().flat_map(|&node| model.node(node).used_values());
        let mut taps: Vec<ValueId> = Vec::new();
        for value in inputs.chain(old.iter().copied()) {
            let producer = model.value(value).producer();
            let is_inside = producer.is_some_and(|node| self.sources.contains(&node));
            if !is_inside && !taps.contains(&value) {
                taps.push(value);
            }
        }
        taps
    }

    /// Makes the patch and tries to commit it.
    fn apply(self, cx: &mut PassCx<'_>, pass: &str, class: Exactness, report: &mut Report) {
        let model = cx.model();
        let old = self.old_values();
        let is_current = self.sources.iter().all(|&node| model.get_node(node).is_some())
            && old
                .iter()
                .chain(self.replaced.iter().map(|(old, _)| old))
                .chain(self.taps.iter().flatten())
                .all(|&value| model.get_value(value).is_some());
        let Some(&first) = self.sources.first().filter(|_| is_current) else {
            // An earlier patch changed what this one is about: the next round sees the result.
            return;
        };
        let taps = self.taps.clone().unwrap_or_else(|| self.default_taps(cx.model(), &old));
        let mut patch = cx.patch(pass, class);
        for &node in &self.sources {
            patch.source(node);
        }
        for value in taps {
            patch.tap(value);
        }
        match self.build(&mut patch, Position::Before(first)) {
            Ok(()) => report.commit(patch),
            Err(reason) => {
                drop(patch);
                report.miss(cx.model(), first, &reason);
            }
        }
    }

    fn build(self, patch: &mut Patch<'_, '_>, at: Position) -> Result<(), Reason> {
        let mut results: Vec<Vec<Option<ValueId>>> = Vec::new();
        let find = |results: &[Vec<Option<ValueId>>], operand: Operand| match operand {
            Operand::Old(value) => Ok(value),
            Operand::New(step, output) => {
                let value = results.get(step).and_then(|outputs| outputs.get(output).copied().flatten());
                value.ok_or_else(|| Reason::from("the patch uses a result that is not there"))
            }
        };
        for step in self.steps {
            results.push(match step {
                Step::Constant(tensor) => vec![Some(patch.new_constant(at, tensor)?)],
                Step::Shape(value) => {
                    patch.try_shape(value)?;
                    Vec::new()
                }
                Step::Content(value) => {
                    patch.try_constant(value)?;
                    Vec::new()
                }
                Step::Node { op, domain, inputs, attributes, outputs } => {
                    let inputs =
                        inputs.into_iter().map(|input| input.map(|input| find(&results, input)).transpose());
                    let inputs = inputs.collect::<Result<Vec<_>, Reason>>()?;
                    patch.build(at, |builder| {
                        let model = builder.model();
                        let attributes: Vec<Attribute> = attributes
                            .into_iter()
                            .map(|(name, value)| Attribute::new(model.intern(&name), value))
                            .collect();
                        let mut node = builder.call(&domain, &op, []);
                        for input in inputs {
                            node = node.input(input);
                        }
                        for attribute in attributes {
                            node = node.attribute(attribute);
                        }
                        node.outputs_if(&vec![true; outputs]).map_err(|error: EditError| Reason::from(error))
                    })?
                }
            });
        }
        for (old, new) in self.replaced {
            let new = find(&results, new)?;
            patch.replace(old, new);
        }
        Ok(())
    }
}

/// The exception of a pass in Python.
type Raised = Arc<Mutex<Option<PyErr>>>;

/// A pass that calls a function of Python with a context, and makes the patches that the context then has.
fn python_pass(
    name: String,
    class: Exactness,
    function: Py<PyAny>,
    data: Arc<FileSource>,
    raised: Raised,
) -> Pass {
    Pass::new(name.clone(), "a pass in Python", class, move |cx| {
        let mut report = Report::default();
        if raised.lock().unwrap_or_else(PoisonError::into_inner).is_some() {
            return report;
        }
        let model = cx.model().clone();
        let plans = Python::attach(|py| -> PyResult<Vec<Plan>> {
            let model = Py::new(py, Model::new(model, Arc::clone(&data)))?;
            let patches = function.call1(py, (model.clone_ref(py),))?;
            let plans = patches.bind(py).try_iter()?.map(|patch| plan_of(&model, &patch?));
            plans.collect()
        });
        match plans {
            Ok(plans) => {
                for plan in plans {
                    if cx.is_stopped() {
                        break;
                    }
                    plan.apply(cx, &name, class, &mut report);
                }
            }
            Err(error) => *raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error),
        }
        report
    })
}

fn class_of(name: &str) -> PyResult<Exactness> {
    match name {
        "exact" => Ok(Exactness::Exact),
        "rounding" => Ok(Exactness::Rounding),
        "approximate" => Ok(Exactness::Approximate),
        _ => Err(Fault::argument(format!("`{name}` is not a class: exact, rounding or approximate")).into()),
    }
}

/// What `run` is asked for.
struct Request {
    prove: bool,
    class: Exactness,
    untested: bool,
    idioms: Option<IdiomSet>,
    sizes: Vec<(String, Json)>,
}

fn run<'py>(
    model: &Bound<'py, Model>,
    pipeline: &Pipeline,
    request: &Request,
    raised: &Raised,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = model.py();
    let mut snapshot = model.get().snapshot(py)?;
    let before = snapshot.model.node_count();
    let done = Work::of(options)?.run(py, |execution| {
        if !request.sizes.is_empty() {
            let mut changes = Vec::new();
            for (target, size) in &request.sizes {
                let size = match (size.as_i64(), size.as_str()) {
                    (Some(number), _) => onnxkit::compose::NewSize::Number(number),
                    (None, Some(name)) => onnxkit::compose::NewSize::Name(name.to_owned()),
                    _ => return Err(Fault::argument(format!("`{target}`: a size is a number or a name"))),
                };
                let target = size_target(&snapshot.model, target)?;
                changes.push(onnxkit::compose::SizeChange { target, size });
            }
            resized(&mut snapshot, &changes, execution)?;
        }
        let data = snapshot.data(execution);
        let options = PassOptions::default()
            .with_class(request.class)
            .with_level(if request.prove { Level::Model } else { Level::Types })
            .with_untested(request.untested)
            .with_data(&data)
            .with_idioms(request.idioms.as_ref().map(|idioms| idioms as &dyn Idioms))
            .with_execution(execution.clone());
        Ok(pipeline.run(snapshot.editable(), &options))
    })?;
    let after = snapshot.model.node_count();
    if let Some(error) = raised.lock().unwrap_or_else(PoisonError::into_inner).take() {
        return Err(error);
    }
    let done = described(py, &done, before, after)?;
    model.get().adopt(py, snapshot)?;
    Ok(done)
}

fn described<'py>(
    py: Python<'py>,
    done: &PipelineReport,
    before: usize,
    after: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let entry = |entry: &onnxkit::pass::Entry| {
        json!({
            "pass": entry.pass, "edits": entry.edits, "class": entry.class.name(),
            "verdict": verdict_name(&entry.verdict), "detail": entry.verdict.to_string(),
            "sources": entry.sources, "assumed": entry.assumed,
        })
    };
    let refusals = done.passes.iter().flat_map(|pass| &pass.report.refusals);
    let refusal = |refusal: &onnxkit::pass::Refusal| {
        json!({
            "pass": refusal.pass, "level": refusal.level.to_string(), "reason": refusal.reason,
            "sources": refusal.sources, "verdict": refusal.verdict.as_ref().map(ToString::to_string),
            "refuted": refusal.verdict.as_ref().is_some_and(Verdict::is_refuted),
        })
    };
    let missed = done.passes.iter().flat_map(|pass| &pass.report.missed);
    let missed = missed.map(|missed| json!({ "node": missed.node, "reason": missed.reason }));
    let pass = |pass: &onnxkit::pass::PassRun| {
        json!({
            "name": pass.name, "edits": pass.report.edits, "rounds": pass.rounds, "nodes": pass.nodes,
        })
    };
    let report = json!({
        "edits": done.edits(), "nodes_before": before, "nodes_after": after,
        "passes": done.passes.iter().map(pass).collect::<Vec<_>>(),
        "model": done.model.as_ref().map(ToString::to_string),
        "model_refuted": done.model.as_ref().is_some_and(Verdict::is_refuted),
        "ended": done.ended.as_ref().map(|ended| format!("{ended:?}").to_lowercase()),
    });
    let report = to_py(py, &report)?;
    report.set_item("journal", listed(py, done.journal.iter().map(entry))?)?;
    report.set_item("refused", listed(py, refusals.map(refusal))?)?;
    report.set_item("missed", listed(py, missed)?)?;
    Ok(report)
}

fn verdict_name(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Proved(_) => "proved",
        Verdict::Tested { .. } => "tested",
        Verdict::Measured { .. } => "measured",
        Verdict::Refuted(_) => "refuted",
        Verdict::Untested(_) => "untested",
    }
}

fn defect(error: impl ToString) -> Fault {
    Fault::new("BugError", error.to_string())
}

/// Common passes, rewrite rules and constant folding, until nothing changes.
#[pyfunction]
#[pyo3(signature = (model, prove, exact, fuse, rules, sizes, target, **options))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn simplify<'py>(
    model: &Bound<'py, Model>,
    prove: bool,
    exact: bool,
    fuse: bool,
    rules: Vec<Bound<'py, Rules>>,
    sizes: Vec<(String, Bound<'py, PyAny>)>,
    target: &str,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (target, idioms) = match target {
        "none" => (None, None),
        name => {
            let Some(target) = Target::named(name) else {
                let names: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
                let known = names.join(", ");
                return Err(Fault::argument(format!("`{name}` is not a target: {known} or none")).into());
            };
            let idioms = target.idiom_set().map_err(defect)?;
            (Some(target), Some(idioms))
        }
    };
    let fitted = |rules: RuleSet| match &target {
        Some(target) => target.fitted(rules),
        None => rules,
    };
    let mut all = fitted(RuleSet::standard().map_err(defect)?);
    for own in &rules {
        all = all.and(&own.get().0);
    }
    if let Some(target) = &target {
        all = all.with_costs(target.all_costs());
    }
    let pipeline = if fuse {
        let fusions = fitted(RuleSet::fusions().map_err(defect)?);
        fused_simplification(all, fusions, Registry::STANDARD)
    } else {
        simplification(all, Registry::STANDARD)
    };
    let pipeline = pipeline.map_err(defect)?;
    let mut given = Vec::new();
    for (name, size) in sizes {
        let size = match number(&size)?.extract::<i64>() {
            Ok(number) => json!(number),
            Err(_) => json!(size.extract::<String>()?),
        };
        given.push((name, size));
    }
    let class = if exact { Exactness::Exact } else { Exactness::Rounding };
    let request = Request { prove, class, untested: false, idioms, sizes: given };
    run(model, &pipeline, &request, &Raised::default(), options)
}

/// Runs passes: names of standard ones, rules, and passes in Python.
#[pyfunction]
#[pyo3(signature = (model, passes, prove, class_, repeat, untested, **options))]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
pub(crate) fn run_passes<'py>(
    py: Python<'py>,
    model: &Bound<'py, Model>,
    passes: &Bound<'py, PyList>,
    prove: bool,
    class_: &str,
    repeat: bool,
    untested: bool,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let raised = Raised::default();
    let data = model.get().snapshot(py)?.kept_data();
    let mut chosen = Vec::new();
    for (index, pass) in passes.iter().enumerate() {
        chosen.push(if let Ok(rules) = pass.cast::<Rules>() {
            rules.get().0.clone().pass(format!("rules-{}", index + 1))
        } else if let Ok(name) = pass.cast::<PyString>() {
            known_pass(name.to_str()?)?
        } else {
            let name: String = pass.getattr("name")?.extract()?;
            let class = class_of(&pass.getattr("exactness")?.extract::<String>()?)?;
            let function = pass.getattr("_patches")?.unbind();
            python_pass(name, class, function, Arc::clone(&data), Arc::clone(&raised))
        });
    }
    let pipeline = if repeat {
        Pipeline::new().then_repeat(chosen).map_err(|error| Fault::argument(format!("{error:?}")))?
    } else {
        Pipeline::new().then(chosen)
    };
    let request = Request { prove, class: class_of(class_)?, untested, idioms: None, sizes: Vec::new() };
    run(model, &pipeline, &request, &raised, options)
}

fn known_pass(name: &str) -> Outcome<Pass> {
    Pass::find(name, Registry::STANDARD).ok_or_else(|| {
        let known = Pass::known(Registry::STANDARD);
        let names: Vec<&str> = known.iter().map(Pass::name).collect();
        Fault::argument(format!("the pass `{name}` does not exist; known are {}", names.join(", ")))
    })
}

/// The standard passes: name, summary and class.
#[pyfunction]
pub(crate) fn passes() -> Vec<(String, String, &'static str)> {
    let known = Pass::known(Registry::STANDARD).into_iter();
    known.map(|pass| (pass.name().to_owned(), pass.summary().to_owned(), pass.class().name())).collect()
}
