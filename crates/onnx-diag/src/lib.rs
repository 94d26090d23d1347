//! Rules, diagnostics and places in an ONNX model, with text, JSON and SARIF renderers.
#![forbid(unsafe_code)]

mod diagnostic;
mod escape;
mod locus;
pub mod render;
mod rule;
mod sink;

pub use diagnostic::{Diagnostic, Label};
pub use escape::{Clean, Name, Quoted};
pub use locus::{Locus, Position, Step};
pub use rule::{Reference, Rule, RuleId, Severity, find_rule};
pub use sink::{Caps, Counts, Policy, Reported, RuleCount, Sink};
