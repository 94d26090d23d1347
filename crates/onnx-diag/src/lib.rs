//! Rules, diagnostics and places in an ONNX model, with text, JSON and SARIF renderers.
//!
//! This crate is how the rest of the workspace talks about a user's model. It knows no model itself: every name and
//! index is plain data, so the decoder, the checker, shape inference and a compiler of your own can all report through
//! it, and none of them needs the other.
//!
//! # What a finding is made of
//!
//! A [`Rule`] is a `static` record of one thing that can be wrong: its code, its name, its severity, the section of the
//! specification, what the reference checker does about it, and a long explanation. It stands beside the code that
//! finds it; no central list exists.
//!
//! A [`Locus`] is a place, as the steps that lead to it: `graph "main" / node #12 Conv "c1" / input 1 "W"`. It may
//! also say where the file has it, as a byte offset or a line and column ([`Position`]).
//!
//! A [`Diagnostic`] is a rule broken at a place, with a message, perhaps other places ([`Label`]), help and notes.
//!
//! # Where findings go
//!
//! Whoever looks for defects takes `&mut` [`Sink`] and goes on after reporting, so the user sees everything at once.
//! The sink counts exactly, keeps what a person can read ([`Caps`]), and applies what the user allows and denies
//! ([`Policy`]). It returns [`Reported`], which serves as the error type of functions that have nothing else to say.
//!
//! ```
//! use onnx_diag::{Diagnostic, Locus, Quoted, Reference, Rule, Severity, Sink, render::text};
//!
//! static UNKNOWN_VALUE: Rule = Rule {
//!     code: 9001,
//!     slug: "unknown-value",
//!     severity: Severity::Error,
//!     summary: "A node reads a value that nothing defines.",
//!     spec: "IR: Names Within a Graph",
//!     reference: Reference::Enforced,
//!     explain: "",
//! };
//!
//! let mut sink = Sink::new();
//! // The closure runs only when the finding is kept, so a hostile model cannot make it run a million times.
//! sink.report_with(&UNKNOWN_VALUE, || {
//!     let place = Locus::model().graph("main").node(12, "Conv", "c1").input(1, "W").at_byte(4096);
//!     Diagnostic::new(&UNKNOWN_VALUE, place, format!("nothing defines {}", Quoted("W")))
//!         .help("add an initializer or a graph input of this name")
//! });
//!
//! let mut out = String::new();
//! text::render(&mut out, &sink, &text::Options::new("model.onnx"))?;
//! assert_eq!(out, r#"error[ONNX9001]: nothing defines `W`
//!   --> model.onnx: graph "main" / node #12 Conv "c1" / input 1 "W" (byte 4096)
//!    = help: add an initializer or a graph input of this name
//!
//! model.onnx: 1 error
//! "#);
//! # Ok::<(), std::fmt::Error>(())
//! ```
//!
//! # Names mean harm
//!
//! A name in a model can hold escape sequences, line breaks, direction overrides, or a megabyte of anything. Places
//! escape and cut the names they hold ([`Name`]); messages do it with [`Quoted`]; renderers do it once more for whatever
//! came past both.
//!
//! # What it is not for
//!
//! Errors of an operation (a missing file, bytes that are not protobuf) are the error types of the crate that failed.
//! This crate prints nothing, looks at no terminal and opens no file: see [`render`].
#![forbid(unsafe_code)]

mod diagnostic;
mod escape;
mod fingerprint;
mod locus;
pub mod render;
mod report;
mod rule;
mod sink;

pub use diagnostic::{Diagnostic, Label};
pub use escape::{Clean, Name, Quoted, is_unprintable};
pub use locus::{Locus, Position, Step};
pub use report::{Failure, Input, Output, Report, Status, Tool};
pub use rule::{Reference, Rule, RuleId, STOPPED, Severity, find_rule};
pub use sink::{Caps, Counts, Policy, Reported, RuleCount, Sink};
