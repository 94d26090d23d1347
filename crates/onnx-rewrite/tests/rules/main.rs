//! Tests of rules: syntax, matching and replacement.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "helpers of tests may fail")]

mod apply;
mod corpus;
mod examined;
mod examples;
mod format;
mod idioms;
mod idioms_of_runtimes;
mod mistakes;
mod planned;
