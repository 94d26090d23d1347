//! Tests of the workspace as a whole.

#![forbid(unsafe_code)]

mod attack;
mod bodies;
mod conformance;
mod documents;
mod empty_operands;
mod execution;
mod fixes;
mod functions;
mod generated_inputs;
mod generated_runs;
mod import;
mod inferred_facts;
mod limits;
mod onnxruntime;
mod operator_sets;
mod properties;
mod recorded_runs;
mod reliability;
mod resolution;
mod roundtrip;
mod third_party;
mod versions;
