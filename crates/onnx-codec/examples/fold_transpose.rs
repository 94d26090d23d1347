//! Folds transposed weights into their users: `cargo run --example fold_transpose -- in.onnx out.onnx`.
//!
//! `docs/write-a-pass.md` explains the pass step by step.
#![allow(clippy::print_stdout, reason = "an example talks to its user")]

use std::borrow::Cow;
use std::error::Error;

use onnx_codec::{DecodeOptions, EncodeOptions, FileSource, ReadMode, decode, encode, file};
use onnx_ir::{Attribute, Cursor, EditError, Model, NodeId, Owner, Position};
use onnx_ops::{Operator as _, ops};
use onnx_schema::{attr, op};
use onnx_types::tensor::{DataSource, Tensor};

/// The weight that a node transposes, if that is all it does: `Transpose` of a constant matrix.
fn transposed_weight(model: &Model, node: NodeId) -> Option<&Tensor> {
    let transpose = ops::Transpose::of(model, node)?;
    let weight = model.constant_tensor(transpose.data()?)?;
    let perm = transpose.perm().or(Cow::Borrowed(&[1, 0]))?;
    (weight.rank() == 2 && *perm == [1, 0]).then_some(weight)
}

/// The transposed matrix; `None` if elements are not whole bytes or if data is not available.
fn transpose(weight: &Tensor, data: &dyn DataSource) -> Option<Tensor> {
    let &[rows, columns] = weight.dims() else { return None };
    let bits = weight.elem().bits().filter(|bits| bits % 8 == 0)?;
    let size = usize::try_from(bits / 8).ok()?;
    let bytes = weight.bytes(data).ok()?;
    let (height, width) = (usize::try_from(rows).ok()?, usize::try_from(columns).ok()?);
    let mut turned = Vec::with_capacity(bytes.len());
    for column in 0..width {
        for row in 0..height {
            let begin = (row * width + column) * size;
            turned.extend_from_slice(bytes.get(begin..begin + size)?);
        }
    }
    Tensor::from_raw(weight.elem(), [columns, rows], turned).ok()
}

/// Lets `Gemm` nodes read a transposed weight as it lies in memory, and transposes the weights of all other users now.
/// Returns how many `Transpose` nodes went.
fn fold_transpose(model: &mut Model, data: &dyn DataSource) -> Result<usize, EditError> {
    let mut erased = 0;
    let mut cursor = Cursor::all(model);
    while let Some(node) = cursor.next(model) {
        if transposed_weight(model, node).is_none() {
            continue;
        }
        let (Some(weight), Some(output)) = (model.node(node).input(0), model.node(node).output(0)) else {
            continue;
        };
        if model.is_graph_output(output) {
            continue;
        }
        // `Gemm` can transpose for nothing: flip its switch. Input 2 is added, not multiplied, and has none.
        for (user, index) in model.node_uses(output) {
            let Some(gemm) = ops::Gemm::of(model, user) else { continue };
            let (switch, state) = match index {
                0 => (attr::TRANS_A, gemm.trans_a()),
                1 => (attr::TRANS_B, gemm.trans_b()),
                _ => continue,
            };
            // Inside a function the switch may be a reference to the function's attribute, which cannot be flipped.
            if let Some(state) = state.known() {
                model.set_input(user, index, Some(weight));
                model.set_attribute(user, Attribute::new(switch, i64::from(state == 0)))?;
            }
        }
        if model.value(output).is_used() {
            let Some(turned) = transposed_weight(model, node).and_then(|weight| transpose(weight, data))
            else {
                continue;
            };
            let graph = model.node(node).graph();
            let new = match model.graph(graph).owner() {
                // A function's body has no initializers.
                Owner::Function(_) => {
                    let mut build = model.build_at(Position::Before(node)).derive("fold-transpose", &[node]);
                    build.op(op::CONSTANT, []).attr(attr::VALUE, turned).output()?
                }
                _ => {
                    let name = model.value(output).name();
                    model.add_initializer(graph, name, turned)
                }
            };
            model.replace_value(output, new);
        }
        model.erase_node(node)?;
        erased += 1;
        // A `Constant` node that held the weight is erased when it has no more uses; initializers are erased below.
        if let Some(maker) = model.value(weight).producer().filter(|&maker| model.is_dead(maker)) {
            model.erase_node(maker)?;
        }
    }
    let graphs: Vec<_> = model.all_graphs().collect();
    for graph in graphs {
        model.erase_unused_initializers(graph);
    }
    Ok(erased)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(from), Some(to)) = (arguments.next(), arguments.next()) else {
        return Err("usage: fold_transpose IN.onnx OUT.onnx".into());
    };
    let mut model = decode(file::read(&from, ReadMode::Memory)?, &DecodeOptions::default())?.model;
    let erased = fold_transpose(&mut model, &FileSource::for_model(&from)?)?;
    if let Err(faults) = model.verify() {
        return Err(format!("the pass broke the graph: {faults:?}").into());
    }
    file::write_segments(&to, &encode(&model, &EncodeOptions::default())?)?;
    println!("{erased} transposes folded, {} nodes left", model.node_count());
    Ok(())
}
