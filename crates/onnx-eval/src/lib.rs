//! Evaluation of ONNX operators and models.
//!
//! # Running a model
//!
//! An [`Evaluator`] is made of a model once and runs any number of times. [`Value`]s go in by the names of the inputs of the
//! main graph, and come out in the order of its outputs:
//!
//! ```
//! use onnx_eval::{Evaluator, EvalOptions, Value};
//! use onnx_types::tensor::{NoData, Tensor};
//!
//! let text = r#"<ir_version: 10, opset_import: ["": 20]>
//! g (float[N] x, float[N] y) => (float[N] z) {
//!    s = Add (x, y)
//!    z = Relu (s)
//! }"#;
//! let model = onnx_text::parse_model(text, &onnx_text::ParseOptions::default())?;
//! let evaluator = Evaluator::new(&model, &EvalOptions::default())?;
//! let x = Tensor::vector(&[1.0_f32, -2.0]);
//! let y = Tensor::vector(&[0.5_f32, 0.5]);
//! let outputs = evaluator.run(&[("x", Value::from(x)), ("y", Value::from(y))])?;
//! let z = outputs[0].tensor().expect("z is a tensor");
//! assert_eq!(z.to_vec::<f32>(&NoData)?, [1.5, 0.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`run_node`] runs a single node on given values, [`NodeEvaluator`] runs one many times, and [`constant`] computes a value that is
//! the same in every run. [`Liveness`] states when a value is not needed any more.
//!
//! # Numbers
//!
//! Integers wrap. Floats narrower than 32 bits are computed in 32 bits and rounded once, to nearest even. Sums have a fixed
//! order. So a result is a function of the inputs only. Where the specification leaves a result open, the documentation of the operator's module
//! states the choice.
//!
//! # Failures
//!
//! A [`Failure`] has a kind ([`FailureKind`]), and is a diagnostic with the locus of the node, the types of its operands and
//! the reason. The kinds are distinct: invalid inputs, an operator that is not defined for its operands, a missing kernel,
//! an invalid model, unreadable weights, a limit, a cancelled run.
//!
//! # Limits
//!
//! [`Limits`] bound the elements of a tensor, the bytes of all values, the work, and the nesting of active
//! graphs. A value is dropped after its last use; weights are used in place.
//!
//! # Modes for proofs
//!
//! [`Precision::Double`] evaluates a model in 64 bits throughout, [`Perturbation`] changes results that the standard leaves
//! open. `docs/running-models.md` describes both.
//!
//! # Custom operators
//!
//! A kernel is a function of a [`Cx`]: it reads operands and attributes and sets outputs. [`EvalPack::with_kernel`] adds one for
//! an operator that ONNX does not define; the standard operators are written against the same interface. An attribute has its
//! declared default where a node does not give it:
//!
//! ```
//! use onnx_eval::{EvalOptions, EvalPack, Evaluator, Value};
//! use onnx_schema::{DeclaredDefault, OperatorSet, Pack, Registry, declare};
//! use onnx_types::tensor::{NoData, Tensor};
//!
//! let mut set = OperatorSet::new("com.acme", 1);
//! let gain = declare("Gain", 1).input("x", "tensor(float)").output("y", "tensor(float)");
//! set.add(gain.attribute_with_default("factor", DeclaredDefault::Float(3.0)))?;
//! let pack = Pack::new().with_set(set).with_kernel("com.acme", "Gain", |cx| {
//!     let factor = cx.float_or("factor", 1.0)?;
//!     let x = cx.tensor(0)?;
//!     let scaled: Vec<f32> = cx.read::<f32>(&x)?.iter().map(|x| x * factor).collect();
//!     cx.put(0, x.elem, &x.dims, scaled)
//! });
//! let registry = Registry::standard().with(pack)?;
//!
//! let text = r#"<ir_version: 10, opset_import: ["com.acme": 1]> g (float[N] x) => (y, z) {
//!    y = com.acme.Gain (x)
//!    z = com.acme.Gain <factor = 0.5> (x)
//! }"#;
//! let model = onnx_text::parse_model(text, &onnx_text::ParseOptions::default())?;
//! let evaluator = Evaluator::new(&model, &EvalOptions::default().with_registry(&registry))?;
//! let outputs = evaluator.run(&[("x", Value::from(Tensor::vector(&[2.0_f32])))])?;
//! let numbers = |index: usize| outputs[index].tensor().expect("a tensor").to_vec::<f32>(&NoData);
//! assert_eq!((numbers(0)?, numbers(1)?), (vec![6.0], vec![1.0]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `docs/add-an-operator.md` explains one.
//!
//! # What this crate is not for
//!
//! The crate does not infer types, checks only what the evaluation of a model requires, and does not read files. It
//! favors correct results over speed: it does not replace a runtime.
#![forbid(unsafe_code)]
#![allow(
    clippy::clone_on_copy,
    clippy::absurd_extreme_comparisons,
    reason = "a body in `by_unit!` or `by_number!` serves types that are `Copy` or unsigned and types that are not"
)]

/// The code in the guide is compiled and run with the other doc tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/running-models.md")]
struct RunningModels;

mod budget;
pub mod compare;
mod constant;
pub mod contrib;
mod cx;
mod declared;
mod engine;
mod family;
pub mod fault;
pub mod generate;
mod interrupt_poll;
mod liveness;
mod not_finite;
mod number;
mod observer;
mod ops;
mod options;
mod random;
mod registry;
mod statistics;
mod threads;
mod value;

pub use constant::{NotConstant, constant};
pub use cx::{Cx, Dims, Operand, Outcome, Stop};
pub use declared::{RunTypes, contradiction};
pub use engine::{Evaluator, NodeEvaluator, run_node};
pub use family::Axes;
pub use fault::{Failure, FailureKind};
pub use liveness::Liveness;
pub use not_finite::first_not_finite;
pub use number::{Elems, Float, Number, Unit};
pub use observer::{NodeRun, Observer};
pub use onnx_types::Limits;
pub use options::{EvalOptions, Perturbation, Precision, ZeroOrder};
pub use random::SplitMix64;
pub use registry::{
    CustomKernel, EvalPack, KernelFn, has_custom_kernel, has_kernel, has_open_rounding, uncovered,
};
pub use statistics::{Extremum, HISTOGRAM_BINS, Histogram, Statistics};
pub use value::{MapKey, Value};
