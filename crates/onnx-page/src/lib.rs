//! What a page that shows ONNX models calls: a session with a model, its picture, its diagnostics, its values and its edits.
//!
//! A [`Session`] answers requests in JSON, so that one page can be served by the command, by a worker with WebAssembly, or by a
//! notebook:
//!
//! ```
//! use onnx_page::Session;
//! use onnx_types::Execution;
//!
//! let text = r#"<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Relu (x) }"#;
//! let mut session = Session::open("m.onnxtxt", text.into(), Execution::default()).unwrap();
//! let found = session.call(r#"{"call": "search", "text": "Relu()"}"#);
//! assert!(found.starts_with(r#"{"ok":{"count":1,"#));
//! ```
//!
//! The functions of this crate put the libraries together for pictures: [`block_groups`] finds repeated blocks,
//! [`findings`] collects what the checker and inference report, [`mark_findings`] and [`mark_cost`] mark the nodes of a
//! scene, [`mark_changes`] those that differ from another model. They decide nothing themselves.
#![forbid(unsafe_code)]

mod about;
mod compare;
mod details;
mod edits;
mod facts;
mod group;
mod open;
mod queries;
mod request;
mod run;
mod session;
#[cfg(test)]
mod tests;
mod versions;
mod weight;

pub use compare::{PageSide, mark_changes};
pub use facts::{block_groups, findings, mark_cost, mark_findings, model_cost};
pub use session::Session;
