//! The rows of a freed size through the graphs of `If`, `Loop` and `Scan`.

use onnx_ir::{Graph, GraphId, NodeId, ValueId};
use onnx_schema::{attr, op};
use onnx_types::Symbol;

use super::attributes::{Attributes, from_front};
use super::mixing::Along;
use super::separate::{COMPUTES, Class, RowAnalysis, Step, join};

/// The reason if the flow of control depends on rows.
const CONTROLS: &str = "runs graphs as values of rows say";

/// A node with nested graphs that has a rule.
enum Nested<'a> {
    If(Vec<GraphId>),
    Loop(&'a Graph),
    Scan(&'a Graph, Attributes<'a>),
    Other,
}

fn nested<'a>(rows: &RowAnalysis<'a>, node: NodeId) -> Nested<'a> {
    let record = rows.model.node(node);
    let Some(attributes) = Attributes::of(rows.model, node) else { return Nested::Other };
    let graph = |name: Symbol| record.attribute(name)?.value().graphs().first().copied();
    let body = || graph(attr::BODY).map(|body| rows.model.graph(body));
    if record.is(op::IF) {
        let (Some(then), Some(other)) = (graph(attr::THEN_BRANCH), graph(attr::ELSE_BRANCH)) else {
            return Nested::Other;
        };
        let condition = record.input(0).and_then(|condition| rows.freed.after.content(condition));
        return Nested::If(match condition.and_then(|all| all.first()?.known()) {
            Some(0) => vec![other],
            Some(_) => vec![then],
            None => vec![then, other],
        });
    }
    match body() {
        Some(body) if record.is(op::LOOP) => Nested::Loop(body),
        // Before version 9, each sequence of a batch has a length.
        Some(body) if record.is(op::SCAN) && attributes.since() >= 9 => Nested::Scan(body, attributes),
        _ => Nested::Other,
    }
}

/// The classes of the inputs of nested graphs, as far as the operands of the node imply them.
pub(super) fn enter(rows: &RowAnalysis<'_>, node: NodeId) -> Step {
    let record = rows.model.node(node);
    let operand = |index: usize| record.input(index).map_or(Class::Fixed, |value| rows.class(value));
    let classes = match nested(rows, node) {
        Nested::If(_) => Vec::new(),
        Nested::Loop(body) | Nested::Scan(body, _) => {
            // The number of the iteration takes the place of that of all iterations.
            let inputs = body.inputs().iter().enumerate();
            inputs.map(|(index, &input)| (input, operand(index))).collect()
        }
        Nested::Other => {
            let is_fixed = record.inputs().flatten().all(|value| rows.class(value) == Class::Fixed);
            let class = if is_fixed { Class::Fixed } else { Class::Unproved };
            let graphs = record.nested_graphs().flat_map(|graph| rows.model.graph(graph).inputs());
            graphs.map(|&input| (input, class)).collect()
        }
    };
    Step { classes, reason: None }
}

/// The classes of the results of a node with nested graphs.
pub(super) fn leave(rows: &RowAnalysis<'_>, node: NodeId) -> Step {
    let outputs = || rows.model.node(node).outputs().iter().flatten().copied();
    let found = match nested(rows, node) {
        Nested::If(branches) => of_if(rows, node, &branches),
        Nested::Loop(body) => of_loop(rows, node, body),
        Nested::Scan(body, attributes) => of_scan(rows, node, body, attributes),
        Nested::Other => of_other(rows, node),
    };
    found.unwrap_or_else(|Refused(reason)| match reason {
        Some(reason) => Step::unproved(outputs(), reason),
        None => Step::all(outputs(), Class::Unproved),
    })
}

