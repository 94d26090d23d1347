//! How far this implementation agrees with the reference and with itself, case by case.
//!
//! A *suite* is one question asked of every case; it lives in one file of [`suites`] and is listed there. What all of them
//! share is here:
//!
//! * [`archive`] reads files from `.tar.zst` archives, one at a time, and from folders alike;
//! * [`manifest`] reads the recorded cases of the reference;
//! * [`data`] names the collections that a run covers: recorded cases, models of exporters, and the small set that is
//!   committed in `tests/models`, which every clone has;
//! * [`runner`] spreads cases over threads, and [`report`] says how it went and compares with the committed results;
//! * [`html`] makes a page of several reports.
//!
//! The witnesses are independent of what they test: [`wire`] is a second reader of the wire format, [`schema`] knows the
//! messages from their descriptors, [`tree`] compares files field by field, [`survey`] says what a file is like, and
//! [`rewrite`] and [`generate`] make new files.

pub mod archive;
pub mod bundle;
pub mod data;
pub mod generate;
pub mod html;
pub mod manifest;
pub mod reference;
pub mod report;
pub mod rewrite;
pub mod runner;
pub mod schema;
pub mod suites;
pub mod survey;
pub mod tree;

pub use onnx_hostile::encoding as wire;
