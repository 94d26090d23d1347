//! Questions about whole models.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use onnxkit::check as checker;
use onnxkit::check::{CheckOptions, ExternalFiles, Profile};
use onnxkit::compose::cost::{Amount, CostError, CostOptions, cost as cost_of};
use onnxkit::compose::{
    DiffOptions, Element, HashError, HashOptions, ModelFacts, Selection, diff as diff_of, hash_model,
};
use onnxkit::eval::compare::Tolerances;
use onnxkit::infer::{Gap, InferOptions, Inference as Types, MergePolicy, infer as infer_types};
use onnxkit::ir::{self, GraphOutput, ValueId};
use onnxkit::schema::{DeclaredSchema, SchemaRef};
use onnxkit::types::tensor::Payload;
use onnxkit::types::{Symbol, Type};
use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use serde_json::{Value as Json, json};

use crate::dtype::DType;
use crate::fault::{Fault, Outcome, findings};
use crate::json::{listed, to_py};
use crate::model::Model;
use crate::node::Node;
use crate::number::Int;
use crate::types::{DimText, dims_to_py, type_text};
use crate::value::Value;
use crate::work::Work;

/// Sizes by the names of dimension variables, which must be in the model.
pub(crate) fn sizes_of(model: &ir::Model, sizes: &BTreeMap<String, i64>) -> Outcome<Vec<(Symbol, i64)>> {
    let size = |(name, &size): (&String, &i64)| {
        let symbol = model.names().get(name);
        let symbol = symbol.ok_or_else(|| Fault::argument(format!("the model has no size `{name}`")))?;
        Ok((symbol, size))
    };
    sizes.iter().map(size).collect()
}

/// The findings of the checker.
#[pyfunction]
#[pyo3(signature = (model, full, profile, **options))]
pub(crate) fn check<'py>(
    py: Python<'py>,
    model: &Bound<'py, Model>,
    full: bool,
    profile: Option<String>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let snapshot = model.get().snapshot(py)?;
    let profile = match profile.as_deref() {
        None | Some("spec") => Profile::Spec,
        Some("reference") => Profile::Reference,
        Some(other) => {
            return Err(Fault::argument(format!("`{other}` is not a profile: `spec` or `reference`")).into());
        }
    };
    let found = Work::of(options)?.run(py, |execution| {
        let external = full.then(|| ExternalFiles::new(snapshot.data(execution)));
        let options = CheckOptions::default()
            .with_execution(execution.clone())
            .with_profile(profile)
            .with_elements(full)
            .with_external(external);
        let found = checker::check(&snapshot.model, &options);
        Ok(json!({ "findings": findings(&found), "dropped": found.dropped() }))
    })?;
    to_py(py, &found)
}

/// Makes the edits that findings suggest.
#[pyfunction]
#[pyo3(signature = (model, **options))]
pub(crate) fn fix<'py>(
    py: Python<'py>,
    model: &Bound<'py, Model>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut snapshot = model.get().snapshot(py)?;
    let fixes = Work::of(options)?.run(py, |execution| {
        let fixes = checker::fix_until(snapshot.editable(), &execution.interrupt)?;
        let fix = |fix: &checker::Fix| json!({ "rule": fix.rule.id().to_string(), "what": fix.what });
        Ok((fixes.iter().map(fix).collect::<Json>(), fixes.is_empty()))
    })?;
    let made = to_py(py, &fixes.0)?;
    if !fixes.1 {
        model.get().adopt(py, snapshot)?;
    }
    Ok(made)
}

/// The page of a rule.
#[pyfunction]
pub(crate) fn explain(rule: &str) -> PyResult<String> {
    let all = checker::RULES.iter().copied();
    let all = all.chain(onnxkit::infer::fault::RULES.iter().copied());
    let all = all.chain(onnxkit::eval::fault::RULES.iter().copied());
    let all = all.chain(onnxkit::text::rules::ALL.iter().copied());
    let found = onnxkit::diag::find_rule(all, rule);
    let found = found.ok_or_else(|| Fault::argument(format!("the rule `{rule}` does not exist")))?;
    Ok(format!("{} ({}): {}\n\n{}", found.id(), found.slug, found.summary, found.explain))
}

/// What inference knows about a model.
#[pyclass(frozen, module = "onnxkit")]
pub(crate) struct Inference {
    model: Py<Model>,
    at: Arc<ir::Model>,
    types: Types,
}

