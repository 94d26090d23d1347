//! Functions in other versions, for inlining.

use onnx_functions::FunctionReason;
use onnx_ir::{FunctionId, Model};
use onnx_types::Symbol;

use crate::convert::{ConvertOptions, convert_function};

/// Converts functions that import other versions than the graphs into which they are inlined.
#[derive(Clone, Debug, Default)]
pub struct ConvertFunctions<'a> {
    options: ConvertOptions<'a>,
}

impl<'a> ConvertFunctions<'a> {
    /// Conversion with the options, whose domain is not used.
    #[must_use]
    pub const fn new(options: ConvertOptions<'a>) -> Self {
        Self { options }
    }
}

impl onnx_functions::Convert for ConvertFunctions<'_> {
    fn convert(
        &self,
        model: &mut Model,
        function: FunctionId,
        domain: Symbol,
        version: i64,
    ) -> Result<(), FunctionReason> {
        let options = self.options.clone().with_domain(domain);
        convert_function(model, function, version, &options)
            .map_err(|error| FunctionReason::new(error.to_string()))
    }
}
