//! Sizes: dimension variables get numbers or other names, and fixed sizes become variables.

mod attributes;
mod bind;
mod cause;
mod choice;
mod constants;
mod expressions;
mod free;
mod indices;
mod mixing;
mod names;
mod nested;
mod outputs;
mod positions;
mod reshape;
mod rows;
mod runs;
mod separate;
mod shape_operands;
mod slices;
mod types;
mod verdict;

use std::collections::{BTreeMap, HashSet};

use onnx_diag::{Diagnostic, Locus, Sink};
use onnx_ir::{Def, Model, NodeId, Places, ValueId};
use onnx_schema::Registry;
use onnx_shape_infer::{InferOptions, Inference, infer};
use onnx_types::expr::Dialect;
use onnx_types::tensor::{DataSource, NoData};
use onnx_types::{Dim, Execution, Limits, Symbol};

use crate::error::ComposeError;
use crate::interface::name;
use crate::rules::SIZE_IS_FIXED;

pub(crate) use self::names::{Variables, expression, is_name, with_names};
pub(crate) use self::types::map_dims;

/// Options of edits of sizes and of the interface.
#[derive(Clone)]
#[non_exhaustive]
pub struct EditOptions<'a> {
    /// The operators that are known to inference.
    pub registry: &'a Registry,
    /// Where external tensors are read from when inference needs a small one, or a model with a freed size is run. By default they
    /// are not.
    pub data: &'a dyn DataSource,
    /// Limits, interrupt and progress.
    pub execution: Execution,
}

impl Default for EditOptions<'_> {
    fn default() -> Self {
        Self { registry: Registry::STANDARD, data: &NoData, execution: Execution::DEFAULT }
    }
}

impl std::fmt::Debug for EditOptions<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("EditOptions").field("execution", &self.execution).finish_non_exhaustive()
    }
}

onnx_types::option_setters! {
    EditOptions<'a> {
        with_registry => registry: &'a Registry,
        with_data => data: &'a dyn DataSource,
        with_execution => execution: into Execution,
    }
}

/// The most elements of an integer value that are followed: those of positions along a sequence, which are indices into a table.
const FOLLOWED: usize = 1 << 14;

impl EditOptions<'_> {
    fn infer(
        &self,
        model: &Model,
        sizes: &[(Symbol, i64)],
        declared: bool,
    ) -> Result<Inference, ComposeError> {
        self.run(model, &InferOptions::default().with_sizes(sizes).with_declared(declared))
    }

    /// Conclusions from the semantics of the operators only.
    fn prove(&self, model: &Model) -> Result<Inference, ComposeError> {
        self.run(model, &InferOptions::default().with_assumed(false))
    }

    fn run(&self, model: &Model, options: &InferOptions<'_>) -> Result<Inference, ComposeError> {
        let options = options.clone().with_registry(self.registry).with_data(self.data);
        let mut execution = self.execution.clone();
        if execution.limits.followed_elements == Limits::DEFAULT.followed_elements {
            execution.limits.followed_elements = FOLLOWED;
        }
        let inference = infer(model, &options.with_execution(execution));
        match inference.stopped() {
            Some(stopped) => Err(ComposeError::Stopped(stopped)),
            None => Ok(inference),
        }
    }
}

/// The size that is changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SizeTarget {
    /// A dimension variable of the inputs.
    Variable(String),
    /// An axis of an input of the main graph.
    Axis(ValueId, usize),
}

/// The new size.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NewSize {
    /// A number.
    Number(i64),
    /// A dimension variable.
    Name(String),
}

impl NewSize {
    /// Returns `true` if it is a number that is not negative, or a name that no reader could take for a number or an expression.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        match self {
            Self::Number(number) => *number >= 0,
            Self::Name(name) => is_name(name),
        }
    }
}

impl std::fmt::Display for NewSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => write!(f, "`{}`", name.escape_debug()),
        }
    }
}

/// A size and the new one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SizeChange {
    /// The size that is changed.
    pub target: SizeTarget,
    /// The new size.
    pub size: NewSize,
}

