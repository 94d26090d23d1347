//! The argument `--set` of runs.

use onnx_ir::Model;
use onnx_shape_infer::InputSizeError;
use onnx_types::Symbol;

use crate::dimensions;
use crate::exit::Failure;
use crate::output::shown;

/// A size that the user sets: `N=4` or `x[0]=4`.
pub(crate) type Set = (String, i64);

/// Sizes that are not chosen.
#[derive(Clone, Copy)]
pub(crate) struct Sized<'a> {
    /// Those that the user sets.
    pub(crate) set: &'a [Set],
    /// Those that another model declares, for dimensions that the user does not set.
    pub(crate) declared: &'a [(Symbol, i64)],
}

/// Reads a list of `DIM=N`.
pub(crate) fn parse(text: &str) -> Result<Vec<Set>, Failure> {
    dimensions::parse(text, dimensions::number, "N")
}

/// A size that cannot be set, with what the user can do.
pub(crate) fn failure(model: &Model, error: &InputSizeError) -> Failure {
    match error {
        InputSizeError::Conflict { dim, first, second } => {
            let dim = shown(dim);
            Failure::new(format_args!("`{dim}` cannot be both {first} and {second}"))
                .help(format!("set it once: `--set {dim}={first}`, or leave it to the given inputs"))
        }
        InputSizeError::NotVariable { dim, size } => {
            Failure::new(format_args!("`{}` is {} in this model", shown(dim), shown(size)))
                .help("only variables have a size that can be set: leave it away")
        }
        InputSizeError::NoAxis { dim, input, rank } => {
            Failure::new(format_args!("axis `{}` does not exist", shown(dim)))
                .help(format!("`{}` has {rank} axes with known sizes or variables", shown(input)))
        }
        InputSizeError::UnknownVariable { dim, known } => {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            dimensions::unknown(model, dim, &known)
        }
        other => Failure::new(format_args!("{other}")),
    }
}
