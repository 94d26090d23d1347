//! Our side: the values of a run, node by node.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use onnx_eval::generate::Generator;
use onnx_eval::{EvalOptions, Evaluator, Failure, FailureKind, Limits, NodeRun, Observer, Value, run_node};
use onnx_ir::{AttrValue, Callee, Model, NodeId, ValueId};
use onnx_schema::{Registry, Schema};
use onnx_shape_infer::{InferOptions, infer};
use onnx_types::tensor::{NoData, Tensor};
use onnx_types::{Dim, ElemType, Shape, Symbol, Type, TypeKind};

/// The sizes of the dimension variables of the inputs.
#[derive(PartialEq, Eq)]
pub(crate) struct Sizes(Vec<(Symbol, i64)>);

impl Sizes {
    /// The first variable has the first size, and so on around.
    pub(crate) fn of(model: &Model, sizes: &[i64]) -> Self {
        let mut known: Vec<(Symbol, i64)> = Vec::new();
        for &input in model.graph(model.main_graph()).inputs() {
            for &dim in model.ty(input).and_then(|ty| ty.shape()).into_iter().flat_map(|shape| shape.dims()) {
                let Dim::Var(symbol) = dim else { continue };
                if known.iter().all(|(name, _)| *name != symbol) {
                    known.push((symbol, sizes.get(known.len() % sizes.len().max(1)).copied().unwrap_or(1)));
                }
            }
        }
        Self(known)
    }

    fn size(&self, dim: Dim) -> i64 {
        match dim {
            Dim::Var(symbol) => self.0.iter().find(|(name, _)| *name == symbol).map_or(1, |&(_, size)| size),
            dim => dim.known().unwrap_or(1),
        }
    }

    /// The model with sizes instead of dimension variables in the types of its inputs.
    fn applied(&self, model: &Model) -> Model {
        let mut sized = model.clone();
        for &input in model.graph(model.main_graph()).inputs() {
            if let Some(mut ty) = model.ty(input).cloned() {
                self.apply(&mut ty);
                sized.set_type(input, Some(ty));
            }
        }
        sized
    }

    fn apply(&self, ty: &mut Type) {
        match &mut ty.kind {
            TypeKind::Tensor(tensor) | TypeKind::SparseTensor(tensor) => {
                let dims = tensor.shape.iter().flat_map(|shape| shape.dims());
                let dims: Vec<Dim> = dims.map(|&dim| Dim::Known(self.size(dim))).collect();
                tensor.shape = Some(Shape::new(dims));
            }
            TypeKind::Sequence(Some(inner)) | TypeKind::Optional(Some(inner)) => self.apply(inner),
            TypeKind::Map { value: Some(inner), .. } => self.apply(inner),
            _ => {}
        }
    }

    /// The types of the inputs, as records of runs have them.
    pub(super) fn inputs(&self, model: &Model) -> serde_json::Value {
        let inputs = model.graph(model.main_graph()).inputs().iter();
        let described = inputs.filter_map(|&input| {
            let (name, ty) = (model.str(model.value(input).name()), model.ty(input)?);
            let dims: Vec<i64> = ty.shape()?.dims().iter().map(|&dim| self.size(dim)).collect();
            Some((name.to_owned(), serde_json::json!([ty.elem().name(), dims])))
        });
        described.collect::<serde_json::Map<_, _>>().into()
    }
}

/// What our evaluator computes.
#[derive(Default)]
pub(crate) struct Run {
    /// Whether the model ran as a whole.
    pub(crate) is_complete: bool,
    /// The values of the main graph: inputs, initializers, results.
    pub(super) values: HashMap<ValueId, Value>,
    /// The nodes of the main graph that fail on these values, with the reason.
    pub(crate) failed: HashMap<NodeId, String>,
}

impl Run {
    /// Whether the values that a node needs are known.
    pub(super) fn has_operands(&self, model: &Model, node: NodeId) -> bool {
        operands(model, node).iter().all(|value| self.values.contains_key(value))
    }

    /// The element types of the operands and the results of a node.
    pub(super) fn elems(&self, model: &Model, node: NodeId) -> Vec<ElemType> {
        let outputs = model.node(node).outputs().iter().flatten().copied();
        let values = operands(model, node).into_iter().chain(outputs);
        values.filter_map(|value| elem(self.values.get(&value)?)).collect()
    }