/// The changes that were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resized {
    /// Variables that were bound to numbers.
    pub bound: Vec<(String, i64)>,
    /// Variables that stand for fixed sizes now, with the number that each stands for.
    pub freed: Vec<(String, i64)>,
    /// Variables that have another name now: the old and the new name. If the new name existed before, both are one now.
    pub renamed: Vec<(String, String)>,
    /// Names that stand for several sizes of inputs now, with the sizes that were different before, such as `seq` with `batch` and
    /// `seq`: the model runs only if these are equal.
    pub merged: Vec<(String, Vec<String>)>,
    /// Nodes that had a constant with the old size and depend on the new one now: the name of each and the change.
    pub constants: Vec<(String, String)>,
    /// Number of declared types that were changed.
    pub types: usize,
    /// Number of declared sizes that were removed, because nothing proves them for the new sizes.
    pub removed: usize,
    /// Conditions on freed sizes, without which the model does not run.
    pub conditions: Vec<String>,
    /// Axes of other inputs, such as `mask[0]`, with their sizes: they are those that were changed, at the same positions, and
    /// stay fixed, although a result depends on both.
    pub fixed_axes: Vec<(String, i64)>,
    /// Freed sizes whose rows are not independent, with what a run shows: right for a sequence, wrong for a batch.
    pub dependent_rows: Vec<(String, String)>,
    /// Freed sizes whose rows are independent in the runs that were made, with the nodes for which this is not proved.
    pub unproved_rows: Vec<(String, Vec<String>)>,
    /// Freed sizes for which the model was not run, with the reason: whether their rows are independent is not known.
    pub not_run: Vec<(String, String)>,
}

/// A reason for which a size cannot be changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FixedSize {
    /// The node that fixes the size, or the first one that a constant makes fix it.
    pub node: Option<NodeId>,
    /// The value that has the size: an output, or the constant that is the cause.
    pub value: Option<ValueId>,
    /// The name of the node.
    pub name: String,
    /// The reason, as a clause without a subject.
    pub reason: String,
    /// The code of the rule of inference that is violated.
    pub rule: Option<u16>,
    /// Whether the operator itself allows no other size: a constant that happens to have the old size is not the cause.
    pub(crate) is_of_operator: bool,
}

impl FixedSize {
    fn of_model(reason: impl Into<String>) -> Self {
        let (name, reason) = ("the interface of the model".to_owned(), reason.into());
        Self { node: None, value: None, name, reason, rule: None, is_of_operator: false }
    }

    fn of_result(reason: impl Into<String>) -> Self {
        Self { name: "the new model".to_owned(), ..Self::of_model(reason) }
    }

    fn at(model: &Model, node: NodeId, reason: impl Into<String>) -> Self {
        let (name, reason) = (node_name(model, node), reason.into());
        Self { node: Some(node), value: None, name, reason, rule: None, is_of_operator: false }
    }

    fn of_value(model: &Model, value: ValueId, reason: impl Into<String>) -> Self {
        let (name, reason) = (format!("`{}`", name(model, value)), reason.into());
        Self { node: None, value: Some(value), name, reason, rule: None, is_of_operator: false }
    }

    fn of_finding(model: &Model, found: &Diagnostic) -> Self {
        let node = enclosing(model, &found.locus);
        let name = node.map_or_else(|| "the model".to_owned(), |node| node_name(model, node));
        let reason = format!("contradicts it: {}", found.message);
        Self { node, value: None, name, reason, rule: Some(found.rule.code), is_of_operator: false }
    }

    /// Reports the reasons.
    pub(crate) fn report(fixed: &[Self], model: &Model, sink: &mut Sink) {
        let places = Places::new(model);
        let is_limited = fixed.iter().any(Self::is_limit);
        for reason in fixed {
            let node = reason.node.filter(|&node| model.get_node(node).is_some());
            let value = reason.value.filter(|&value| model.get_value(value).is_some());
            let locus = match (node, value) {
                (_, Some(value)) => places.definition(value),
                (Some(node), None) => places.node(node),
                (None, None) => Locus::model(),
            };
            let found = Diagnostic::new(&SIZE_IS_FIXED, locus, reason.to_string());
            sink.report(found.help(reason.advice(model, is_limited)));
        }
    }

