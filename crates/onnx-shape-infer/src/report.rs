//! The report of a run: every part of every value that stays unknown, with the value where it was lost.
//!
//! Building it takes time linear in the model and in the sizes that inference holds: an origin of a size is recorded when its
//! symbol is created, shapes that values share are analyzed once, and the end of a chain of unknown types is stored at every
//! node of the chain.

use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use foldhash::fast::RandomState;
use onnx_ir::{Def, Model, NodeId, ValueId};
use onnx_types::{Dim, Limits};
use slotmap::SecondaryMap;

use crate::result::Inference;
use crate::table::{Outline, Span};
use crate::why::{Gap, Steps};

/// Axes of a shape: disjoint ranges in ascending order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AxisSet(Arc<[(usize, usize)]>);

impl AxisSet {
    /// The axes of a list in any order, with repetitions.
    fn new(mut axes: Vec<usize>) -> Self {
        axes.sort_unstable();
        axes.dedup();
        let mut ranges: Vec<(usize, usize)> = Vec::new();
        for axis in axes {
            match ranges.last_mut() {
                Some((_, last)) if last.checked_add(1) == Some(axis) => *last = axis,
                _ => ranges.push((axis, axis)),
            }
        }
        Self(ranges.into())
    }

    /// The ranges: the first and the last axis of each.
    #[must_use]
    pub fn ranges(&self) -> &[(usize, usize)] {
        &self.0
    }

    /// Whether an axis is among them.
    #[must_use]
    pub fn contains(&self, axis: usize) -> bool {
        let after = self.0.partition_point(|&(first, _)| first <= axis);
        after.checked_sub(1).and_then(|at| self.0.get(at)).is_some_and(|&(_, last)| axis <= last)
    }

    /// The axis, if it is only one.
    #[must_use]
    pub fn single(&self) -> Option<usize> {
        match *self.0 {
            [(first, last)] if first == last => Some(first),
            _ => None,
        }
    }
}

/// Writes `axis 2` or `axes 0, 2-5`; of many ranges the first eight.
impl fmt::Display for AxisSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 8;
        f.write_str(if self.single().is_some() { "axis " } else { "axes " })?;
        for (index, (first, last)) in self.0.iter().take(SHOWN).enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            if first == last {
                write!(f, "{separator}{first}")?;
            } else {
                write!(f, "{separator}{first}-{last}")?;
            }
        }
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, " and {more} more ranges"),
        }
    }
}

/// A part of the type of a value that is unknown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Missing {
    /// The whole type.
    Type,
    /// The type of the elements.
    Elem,
    /// The rank.
    Rank,
    /// The sizes of some axes.
    Sizes(AxisSet),
}

impl From<Gap> for Missing {
    fn from(gap: Gap) -> Self {
        match gap {
            Gap::Type => Self::Type,
            Gap::Elem => Self::Elem,
            Gap::Rank => Self::Rank,
            Gap::Size(axis) => Self::Sizes(AxisSet::new(vec![axis])),
        }
    }
}

/// A part of a value that is unknown, and where it was lost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Unknown {
    /// The value.
    pub value: ValueId,
    /// What of it is unknown. All axes with the same origin are in one entry.
    pub missing: Missing,
    /// The value where it was lost; `value` itself if it was lost there.
    pub origin: ValueId,
    /// What is unknown at the origin.
    pub missing_at_origin: Missing,
    /// The node that produces the origin; `None` for inputs and initializers: the model itself does not specify it.
    pub node: Option<NodeId>,
}

/// Why a part of a value is unknown: [`Unknown`] with the values in between.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation {
    /// What is unknown, and where it was lost.
    pub unknown: Unknown,
    /// The values from the one that is explained to the origin.
    pub chain: Vec<ValueId>,
}

/// What a run left unknown.
#[derive(Clone, Default, Debug)]
#[non_exhaustive]
pub struct InferenceReport {
    /// The number of values of the main graph and of the graphs nested in it.
    pub values: u64,
    /// How many of them are not known completely.
    pub incomplete: u64,
    /// What is unknown, in the order of the values. At most [`Limits::report_entries`] entries.
    pub unknown: Vec<Unknown>,
    /// The number of entries beyond the limit.
    pub dropped: u64,
}

/// The axes of a shape that were lost at one value.
struct Group {
    origin: ValueId,
    axes: AxisSet,
    at_origin: AxisSet,
}

