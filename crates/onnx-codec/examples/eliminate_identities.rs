//! Takes `Identity` nodes out of a model: `cargo run --example eliminate_identities -- in.onnx out.onnx`.
//!
//! `docs/write-a-pass.md` explains the pass step by step.
#![allow(clippy::print_stdout, reason = "an example talks to its user")]

use std::error::Error;

use onnx_codec::{DecodeOptions, EncodeOptions, ReadMode, decode, encode, file};
use onnx_ir::{Cursor, EditError, Model};
use onnx_schema::op;

/// Erases `Identity` nodes, in nested graphs and functions too, and returns how many.
fn eliminate_identities(model: &mut Model) -> Result<usize, EditError> {
    let mut erased = 0;
    let mut cursor = Cursor::all(model);
    while let Some(node) = cursor.next(model) {
        let record = model.node(node);
        if !record.is(op::IDENTITY) {
            continue;
        }
        let (Some(input), Some(output)) = (record.input(0), record.output(0)) else { continue };
        // An output of a graph that would become an input, an initializer or an outer value keeps its `Identity`.
        if input == output || !model.can_replace(output, input) {
            continue;
        }
        model.replace_node(node, &[Some(input)])?;
        erased += 1;
    }
    Ok(erased)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(from), Some(to)) = (arguments.next(), arguments.next()) else {
        return Err("usage: eliminate_identities IN.onnx OUT.onnx".into());
    };
    let mut model = decode(file::read(&from, ReadMode::Memory)?, &DecodeOptions::default())?.model;
    let erased = eliminate_identities(&mut model)?;
    if let Err(faults) = model.verify() {
        return Err(format!("the pass broke the graph: {faults:?}").into());
    }
    file::write_segments(&to, &encode(&model, &EncodeOptions::default())?)?;
    println!("{erased} identities erased, {} nodes left", model.node_count());
    Ok(())
}