    /// Whether it is a condition that other sizes meet.
    fn is_limit(&self) -> bool {
        let has = |relation| self.reason.contains(relation);
        self.reason.starts_with("requires ") && [" <= ", " >= ", " < ", " > "].into_iter().any(has)
    }

    /// What can be done about the reason.
    fn advice(&self, model: &Model, is_limited: bool) -> &'static str {
        let value = self.value.filter(|&value| model.get_value(value).is_some());
        let is_input = |value: ValueId| matches!(model.value(value).def(), Def::Input { .. });
        match value {
            Some(value) if model.constant_tensor(value).is_some() => {
                let is_weight = self.node.is_some_and(|node| model.get_node(node).is_some())
                    && cause::is_of_weight(model, self);
                if is_weight {
                    "the size is that of a weight, which no edit of sizes changes: choose the size that the weight has, or export a model \
                     that was built for another one"
                } else {
                    "if the exporter or `simplify` has computed the constant for the old size, free the size of the model before \
                     `simplify`, or export it with this size as a variable"
                }
            }
            Some(value) if is_input(value) => {
                "free the sizes of both inputs together, or export the model with the size as a variable"
            }
            _ if is_limited => {
                "choose a size that the node allows, or export the model with this size as a variable"
            }
            // `simplify` merges and removes nodes that do nothing for the old size.
            _ => {
                "if `simplify` has changed the model, free the size in the file before that, or by `--set` of `simplify` on it; otherwise \
                 export the model with this size as a variable, or keep the size"
            }
        }
    }
}

impl std::fmt::Display for FixedSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.name, self.reason)
    }
}

/// The innermost node that a locus is in.
fn enclosing(model: &Model, locus: &Locus) -> Option<NodeId> {
    let places = Places::new(model);
    let graphs = model.roots().flat_map(|root| model.nodes_in(root));
    graphs.filter(|&node| locus.steps().starts_with(places.node(node).steps())).last()
}

/// The name of a node in messages: its operator with its name, or with its first output.
fn node_name(model: &Model, node: NodeId) -> String {
    let record = model.node(node);
    let text = match (model.str(record.name()), record.output(0)) {
        ("", Some(output)) => model.str(model.value(output).name()),
        (name, _) => name,
    };
    format!("{} {}", model.str(record.op()), onnx_diag::Quoted(text))
}

/// Changes sizes of a model: numbers become variables, variables get other names, and variables get numbers, in this order.
///
/// * A number for a variable is put into all declared types. What a type declares beyond what inference proves for the number
///   is removed if it contradicts that, or if it rests on the variable only.
/// * A name for a fixed size of an input frees it: the size is a variable from then on. Constants that contain the old size, as
///   targets of `Reshape` and `Expand` or ends of `Slice`, depend on the input instead. If others remain, the request is refused,
///   and the error names their nodes. With the old size, the model computes what it did before. A model that can be run is run
///   with several rows, which must be what it computes for each of them if the old size is 1 on a first axis.
/// * A name for a variable renames it; if a variable has the name already, both are one variable. Sizes of outputs that no input has
///   become what inference proves with the new name.
/// * A number for a fixed size frees it first.
/// * A number for an expression such as `2*N` is one for its variable. An expression of several variables is replaced, and so is
///   one that gets a name; what was declared because of it becomes what inference proves.
///
/// # Errors
///
/// Returns an error if a size does not exist, if two changes contradict each other, or if the model cannot have the size. The
/// model is unchanged then.
pub fn resize(
    model: &mut Model,
    changes: &[SizeChange],
    options: &EditOptions<'_>,
) -> Result<Resized, ComposeError> {
    let mut work = model.clone();
    let plan = Plan::new(&mut work, changes)?;
    let mut done = Resized { merged: plan.merged(&work), ..Resized::default() };
    if plan.is_empty() {
        return Ok(done);
    }
    for (variable, axes) in &plan.free {
        free::free(&mut work, axes, variable, options, &mut done)?;
    }
    done.fixed_axes = plan.kept(&work, std::mem::take(&mut done.fixed_axes));
    for (value, axis, dim) in &plan.named {
        names::set(&mut work, *value, *axis, dim);
    }
    done.types += plan.named.len();
    names::rename(&mut work, &plan.rename, &mut done)?;
    expressions::set(&mut work, &plan.expressions, options, &mut done)?;
    if !(plan.rename.is_empty() && plan.named.is_empty()) {
        let changed = plan.new_names(&mut work);
        let mut proved = options.infer(&work, &[], false)?;
        done.types += outputs::refine(&mut work, &mut proved, &changed);
    }
    bind::bind(&mut work, &plan.bind, options, &mut done)?;
    // Temporary variables, which are replaced by numbers.
    done.freed.retain(|(name, _)| !plan.bind.contains_key(name) || !is_temporary(name));
    *model = work;
    Ok(done)
}