/// Analyzes the values of one model; what several values have in common is computed once.
struct Reporter<'a> {
    inference: &'a Inference,
    model: &'a Model,
    /// The groups of shapes, by their place in the table. Values of the same shape mostly share it.
    shapes: HashMap<Span, Rc<[Group]>, RandomState>,
    /// The origins of sizes.
    origins: HashMap<Dim, Option<(ValueId, usize)>, RandomState>,
    /// For each node, and each of [`Gap::Type`], [`Gap::Elem`] and [`Gap::Rank`]: where its outputs lost it.
    ends: SecondaryMap<NodeId, [End; 3]>,
}

/// Where the outputs of a node lost a part of their types.
#[derive(Clone, Copy, Default, PartialEq)]
enum End {
    #[default]
    NotVisited,
    /// The node is in the chain that is being followed.
    OnPath,
    /// At the node: each output is its own origin.
    Here,
    At(ValueId),
}

impl Inference {
    /// What stays unknown about the values of the main graph and of the graphs nested in it, and where it was lost; in time
    /// linear in the model.
    ///
    /// ```
    /// use onnx_shape_infer::{Limits, InferOptions, infer};
    /// use onnx_text::{ParseOptions, parse_model};
    ///
    /// let text = r#"<ir_version: 10, opset_import: ["": 20]>
    ///     g (float[2, 3] x, int64[2] s) => (z) { y = Reshape (x, s) z = Relu (y) }"#;
    /// let model = parse_model(text, &ParseOptions::default())?;
    /// let report = infer(&model, &InferOptions::default()).report(&model, &Limits::default());
    /// assert_eq!((report.values, report.incomplete), (4, 2));
    /// // Both axes of `z` were lost at `y`: one entry.
    /// let [_, z] = report.unknown.as_slice() else { panic!("two entries") };
    /// assert_eq!(model.str(model.value(z.origin).name()), "y");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If the result is not one of this model.
    #[must_use]
    pub fn report(&self, model: &Model, limits: &Limits) -> InferenceReport {
        let mut reporter = Reporter::new(self, model);
        let mut report = InferenceReport::default();
        for_each_value(model, |value| {
            report.values = report.values.saturating_add(1);
            let mut is_complete = true;
            reporter.unknown(value, |unknown| {
                is_complete = false;
                if report.unknown.len() < limits.report_entries {
                    report.unknown.push(unknown);
                } else {
                    report.dropped = report.dropped.saturating_add(1);
                }
            });
            report.incomplete = report.incomplete.saturating_add(u64::from(!is_complete));
        });
        report
    }

    /// Why parts of values are unknown, in the order of the values: for each part the chain of values to its origin. At most
    /// [`Limits::report_entries`] explanations. Following the chains ends after [`Limits::report_steps`] steps; from there
    /// on, chains have no values between the value and the origin.
    ///
    /// # Panics
    ///
    /// As for [`Inference::report`].
    #[must_use]
    pub fn explain(&self, model: &Model, values: &[ValueId], limits: &Limits) -> Vec<Explanation> {
        let mut reporter = Reporter::new(self, model);
        let mut all = Vec::new();
        for &value in values {
            reporter.unknown(value, |unknown| {
                if all.len() < limits.report_entries {
                    all.push(unknown);
                }
            });
        }
        let mut steps = Steps::new(limits.report_steps);
        let explain = |unknown: Unknown| {
            let chain = match &unknown.missing {
                Missing::Type => self.chain_lacking(model, unknown.value, Gap::Type, &mut steps),
                Missing::Elem => self.chain_lacking(model, unknown.value, Gap::Elem, &mut steps),
                Missing::Rank => self.chain_lacking(model, unknown.value, Gap::Rank, &mut steps),
                Missing::Sizes(axes) => self.chain_of_axes(model, &unknown, axes, &mut steps),
            };
            // If the maximum number of steps was reached, the chain still ends at the origin.
            let chain = match chain.last() {
                Some(last) if *last == unknown.origin => chain,
                _ if unknown.value == unknown.origin => vec![unknown.value],
                _ => vec![unknown.value, unknown.origin],
            };
            Explanation { unknown, chain }
        };
        all.into_iter().map(explain).collect()
    }

    fn chain_of_axes(
        &self,
        model: &Model,
        unknown: &Unknown,
        axes: &AxisSet,
        steps: &mut Steps,
    ) -> Vec<ValueId> {
        let first = axes.ranges().first().map_or(0, |&(first, _)| first);
        let dim = self.shape(unknown.value).and_then(|dims| dims.get(first)).copied();
        match dim.and_then(|dim| self.made_up(dim)) {
            Some(symbol) => self.chain_of_size(model, unknown.value, symbol, unknown.origin, steps),
            None => Vec::new(),
        }
    }
}

