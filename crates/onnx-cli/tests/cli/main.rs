//! The `onnx` command as its users see it: exit codes, streams and files.
#![forbid(unsafe_code)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

mod adversary;
mod check;
mod check_targets;
mod compare;
mod compare_causes;
mod convert;
mod cost;
mod diff;
mod draw;
mod dry_run;
mod edit;
mod extract;
mod files;
mod find;
mod hash;
mod help;
mod hints;
mod idle_options;
mod infer;
mod info;
mod inline;
mod invalid_nodes;
mod merge;
mod models;
mod names;
mod negative_dimensions;
mod newcomers;
mod next_steps;
mod number_format_inputs;
mod number_formats;
mod ops;
mod other_tools;
mod outline;
mod pipes;
mod program;
mod reduce;
mod refused_words;
mod report_files;
mod reports;
mod reports_are_true;
mod rewrite;
mod run;
mod run_models;
mod run_recorded;
mod run_values;
mod scan;
mod scan_ends;
#[cfg(feature = "parquet")]
mod scan_parquet;
mod simplify;
mod simplify_keeps;
mod smith;
mod status;
mod streams_in_time;
mod summaries;
mod tables;
mod text;
mod tour;
mod view;
mod weights;