/// The prefix of variables that stand for a fixed size until it has its new number.
const TEMPORARY: &str = "onnx.resized.";

/// The name of a variable in messages: for one that stands for a fixed size, the new number.
fn shown(variable: &str) -> &str {
    variable.strip_prefix(TEMPORARY).unwrap_or(variable)
}

fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMPORARY)
}

/// Changes by kind.
#[derive(Default)]
struct Plan {
    free: BTreeMap<String, Vec<(ValueId, usize)>>,
    named: Vec<(ValueId, usize, NewSize)>,
    rename: BTreeMap<String, String>,
    bind: BTreeMap<String, i64>,
    expressions: Vec<expressions::Change>,
}

impl Plan {
    fn new(model: &mut Model, changes: &[SizeChange]) -> Result<Self, ComposeError> {
        let mut plan = Self::default();
        for change in changes {
            if let NewSize::Name(name) = &change.size
                && !change.size.is_valid()
            {
                let message =
                    format!("`{}` is not a size, which is a whole number or a name", name.escape_debug());
                return Err(ComposeError::refused(message));
            }
            match &change.target {
                SizeTarget::Variable(name) => plan.variable(model, name, &change.size)?,
                SizeTarget::Axis(value, axis) => plan.axis(model, *value, *axis, &change.size)?,
            }
        }
        let open = std::mem::take(&mut plan.expressions);
        plan.expressions = expressions::solve(model, open, &mut plan.bind)?;
        match plan.bind.keys().find(|&name| plan.rename.contains_key(name)) {
            Some(name) => Err(two_sizes(name)),
            None => Ok(plan),
        }
    }

    fn is_empty(&self) -> bool {
        let Self { free, named, rename, bind, expressions } = self;
        free.is_empty() && named.is_empty() && rename.is_empty() && bind.is_empty() && expressions.is_empty()
    }

    /// Of axes of inputs, each once, those that no variable frees.
    fn kept(&self, model: &Model, axes: Vec<(String, i64)>) -> Vec<(String, i64)> {
        let freed = self.free.values().flatten();
        let mut seen: HashSet<String> =
            freed.map(|&(value, axis)| format!("{}[{axis}]", name(model, value))).collect();
        axes.into_iter().filter(|(axis, _)| seen.insert(axis.clone())).collect()
    }

    /// The names that several different sizes get, or one that keeps it and others, with these sizes.
    fn merged(&self, model: &Model) -> Vec<(String, Vec<String>)> {
        let variables = names::of_inputs(model);
        let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for (old, new) in &self.rename {
            found.entry(new).or_default().push(old.clone());
        }
        for (old, new) in self.expressions.iter().filter_map(expressions::Change::renamed) {
            found.entry(new).or_default().push(old.to_owned());
        }
        for (&name, sizes) in &mut found {
            let is_kept = |&symbol: &Symbol| model.str(symbol) == name && !self.rename.contains_key(name);
            sizes.extend(variables.iter().any(is_kept).then(|| name.to_owned()));
        }
        let several = found.into_iter().filter(|(_, sizes)| sizes.len() > 1);
        several.map(|(name, sizes)| (name.to_owned(), sizes)).collect()
    }