/// Calls `visit` with each value of the main graph and of the graphs nested in it, in order: inputs, initializers, outputs of
/// nodes.
fn for_each_value(model: &Model, mut visit: impl FnMut(ValueId)) {
    for graph in model.graphs_in(model.main_graph()) {
        model.graph(graph).inputs().iter().copied().for_each(&mut visit);
        // Initializers that are inputs were visited.
        let is_input = |value: &ValueId| matches!(model.value(*value).def(), Def::Input { .. });
        model.initializers(graph).filter(|value| !is_input(value)).for_each(&mut visit);
        for node in model.nodes(graph) {
            model.node(node).outputs().iter().flatten().copied().for_each(&mut visit);
        }
    }
}

impl<'a> Reporter<'a> {
    fn new(inference: &'a Inference, model: &'a Model) -> Self {
        let (shapes, origins) = (HashMap::default(), HashMap::default());
        Self { inference, model, shapes, origins, ends: SecondaryMap::new() }
    }

    /// Calls `found` for each part of a value that is unknown.
    fn unknown(&mut self, value: ValueId, mut found: impl FnMut(Unknown)) {
        match self.inference.table.outline(value) {
            Outline::Other => {}
            Outline::Unknown => found(self.lacking(value, Gap::Type)),
            Outline::Tensor { has_elem, shape } => {
                if !has_elem {
                    found(self.lacking(value, Gap::Elem));
                }
                let Some(shape) = shape else {
                    found(self.lacking(value, Gap::Rank));
                    return;
                };
                for group in &*self.groups(value, shape) {
                    found(Unknown {
                        value,
                        missing: Missing::Sizes(group.axes.clone()),
                        origin: group.origin,
                        missing_at_origin: Missing::Sizes(group.at_origin.clone()),
                        node: self.model.value(group.origin).producer(),
                    });
                }
            }
        }
    }

    /// The unknown axes of a shape by the value where they were lost, in the order of the first axis.
    fn groups(&mut self, value: ValueId, shape: Span) -> Rc<[Group]> {
        if let Some(known) = self.shapes.get(&shape) {
            return Rc::clone(known);
        }
        let dims = self.inference.shape(value).unwrap_or_default();
        let mut places: HashMap<ValueId, usize, RandomState> = HashMap::default();
        let mut lists: Vec<(ValueId, Vec<usize>, Vec<usize>)> = Vec::new();
        for (axis, &dim) in dims.iter().enumerate() {
            let Some((origin, at)) = self.origin(dim) else { continue };
            let place = *places.entry(origin).or_insert(lists.len());
            if place == lists.len() {
                lists.push((origin, Vec::new(), Vec::new()));
            }
            if let Some((_, axes, at_origin)) = lists.get_mut(place) {
                axes.push(axis);
                let rank = self.inference.shape(origin).map_or(0, <[Dim]>::len);
                at_origin.push(if at < rank { at } else { axis });
            }
        }
        let group = |(origin, axes, at_origin)| Group {
            origin,
            axes: AxisSet::new(axes),
            at_origin: AxisSet::new(at_origin),
        };
        let groups: Rc<[Group]> = lists.into_iter().map(group).collect();
        self.shapes.insert(shape, Rc::clone(&groups));
        groups
    }

    /// The place that an unknown size was created for.
    fn origin(&mut self, dim: Dim) -> Option<(ValueId, usize)> {
        let Self { inference, origins, .. } = self;
        match dim {
            Dim::Known(_) | Dim::Unknown => None,
            Dim::Var(symbol) => inference.origin(symbol),
            Dim::Expr(_) => *origins.entry(dim).or_insert_with(|| inference.origin(inference.made_up(dim)?)),
        }
    }

    fn lacking(&mut self, value: ValueId, gap: Gap) -> Unknown {
        let origin = self.end(value, gap);
        let is_unknown = matches!(self.inference.table.outline(origin), Outline::Unknown);
        let at_origin = if is_unknown { Gap::Type } else { gap };
        Unknown {
            value,
            missing: gap.into(),
            origin,
            missing_at_origin: at_origin.into(),
            node: self.model.value(origin).producer(),
        }
    }

