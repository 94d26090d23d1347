//! Rules, diagnostics and loci in an ONNX model, with text, JSON and SARIF renderers.
//!
//! The other crates of the workspace report the state of a user's model through this one. It does not depend on the IR:
//! diagnostics store names and indices by value. The decoder, the checker, shape inference and other compilers can
//! therefore report through it without depending on each other.
//!
//! # The structure of a diagnostic
//!
//! A [`Rule`] is a `static` record of one class of defects: its code, its name, its severity, the section of the
//! specification, the behavior of the reference checker, and a long explanation. It is defined next to the code that
//! detects the defect; a central list does not exist.
//!
//! A [`Locus`] is the path from a model to one of its elements: `graph "main" / node #12 Conv "c1" / input 1 "W"`. It
//! can also state the source position, as a byte offset or a line and column ([`Position`]).
//!
//! A [`Diagnostic`] is one instance of a rule with a locus and a message, and optionally labels of other loci
//! ([`Label`]), help and notes.
//!
//! # Reporting diagnostics
//!
//! Code that detects defects takes `&mut` [`Sink`] and continues after reporting, so that one run reports all of them.
//! The sink counts exactly, keeps a readable number of diagnostics ([`Caps`]), and applies the user's severity
//! overrides ([`Policy`]). It returns [`Reported`], which serves as the error type of functions whose errors are
//! diagnostics.
//!
//! ```
//! use onnx_diag::{Diagnostic, Locus, Quoted, Reference, Rule, Severity, Sink, render::text};
//!
//! static UNKNOWN_VALUE: Rule = Rule::new(9001, "unknown-value", Severity::Error, "A node reads a value that nothing defines.")
//!     .with_spec("IR: Names Within a Graph")
//!     .with_reference(Reference::Enforced);
//!
//! let mut sink = Sink::new();
//! // The closure runs only if the diagnostic is kept, so a hostile model cannot make it run a million times.
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
//! # Hostile names
//!
//! A name in a model can contain escape sequences, line breaks, direction overrides, or a megabyte of arbitrary bytes.
//! A locus escapes and truncates the names that it stores ([`Name`]), and messages use [`Quoted`]. Renderers escape
//! once more, as a safety net for text that used neither.
//!
//! # What it is not for
//!
//! Errors of an operation (a missing file, bytes that are not protobuf) are the error types of the crate that failed.
//! This crate does not print, access the terminal or open files: see [`render`].
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
pub use locus::{Locus, LocusStep, Position};
pub use report::{CommandFailure, CommandReport, Input, Output, Status, Tool};
pub use rule::{Reference, Rule, RuleId, STOPPED, Severity, find_rule};
pub use sink::{Caps, Counts, Policy, Reported, RuleCount, Sink};