/// Infers types and shapes, and writes them into the model.
#[pyfunction]
#[pyo3(signature = (model, sizes, inplace, check_types=false, trust_defaults=false, trust_names=false, **options))]
pub(crate) fn infer(
    model: Bound<'_, Model>,
    sizes: BTreeMap<String, i64>,
    inplace: bool,
    check_types: bool,
    trust_defaults: bool,
    trust_names: bool,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Inference> {
    let py = model.py();
    let mut snapshot = model.get().snapshot(py)?;
    let types = Work::of(options)?.run(py, |execution| {
        let sizes = sizes_of(&snapshot.model, &sizes)?;
        let data = snapshot.data(execution);
        let mut types = {
            let options = InferOptions::default()
                .with_data(&data)
                .with_sizes(&sizes)
                .with_check_types(check_types)
                .with_defaults_are_constant(trust_defaults)
                .with_names_are_trusted(trust_names)
                .with_execution(execution.clone());
            infer_types(&snapshot.model, &options)
        };
        if inplace {
            let applied = types.apply(snapshot.editable(), MergePolicy::Refine);
            applied.map_err(|error| Fault::new("InferError", error.to_string()))?;
        }
        Ok(types)
    })?;
    let at = Arc::clone(&snapshot.model);
    if inplace {
        model.get().adopt(py, snapshot)?;
    }
    Ok(Inference { model: model.unbind(), at, types })
}

fn gap_name(gap: Gap) -> String {
    match gap {
        Gap::Type => "type".to_owned(),
        Gap::Elem => "element type".to_owned(),
        Gap::Rank => "rank".to_owned(),
        Gap::Size(axis) => format!("size of axis {axis}"),
    }
}

impl Inference {
    fn known(&self, value: &Bound<'_, Value>) -> PyResult<ValueId> {
        let value = value.get();
        if !value.model.is(&self.model) {
            return Err(Fault::argument("the value is of another model").into());
        }
        if self.at.get_value(value.id).is_none() {
            return Err(Fault::argument("the value is newer than the inference; infer again").into());
        }
        Ok(value.id)
    }
}

#[pymethods]
impl Inference {
    /// The shape of a value: numbers, expressions as strings, and `None` for unknown sizes; `None` if the rank is unknown.
    fn shape<'py>(
        &self,
        py: Python<'py>,
        value: &Bound<'py, Value>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let id = self.known(value)?;
        let Some(dims) = self.types.shape(id) else { return Ok(None) };
        let text = |&dim: &onnxkit::types::Dim| match dim {
            onnxkit::types::Dim::Known(size) => DimText::Known(size),
            onnxkit::types::Dim::Unknown => DimText::Unknown,
            dim => DimText::Text(self.types.display(&self.at, dim).to_string()),
        };
        Ok(Some(dims_to_py(py, dims.iter().map(text).collect())?))
    }

    /// The type of a value as ONNX text.
    fn r#type(&self, value: &Bound<'_, Value>) -> PyResult<String> {
        let id = self.known(value)?;
        Ok(self.types.display_type(&self.at, id).to_string().replace(", ", ","))
    }

    /// The element type of a value.
    fn dtype(&self, value: &Bound<'_, Value>) -> PyResult<Option<DType>> {
        let id = self.known(value)?;
        Ok(self.types.elem(id).filter(|elem| elem.code() != 0).map(DType))
    }

    /// What the shapes assume about the inputs.
    #[getter]
    fn guards(&self) -> Vec<String> {
        self.types.guards(&self.at).map(|guard| guard.line()).collect()
    }

    /// What contradicts itself in the model.
    #[getter]
    fn findings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_py(py, &Json::Array(findings(self.types.findings())))
    }

    /// The values of the main graph and its nested graphs whose type is not known completely.
    fn unknown(&self, py: Python<'_>) -> Vec<Value> {
        let graphs = self.at.graphs_in(self.at.main_graph());
        let values = graphs.flat_map(|graph| self.at.definitions(graph));
        let values = values.filter(|&value| !self.types.gaps(value).is_empty());
        values.map(|id| Value::new(self.model.clone_ref(py), id)).collect()
    }

    /// Why parts of the type of a value are not known: one entry for each part.
    fn why<'py>(&self, py: Python<'py>, value: &Bound<'py, Value>) -> PyResult<Bound<'py, PyAny>> {
        let id = self.known(value)?;
        let name = |&value: &ValueId| self.at.str(self.at.value(value).name()).to_owned();
        let entry = |gap: Gap| {
            let why = self.types.why(&self.at, id, gap)?;
            Some(json!({
                "missing": gap_name(gap),
                "because": gap_name(why.missing),
                "node": why.node.map(|node| self.at.show(node).to_string()),
                "chain": why.chain.iter().map(name).collect::<Vec<_>>(),
            }))
        };
        let entries: Vec<Json> = self.types.gaps(id).into_iter().filter_map(entry).collect();
        to_py(py, &Json::Array(entries))
    }

    fn __repr__(&self) -> String {
        let counts = self.types.findings().counts();
        format!("<Inference: {} errors, {} guards>", counts.errors, self.types.guards(&self.at).count())
    }
}

