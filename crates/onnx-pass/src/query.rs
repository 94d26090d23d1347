//! Queries of a patch: facts that a pass uses about the model, with their record, and the reason if a fact is not
//! known.

use onnx_diag::Quoted;
use onnx_eval::{Value, run_node};
use onnx_ir::{Def, EditError, Model, NodeId, ValueId};
use onnx_ops::{MakeError, Mismatch};
use onnx_schema::{Registry, op};
use onnx_shape_infer::{Answer, Content, Elem, Fact, Guard, Justification, Relation};
use onnx_types::tensor::{Tensor, TensorError, TensorFault};
use onnx_types::{Dim, ElemClass, ElemType, Limits};

use crate::assumption::Condition;
use crate::collect::Recorded;
use crate::determinism::is_deterministic;
use crate::elements;
use crate::fixed_results::are_undefined;
use crate::keys::KeyMap;
use crate::patch::Patch;
use crate::prove::of_run;
use crate::transfer::in_memory;

/// Maximum number of `Identity` nodes between a constant and its user.
const MAX_IDENTITIES: usize = 256;

/// Why a fact is not known, or an edit does not apply to a node: a clause for the reader of a report.
///
/// Errors of edits, of builders, of tensors and of views convert into it, so that `?` serves in an edit:
/// `let conv = ops::Conv::try_of(patch.model(), node)?;`, `let [x, w] = present([conv.x(), conv.w()])?;`.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Reason(String);

impl Reason {
    /// A reason, as a clause.
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }
}

impl From<&str> for Reason {
    fn from(reason: &str) -> Self {
        Self(reason.to_owned())
    }
}

impl From<String> for Reason {
    fn from(reason: String) -> Self {
        Self(reason)
    }
}

macro_rules! reason_from {
    ($($error:ty),*) => {$(
        impl From<$error> for Reason {
            fn from(error: $error) -> Self {
                Self(error.to_string())
            }
        }
    )*};
}

reason_from!(EditError, MakeError, Mismatch, TensorError, TensorFault, onnx_functions::FunctionReason);

/// The operands or results of a node that an edit needs.
///
/// # Errors
///
/// Returns a reason if one of them is omitted.
pub fn present<const N: usize>(values: [Option<ValueId>; N]) -> Result<[ValueId; N], Reason> {
    let mut all = [ValueId::default(); N];
    for (slot, value) in all.iter_mut().zip(values) {
        *slot = value.ok_or("an operand or a result of the node is omitted")?;
    }
    Ok(all)
}

impl Patch<'_, '_> {
    /// Records what inferred results of a value depend on; `false` if the options exclude it.
    fn accept(&mut self, value: ValueId) -> bool {
        if !self.cx.options.allow_assumed {
            return !self.cx.inference().depends_on_guards(self.model(), value);
        }
        // A value of a nested graph exists only where its results hold.
        match self.cx.justification(value) {
            Justification::Proved | Justification::ProvedIn(_) => true,
            Justification::Assumed { guards, .. } => self.accept_guards(&guards),
            _ => false,
        }
    }

    /// Records what an answer depends on; `false` if the options exclude it, or if it holds only in a graph that the sources of
    /// the edit are not in.
    fn accept_answer(&mut self, justification: &Justification) -> bool {
        let guards = match justification {
            Justification::Proved | Justification::ProvedIn(_) => &[],
            Justification::Assumed { guards, .. } => guards.as_slice(),
            _ => return false,
        };
        if let Some(graph) = justification.graph() {
            let model = self.model();
            let mut sources = self.draft.sources.iter().filter_map(|&node| model.get_node(node));
            if self.draft.sources.is_empty() || !sources.all(|node| model.is_inside(node.graph(), graph)) {
                return false;
            }
            self.record(Recorded::Scope(graph));
        }
        self.accept_guards(guards)
    }