    /// What is special about the operands of a node and the constants in its graphs and functions: `empty`, `blank` (among strings),
    /// `nan` (or an infinity), `zero` (among floats).
    pub(super) fn conditions(&self, model: &Model, node: NodeId) -> Vec<&'static str> {
        let operands = operands(model, node);
        let operands = operands.iter().filter_map(|value| self.values.get(value));
        let tensors: Vec<_> = operands.flat_map(tensors).chain(constants(model, node)).collect();
        let mut conditions = Vec::new();
        conditions.extend(tensors.iter().any(|tensor| tensor.dims().contains(&0)).then_some("empty"));
        let is_blank =
            |tensor: &&Tensor| tensor.string_bytes().is_ok_and(|all| all.iter().any(bytes::Bytes::is_empty));
        conditions.extend(tensors.iter().any(is_blank).then_some("blank"));
        let mut floats = tensors.iter().filter(|tensor| tensor.elem().is_float());
        let has = |test: fn(f64) -> bool| {
            move |tensor: &&&Tensor| tensor.iter_f64(&NoData).into_iter().flatten().any(test)
        };
        conditions
            .extend(floats.clone().any(|tensor| has(|number| !number.is_finite())(&tensor)).then_some("nan"));
        conditions.extend(floats.any(|tensor| has(|number| number == 0.0)(&tensor)).then_some("zero"));
        conditions
    }
}

/// The tensors of a value.
fn tensors(value: &Value) -> Vec<&Tensor> {
    match value {
        Value::Tensor(tensor) => vec![tensor],
        Value::Sequence(items) => items.iter().flat_map(tensors).collect(),
        Value::Optional(inner) => inner.iter().flat_map(|inner| tensors(inner)).collect(),
        Value::Map(entries) => entries.values().flat_map(tensors).collect(),
    }
}

/// The type of the elements of a value.
pub(super) fn elem(value: &Value) -> Option<ElemType> {
    match value {
        Value::Tensor(tensor) => Some(tensor.elem()),
        Value::Sequence(items) => elem(items.first()?),
        Value::Optional(inner) => elem(inner.as_deref()?),
        Value::Map(entries) => elem(entries.values().next()?),
    }
}

/// The values that a node needs: its inputs, and those that its graphs capture.
pub(super) fn operands(model: &Model, node: NodeId) -> Vec<ValueId> {
    let record = model.node(node);
    let captured = record.nested_graphs().flat_map(|graph| model.captures(graph));
    let mut operands: Vec<ValueId> = record.inputs().flatten().chain(captured).collect();
    operands.sort_unstable();
    operands.dedup();
    operands
}

/// A node, and the nodes in its graphs and in the functions that it calls.
fn reached(model: &Model, node: NodeId) -> Vec<NodeId> {
    let (mut open, mut functions, mut found) = (vec![node], Vec::new(), Vec::new());
    while let Some(node) = open.pop() {
        found.push(node);
        open.extend(model.node(node).nested_graphs().flat_map(|graph| model.nodes_in(graph)));
        if let Callee::Function(callee) = model.callee(node, Registry::STANDARD)
            && !functions.contains(&callee)
        {
            functions.push(callee);
            open.extend(model.nodes_in(model.function(callee).body()));
        }
    }
    found
}

/// The operators of a node: its own, and those in its graphs and in the functions that it calls.
pub(super) fn operators(model: &Model, node: NodeId) -> Vec<&'static Schema> {
    let schema = |node| match model.callee(node, Registry::STANDARD) {
        Callee::Standard(schema) => Some(schema),
        _ => None,
    };
    reached(model, node).into_iter().filter_map(schema).collect()
}

/// The constants in the graphs of a node and in the functions that it calls.
fn constants(model: &Model, node: NodeId) -> Vec<&Tensor> {
    let mut found = Vec::new();
    for inner in reached(model, node) {
        let record = model.node(inner);
        let initializers = record.nested_graphs().flat_map(|graph| model.initializers(graph));
        let dense = initializers.filter_map(|value| model.value(value).initializer()?.dense());
        found.extend(dense);
        found.extend(record.attributes().iter().filter_map(|attribute| match attribute.value() {
            AttrValue::Tensor(tensor) => Some(tensor.as_ref()),
            _ => None,
        }));
    }
    found
}

