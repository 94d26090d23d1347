//! Files that mean harm, made by code: each is small to describe, and says in one line what a reader must make of it.
//!
//! | Module | What the files try |
//! |---|---|
//! | [`nesting`] | to use up the stack: graphs in graphs, types in types, groups in groups |
//! | [`wire`] | to read past the end, or to mean different things to different readers |
//! | [`tensors`] | data that does not fit dimensions, several values where there is one, markers of memory addresses |
//! | [`models`] | parts that are missing, odd or huge; names that act on a terminal or mean several things |
//! | [`functions`] | to be expanded without end |
//! | [`amplify`] | to take much more memory than they have bytes |
//! | [`reports`] | to make the report of inference long |
//! | [`forms`] | the same with texts of protobuf and JSON |
//! | [`traps`] | to take time that grows with the square of their size |
//!
//! A [`Case`] is only bytes and an expectation; [`gauntlet`] puts each of them through everything that the workspace does
//! with a file.

pub mod amplify;
pub mod forms;
pub mod functions;
pub mod gauntlet;
pub mod memory;
pub mod models;
pub mod nesting;
pub mod operands;
pub mod reports;
pub mod table;
pub mod tensors;
pub mod texts;
pub mod traps;
pub mod wire;
mod write;

use bytes::Bytes;

pub use write::{header, model_of};

/// How many bytes of memory a file may cost for each of its own, where a case says nothing else.
pub const GROWTH: usize = 64;

/// How many bytes of memory a text may cost for each of its own, where a case says nothing else.
pub const TEXT_GROWTH: usize = 200;

/// How many steps a file may cost for each of its bytes, where a case says nothing else.
pub const STEPS: u64 = 1500;

/// A hostile file.
#[derive(Clone, Debug)]
pub struct Case {
    /// What failures call it.
    pub name: String,
    /// The file.
    pub bytes: Bytes,
    /// What a reader must make of it.
    pub expect: Expect,
    /// How many bytes of memory each step may cost for each byte of the file, besides a fixed amount. Of a form of protobuf,
    /// this bounds only decoding, for each byte of the encoded model; reading and writing have separate bounds.
    pub growth: usize,
    /// How many steps all stages together may take for each byte of the file, besides a fixed number.
    pub steps: u64,
}

/// What a reader must make of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Expect {
    /// It is no protobuf or exceeds a limit; the text is part of the error's, mostly all from the offset on.
    Refused(String),
    /// It is read, with exactly these findings (in the order of their codes, each once), and written back.
    Read {
        /// The slugs of what decoding finds.
        decode: Vec<&'static str>,
        /// Slugs that are among what checking finds.
        check: Vec<&'static str>,
    },
    /// It is a model in the text format of protobuf, or as JSON.
    Form {
        /// Whether it is JSON.
        is_json: bool,
        /// Part of the error, when it is refused.
        refused: Option<String>,
    },
    /// It is a text.
    Text {
        /// Part of the errors, when it is refused.
        refused: Option<String>,
        /// The slugs of what inference finds, when it is parsed, in the order of their codes.
        infer: Vec<&'static str>,
    },
}

impl Case {
    /// A file that is refused with this error.
    #[must_use]
    pub fn refused(name: impl Into<String>, bytes: impl Into<Bytes>, error: impl Into<String>) -> Self {
        let expect = Expect::Refused(error.into());
        Self { name: name.into(), bytes: bytes.into(), expect, growth: GROWTH, steps: STEPS }
    }

    /// A file that is read without findings of decoding.
    #[must_use]
    pub fn read(name: impl Into<String>, bytes: impl Into<Bytes>) -> Self {
        let expect = Expect::Read { decode: Vec::new(), check: Vec::new() };
        Self { name: name.into(), bytes: bytes.into(), expect, growth: GROWTH, steps: STEPS }
    }

    /// A text that is parsed and inferred with exactly these findings.
    #[must_use]
    pub fn text(name: impl Into<String>, text: impl Into<Bytes>, infer: &[&'static str]) -> Self {
        let expect = Expect::Text { refused: None, infer: infer.to_vec() };
        Self { name: name.into(), bytes: text.into(), expect, growth: TEXT_GROWTH, steps: STEPS }
    }

    /// A text that is refused with this among its errors.
    #[must_use]
    pub fn refused_text(name: impl Into<String>, text: impl Into<Bytes>, error: impl Into<String>) -> Self {
        let expect = Expect::Text { refused: Some(error.into()), infer: Vec::new() };
        Self { name: name.into(), bytes: text.into(), expect, growth: TEXT_GROWTH, steps: STEPS }
    }

    /// Decoding finds this, too.
    #[must_use]
    pub fn decode_finds(mut self, slug: &'static str) -> Self {
        if let Expect::Read { decode, .. } = &mut self.expect {
            decode.push(slug);
        }
        self
    }

    /// Checking finds this, among other things.
    #[must_use]
    pub fn check_finds(mut self, slug: &'static str) -> Self {
        if let Expect::Read { check, .. } = &mut self.expect {
            check.push(slug);
        }
        self
    }

    /// Each byte of the file may cost so many bytes of memory.
    #[must_use]
    pub const fn growth(mut self, growth: usize) -> Self {
        self.growth = growth;
        self
    }

    /// Each byte of the file may cost so many steps.
    #[must_use]
    pub const fn steps(mut self, steps: u64) -> Self {
        self.steps = steps;
        self
    }
}
