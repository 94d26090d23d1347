//! The pipeline that makes a model smaller without changing what it computes.

use onnx_pass::{OpposedPasses, Pass, Pipeline, UnknownPass};
use onnx_schema::Registry;

use crate::rule_set::RuleSet;

/// The name of the pass that applies the rules.
pub const RULES_PASS: &str = "rewrite-rules";

/// The name of the pass that replaces several nodes by one operator.
pub const FUSIONS_PASS: &str = "fusions";

/// The passes that prepare the model.
const FIRST: &[&str] = &["sorted", "constants-as-initializers", "no-dead-nodes"];

/// The passes that make constants of what fusions need to know.
const KNOWN: &[&str] = &["known-elements", "folded-constants"];

/// The passes that are repeated to a fixed point: elements that are known, constants, nodes without effect and equal
/// nodes.
const REPEATED: &[&str] = &[
    "no-identities",
    "no-zero-states",
    "known-elements",
    "folded-constants",
    "no-known-branches",
    // The branch of an `If` with a known condition can contain constants.
    "constants-as-initializers",
    "unique-constants",
    "unique-subexpressions",
];

/// The passes that remove what is not used any more.
const LAST: &[&str] =
    &["no-dead-nodes", "no-unused-outputs", "no-unused-initializers", "no-unused-functions"];

/// The reason why the passes of a registry cannot simplify.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SimplificationError {
    /// A pass requires one that does not exist.
    #[error(transparent)]
    Unknown(#[from] UnknownPass),
    /// A pass undoes what another one does.
    #[error(transparent)]
    Opposed(#[from] OpposedPasses),
}

/// A pipeline of common passes, the given rules and constant folding: a phase that prepares the model, then a phase
/// that is repeated to a fixed point, then a phase that removes what is not used any more.
///
/// ```
/// use onnx_pass::PassOptions;
/// use onnx_rewrite::{RuleSet, simplification};
/// use onnx_schema::Registry;
/// use onnx_text::{ParseOptions, parse_model};
///
/// let text = r#"<ir_version: 10, opset_import: ["": 20]>
/// g (float[N,3] x) => (float[N,3] y) {
///    s = Shape (x)
///    r = Reshape (x, s)
///    a = Transpose (r)
///    y = Transpose (a)
/// }"#;
/// let mut model = parse_model(text, &ParseOptions::default())?;
/// simplification(RuleSet::standard()?, Registry::STANDARD)?.run(&mut model, &PassOptions::default());
/// // An output that equals an input needs a node.
/// assert_eq!(model.node_count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns an error if a pack of the registry has replaced a pass by one that requires an unknown pass, or
/// that undoes what another one does.
pub fn simplification(rules: RuleSet, registry: &Registry) -> Result<Pipeline, SimplificationError> {
    simplified(Vec::new(), rules, registry)
}

/// The pipeline with passes between the preparation and the rules.
fn simplified(
    early: Vec<Pass>,
    rules: RuleSet,
    registry: &Registry,
) -> Result<Pipeline, SimplificationError> {
    let mut repeated = named(REPEATED, registry)?;
    repeated.push(rules.pass(RULES_PASS));
    repeated.extend(named(&["no-dead-nodes"], registry)?);
    let prepared = Pipeline::new().then(named(FIRST, registry)?).then(early);
    Ok(prepared.then_repeat(repeated)?.then(named(LAST, registry)?))
}

/// Like [`simplification`], with `fusions` before the rules, which would change what some of them match, and in a phase that follows:
/// patterns match simplified models and need no variants for others.
///
/// ```
/// use onnx_pass::PassOptions;
/// use onnx_rewrite::{RuleSet, fused_simplification};
/// use onnx_schema::Registry;
/// use onnx_text::{ParseOptions, parse_model};
///
/// let text = r#"<ir_version: 10, opset_import: ["": 20]>
/// g (float[N,3] x) => (float[N,3] y)
///    <float r = {1.4142135}, float one = {1.0}, float half = {0.5}> {
///    d = Div (x, r)
///    e = Erf (d)
///    s = Add (e, one)
///    p = Mul (x, s)
///    y = Mul (p, half)
/// }"#;
/// let mut model = parse_model(text, &ParseOptions::default())?;
/// let pipeline = fused_simplification(RuleSet::standard()?, RuleSet::fusions()?, Registry::STANDARD)?;
/// pipeline.run(&mut model, &PassOptions::default());
/// let first = model.graph(model.main_graph()).first().unwrap();
/// assert_eq!((model.node_count(), model.str(model.node(first).op())), (1, "Gelu"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// See [`simplification`].
pub fn fused_simplification(
    rules: RuleSet,
    fusions: RuleSet,
    registry: &Registry,
) -> Result<Pipeline, SimplificationError> {
    let mut early = named(KNOWN, registry)?;
    early.push(fusions.clone().pass(FUSIONS_PASS));
    let mut repeated = vec![fusions.pass(FUSIONS_PASS)];
    repeated.extend(named(&["unique-constants", "unique-subexpressions", "no-dead-nodes"], registry)?);
    Ok(simplified(early, rules, registry)?.then_repeat(repeated)?.then(named(LAST, registry)?))
}

/// Passes by their names.
fn named(names: &[&str], registry: &Registry) -> Result<Vec<Pass>, UnknownPass> {
    Ok(Pipeline::named(names, registry)?.passes().cloned().collect())
}
