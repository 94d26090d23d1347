//! Rules of other crates.

use std::fmt;
use std::sync::Arc;

use onnx_diag::{Diagnostic, Locus, Rule};
use onnx_ir::{Model, NodeId, Places};
use onnx_schema::Registry;

use crate::cx::Cx;

/// A rule that another crate adds to the checker with [`CheckOptions::with_rules`](crate::CheckOptions::with_rules).
///
/// Rules run after those of this crate, in the order in which they were added, and report in that order. Their diagnostics
/// are subject to the severities and limits of the options. [`Profile::Reference`](crate::Profile::Reference) excludes them
/// unless the record says that the reference enforces the rule.
///
/// ```
/// use onnx_check::{CheckOptions, CustomRule, check};
/// use onnx_diag::{Rule, Severity};
///
/// static UNNAMED: Rule = Rule::new(1, "node-unnamed", Severity::Warning, "A node has no name.").with_prefix("ACME");
///
/// let rule = CustomRule::for_nodes(&UNNAMED, |cx, node| {
///     if cx.model().str(cx.model().node(node).name()).is_empty() {
///         cx.report_node(node, "the node has no name");
///     }
/// });
/// let options = CheckOptions::default().with_rules([rule]);
/// # let mut model = onnx_ir::Model::new();
/// # let graph = model.main_graph();
/// # let x = model.add_graph_input(graph, "x", None);
/// # model.build_at(onnx_ir::Position::End(graph)).op(onnx_schema::op::RELU, [x]).output()?;
/// let found = check(&model, &options);
/// let found = found.diagnostics().iter().find(|found| *found.rule == UNNAMED).expect("the node has no name");
/// assert_eq!(found.rule.id().to_string(), "ACME0001");
/// # Ok::<(), onnx_ir::EditError>(())
/// ```
#[derive(Clone)]
pub struct CustomRule {
    rule: &'static Rule,
    check: Check,
}

#[derive(Clone)]
enum Check {
    Model(Arc<CheckModel>),
    Node(Arc<CheckNode>),
}

type CheckModel = dyn Fn(&mut RuleCx<'_, '_>) + Send + Sync;
type CheckNode = dyn Fn(&mut RuleCx<'_, '_>, NodeId) + Send + Sync;

impl CustomRule {
    /// A rule that is called once for the model. It does not run if only a part of a model is checked.
    #[must_use]
    pub fn for_models(
        rule: &'static Rule,
        check: impl Fn(&mut RuleCx<'_, '_>) + Send + Sync + 'static,
    ) -> Self {
        Self { rule, check: Check::Model(Arc::new(check)) }
    }

    /// A rule that is called for each node, those in nested graphs, functions and training graphs included.
    #[must_use]
    pub fn for_nodes(
        rule: &'static Rule,
        check: impl Fn(&mut RuleCx<'_, '_>, NodeId) + Send + Sync + 'static,
    ) -> Self {
        Self { rule, check: Check::Node(Arc::new(check)) }
    }

    /// The record of the rule.
    #[must_use]
    pub const fn rule(&self) -> &'static Rule {
        self.rule
    }

    pub(crate) const fn is_about_nodes(&self) -> bool {
        matches!(self.check, Check::Node(_))
    }

    /// Calls a rule about models.
    pub(crate) fn check_model(&self, cx: &mut Cx<'_>) {
        if let Check::Model(check) = &self.check {
            check(&mut RuleCx { rule: self.rule, cx });
        }
    }

    /// Calls a rule about nodes.
    pub(crate) fn check_node(&self, cx: &mut Cx<'_>, node: NodeId) {
        if let Check::Node(check) = &self.check {
            check(&mut RuleCx { rule: self.rule, cx }, node);
        }
    }
}

impl fmt::Debug for CustomRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CustomRule").field(&self.rule.slug).finish()
    }
}

/// The model that a [`CustomRule`] checks, and where it reports.
pub struct RuleCx<'r, 'a> {
    rule: &'static Rule,
    cx: &'r mut Cx<'a>,
}

impl<'a> RuleCx<'_, 'a> {
    /// The model.
    #[must_use]
    pub const fn model(&self) -> &'a Model {
        self.cx.model
    }

    /// The operators that are known.
    #[must_use]
    pub const fn registry(&self) -> &'a Registry {
        &self.cx.options.registry
    }

    /// Reports a node.
    pub fn report_node(&mut self, node: NodeId, message: impl Into<String>) {
        self.report(|places| places.node(node), message, |found| found);
    }

    /// Reports a defect at a locus; `detail` adds help, notes and labels. Neither function is called if the diagnostic is
    /// only counted, because enough of the rule are kept.
    pub fn report(
        &mut self,
        locus: impl FnOnce(&Places<'a>) -> Locus,
        message: impl Into<String>,
        detail: impl FnOnce(Diagnostic) -> Diagnostic,
    ) {
        let rule = self.rule;
        let is_beyond = rule.reference == onnx_diag::Reference::NotEnforced;
        self.cx.report(rule, |places| {
            detail(Diagnostic::new(rule, locus(places), message)).beyond_reference(is_beyond)
        });
    }
}