/// Operators, inputs, outputs, weights and versions.
#[pyfunction]
pub(crate) fn info<'py>(py: Python<'py>, model: &Bound<'py, Model>) -> PyResult<Bound<'py, PyAny>> {
    let model = model.get().snapshot(py)?.model;
    let facts = Work::default().run(py, |_| Ok(facts(&model)))?;
    to_py(py, &facts)
}

fn facts(model: &ir::Model) -> Json {
    let info = model.info();
    let main = model.graph(model.main_graph());
    let port = |value: ValueId, ty: Option<&Type>| {
        let ty = ty.or_else(|| model.ty(value)).map(|ty| type_text(model, ty));
        json!({ "name": model.str(model.value(value).name()), "type": ty })
    };
    let mut operators: BTreeMap<String, u64> = BTreeMap::new();
    for node in model.all_graphs().flat_map(|graph| model.nodes(graph)) {
        let node = model.node(node);
        let domain = model.str(node.domain());
        let op = model.str(node.op());
        let name = if domain.is_empty() { op.to_owned() } else { format!("{domain}.{op}") };
        *operators.entry(name).or_default() += 1;
    }
    let (mut parameters, mut bytes, mut external) = (0_u64, 0_u64, 0_u64);
    let mut files = BTreeSet::new();
    model.for_each_tensor(|_, tensor| {
        parameters = parameters.saturating_add(tensor.element_count().unwrap_or(0));
        let length = tensor.byte_len().unwrap_or(0);
        bytes = bytes.saturating_add(length);
        if let Payload::External(data) = tensor.payload() {
            external = external.saturating_add(length);
            files.extend(data.location().ok().map(str::to_owned));
        }
    });
    let opset = |import: &ir::OpsetImport| (model.str(import.domain()).to_owned(), json!(import.version()));
    let entry = |entry: &ir::MetadataEntry| {
        (model.str(entry.key()).to_owned(), Json::String(entry.value().as_str().to_owned()))
    };
    json!({
        "name": model.str(main.name()),
        "ir_version": info.ir_version,
        "opsets": Json::Object(info.opset_imports.iter().map(opset).collect()),
        "producer": model.str(info.producer_name),
        "producer_version": model.str(info.producer_version),
        "nodes": model.node_count(),
        "functions": model.functions().len(),
        "operators": operators,
        "inputs": main.inputs().iter().map(|&value| port(value, None)).collect::<Vec<_>>(),
        "outputs": main.outputs().iter()
            .map(|output| port(output.value(), output.own().and_then(|own| own.ty.as_deref())))
            .collect::<Vec<_>>(),
        "parameters": parameters,
        "weight_bytes": bytes,
        "external_bytes": external,
        "external_files": files,
        "metadata": Json::Object(info.metadata.iter().map(entry).collect()),
    })
}

fn amount(amount: &Amount) -> Json {
    match amount {
        Amount::Known(number) => json!(number),
        Amount::Expression(text) => json!(text),
        _ => Json::Null,
    }
}