    /// The names that variables and axes without a declared size get.
    fn new_names(&self, model: &mut Model) -> Vec<Symbol> {
        let named = self.named.iter().filter_map(|(_, _, size)| match size {
            NewSize::Name(name) => Some(name),
            NewSize::Number(_) => None,
        });
        self.rename.values().chain(named).map(|name| model.intern(name)).collect()
    }

    fn variable(&mut self, model: &mut Model, name: &str, size: &NewSize) -> Result<(), ComposeError> {
        let variables: Variables = names::of_inputs(model).into_iter().collect();
        let Some(symbol) = model.names().get(name).filter(|symbol| variables.contains(symbol)) else {
            let message = format!("no input has the dimension variable `{}`", name.escape_debug());
            return Err(ComposeError::refused(message));
        };
        if let Some(expression) = names::read(model, &variables, symbol) {
            return self.expression(model, name, expression, size);
        }
        let twice = match size {
            NewSize::Number(number) if *number < 0 => return Err(negative()),
            NewSize::Number(number) => {
                self.bind.insert(name.to_owned(), *number).is_some_and(|other| other != *number)
            }
            NewSize::Name(new) if new == name => false,
            NewSize::Name(new) => {
                self.rename.insert(name.to_owned(), new.clone()).is_some_and(|other| other != *new)
            }
        };
        if twice { Err(two_sizes(name)) } else { Ok(()) }
    }

    fn expression(
        &mut self,
        model: &mut Model,
        name: &str,
        expression: Dim,
        size: &NewSize,
    ) -> Result<(), ComposeError> {
        match size {
            NewSize::Number(number) if *number < 0 => return Err(negative()),
            NewSize::Name(new) if new == name => {}
            size => {
                let change = expressions::Change::new(model, name.to_owned(), expression, size.clone());
                self.expressions.push(change);
            }
        }
        Ok(())
    }

    fn axis(
        &mut self,
        model: &mut Model,
        value: ValueId,
        axis: usize,
        size: &NewSize,
    ) -> Result<(), ComposeError> {
        let main = model.main_graph();
        let is_input = |def: Def| matches!(def, Def::Input { graph, .. } if graph == main);
        let shape = model
            .get_value(value)
            .filter(|record| is_input(record.def()))
            .and_then(|_| model.ty(value)?.shape());
        let Some(dim) = shape.and_then(|shape| shape.dim(axis)) else {
            let text = model.get_value(value).map(|_| name(model, value)).unwrap_or_default();
            let message = format!("`{text}[{axis}]` is not an axis of an input with a known rank");
            return Err(ComposeError::Refused(message, model.get_value(value).map(|_| value)));
        };
        match (dim, size) {
            (_, NewSize::Number(number)) if *number < 0 => return Err(negative()),
            (Dim::Known(old), NewSize::Number(new)) if old == *new => {}
            (Dim::Known(_), NewSize::Number(new)) => {
                let variable = format!("{TEMPORARY}{new}");
                self.free.entry(variable.clone()).or_default().push((value, axis));
                self.bind.insert(variable, *new);
            }
            (Dim::Known(_), NewSize::Name(new)) => {
                self.free.entry(new.clone()).or_default().push((value, axis));
            }
            (Dim::Var(variable), size) => {
                let text = model.str(variable).to_owned();
                return self.variable(model, &text, size);
            }
            (Dim::Unknown, size) => self.named.push((value, axis, size.clone())),
            (Dim::Expr(_), size) => {
                let text = model.exprs().text(dim, model.names(), Dialect::Python).unwrap_or_default();
                return self.expression(model, &text, dim, size);
            }
        }
        Ok(())
    }
}

fn two_sizes(name: &str) -> ComposeError {
    ComposeError::refused(format!("`{}` gets two sizes", name.escape_debug()))
}

fn negative() -> ComposeError {
    ComposeError::refused("a size cannot be negative")
}
