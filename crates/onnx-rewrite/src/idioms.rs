//! Idioms of runtimes, as patterns in the language of rules.

use onnx_ir::{Model, NodeId, User};
use onnx_pass::{Idiom, Idioms};
use onnx_shape_infer::Inference;
use onnx_types::Interrupt;
use onnx_types::tensor::DataSource;

use crate::check;
use crate::effective::Source;
use crate::fault::RuleFileError;
use crate::matching::RuleMatch;
use crate::parse::parse_idioms;
use crate::rule_set::RuleSet;

/// The patterns that a runtime executes as one kernel, which simplification keeps whole.
///
/// The name of an idiom is that of the kernel; several forms can have one name. A form is the left side of a rule, and
/// `where const(x)` states that an operand is constant.
///
/// ```
/// use onnx_pass::{PassCx, PassOptions};
/// use onnx_rewrite::{IdiomSet, RuleSet};
/// use onnx_text::{ParseOptions, parse_model};
///
/// let idioms = IdiomSet::parse("acme", "idiom Silu from (x) => (y) { y = Mul (x, Sigmoid (x)) }")?;
/// let text = r#"<ir_version: 10, opset_import: ["": 20]>
/// g (float[N] x) => (float[N] z) <float one = {1.0}> { s = Sigmoid (x) y = Mul (x, s) z = Mul (y, one) }"#;
/// let mut model = parse_model(text, &ParseOptions::default())?;
/// let options = PassOptions::default().with_idioms(Some(&idioms as &dyn onnx_pass::Idioms));
/// let report = RuleSet::standard()?.apply(&mut PassCx::new(&mut model, options));
/// // The factor after the idiom is not a part of it.
/// assert_eq!((report.edits, model.node_count()), (1, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct IdiomSet {
    runtime: String,
    patterns: RuleSet,
}

impl IdiomSet {
    /// Reads the idioms of a runtime.
    ///
    /// # Errors
    ///
    /// Returns the mistakes, each with its line and column.
    pub fn parse(runtime: impl Into<String>, text: &str) -> Result<Self, RuleFileError> {
        let idioms = parse_idioms(text)?;
        let mistakes: Vec<_> = idioms.iter().flat_map(check::mistakes_of_idiom).collect();
        if !mistakes.is_empty() {
            return Err(RuleFileError::new(text, mistakes));
        }
        Ok(Self { runtime: runtime.into(), patterns: RuleSet::of(idioms) })
    }

    /// The idioms of onnxruntime, [`ONNXRUNTIME_IDIOMS`](crate::ONNXRUNTIME_IDIOMS).
    ///
    /// # Errors
    ///
    /// Returns the mistakes of that text: a defect of this crate.
    pub fn onnxruntime() -> Result<Self, RuleFileError> {
        Self::parse("onnxruntime", crate::ONNXRUNTIME_IDIOMS)
    }

    /// The names of the kernels, one for each form.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        self.patterns.rules().map(crate::Rule::name)
    }
}

impl Idioms for IdiomSet {
    fn runtime(&self) -> &str {
        &self.runtime
    }

    fn find(
        &self,
        model: &Model,
        inference: &Inference,
        data: &dyn DataSource,
        interrupt: &Interrupt,
    ) -> Vec<Idiom> {
        let source = Source { model, inference: Some(inference), data };
        let found = self.patterns.matches(source, interrupt.clone());
        let whole = found.filter(|(_, found)| is_closed(model, found));
        whole.map(|(rule, found)| Idiom::new(rule.name(), found.nodes().collect())).collect()
    }
}

/// Returns `true` if no value inside an occurrence is used elsewhere: a runtime replaces its nodes only then.
fn is_closed(model: &Model, found: &RuleMatch) -> bool {
    let nodes: Vec<NodeId> = found.nodes().collect();
    if nodes.iter().enumerate().any(|(index, node)| nodes.iter().take(index).any(|other| other == node)) {
        // A form that computes a value twice; another form computes it once.
        return false;
    }
    // Operands come before their users, so the last node makes the result.
    let Some((_, inner)) = nodes.split_last() else { return false };
    let is_inside = |user: User| matches!(user, User::Node(user) if nodes.contains(&user));
    inner
        .iter()
        .flat_map(|&node| model.node(node).outputs().iter().flatten())
        .all(|&value| model.value(value).uses().iter().all(|at| is_inside(at.user)))
}