    /// Records guards, as text and as relations that the inputs of runs satisfy; `false` if the options exclude them.
    fn accept_guards(&mut self, guards: &[Fact]) -> bool {
        if !self.cx.options.allow_assumed && !guards.is_empty() {
            return false;
        }
        for &guard in guards {
            let text = Guard::new(self.cx.model(), self.cx.inference(), guard).line();
            self.record(Recorded::Guard(text));
            if !matches!(guard.relation, Relation::Declared(_) | Relation::Default(_)) {
                self.record(Recorded::Relation(guard.relation));
            }
        }
        true
    }

    /// Records the guards of the type of a value. That of a constant has none.
    pub(crate) fn record_guards(&mut self, value: ValueId) {
        if self.cx.options.allow_assumed
            && self.model().constant_tensor(value).is_none()
            && let Justification::Assumed { guards, .. } = self.cx.justification(value)
        {
            // The caller has checked the options.
            let _ = self.accept_guards(&guards);
        }
    }

    /// The element type of a value.
    #[must_use]
    pub fn elem(&self, value: ValueId) -> Option<ElemType> {
        self.cx.inference().elem(value)
    }

    /// The sizes of a value, if its rank is known.
    pub fn shape(&mut self, value: ValueId) -> Option<Vec<Dim>> {
        self.try_shape(value).ok()
    }

    /// The sizes of a value.
    ///
    /// # Errors
    ///
    /// Returns the reason if the rank is not known, or only under guards that the options exclude.
    pub fn try_shape(&mut self, value: ValueId) -> Result<Vec<Dim>, Reason> {
        self.try_rank(value)?;
        self.record(Recorded::Shape(value));
        Ok(self.cx.inference().shape(value).unwrap_or_default().to_vec())
    }

    /// The number of axes of a value. An edit that needs no more than this is tested with other, smaller sizes than one that reads
    /// the [shape](Self::try_shape).
    ///
    /// # Errors
    ///
    /// Returns the reason if the rank is not known, or only under guards that the options exclude.
    pub fn try_rank(&mut self, value: ValueId) -> Result<usize, Reason> {
        let Some(rank) = self.cx.inference().shape(value).map(<[Dim]>::len) else {
            return Err(Reason(format!("the rank of {} is not known", label(self.model(), value))));
        };
        // The inputs of a claim have their inferred types, and thus this rank, in every run.
        if self.accept(value) { Ok(rank) } else { Err(self.assumed("the shape", value)) }
    }

    /// The elements of a constant; see [`try_constant`](Self::try_constant).
    pub fn constant(&mut self, value: ValueId) -> Option<Tensor> {
        self.try_constant(value).ok()
    }

    /// The elements of a value that is the same in every run, in memory: of an initializer that callers cannot override, of
    /// a `Constant`, or of a value whose elements inference knows completely; also through `Identity`.
    /// [`content`](Self::content) returns the same elements as far as the value is small.
    ///
    /// # Errors
    ///
    /// Returns the reason if the elements are not known or cannot be read.
    pub fn try_constant(&mut self, value: ValueId) -> Result<Tensor, Reason> {
        let root = origin(self.model(), value);
        let is_trained = self.cx.references().is_trained(root);
        let model = self.model();
        if is_trained {
            return Err(Reason(format!("training sets {}", label(model, root))));
        }
        if let Some(tensor) = model.get_value(root).and_then(|_| model.constant_tensor(root)) {
            let tensor = in_memory(tensor, self.cx.options.data)
                .map_err(|_| Reason(format!("the elements of {} cannot be read", label(model, root))))?;
            self.record(Recorded::Constant(root));
            if root != value {
                self.record(Recorded::Content(value));
            }
            return Ok(tensor);
        }
        if let Some(node) = model.get_value(root).and_then(|record| record.producer())
            && model.node(node).is(op::CONSTANT)
        {
            return self.run(node, root, &[]).inspect(|_| self.record(Recorded::Content(value)));
        }
        let known = self.cx.inference().content(value).cloned();
        if let Some(tensor) = known.and_then(|content| self.of_content(value, &content)) {
            if !self.accept(value) {
                return Err(self.assumed("the content", value));
            }
            self.record(Recorded::Content(value));
            return Ok(tensor);
        }
        Err(not_constant(model, value, root))
    }