/// The results are not proved: for a reason, or for one that is reported elsewhere.
struct Refused(Option<&'static str>);

type Found = Result<Step, Refused>;

/// An operator without a rule: nothing that its graphs use may depend on a freed size.
fn of_other(rows: &RowAnalysis<'_>, node: NodeId) -> Found {
    let record = rows.model.node(node);
    let captured = record.nested_graphs().flat_map(|graph| rows.model.captures(graph));
    let classes: Vec<Class> =
        record.inputs().flatten().chain(captured).map(|value| rows.class(value)).collect();
    if classes.contains(&Class::Unproved) {
        return Err(Refused(None));
    }
    if classes.iter().all(|&class| class == Class::Fixed) {
        return Ok(Step::default());
    }
    Err(Refused(Some("is not known to keep rows apart in its graphs")))
}

/// Refuses a condition or a number of iterations that is not the same for all sizes and rows.
fn control(rows: &RowAnalysis<'_>, value: Option<ValueId>) -> Result<(), Refused> {
    match value.map_or(Class::Fixed, |value| rows.class(value)) {
        Class::Fixed => Ok(()),
        Class::OfSize => Err(Refused(Some(COMPUTES))),
        Class::Rows => Err(Refused(Some(CONTROLS))),
        Class::Unproved => Err(Refused(None)),
    }
}

fn of_if(rows: &RowAnalysis<'_>, node: NodeId, branches: &[GraphId]) -> Found {
    let record = rows.model.node(node);
    control(rows, record.input(0))?;
    let mut step = Step::default();
    for (index, output) in record.outputs().iter().enumerate() {
        let Some(output) = *output else { continue };
        let result =
            |&branch: &GraphId| rows.model.graph(branch).outputs().get(index).map(|found| found.value());
        let results: Option<Vec<ValueId>> = branches.iter().map(result).collect();
        let Some(results) = results else { return Err(Refused(Some("has a branch without a result"))) };
        let class = same(rows, &results, output, Some)?;
        step.classes.push((output, class));
    }
    Ok(step)
}

/// The class of a value that is one of others, each with the freed size on an axis of the value that `axis` is the number of.
fn same(
    rows: &RowAnalysis<'_>,
    sources: &[ValueId],
    value: ValueId,
    axis: impl Fn(usize) -> Option<usize>,
) -> Result<Class, Refused> {
    let mut class = Class::Fixed;
    for &source in sources {
        let (joined, is_joined) = join(class, rows.class(source));
        class = joined;
        if !is_joined {
            return Err(Refused(Some(COMPUTES)));
        }
    }
    let axes = rows.axes(value);
    match class {
        Class::Unproved => Err(Refused(None)),
        Class::Fixed | Class::OfSize if axes.is_empty() => Ok(class),
        Class::Rows if axes.len() == 1 => {
            let is_alike = |&source: &ValueId| {
                let moved: Option<Vec<usize>> = rows.axes(source).into_iter().map(&axis).collect();
                moved.as_ref() == Some(&axes)
            };
            let is_alike = sources.iter().all(is_alike) && rows.are_aligned(sources.iter().copied());
            if is_alike { Ok(class) } else { Err(Refused(Some(MOVES))) }
        }
        _ => Err(Refused(Some(MOVES))),
    }
}

/// The reason if rows are not on one axis.
const MOVES: &str = "passes rows that are not known to be on one axis";

/// A state that a body takes and returns: its operand, the input and the output of the body, and the result of the node.
struct State {
    operand: Option<ValueId>,
    input: Option<ValueId>,
    output: Option<ValueId>,
    result: Option<ValueId>,
}

impl State {
    fn step(&self, rows: &RowAnalysis<'_>, step: &mut Step) -> Result<(), Refused> {
        let (Some(operand), Some(input), Some(output)) = (self.operand, self.input, self.output) else {
            return Err(Refused(Some("has a state without an operand")));
        };
        for value in [Some(input), self.result].into_iter().flatten() {
            let class = same(rows, &[operand, output], value, Some)?;
            step.classes.push((value, class));
        }
        Ok(())
    }
}

/// The results of a body that are collected.
fn collected(
    rows: &RowAnalysis<'_>,
    (output, result): (Option<ValueId>, Option<ValueId>),
    axis: Option<usize>,
    step: &mut Step,
) -> Result<(), Refused> {
    let Some(result) = result else { return Ok(()) };
    let (Some(output), Some(axis)) = (output, axis) else { return Err(Refused(Some(MOVES))) };
    let class = same(rows, &[output], result, |old| if old < axis { Some(old) } else { old.checked_add(1) })?;
    step.classes.push((result, class));
    Ok(())
}

fn of_loop(rows: &RowAnalysis<'_>, node: NodeId, body: &Graph) -> Found {
    let record = rows.model.node(node);
    let of_body = |index: usize| body.outputs().get(index).map(|found| found.value());
    control(rows, record.input(0))?;
    control(rows, record.input(1))?;
    control(rows, of_body(0))?;
    let mut step = Step::default();
    let states = record.input_count().saturating_sub(2);
    for index in 0..states {
        let state = State {
            operand: record.input(index.saturating_add(2)),
            input: body.inputs().get(index.saturating_add(2)).copied(),
            output: of_body(index.saturating_add(1)),
            result: record.output(index),
        };
        state.step(rows, &mut step)?;
    }
    for index in states..record.outputs().len() {
        let pair = (of_body(index.saturating_add(1)), record.output(index));
        collected(rows, pair, Some(0), &mut step)?;
    }
    Ok(step)
}

fn of_scan(rows: &RowAnalysis<'_>, node: NodeId, body: &Graph, attributes: Attributes<'_>) -> Found {
    let record = rows.model.node(node);
    let of_body = |index: usize| body.outputs().get(index).map(|found| found.value());
    let scanned = attributes.int(attr::NUM_SCAN_INPUTS).and_then(|count| usize::try_from(count).ok());
    let states = scanned.and_then(|count| record.input_count().checked_sub(count));
    let Some(states) = states else { return Err(Refused(Some(MOVES))) };
    let listed = |name: Symbol, index: usize| match attributes.ints(name) {
        Some(all) => all.get(index).copied(),
        None => Some(0),
    };
    let rank = |value: Option<ValueId>| Some(rows.freed.after.shape(value?)?.len());
    let mut step = Step::default();
    for index in 0..record.input_count() {
        let (operand, input) = (record.input(index), body.inputs().get(index).copied());
        if let Some(place) = index.checked_sub(states) {
            let axis = listed(attr::SCAN_INPUT_AXES, place).zip(rank(operand));
            let axis = axis.and_then(|(axis, rank)| from_front(axis, rank));
            scanned_operand(rows, node, index, input, axis)?;
        } else {
            let (output, result) = (of_body(index), record.output(index));
            State { operand, input, output, result }.step(rows, &mut step)?;
        }
    }
    for index in states..record.outputs().len() {
        let result = record.output(index);
        let axis = listed(attr::SCAN_OUTPUT_AXES, index.saturating_sub(states)).zip(rank(result));
        let axis = axis.and_then(|(axis, rank)| from_front(axis, rank));
        collected(rows, (of_body(index), result), axis, &mut step)?;
    }
    Ok(step)
}

/// Refuses an operand of a `Scan` whose number of elements along the axis is not the same for all sizes.
fn scanned_operand(
    rows: &RowAnalysis<'_>,
    node: NodeId,
    index: usize,
    input: Option<ValueId>,
    axis: Option<usize>,
) -> Result<(), Refused> {
    let (Some(operand), Some(input)) = (rows.model.node(node).input(index), input) else {
        return Err(Refused(Some(MOVES)));
    };
    match rows.class(operand) {
        Class::Fixed => return Ok(()),
        Class::OfSize => return Err(Refused(Some(COMPUTES))),
        Class::Unproved => return Err(Refused(None)),
        Class::Rows => {}
    }
    let (of_operand, of_input) = (rows.axes(operand), rows.axes(input));
    let is_apart = |&of: &usize| rows.along(node, index, of) == Along::Separate;
    let inner = |&of: &usize| if of > axis? { of.checked_sub(1) } else { Some(of) };
    let moved: Option<Vec<usize>> = of_operand.iter().map(inner).collect();
    if of_operand.iter().all(is_apart) && of_operand.len() == 1 && moved == Some(of_input) {
        return Ok(());
    }
    Err(Refused(Some("runs over the freed size, or over rows that are not known to be apart")))
}