/// Whether a node computes random numbers, or calls something that does.
pub(super) fn is_random(model: &Model, node: NodeId) -> bool {
    operators(model, node).iter().any(|schema| match schema.name() {
        "Bernoulli" | "Multinomial" => true,
        // In training it drops elements at random.
        "Dropout" => {
            let record = model.node(node);
            schema.since_version() < 7 || record.input(2).is_some() || model.str(record.op()) != "Dropout"
        }
        name => name.starts_with("Random"),
    })
}

fn limits() -> Limits {
    Limits {
        run_elements: 1 << 20,
        run_bytes: 1 << 26,
        run_steps: 1 << 26,
        run_depth: 100,
        ..Limits::default()
    }
}

/// Receives the results of nodes of the main graph.
struct Collector<'a> {
    model: &'a Model,
    values: Mutex<HashMap<ValueId, Value>>,
}

impl Observer for Collector<'_> {
    fn end(&self, run: &NodeRun<'_>) {
        if self.model.node(run.node).graph() != self.model.main_graph() {
            return;
        }
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        for (&id, value) in self.model.node(run.node).outputs().iter().zip(run.outputs) {
            values.extend(id.zip(value.clone()));
        }
    }
}

/// Runs a model on generated inputs, then the nodes that a failing node before them kept from running.
///
/// # Errors
///
/// Returns an error if no inputs can be generated.
pub(crate) fn run(model: &Model, seed: u64, sizes: &Sizes) -> Result<Run, String> {
    let sized = sizes.applied(model);
    let inference = infer(&sized, &InferOptions::default());
    let mut shapes = inference.shapes(&sized);
    let evaluated = shapes.evaluate(&[]);
    let size_of = |value: ValueId| evaluated.shape(value);
    let generator = Generator::new(&sized, seed, &size_of);
    let inputs = model.graph(model.main_graph()).inputs();
    let mut run = Run::default();
    let mut given = Vec::new();
    for &input in inputs {
        let is_default = model.value(input).initializer().is_some();
        let value = (!is_default).then(|| generator.value(input, &limits())).transpose();
        let value = value.map_err(|error| error.to_string())?;
        run.values.extend(value.clone().map(|value| (input, value)));
        given.push(value);
    }
    for value in model.initializers(model.main_graph()) {
        let dense = model.value(value).initializer().and_then(|constant| constant.dense());
        run.values.extend(dense.map(|tensor| (value, Value::from(tensor.clone()))));
    }
    let collector = Collector { model, values: Mutex::default() };
    let options = EvalOptions::default().with_limits(limits()).with_observer(&collector);
    let outcome = Evaluator::new(model, &options).and_then(|evaluator| evaluator.run_in_order(given));
    run.values.extend(collector.values.into_inner().unwrap_or_else(PoisonError::into_inner));
    run.is_complete = outcome.is_ok();
    if outcome.is_err() {
        rest(model, &mut run);
    }
    Ok(run)
}

/// Runs the nodes without results in isolation, if their operands are known.
fn rest(model: &Model, run: &mut Run) {
    let options = EvalOptions::default().with_limits(limits());
    for node in model.nodes(model.main_graph()) {
        let record = model.node(node);
        let has_run = record.outputs().iter().flatten().any(|output| run.values.contains_key(output));
        // A node in isolation does not see the values around it.
        let captures = record.nested_graphs().any(|graph| !model.captures(graph).is_empty());
        if has_run || captures || !run.has_operands(model, node) {
            continue;
        }
        let inputs: Vec<Option<Value>> =
            record.inputs().map(|input| input.and_then(|input| run.values.get(&input).cloned())).collect();
        match run_node(model, node, &inputs, &options) {
            Ok(outputs) => {
                let outputs = record.outputs().iter().zip(outputs);
                run.values.extend(outputs.filter_map(|(&id, value)| id.zip(value)));
            }
            Err(failure) => {
                run.failed.insert(node, reason(&failure));
            }
        }
    }
}

fn reason(failure: &Failure) -> String {
    let kind = match failure.kind() {
        FailureKind::Operator => "",
        FailureKind::Limit => "limit: ",
        _ => "unexpected: ",
    };
    format!("{kind}{}", failure.diagnostic().message)
}