    /// The last value of the chain of values that lack something. Stores it at all nodes of the chain.
    fn end(&mut self, value: ValueId, gap: Gap) -> ValueId {
        let kind = match gap {
            Gap::Type => 0,
            Gap::Elem => 1,
            Gap::Rank | Gap::Size(_) => 2,
        };
        let mut path: Vec<NodeId> = Vec::new();
        let mut at = value;
        let end = loop {
            let Some(node) = self.model.value(at).producer() else { break at };
            match self.state(node, kind) {
                End::At(end) => break end,
                // In a cycle, the chain ends where it would repeat.
                End::Here | End::OnPath => break at,
                End::NotVisited => {}
            }
            match self.inference.lost_before(self.model, node, gap) {
                None => {
                    self.set(node, kind, End::Here);
                    break at;
                }
                Some(input) => {
                    self.set(node, kind, End::OnPath);
                    path.push(node);
                    at = input;
                }
            }
        };
        for node in path {
            self.set(node, kind, End::At(end));
        }
        end
    }

    fn state(&self, node: NodeId, kind: usize) -> End {
        self.ends.get(node).and_then(|ends| ends.get(kind)).copied().unwrap_or_default()
    }

    fn set(&mut self, node: NodeId, kind: usize, end: End) {
        if let Some(entry) = self.ends.entry(node)
            && let Some(slot) = entry.or_default().get_mut(kind)
        {
            *slot = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use onnx_text::{ParseOptions, parse_model};

    use super::*;
    use crate::{InferOptions, infer};

    fn inferred(body: &str) -> (Model, Inference) {
        let text = format!("<ir_version: 10, opset_import: [\"\": 20]> g {body}");
        let model = parse_model(&text, &ParseOptions::default()).unwrap();
        let inference = infer(&model, &InferOptions::default());
        (model, inference)
    }

    /// Every entry has the origin that [`Inference::why`] finds, and every gap is in an entry.
    #[test]
    fn reports_agree_with_single_answers() {
        for body in [
            "(float[] x) => (y) { a = Relu (x) y = Neg (a) }",
            "(float[2] x) => (y) { a = Strange (x) b = Relu (a) y = Add (b, a) }",
            "(float[?, 2, ?] x) => (y) { a = Transpose (x) y = Concat <axis = 0> (a, a) }",
            "(float[2, 3] x, int64[2] s) => (y) { a = Reshape (x, s) y = Neg (a) }",
            "(bool c, float[?] x) => (y) { y = If (c) <then_branch = t () => (p) { p = Relu (x) }, else_branch = e () => (q) { q = Strange (x) }> }",
        ] {
            let (model, inference) = inferred(body);
            let report = inference.report(&model, &Limits::default());
            let mut count = 0;
            for_each_value(&model, |value| {
                for gap in inference.gaps(value) {
                    let why = inference.why(&model, value, gap).unwrap();
                    let holds = |unknown: &&Unknown| match (&unknown.missing, gap) {
                        (Missing::Sizes(axes), Gap::Size(axis)) => axes.contains(axis),
                        (missing, gap) => *missing == Missing::from(gap),
                    };
                    let mut entries = report.unknown.iter().filter(|unknown| unknown.value == value);
                    let entry = entries.find(holds).unwrap();
                    assert_eq!((Some(&entry.origin), entry.node), (why.chain.last(), why.node), "{body}");
                    count += 1;
                }
            });
            assert!(count > 0, "{body}");
        }
    }

    #[test]
    fn axes_of_one_origin_are_one_entry() {
        let (model, inference) =
            inferred("(float[?, ?, 2, ?] x, float[?] w) => (y) { y = Concat <axis = 3> (x, x) }");
        let report = inference.report(&model, &Limits::default());
        let text = |missing: &Missing| match missing {
            Missing::Sizes(axes) => axes.to_string(),
            other => format!("{other:?}"),
        };
        let entries: Vec<_> = report
            .unknown
            .iter()
            .map(|unknown| (text(&unknown.missing), text(&unknown.missing_at_origin)))
            .collect();
        let both = |text: &str| (text.to_owned(), text.to_owned());
        assert_eq!(entries, [both("axes 0-1, 3"), both("axis 0"), both("axes 0-1, 3")]);
        assert_eq!((report.values, report.incomplete, report.dropped), (3, 3, 0));
    }

    #[test]
    fn entries_beyond_the_limit_are_counted() {
        let (model, inference) = inferred("(float[] x) => (y) { a = Relu (x) y = Neg (a) }");
        let mut limits = Limits { report_entries: 2, ..Limits::default() };
        let report = inference.report(&model, &limits);
        assert_eq!((report.unknown.len(), report.dropped, report.incomplete), (2, 1, 3));
        // Without steps, an explanation is the value and the origin.
        let value = model.graph(model.main_graph()).outputs()[0].value();
        let chain = |limits: &Limits| inference.explain(&model, &[value], limits)[0].chain.len();
        assert_eq!(chain(&limits), 3);
        limits.report_steps = 0;
        assert_eq!(chain(&limits), 2);
    }
}
