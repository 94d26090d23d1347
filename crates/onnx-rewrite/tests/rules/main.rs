//! Tests of rules: syntax, matching and replacement.

mod apply;
mod examined;
