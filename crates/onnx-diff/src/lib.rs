//! Content hashes of models, and the differences between two models.
//!
//! Both see a model as a graph: names of inner values and nodes, the order of nodes and the encoding do not count.
//!
//! ```
//! use onnx_diff::{DiffOptions, HashOptions, diff, hash_model};
//! use onnx_text::{ParseOptions, parse_model};
//!
//! let [a, b, c] = [("h", "Relu"), ("z", "Relu"), ("h", "Exp")].map(|(name, op)| {
//!     let text = format!(
//!         "<ir_version: 10, opset_import: [\"\": 21]>
//!          g (float[N] x) => (float[N] y) {{ {name} = Neg (x) y = {op} ({name}) }}"
//!     );
//!     parse_model(&text, &ParseOptions::default()).expect("a model")
//! });
//! let options = HashOptions::default();
//! assert_eq!(hash_model(&a, &options)?.model, hash_model(&b, &options)?.model);
//! assert_ne!(hash_model(&a, &options)?.model, hash_model(&c, &options)?.model);
//!
//! let options = DiffOptions::default();
//! assert!(diff(&a, &b, &options)?.is_empty());
//! assert_eq!(diff(&a, &c, &options)?.changes.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `docs/compose.md` describes the scheme of the hash, which has a version, and how models are matched.
#![forbid(unsafe_code)]

mod diff;
mod hash;

pub use diff::{
    Aspect, AspectKind, ChangeKind, ChangedElement, CorrespondingValues, Diff, DiffOptions, ModelChange,
    corresponding_values, diff, diff_with_values, repeated_values,
};
pub use hash::{
    Digest, HASH_VERSION, HashError, HashOptions, ModelHash, hash_interface, hash_model, hash_structure,
    hash_weights,
};
