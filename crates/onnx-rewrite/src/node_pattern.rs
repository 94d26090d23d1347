//! Calls without names that select nodes.

use onnx_ir::{Glob, Model, NodeId};
use onnx_shape_infer::Inference;
use onnx_types::tensor::DataSource;

use crate::ast::{FlatNode, Operand, Var};
use crate::effective::Source;
use crate::matching::Bound;
use crate::parse::parse_call;
use crate::pattern::Pattern;

/// Maximum length of a pattern in bytes.
const MAX_BYTES: usize = 1 << 16;

/// Steps that one step of the search counts as: it copies the state.
const STEP: u64 = 16;

/// A call that selects nodes: `Conv()`, `Add(_, "bias")`, `Relu(Conv<group = 1>())`, `Conv() -> Relu()`.
///
/// * What is not mentioned may be anything: other attributes, operands and results, and the version of the operator.
/// * An operator of another domain, or a function, has the domain before its name: `com.acme.Block:overload()`. `*` is any text.
/// * An attribute has the value also if that is its default. A parameter has the name of the latest version of the operator.
/// * An operand is a call, a number or a list of numbers for a constant, the name of a value between quotes, or `_` for any. The
///   order of the operands of a commutative operator does not matter.
/// * `A() -> B()` is a `B` with an `A` among its operands.
///
/// ```
/// use onnx_rewrite::NodePattern;
/// use onnx_text::{ParseOptions, parse_model};
///
/// let text = r#"<ir_version: 10, opset_import: ["": 20]>
/// g (float[N] x) => (float[N] y) { a = Neg (x) b = Relu (a) c = Relu (x) y = Add (b, c) }"#;
/// let model = parse_model(text, &ParseOptions::default())?;
/// let pattern = NodePattern::parse("Neg() -> Relu()")?;
/// let nodes = model.nodes(model.main_graph());
/// assert_eq!(pattern.find(&model, nodes).count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct NodePattern {
    pattern: Pattern,
}

/// Why a text is not a pattern of nodes: a message, and the byte at which it applies.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} at byte {at} of the pattern")]
pub struct NodePatternError {
    /// The message that states the defect.
    pub message: String,
    /// The offset in bytes.
    pub at: usize,
}

/// The search for a match at a node needs more steps than there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exhausted;

impl NodePattern {
    /// Reads a pattern.
    ///
    /// # Errors
    ///
    /// If the text is not a pattern, with the byte.
    pub fn parse(text: &str) -> Result<Self, NodePatternError> {
        if text.len() > MAX_BYTES {
            let message = format!("a pattern has at most {MAX_BYTES} bytes");
            return Err(NodePatternError { message, at: MAX_BYTES });
        }
        let (rule, selection) = parse_call(text)
            .map_err(|mistake| NodePatternError { message: mistake.message, at: mistake.at })?;
        Ok(Self { pattern: Pattern::selecting(rule, selection) })
    }

    /// Returns `true` if constants or defaults that depend on sizes are compared, so that results of inference can matter.
    #[must_use]
    pub fn reads_parameters(&self) -> bool {
        let is_literal = |operand: &Operand| matches!(operand, Operand::Literal(_));
        let nodes = self.pattern.rule.from.nodes.iter();
        nodes.into_iter().any(|node| !node.attributes.is_empty() || node.operands.iter().any(is_literal))
    }

    /// The nodes, among some, that the pattern describes, without results of inference and external data. The search at each node
    /// is limited; a node at which it ends is not returned.
    pub fn find<'a>(
        &'a self,
        model: &'a Model,
        nodes: impl Iterator<Item = NodeId> + 'a,
    ) -> impl Iterator<Item = NodeId> + 'a {
        let data = &onnx_types::tensor::NoData;
        let is_match = move |&node: &NodeId| {
            self.matches(model, None, data, node, &mut u64::from(u16::MAX)).unwrap_or(false)
        };
        nodes.filter(is_match)
    }

    /// Returns `true` if the pattern describes a node. `steps` is what may be done, and is reduced by what was done.
    ///
    /// # Errors
    ///
    /// If the steps do not suffice to decide.
    pub fn matches(
        &self,
        model: &Model,
        inference: Option<&Inference>,
        data: &dyn DataSource,
        node: NodeId,
        steps: &mut u64,
    ) -> Result<bool, Exhausted> {
        *steps = steps.checked_sub(1).ok_or(Exhausted)?;
        // Most nodes have another operator.
        if !self.pattern.roots().any(|wanted| Selection::is_operator(model, node, wanted)) {
            return Ok(false);
        }
        let max = usize::try_from(*steps / STEP).unwrap_or(usize::MAX);
        let source = Source { model, inference, data };
        let mut matches = self.pattern.at(source, node).with_max_steps(max);
        let is_found = matches.next().is_some();
        *steps = steps.saturating_sub((matches.steps() as u64).saturating_mul(STEP));
        if matches.steps() > max { Err(Exhausted) } else { Ok(is_found) }
    }
}

/// The properties of a pattern of nodes that the left side of a rule does not have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    /// Variables that are values with these names.
    named: Vec<(Var, String)>,
    /// For each call, the variable that is one of its operands.
    feeders: Vec<Option<Var>>,
}

impl Selection {
    pub(crate) fn name(&mut self, var: Var, name: String) {
        self.named.push((var, name));
    }

    pub(crate) fn feed(&mut self, node: usize, feeder: Option<Var>) {
        self.feeders.resize(node, None);
        self.feeders.push(feeder);
    }

    pub(crate) fn feeder(&self, node: usize) -> Option<Var> {
        self.feeders.get(node).copied().flatten()
    }

    /// Returns `true` if a variable can be bound: its name, if it has one, is that of the value.
    pub(crate) fn is_named(&self, model: &Model, var: Var, bound: &Bound) -> bool {
        let Some((_, name)) = self.named.iter().find(|(named, _)| *named == var) else { return true };
        match bound {
            Bound::Value(value) => model.str(model.value(*value).name()) == name,
            _ => false,
        }
    }

    /// Returns `true` if a node has the operator of a call.
    pub(crate) fn is_operator(model: &Model, node: NodeId, wanted: &FlatNode) -> bool {
        let Some(record) = model.get_node(node) else { return false };
        let [domain, op, overload] =
            [record.domain(), record.op(), record.overload()].map(|part| model.str(part));
        is_operator(&wanted.op, [domain, op, overload])
    }
}

/// Returns `true` if a text such as `com.acme.*:v1` denotes a domain, a name and an overload; without an overload, any.
fn is_operator(wanted: &str, [domain, op, overload]: [&str; 3]) -> bool {
    let (name, wanted_overload) = match wanted.rsplit_once(':') {
        Some((name, overload)) => (name, Some(overload)),
        None => (wanted, None),
    };
    let is = |wanted: &str, text: &str| match Glob::is_pattern(wanted) {
        true => Glob::new(wanted).matches(text),
        false => wanted == text,
    };
    let is_name = if domain.is_empty() || domain == "ai.onnx" {
        is(name, op) || name.strip_prefix("ai.onnx.").is_some_and(|name| is(name, op))
    } else {
        let rest = name.strip_prefix(domain).and_then(|rest| rest.strip_prefix('.'));
        rest == Some(op) || (Glob::is_pattern(name) && Glob::new(name).matches(&format!("{domain}.{op}")))
    };
    is_name && wanted_overload.is_none_or(|wanted| is(wanted, overload))
}
