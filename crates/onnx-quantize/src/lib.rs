//! Other number formats for ONNX models.
//!
//! # Half precision
//!
//! [`narrow`] changes `float` to `float16` or `bfloat16`. Where it may is a question of types, so it is answered by the facts about
//! the operators: a type variable of a node can become narrow if its constraint, in the version that the model imports, allows the
//! narrow type. No list of operators is involved.
//!
//! ```
//! use onnx_quantize::{Half, NarrowOptions, narrow};
//! use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};
//!
//! let text = r#"<ir_version: 10, opset_import: ["": 20]>
//! g (float[1,3,8,8] x) => (float[1,3,16,16] y) <float[4] scales = {1, 1, 2, 2}> {
//!    a = Relu (x)
//!    y = Resize (a, , scales)
//! }"#;
//! let mut model = parse_model(text, &ParseOptions::default())?;
//! let done = narrow(&mut model, Half::Float16, &NarrowOptions::default().with_keep_io(true))?;
//! assert_eq!((done.nodes, done.casts), (2, 2));
//! // The scales are `float` in every version of the operator.
//! let scales = model.initializers(model.main_graph()).next().unwrap();
//! assert_eq!(model.constant_tensor(scales).unwrap().elem(), onnx_types::ElemType::Float);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! All that is of one type for a reason is one *slot*: the operands of a type variable, what a loop carries, the arguments of all
//! calls of a function. What computes and may be narrow is narrow; what may not is wide. Slots that only move elements are free, and a
//! minimum cut chooses the types with which there are the fewest casts. One cast of a value serves all its users.
//!
//! [`widen`] is the conversion back, by the same rules.
//!
//! # Quantized weights
//!
//! [`quantize_weights`] stores weights as integers or small floats, with a scale for a tensor, a channel or a block, and puts a
//! `DequantizeLinear` in front of what uses them. [`dequantize`] makes floats of them again. [`retype`] changes the type of an input or output.
//!
//! # Quantized activations
//!
//! [`calibrate`] runs a model on [`Samples`] and finds [`Ranges`] of its values; [`quantize_static`] puts pairs of `QuantizeLinear` and
//! `DequantizeLinear` around what a runtime computes with quantized numbers, by a table of the runtime
//! ([`Quantization`](onnx_compose::Quantization)). [`use_operators`] makes operators that take quantized numbers of such pairs,
//! [`quantize_dynamic`] needs no calibration, and [`quantize_blocks`] makes products with blocks of 4 or 8 bits.
//!
//! # Error
//!
//! An edit that changes number formats is *approximate*: it preserves nothing that could be proved. [`measure`] runs both models and
//! tells how far their outputs are apart, and [`losses`] what rounding does to each value. [`quantize_calibrated`] is calibration,
//! quantization and measurement in one step.
#![forbid(unsafe_code)]

mod activations;
mod budget;
mod edits;
mod forms;
mod measure;
mod narrow;
mod registry;
mod report;
mod retype;
mod samples;
mod types;
mod unquantized;
mod weights;

pub use activations::{
    Budget, CalibrateError, Calibrated, CalibratedError, Calibration, Correction, Method, QuantizedValue,
    Ranges, RangesError, StaticOptions, StaticReport, StayReason, activation_in_range, calibrate, losses,
    quantize_calibrated, quantize_static,
};
pub use forms::{
    BlockOptions, DynamicOptions, DynamicReport, OperatorForm, quantize_blocks, quantize_dynamic,
    use_operators,
};
pub use measure::{MeasureOptions, MeasuredOutput, measure, measure_on};
pub use narrow::{
    Half, NarrowError, NarrowOptions, Narrowed, NotTaken, RoundedTensor, RoundingLosses, WideNode,
    WideReason, narrow, widen,
};
pub use registry::with_onnxruntime;
pub use report::{Effect, weight_bytes};
pub use retype::{RetypeError, retype};
pub use samples::{GeneratedInput, GeneratedSamples, Samples};
pub use unquantized::{Unquantized, unquantized};
pub use weights::{
    DequantizeError, DequantizeOptions, Dequantized, Granularity, NoScale, QuantizeError, QuantizedWeight,
    WeightOptions, WeightReport, dequantize, is_quantized_type, quantize_weights,
};
