//! Edits of ONNX models that come with a proof.
//!
//! # Semantic preservation
//!
//! An edit is correct if, for every input on which the old model runs to completion, the new model also does and returns
//! equal outputs. If the old model fails, the new one may do anything. *Equal* is one of two classes ([`Exactness`]): equal
//! bit for bit under every admissible implementation, or equal in real arithmetic.
//!
//! # Patches
//!
//! A pass edits the model through a [`PassCx`]. Each edit is a [`Patch`]: new nodes, which are built in the model next to
//! those that they replace, and pairs of an old value and a new one. Nothing uses the new nodes until [`Patch::commit`] has
//! proved the edit. A refused or dropped patch leaves the model as it was.
//!
//! A pass obtains all facts about the model by queries of the patch: [`Patch::shape`], [`Patch::content`],
//! [`Patch::constant`], [`Patch::proved_eq`]. The answers are recorded as the assumptions of the edit. If the fact is not
//! known, a [`Reason`] states why.
//!
//! [`PassCx::rewrite`] tries an edit at each node of an operator, and a [`Pattern`] matches a computation that is written in
//! the text syntax. The guide `docs/write-a-pass.md` says which method is for which edit.
//!
//! ```
//! use onnx_ir::Cursor;
//! use onnx_ops::{Operator, ops};
//! use onnx_pass::{Exactness, PassCx, PassOptions};
//! use onnx_text::{ParseOptions, parse_model};
//!
//! let text = r#"<ir_version: 10, opset_import: ["": 20]>
//! g (float[N,M] x) => (float[N,M] y) {
//!    s = Shape (x)
//!    r = Reshape (x, s)
//!    y = Relu (r)
//! }"#;
//! let mut model = parse_model(text, &ParseOptions::default())?;
//! let mut cx = PassCx::new(&mut model, PassOptions::default());
//! let mut cursor = Cursor::all(cx.model());
//! while let Some(node) = cursor.next(cx.model()) {
//!     let Some(reshape) = ops::Reshape::of(cx.model(), node) else { continue };
//!     let (Some(x), Some(y)) = (reshape.data(), reshape.out_reshaped()) else { continue };
//!     let mut patch = cx.patch("remove-reshape", Exactness::Exact);
//!     patch.source(node);
//!     patch.tap(x);
//!     if patch.same_type(x, y) {
//!         patch.replace(y, x);
//!         let proof = patch.commit()?;
//!         assert_eq!(proof.verdict.to_string(), "tested in 24 runs (24 attempts)");
//!     }
//! }
//! drop(cx);
//! assert_eq!(model.node_count(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Proof
//!
//! A proof has [levels](Level): the structure of the model after the edit, rules of the checker, inferred types, and the
//! computed values. The claim about values is an [`Equivalence`]: two functions with one signature, extracted from the patch
//! between its tapped and its replaced values. It is an ordinary ONNX model with a text form and a hash. [`prove`] compares
//! the functions by congruence, or by running both on inputs that satisfy exactly the recorded assumptions. Its
//! [`Verdict`] is *proved*, *tested*, *untested* or *refuted*; a refutation has a [`Counterexample`].
//!
//! A pass that relies on something that it did not query is refuted, because the inputs of the runs are not restricted by it.
//!
//! # Passes
//!
//! [`passes`] contains passes that are written this way.
//!
//! # What this crate is not for
//!
//! A test with some inputs is not a proof of equality, and is never called one. The crate reads no files.
#![forbid(unsafe_code)]

/// The code in the guide is compiled and run with the other doc tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/proof.md")]
struct Proofs;

/// The code in the guide for authors of passes, too.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/write-a-pass.md")]
struct WriteAPass;

mod approximate;
mod assumption;
mod bisect;
mod boundary_values;
mod calls;
mod claim_key;
mod collect;
mod commit;
mod compare;
mod conversions;
mod cut;
mod cx;
mod determinism;
mod elements;
mod equivalence;
mod exact_runs;
mod extract;
mod fault;
mod feeds;
mod fixed_results;
mod formats;
mod idioms;
mod inherit;
mod keys;
mod model_level;
mod multiples;
mod of_models;
mod pairs;
mod pass;
pub mod passes;
mod patch;
mod pattern;
#[cfg(not(target_family = "wasm"))]
mod patterns;
mod perturbed;
mod pipeline;
mod prove;
mod query;
mod references;
mod restructure;
mod sample;
mod series;
mod static_levels;
mod structure;
mod sweeps;
mod transfer;
mod undefined;
mod unread;
mod used_elements;
mod verdict;
mod zeros;

pub use assumption::{Assumption, Condition, Exactness};
pub use bisect::{Bisection, FirstBad, Trial, bisect};
pub use cx::{Entry, PassCx, PassOptions};
pub use equivalence::{DOMAIN, Equivalence, EquivalenceError, EquivalenceSide};
pub use fault::{REFUTED_CLAIM, RULES};
pub use feeds::{FeedError, FeedGenerator, FeedOptions, Feeds, feeds};
pub use fixed_results::{are_fixed, are_undefined};
pub use idioms::{Idiom, Idioms};
pub use model_level::prove_models;
pub use pass::{Pass, PassPack};
pub use patch::{Level, Patch, Proof, Refusal, RefusalKind};
pub use pattern::{Pattern, PatternError, PatternMatch};
pub use pipeline::{Ended, OpposedPasses, PassRun, Pipeline, PipelineReport, UnknownPass};
pub use prove::prove;
pub use query::{Reason, present};
pub use restructure::Interface;
pub use verdict::{Counterexample, Verdict};