/// Operations, parameters and memory.
#[pyfunction]
#[pyo3(signature = (model, sizes, **options))]
pub(crate) fn cost<'py>(
    py: Python<'py>,
    model: &Bound<'py, Model>,
    sizes: BTreeMap<String, i64>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let snapshot = model.get().snapshot(py)?;
    let found = Work::of(options)?.run(py, |execution| {
        let sizes = sizes_of(&snapshot.model, &sizes)?;
        let data = snapshot.data(execution);
        let options =
            CostOptions::default().with_data(&data).with_sizes(&sizes).with_execution(execution.clone());
        cost_of(&snapshot.model, &options)
            .map_err(|error: CostError| Fault::limited("InferError", error.limit(), error))
    })?;
    let node = |node: &onnxkit::compose::cost::NodeCost| {
        json!({
            "name": node.name, "op": node.op, "domain": node.domain, "path": node.path,
            "macs": amount(&node.macs), "operations": amount(&node.operations), "parameters": node.parameters,
            "weight_bytes": node.weight_bytes, "activation_bytes": amount(&node.activation_bytes),
            "why_unknown": node.why_unknown,
        })
    };
    let cost = json!({
        "macs": amount(&found.macs), "operations": amount(&found.operations), "parameters": found.parameters,
        "weight_bytes": found.weight_bytes, "activation_bytes": amount(&found.activation_bytes),
        "peak_bytes": amount(&found.peak_bytes), "peak_node": found.peak_node,
        "unknown_nodes": found.unknown_nodes, "unknown_values": found.unknown_values,
        "loops_counted_once": found.loops_counted_once,
    });
    let cost = to_py(py, &cost)?;
    cost.set_item("nodes", listed(py, found.nodes.iter().map(node))?)?;
    Ok(cost)
}

/// Digests of the model, its structure, its weights and its interface.
#[pyfunction]
#[pyo3(signature = (model, **options))]
pub(crate) fn hash<'py>(
    py: Python<'py>,
    model: &Bound<'py, Model>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let snapshot = model.get().snapshot(py)?;
    let found = Work::of(options)?.run(py, |execution| {
        let data = snapshot.data(execution);
        let options = HashOptions::default().with_data(&data).with_execution(execution.clone());
        let found = hash_model(&snapshot.model, &options)
            .map_err(|error: HashError| Fault::limited("LoadError", error.limit(), error))?;
        Ok(json!({
            "model": found.model.to_string(), "structure": found.structure.to_string(),
            "weights": found.weights.to_string(), "interface": found.interface.to_string(),
        }))
    })?;
    to_py(py, &found)
}

/// The differences of two models.
#[pyfunction]
#[pyo3(signature = (a, b, weights, rtol, **options))]
pub(crate) fn diff<'py>(
    py: Python<'py>,
    a: &Bound<'py, Model>,
    b: &Bound<'py, Model>,
    weights: bool,
    rtol: Option<f64>,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (a, b) = (a.get().snapshot(py)?, b.get().snapshot(py)?);
    let found = Work::of(options)?.run(py, |execution| {
        let (data_of_a, data_of_b) = (a.data(execution), b.data(execution));
        let options = DiffOptions::default()
            .with_data_of_a(&data_of_a)
            .with_data_of_b(&data_of_b)
            .with_weights(weights)
            .with_tolerances(rtol.map(|rtol| Tolerances::default().with_rtol(Some(rtol))))
            .with_execution(execution.clone());
        Ok(diff_of(&a.model, &b.model, &options)?)
    })?;
    let change = |change: &onnxkit::compose::ModelChange| {
        json!({
            "kind": change.kind.name(), "element": change.element.name(), "text": change.text,
            "before": change.before.as_ref().map(ToString::to_string),
            "after": change.after.as_ref().map(ToString::to_string),
            "aspects": change.aspects.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "is_note": change.is_note(),
        })
    };
    let unread = found.unread.iter().map(|(place, reason)| {
        json!({
            "kind": "unread", "element": "tensor", "text": format!("{place}: {reason}"),
            "before": place.to_string(), "after": null, "aspects": [], "is_note": false,
        })
    });
    let difference = json!({
        "is_same_model": found.is_same_model() && found.unread.is_empty(),
        "same_nodes": found.same_nodes, "same_initializers": found.same_initializers,
    });
    let difference = to_py(py, &difference)?;
    difference.set_item("changes", listed(py, found.changes.iter().map(change).chain(unread))?)?;
    Ok(difference)
}