    /// The elements of a small value, as far as they are known: of a constant, also through `Identity`, or inferred. Values
    /// have at most [`Limits::followed_elements`] elements.
    pub fn content(&mut self, value: ValueId) -> Option<Content> {
        let inferred = self.cx.inference().content(value).cloned();
        if let Some(content) = inferred {
            let is_accepted = self.accept(value);
            if is_accepted {
                self.record(Recorded::Content(value));
            }
            return is_accepted.then_some(content);
        }
        // Inference follows the constants that nodes of the model need.
        let root = origin(self.model(), value);
        let count =
            self.model().get_value(root).and_then(|_| self.model().constant_tensor(root)?.element_count());
        if count.is_none_or(|count| count > Limits::DEFAULT.followed_elements as u64) {
            return None;
        }
        let tensor = self.constant(value)?;
        self.record(Recorded::Content(value));
        elements(&tensor)
    }

    /// The only element of a constant of numbers, whatever its rank.
    pub fn scalar(&mut self, value: ValueId) -> Option<f64> {
        let tensor = self.constant(value)?;
        if tensor.element_count() != Some(1)
            || matches!(tensor.elem().class(), ElemClass::String | ElemClass::Complex)
        {
            return None;
        }
        tensor.iter_f64(&onnx_types::tensor::NoData).ok()?.next()
    }

    /// Returns `true` if a value is a constant with one element, whatever its rank, and the element is this number.
    pub fn is_scalar(&mut self, value: ValueId, number: f64) -> bool {
        self.scalar(value) == Some(number)
    }

    /// The elements of a constant of integers: axes, sizes.
    pub fn integers(&mut self, value: ValueId) -> Option<Vec<i64>> {
        let tensor = self.constant(value)?;
        tensor.get_i64s(&onnx_types::tensor::NoData, Limits::DEFAULT.followed_elements).ok()
    }

    /// The elements of a value that is computed from constants: the nodes between them and the value run in `onnx-eval`, within
    /// the limits of a proof. The nodes and the constants become part of the claim.
    ///
    /// # Errors
    ///
    /// Returns the reason if the value depends on another value than constants, if a node cannot be computed, or if the standard does
    /// not [define](are_undefined) its result.
    pub fn evaluate(&mut self, value: ValueId) -> Result<Tensor, Reason> {
        let mut known: KeyMap<ValueId, Tensor> = KeyMap::default();
        let mut open = vec![(value, false)];
        let mut count = 0_usize;
        while let Some((value, is_ready)) = open.pop() {
            if known.contains_key(value) {
                continue;
            }
            let reason = match self.try_constant(value) {
                Ok(tensor) => {
                    known.insert(value, tensor);
                    continue;
                }
                Err(reason) => reason,
            };
            let node = self.computable(value).ok_or(reason)?;
            if is_ready {
                let inputs: Vec<Option<ValueId>> = self.model().node(node).inputs().collect();
                let inputs: Vec<Option<Value>> =
                    inputs.iter().map(|&input| known.get(input?).cloned().map(Value::from)).collect();
                let result = self.run(node, value, &inputs)?;
                self.record(Recorded::Content(value));
                known.insert(value, result);
                continue;
            }
            count = count.saturating_add(1);
            if count > self.cx.options.execution.limits.proof_nodes {
                return Err(Reason("the value is computed by too many nodes".to_owned()));
            }
            open.push((value, true));
            // A value that depends on itself is visited again before it is computed.
            let waiting = |input: &ValueId| open.iter().any(|&(other, is_ready)| is_ready && other == *input);
            let inputs: Vec<ValueId> = self.model().node(node).inputs().flatten().collect();
            if inputs.iter().any(waiting) {
                return Err(Reason(format!("{} depends on itself", label(self.model(), value))));
            }
            open.extend(inputs.into_iter().map(|input| (input, false)));
        }
        known.remove(value).ok_or_else(|| Reason("the value is not computed".to_owned()))
    }

