//! Kernels of operators that onnxruntime adds to those of ONNX, domain `com.microsoft`: fused, quantized and approximated forms
//! of standard operators, as optimizers and quantizers of models write them.
//!
//! [`pack`] has the kernels. Their paths are those of the inference rules of `onnx-shape-infer`. Floats are computed in
//! `double` where a form fuses several operators, and rounded once; onnxruntime rounds after each of them. Operators whose
//! operands have a layout of the processor (`com.microsoft.nchwc`) and those with a cache have no kernel.

mod activation;
mod attention;
mod attributes;
mod elementwise;
mod linear;
mod nn;
mod quant;

use onnx_schema::Pack;
use onnx_schema::onnxruntime::RuntimeOp;

use crate::registry::{EvalPack as _, KernelFn};

/// The kernel of an operator at all its versions.
type Row = (RuntimeOp, KernelFn);

const GROUPS: &[&[Row]] = &[
    attention::multi_head::KERNELS,
    elementwise::KERNELS,
    linear::block_quantized::KERNELS,
    linear::product::KERNELS,
    nn::convolution::KERNELS,
    nn::normalization::KERNELS,
    nn::pool::KERNELS,
    quant::elementwise::KERNELS,
    quant::linear::KERNELS,
];

/// The kernels of operators that onnxruntime adds to those of ONNX. An operator of ONNX and a function of the model precede one
/// of the same name.
///
/// ```
/// use onnx_eval::{EvalOptions, Evaluator, Value, contrib};
/// use onnx_schema::Registry;
/// use onnx_types::tensor::{NoData, Tensor};
///
/// let text = r#"<ir_version: 10, opset_import: ["": 20, "com.microsoft": 1]>
/// g (float[2] x) => (float[2] y) { y = com.microsoft.QuickGelu <alpha = 0.0> (x) }"#;
/// let model = onnx_text::parse_model(text, &onnx_text::ParseOptions::default())?;
/// let registry = Registry::standard().with(contrib::pack())?;
/// let evaluator = Evaluator::new(&model, &EvalOptions::default().with_registry(&registry))?;
/// let outputs = evaluator.run(&[("x", Value::from(Tensor::vector(&[1.0_f32, -2.0])))])?;
/// assert_eq!(outputs[0].tensor().expect("y is a tensor").to_vec::<f32>(&NoData)?, [0.5, -1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn pack() -> Pack {
    let rows = GROUPS.iter().copied().flatten();
    rows.fold(Pack::new(), |pack, &(op, kernel)| match op.schemas().first() {
        Some(schema) => pack.with_kernel(schema.domain(), schema.name(), kernel),
        None => pack,
    })
}