/// Nodes, values and graphs that a selector denotes.
#[pyfunction]
#[pyo3(signature = (model, selector, **options))]
pub(crate) fn find<'py>(
    py: Python<'py>,
    model: Bound<'py, Model>,
    selector: String,
    options: Option<&Bound<'py, PyDict>>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let snapshot = model.get().snapshot(py)?;
    let elements = Work::of(options)?.run(py, |execution| {
        let data = snapshot.data(execution);
        let facts = ModelFacts::new(&snapshot.model).with_data(&data).with_execution(execution.clone());
        let selection = Selection::new(&facts);
        selection.elements(&selector).map_err(|error| Fault::limited("SelectorError", error.limit(), error))
    })?;
    let model = model.unbind();
    let object = |element| match element {
        Element::Node(id) => Node::new(model.clone_ref(py), id).into_bound_py_any(py),
        Element::Value(id) => Value::new(model.clone_ref(py), id).into_bound_py_any(py),
        Element::Graph(id) => crate::graph::Graph { model: model.clone_ref(py), id }.into_bound_py_any(py),
    };
    elements.into_iter().map(object).collect()
}

/// A schema of an operator: of a version of its operator set, or of the newest one.
#[pyfunction]
#[pyo3(signature = (op, version=None, domain=""))]
pub(crate) fn schema<'py>(
    py: Python<'py>,
    op: &str,
    version: Option<Int<i64>>,
    domain: &str,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let version = version.map(|version| version.0);
    let registry = onnxkit::infer::contrib::registry();
    let newest = || {
        let names = ir::Model::new();
        let standard = names.names().get(domain).and_then(onnxkit::schema::opset_versions);
        let versions = standard.or_else(|| registry.declared_versions(domain));
        versions.map_or(1, |versions| *versions.end())
    };
    let found = registry.lookup(domain, op, version.unwrap_or_else(newest));
    let of_runtime = || onnxkit::schema::onnxruntime::lookup(domain, op, version.unwrap_or(1));
    let found = match found {
        None => match of_runtime() {
            Some(schema) => DeclaredSchema::from(schema),
            None => return Ok(None),
        },
        Some(SchemaRef::Standard(schema)) => DeclaredSchema::from(schema),
        Some(SchemaRef::Declared(schema)) => schema.clone(),
    };
    Ok(Some(to_py(py, &described(&found))?))
}

/// The newest schema of each operator of the standard operator sets.
#[pyfunction]
pub(crate) fn schemas(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let newest = onnxkit::schema::all().iter().filter(|schema| schema.until_version().is_none());
    let described = newest.map(|schema| described(&DeclaredSchema::from(schema)));
    to_py(py, &Json::Array(described.collect()))
}

fn described(schema: &DeclaredSchema) -> Json {
    let formal = |formal: &onnxkit::schema::DeclaredFormal| {
        let types = schema.types_of(formal).into_iter().flat_map(onnxkit::schema::TypeSet::iter);
        json!({
            "name": formal.name, "type": formal.ty.to_string(), "occurrence": formal.occurrence(),
            "types": types.map(onnxkit::schema::TypeId::text).collect::<Vec<_>>(),
        })
    };
    let attribute = |attribute: &onnxkit::schema::DeclaredAttribute| {
        json!({
            "name": attribute.name, "kind": attribute.kind.map(onnxkit::schema::AttrKind::name),
            "required": attribute.is_required,
            "default": attribute.default.as_ref().map(ToString::to_string),
        })
    };
    json!({
        "name": schema.name(), "domain": schema.domain(), "since_version": schema.since_version(),
        "deprecated": schema.is_deprecated, "is_function": schema.is_function(), "has_inference": schema.has_inference,
        "body_versions": schema.bodies.iter().map(|(version, _)| version).collect::<Vec<_>>(),
        "min_inputs": schema.min_inputs(), "max_inputs": schema.max_inputs(),
        "min_outputs": schema.min_outputs(), "max_outputs": schema.max_outputs(),
        "inputs": schema.inputs.iter().map(formal).collect::<Vec<_>>(),
        "outputs": schema.outputs.iter().map(formal).collect::<Vec<_>>(),
        "attributes": schema.attributes.iter().map(attribute).collect::<Vec<_>>(),
    })
}

/// The values of the outputs of the main graph.
pub(crate) fn main_outputs(model: &ir::Model) -> Vec<ValueId> {
    model.graph(model.main_graph()).outputs().iter().map(GraphOutput::value).collect()
}