    /// The node that makes a value, if its result is a function of its operands.
    fn computable(&self, value: ValueId) -> Option<NodeId> {
        let model = self.model();
        let node = model.get_value(value)?.producer()?;
        let is_plain = model.node(node).nested_graphs().next().is_none()
            && !crate::determinism::has_references(model, node);
        (is_plain && is_deterministic(model, node, self.cx.options.registry)).then_some(node)
    }

    /// One output of a node on values.
    fn run(&self, node: NodeId, output: ValueId, inputs: &[Option<Value>]) -> Result<Tensor, Reason> {
        let options = onnx_eval::EvalOptions::default()
            .with_data(self.cx.options.data)
            .with_registry(self.cx.options.registry)
            .with_execution(of_run(&self.cx.options.execution));
        let results = run_node(self.model(), node, inputs, &options)
            .map_err(|failure| Reason(failure.diagnostic().message.clone()))?;
        let index = self.model().node(node).outputs().iter().position(|&made| made == Some(output));
        let result = index.and_then(|index| results.into_iter().nth(index)).flatten();
        let tensor = result.as_ref().and_then(Value::tensor).map(|tensor| Tensor::clone(tensor));
        let tensor =
            tensor.ok_or_else(|| Reason(format!("{} is not a tensor", label(self.model(), output))))?;
        let operands = inputs.iter().flatten().filter_map(Value::tensor);
        let operands: Vec<Tensor> = operands.map(|tensor| Tensor::clone(tensor)).collect();
        if are_undefined(self.model(), node, &operands, std::slice::from_ref(&tensor)) {
            return Err(Reason("the standard does not define the result for these operands".to_owned()));
        }
        Ok(tensor)
    }

    /// The tensor of elements that inference knows; `None` if one is not known, or may be a zero whose sign is not.
    fn of_content(&self, value: ValueId, content: &Content) -> Option<Tensor> {
        let inference = self.cx.inference();
        let elem = inference.elem(value)?;
        let dims: Option<Vec<i64>> = inference.shape(value)?.iter().map(|dim| dim.known()).collect();
        let is_float = elem.class() == ElemClass::Float;
        let mut floats = Vec::new();
        let mut integers = Vec::new();
        for &element in content.iter() {
            if is_float {
                floats.push(element.to_f64().filter(|&number| number != 0.0)?);
            } else {
                integers.push(element.known()?);
            }
        }
        let tensor = elements::make(elem, dims?, &floats, &integers)?;
        (tensor.element_count() == Some(content.len() as u64)).then_some(tensor)
    }

    fn assumed(&self, what: &str, value: ValueId) -> Reason {
        Reason(format!(
            "{what} of {} is known under guards only, which the options exclude (`allow_assumed`)",
            label(self.model(), value)
        ))
    }

    /// Returns `true` if two dimensions are proved equal in every run in which the sources of the edit are executed. An answer
    /// that depends on guards counts only if the options allow assumptions; the claim then lists the guards.
    pub fn proved_eq(&mut self, a: Dim, b: Dim) -> bool {
        self.proved(Relation::Equal(a, b))
    }

    /// Returns `true` if the first dimension is proved to be at most the second; see [`proved_eq`](Self::proved_eq).
    pub fn proved_le(&mut self, a: Dim, b: Dim) -> bool {
        self.proved(Relation::AtMost(a, b))
    }

    fn proved(&mut self, relation: Relation) -> bool {
        let (model, inference) = (self.cx.model(), self.cx.inference());
        let answer = match relation {
            Relation::Equal(a, b) => inference.eq(model, a, b),
            Relation::AtMost(a, b) => inference.le(model, a, b),
            _ => None,
        };
        let Some(Answer { holds: true, justification }) = answer else { return false };
        if is_trivial(relation) {
            return true;
        }
        let is_accepted = self.accept_answer(&justification);
        if is_accepted {
            self.record(Recorded::Relation(relation));
        }
        is_accepted
    }

