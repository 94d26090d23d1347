//! Read, check, run, prove, edit and write ONNX models.
//!
//! This crate re-exports the crates of the toolkit as modules. Authors of libraries depend on the single crates that they
//! need; the modules have the same contents.
//!
//! | task | module | crate |
//! |---|---|---|
//! | read and write files, external weights | [`codec`] | `onnx-codec` |
//! | read and write the ONNX text syntax | [`text`] | `onnx-text` |
//! | the text format and JSON form of protobuf | `formats` (feature) | `onnx-formats` |
//! | inspect and edit the graph | [`ir`] | `onnx-ir` |
//! | typed views and builders of operators | [`ops`] | `onnx-ops` |
//! | find defects | [`check`] | `onnx-check` |
//! | infer types, shapes and sizes | [`infer`] | `onnx-shape-infer` |
//! | run models and nodes | [`eval`] | `onnx-eval` |
//! | inline and outline functions | [`functions`] | `onnx-functions` |
//! | passes whose edits are proved | [`pass`] | `onnx-pass` |
//! | rewrite rules | [`rewrite`] | `onnx-rewrite` |
//! | convert between versions of operator sets | [`version`] | `onnx-version` |
//! | extract, merge, split, edit and reduce models | [`compose`] | `onnx-compose` |
//! | compare models, and their hashes | [`compose`] | `onnx-diff` |
//! | select nodes and values | [`compose`] | `onnx-select` |
//! | count operations and memory | [`compose::cost`] | `onnx-cost` |
//! | list, replace and strip weights | [`compose::weights`] | `onnx-weights` |
//! | half precision and quantized weights | [`quantize`] | `onnx-quantize` |
//! | generate valid models | `smith` (feature) | `onnx-smith` |
//! | element types, shapes, tensors, limits | [`types`] | `onnx-types` |
//! | facts about operators | [`schema`] | `onnx-schema` |
//! | diagnostics and their renderers | [`diag`] | `onnx-diag` |
//! | messages and the wire format | [`proto`] | `onnx-proto` |
//!
//! # Load, inspect, write
//!
//! A [`Model`](ir::Model) owns its nodes, values and graphs, which keys refer to. Tensors share the memory of the file, and
//! external weights stay in their files: what reads weights takes [`Loaded::data`](codec::Loaded::data).
//!
//! ```
//! use onnxkit::codec::{DecodeOptions, EncodeOptions, ReadMode, WriteOptions, load, save};
//! use onnxkit::schema::Registry;
//!
//! # let folder = tempfile::tempdir()?;
//! # let (input, output) = (folder.path().join("in.onnx"), folder.path().join("out.onnx"));
//! # std::fs::write(&input, b"\x08\x0a\x3a\x03\x12\x01g")?;
//! let loaded = load(&input, ReadMode::Memory, &DecodeOptions::default())?;
//! let model = &loaded.model;
//! for node in model.nodes_in(model.main_graph()) {
//!     let op = model.str(model.node(node).op());
//!     match model.callee(node, Registry::STANDARD).schema() {
//!         Some(schema) => println!("{schema}"), // `Conv-22`: the operator since version 22
//!         None => println!("{op}, a function or a custom operator"),
//!     }
//! }
//! save(&output, &loaded.model, &[], &EncodeOptions::default(), &WriteOptions::default())?;
//! # assert_eq!(std::fs::read(input)?, std::fs::read(output)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Check
//!
//! The checker reports every defect with its locus and a suggested fix. The running example of this page is a model as text:
//!
//! ```
//! use onnxkit::{check, text};
//!
//! let source = r#"<ir_version: 10, opset_import: ["": 20]>
//! g (float[batch,4] x) => (float[batch,2,2] y) {
//!    s = Constant <value_ints = [-1, 2, 2]> ()
//!    r = Reshape (x, s)
//!    y = Identity (r)
//! }"#;
//! let model = text::parse_model(source, &text::ParseOptions::default())?;
//! assert!(check::check(&model, &check::CheckOptions::default()).diagnostics().is_empty());
//! # Ok::<(), text::ParseError>(())
//! ```
//!
//! # Infer shapes
//!
//! Sizes are expressions of the dimension variables of the model:
//!
//! ```
//! # use onnxkit::text;
//! use onnxkit::infer;
//!
//! # let source = r#"<ir_version: 10, opset_import: ["": 20]>
//! # g (float[batch,4] x) => (float[batch,2,2] y) {
//! #    s = Constant <value_ints = [-1, 2, 2]> ()
//! #    r = Reshape (x, s)
//! #    y = Identity (r)
//! # }"#;
//! # let model = text::parse_model(source, &text::ParseOptions::default())?;
//! let inference = infer::infer(&model, &infer::InferOptions::default());
//! let y = model.graph(model.main_graph()).outputs()[0].value();
//! let shape = inference.shape(y).expect("the rank is known");
//! assert_eq!(inference.display(&model, shape[0]).to_string(), "batch");
//! # Ok::<(), text::ParseError>(())
//! ```
//!
//! # Run
//!
//! The evaluator computes what the specification defines:
//!
//! ```
//! # use onnxkit::text;
//! use onnxkit::eval::{Evaluator, EvalOptions, Value};
//! use onnxkit::types::tensor::{NoData, Tensor};
//!
//! # let source = r#"<ir_version: 10, opset_import: ["": 20]>
//! # g (float[batch,4] x) => (float[batch,2,2] y) {
//! #    s = Constant <value_ints = [-1, 2, 2]> ()
//! #    r = Reshape (x, s)
//! #    y = Identity (r)
//! # }"#;
//! # let model = text::parse_model(source, &text::ParseOptions::default())?;
//! let evaluator = Evaluator::new(&model, &EvalOptions::default())?;
//! let x = Tensor::from_slice([1, 4], &[1.0_f32, 2.0, 3.0, 4.0])?;
//! let outputs = evaluator.run(&[("x", Value::from(x))])?;
//! let y = outputs[0].tensor().expect("y is a tensor");
//! assert_eq!(y.to_vec::<f32>(&NoData)?, [1.0, 2.0, 3.0, 4.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Edit
//!
//! A pass edits the model by patches. A patch is committed if it is proved, or tested, not to change what the model computes:
//!
//! ```
//! # use onnxkit::text;
//! use onnxkit::ir::Cursor;
//! use onnxkit::ops::{Operator, ops};
//! use onnxkit::pass::{Exactness, PassCx, PassOptions};
//!
//! # let source = r#"<ir_version: 10, opset_import: ["": 20]>
//! # g (float[batch,4] x) => (float[batch,2,2] y) {
//! #    s = Constant <value_ints = [-1, 2, 2]> ()
//! #    r = Reshape (x, s)
//! #    y = Identity (r)
//! # }"#;
//! # let mut model = text::parse_model(source, &text::ParseOptions::default())?;
//! let mut cx = PassCx::new(&mut model, PassOptions::default());
//! let mut cursor = Cursor::all(cx.model());
//! while let Some(node) = cursor.next(cx.model()) {
//!     let Some(identity) = ops::Identity::of(cx.model(), node) else { continue };
//!     let (Some(from), Some(to)) = (identity.input(), identity.out_output()) else { continue };
//!     let mut patch = cx.patch("remove-identity", Exactness::Exact);
//!     patch.source(node);
//!     patch.tap(from);
//!     patch.replace(to, from);
//!     patch.commit()?;
//! }
//! drop(cx);
//! assert_eq!(model.node_count(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Services
//!
//! A model is `Send + Sync`, like every result and every set of options. Limits, a deadline or another reason to stop,
//! progress and the seed are an [`Execution`](types::Execution), which every operation accepts; work that is stopped has no
//! result. No input causes a panic or cost beyond the [`Limits`](types::Limits).
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `mmap` | yes | files are mapped with [`ReadMode::Map`](codec::ReadMode); without it, they are copied |
//! | `formats` | no | module `formats`, and `load_any` and `decode_any`, which read a model in any format |
//! | `petgraph` | no | `ir::Model::petgraph` |
//! | `smith` | no | module `smith` |
//!
//! All libraries compile for `wasm32-unknown-unknown`.
#![forbid(unsafe_code)]

#[cfg(feature = "formats")]
mod load;

/// Operations on whole models: the contents of `onnx-compose`, `onnx-diff` and `onnx-select`, with costs and weights as modules.
pub mod compose {
    pub use onnx_compose::*;
    pub use onnx_cost as cost;
    pub use onnx_diff::*;
    pub use onnx_select::*;
    pub use onnx_weights as weights;
    pub use onnx_weights::safetensors;
}

#[cfg(feature = "formats")]
pub use load::{LoadAnyError, decode_any, load_any};
pub use onnx_check as check;
pub use onnx_codec as codec;
pub use onnx_diag as diag;
pub use onnx_eval as eval;
#[cfg(feature = "formats")]
pub use onnx_formats as formats;
pub use onnx_functions as functions;
pub use onnx_ir as ir;
pub use onnx_ops as ops;
pub use onnx_pass as pass;
pub use onnx_proto as proto;
pub use onnx_quantize as quantize;
pub use onnx_rewrite as rewrite;
pub use onnx_schema as schema;
pub use onnx_shape_infer as infer;
#[cfg(feature = "smith")]
pub use onnx_smith as smith;
pub use onnx_text as text;
pub use onnx_types as types;
pub use onnx_version as version;
