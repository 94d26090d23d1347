//! The suites, one file each.

pub mod backend;
pub mod bodies;
pub mod check;
mod compat;
pub mod compose;
pub mod contrib;
pub mod convert;
pub mod eval;
pub mod execution;
pub mod expand;
pub mod infer;
pub mod inline;
pub mod models;
mod models_convert;
mod models_eval;
mod models_simplify;
mod observed;
pub mod passes;
pub mod quantize;
mod real_models;
pub mod roundtrip;
mod runtime;
pub mod simplify;
pub mod smith;
pub mod text;
mod values;

use super::runner::Suite;

/// All suites.
///
/// # Errors
///
/// When a suite cannot be prepared.
pub fn all() -> Result<Vec<Box<dyn Suite>>, String> {
    Ok(vec![
        Box::new(roundtrip::RoundTrip::new()?),
        Box::new(text::TextSuite::new()?),
        Box::new(check::CheckSuite::default()),
        Box::new(infer::InferSuite::default()),
        Box::new(models::ModelsSuite::default()),
        Box::new(execution::ExecutionSuite::default()),
        Box::new(contrib::ContribSuite::default()),
        Box::new(backend::BackendSuite::default()),
        Box::new(bodies::BodiesSuite::default()),
        Box::new(inline::InlineSuite::default()),
        Box::new(convert::ConvertSuite::default()),
        Box::new(compose::ComposeSuite::default()),
        Box::new(passes::PassesSuite::default()),
        Box::new(simplify::SimplifySuite::default()),
        Box::new(expand::ExpandSuite::default()),
        Box::new(smith::SmithSuite::default()),
        Box::new(eval::EvalSuite::new()?),
        Box::new(quantize::QuantizeSuite::new()?),
        Box::new(models_eval::ModelsEval::default()),
        Box::new(models_simplify::ModelsSimplify::default()),
        Box::new(models_convert::ModelsConvert::default()),
        Box::new(runtime::Runtime::default()),
    ])
}