    /// Returns `true` if two values are proved to have the same element type and the same sizes in every run.
    pub fn same_type(&mut self, a: ValueId, b: ValueId) -> bool {
        let elems = (self.elem(a), self.elem(b));
        if elems.0.is_none() || elems.0 != elems.1 {
            return false;
        }
        if has_sizes_of(self.model(), a, b) || has_sizes_of(self.model(), b, a) {
            return true;
        }
        let (Some(first), Some(second)) = (self.shape(a), self.shape(b)) else { return false };
        first.len() == second.len() && first.iter().zip(&second).all(|(&a, &b)| self.proved_eq(a, b))
    }

    /// Returns `true` if the caller of the pass grants a condition on numbers at run time.
    pub fn grant(&mut self, condition: Condition) -> bool {
        let is_granted = self.cx.options.conditions.contains(&condition);
        if is_granted {
            self.record(Recorded::Granted(condition));
        }
        is_granted
    }
}

/// Returns `true` if a value has the sizes of another one because it is computed from that and from constants without axes: for
/// any sizes, also if inference knows them under guards only.
fn has_sizes_of(model: &Model, result: ValueId, operand: ValueId) -> bool {
    let Some(node) = model.get_value(result).and_then(onnx_ir::Value::producer) else { return false };
    let record = model.node(node);
    let schema = model.callee(node, Registry::STANDARD).standard();
    schema.is_some_and(|schema| schema.traits().broadcasts())
        && record.inputs().flatten().any(|input| input == operand)
        && record.inputs().flatten().all(|input| {
            let is_single = |tensor: &Tensor| tensor.dims().is_empty();
            input == operand || model.constant_tensor(input).is_some_and(is_single)
        })
}

/// The value that `Identity` nodes pass on.
fn origin(model: &Model, value: ValueId) -> ValueId {
    let mut at = value;
    for _ in 0..MAX_IDENTITIES {
        let node = model.get_value(at).and_then(onnx_ir::Value::producer).map(|node| model.node(node));
        let Some(node) = node.filter(|node| node.is(op::IDENTITY)) else { break };
        let Some(input) = node.input(0) else { break };
        at = input;
    }
    at
}

/// The name of a value in a message.
pub(crate) fn label(model: &Model, value: ValueId) -> String {
    let name = model.get_value(value).map(|record| model.str(record.name())).filter(|name| !name.is_empty());
    name.map_or_else(|| value.to_string(), |name| Quoted(name).to_string())
}

/// Why a value is not a constant; `origin` is where its `Identity` nodes begin.
fn not_constant(model: &Model, value: ValueId, origin: ValueId) -> Reason {
    let Some(record) = model.get_value(origin) else { return Reason(format!("{value} is gone")) };
    let why = match record.def() {
        Def::Output { node, .. } => {
            let op = Quoted(model.str(model.node(node).op()));
            format!("is computed by {op}")
        }
        Def::Input { .. } if record.initializer().is_some() => {
            "is an input with a default, which callers can override".to_owned()
        }
        Def::Input { .. } => "is an input".to_owned(),
        Def::Initializer(_) => "is a sparse tensor".to_owned(),
        Def::Unresolved(_) => "is not defined".to_owned(),
    };
    Reason(format!("{} is not constant: {} {why}", label(model, value), label(model, origin)))
}

/// The elements of a tensor of numbers.
fn elements(tensor: &Tensor) -> Option<Content> {
    let source = &onnx_types::tensor::NoData;
    match tensor.elem().class() {
        ElemClass::Int | ElemClass::Uint | ElemClass::Bool => {
            Some(tensor.iter_i64(source).ok()?.map(|number| Elem::Int(Dim::Known(number))).collect())
        }
        ElemClass::Float => Some(tensor.iter_f64(source).ok()?.map(Elem::number).collect()),
        _ => None,
    }
}

/// Returns `true` if a relation holds for all sizes.
fn is_trivial(relation: Relation) -> bool {
    match relation {
        Relation::Equal(a, b) => a == b,
        Relation::AtMost(Dim::Known(a), Dim::Known(b)) => a <= b,
        Relation::AtMost(a, b) => a == b,
        _ => false,
    }
}
