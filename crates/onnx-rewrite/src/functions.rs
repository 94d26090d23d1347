//! Rules that are functions: edits that a pair of functions of ONNX cannot express, such as those of chains of any length.

mod around_elementwise;
mod concat_sequence;
mod pad_convs;
mod split_sequence;
mod unsqueezes;

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use onnx_ir::{Model, NodeId, User, ValueId};
use onnx_pass::{Exactness, PassCx, Patch, Reason};

use crate::apply::{Attempt, users};
use crate::cost::Costs;

/// What a rule does at a node: it fills the patch, or returns why it does not apply.
type Edit = dyn Fn(&mut Patch<'_, '_>, NodeId) -> Result<(), Reason> + Send + Sync;

/// The nodes that use a value, in order.
///
/// # Errors
///
/// Returns the reason if an output of a graph needs the value, or if one of the nodes is not wanted.
fn users_of(
    model: &Model,
    value: ValueId,
    is_wanted: impl Fn(NodeId) -> Result<(), Reason>,
) -> Result<Vec<NodeId>, Reason> {
    let mut users = Vec::new();
    for at in model.value(value).uses() {
        let User::Node(user) = at.user else { return Err("an output of a graph needs it".into()) };
        is_wanted(user)?;
        users.push(user);
    }
    users.sort_by_key(|&user| model.order_key(user));
    Ok(users)
}

/// A rewrite rule that is a function. It is tried at the nodes of some operators, after the rules that match there; an edit is
/// made only if it is proved and lowers the cost of the model.
///
/// ```
/// use onnx_pass::{Exactness, PassCx, PassOptions};
/// use onnx_rewrite::{RuleFunction, RuleSet};
/// use onnx_schema::op;
/// use onnx_text::{ParseOptions, parse_model};
///
/// // A row of negations, of which two at a time cancel.
/// let rule = RuleFunction::new("neg-chain", Exactness::Exact, &["Neg"], |patch, node| {
///     let model = patch.model();
///     let output = model.node(node).output(0).ok_or("no result")?;
///     let (mut at, mut value, mut count) = (Some(node), output, 0);
///     while let Some(negation) = at.filter(|&node| model.node(node).is(op::NEG)) {
///         value = model.node(negation).input(0).ok_or("no operand")?;
///         at = model.value(value).producer();
///         count += 1;
///     }
///     if count < 2 || count % 2 == 1 {
///         return Err("no even number of negations".into());
///     }
///     patch.tap(value);
///     patch.replace(output, value);
///     Ok(())
/// });
/// let rules = RuleSet::default().with_function(rule);
/// let text = r#"<ir_version: 10, opset_import: ["": 20]>
/// g (float[N] x) => (float[N] y) { a = Neg (x) b = Neg (a) c = Neg (b) d = Neg (c) y = Relu (d) }"#;
/// let mut model = parse_model(text, &ParseOptions::default())?;
/// rules.apply(&mut PassCx::new(&mut model, PassOptions::default()));
/// assert_eq!(model.node_count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct RuleFunction {
    name: Cow<'static, str>,
    page: Cow<'static, str>,
    class: Exactness,
    roots: Vec<Cow<'static, str>>,
    edit: Arc<Edit>,
}

impl RuleFunction {
    /// A rule with a name, the class of its edits, and the operators of the default domain at whose nodes it is tried.
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        class: Exactness,
        roots: &[&'static str],
        edit: impl Fn(&mut Patch<'_, '_>, NodeId) -> Result<(), Reason> + Send + Sync + 'static,
    ) -> Self {
        let roots = roots.iter().map(|&root| Cow::Borrowed(root)).collect();
        Self { name: name.into(), page: Cow::Borrowed(""), class, roots, edit: Arc::new(edit) }
    }

    /// Sets the page: Markdown that states what the rule does, and why that is right.
    #[must_use]
    pub fn with_page(mut self, page: impl Into<Cow<'static, str>>) -> Self {
        self.page = page.into();
        self
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The page; empty if there is none.
    #[must_use]
    pub fn page(&self) -> &str {
        &self.page
    }

    /// The class of its edits.
    #[must_use]
    pub const fn class(&self) -> Exactness {
        self.class
    }

    /// Returns `true` if the rule is tried at a node.
    pub(crate) fn is_tried_at(&self, model: &Model, node: NodeId) -> bool {
        let record = model.node(node);
        record.domain().is_empty() && self.roots.iter().any(|root| root == model.str(record.op()))
    }

    /// The functions of this crate.
    pub(crate) fn standard() -> Vec<Self> {
        vec![
            around_elementwise::rule(),
            concat_sequence::rule(),
            pad_convs::rule(),
            split_sequence::rule(),
            unsqueezes::rule(),
        ]
    }

    /// Lets the function fill a patch; returns the nodes that it would erase.
    pub(crate) fn fill(
        &self,
        patch: &mut Patch<'_, '_>,
        node: NodeId,
        costs: &Costs,
    ) -> Result<Vec<NodeId>, Reason> {
        (self.edit)(patch, node)?;
        let erased = patch.erased()?;
        let model = patch.model();
        let cost = |nodes: &[NodeId]| -> u64 {
            nodes.iter().map(|&node| costs.of(model.str(model.node(node).op()))).sum()
        };
        let (old, new) = (cost(&erased), cost(patch.new_nodes()));
        if new < old {
            return Ok(erased);
        }
        Err(Reason::new(format!("the cost does not decrease: {old} before, {new} after")))
    }

    pub(crate) fn attempt(&self, cx: &mut PassCx<'_>, node: NodeId, costs: &Costs) -> Attempt {
        let mut patch = cx.patch(&self.name, self.class);
        patch.source(node);
        let erased = match self.fill(&mut patch, node, costs) {
            Ok(erased) => erased,
            Err(reason) => return Attempt::Missed(reason),
        };
        let model = patch.model();
        let mut affected = patch.new_nodes().to_vec();
        for &node in &erased {
            let operands = model.node(node).inputs().flatten();
            affected.extend(operands.filter_map(|value| model.value(value).producer()));
            affected.extend(users(model, node));
        }
        match patch.commit() {
            Ok(_) => Attempt::Edited(affected),
            Err(refusal) => Attempt::Refused(*refusal),
        }
    }
}

impl fmt::Debug for RuleFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RuleFunction")
            .field("name", &self.name)
            .field("class", &self.class)
            .finish_non_exhaustive()
    }
}
