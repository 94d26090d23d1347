//! Tensors without elements whose other axes have any size, as operands and as results: memory and time of a run depend on what
//! its limits count, not on a size by itself.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;
use std::time::Duration;

use onnx_eval::{EvalOptions, Value, has_kernel, run_node};
use onnx_ir::{Model, NodeId, ValueId};
use onnx_schema::SchemaId;
use onnx_smith::{SmithOptions, from_seed};
use onnx_types::tensor::{Payload, Tensor};
use onnx_types::{ElemType, Limits};

/// More than fits into memory, and more than a loop ends with.
const HUGE: i64 = 1 << 40;

/// The longest that a run may take: the limits allow some milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// The tensors that a node is given.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// This axis of each tensor is empty, and the others are huge. The rank is the declared one, or this one.
    Axis(usize, Option<usize>),
    /// Lists of integers name a huge size and an empty one, and other tensors have no elements.
    Sizes(&'static [i64]),
}

fn forms() -> impl Iterator<Item = Form> {
    let axes = (0..5).map(|zero| Form::Axis(zero, None)).chain((0..4).map(|zero| Form::Axis(zero, Some(4))));
    let sizes: [&[i64]; 4] = [&[0, HUGE], &[HUGE, 0, HUGE], &[HUGE], &[-1, 0, HUGE, HUGE]];
    axes.chain(sizes.into_iter().map(Form::Sizes))
}

/// A tensor without elements.
fn empty(elem: ElemType, rank: usize, zero: usize) -> Tensor {
    let dims: Vec<i64> = (0..rank).map(|axis| if axis == zero { 0 } else { HUGE }).collect();
    let payload = match elem {
        ElemType::String => Payload::strings(Vec::new()),
        _ => Payload::Raw(Vec::new().into()),
    };
    Tensor::from_parts(elem.code(), dims.into_iter().collect(), payload)
}

fn operand(model: &Model, value: ValueId, form: Form) -> Option<Value> {
    let constant = model.constant_tensor(value);
    let ty = model.ty(value)?;
    let tensor = ty.tensor_type()?;
    let declared = tensor.shape.as_ref().map_or(1, |shape| shape.dims().len());
    let made = match form {
        Form::Sizes(sizes) if tensor.elem == ElemType::Int64 && declared == 1 => {
            Tensor::from_slice([sizes.len() as i64], sizes).unwrap()
        }
        Form::Sizes(sizes) if tensor.elem == ElemType::Int64 && declared == 0 => {
            Tensor::from_slice([], &sizes[sizes.len() - 1..]).unwrap()
        }
        _ if constant.is_some() => constant?.clone(),
        Form::Axis(zero, rank) if zero < rank.unwrap_or(declared) => {
            empty(tensor.elem, rank.unwrap_or(declared), zero)
        }
        // A list without elements is a valid list of axes, sizes or indices.
        Form::Axis(..) | Form::Sizes(_) => empty(tensor.elem, 1, 0),
    };
    Some(made.into())
}

fn run(model: &Model, node: NodeId, form: Form) {
    let limits = Limits {
        run_elements: 1 << 16,
        run_bytes: 1 << 22,
        run_steps: 1 << 22,
        run_depth: 100,
        ..Limits::default()
    };
    let options = EvalOptions::default().with_limits(limits);
    let inputs = model.node(node).inputs().map(|value| value.and_then(|value| operand(model, value, form)));
    // Most runs fail: the operands rarely fit together.
    drop(run_node(model, node, &inputs.collect::<Vec<_>>(), &options));
}

#[test]
fn huge_axes_of_empty_tensors_cost_what_limits_allow() {
    let (begun, labels) = mpsc::channel::<String>();
    let runs = std::thread::spawn(move || {
        let (mut count, mut panics) = (0, Vec::new());
        let schemas = (0..SchemaId::COUNT).filter_map(SchemaId::from_index);
        for schema in schemas.filter(|&schema| has_kernel(schema)) {
            for seed in (0..3).map(|round| schema.index() as u64 * 1000 + round) {
                let made = from_seed(seed, &SmithOptions::default().with_nodes(1).with_schema(schema));
                let model = &made.model;
                for (node, form) in
                    model.nodes(model.main_graph()).flat_map(|node| forms().map(move |form| (node, form)))
                {
                    let label = format!("{} seed {seed} {form:?}", schema.schema());
                    begun.send(label.clone()).unwrap();
                    count += 1;
                    if catch_unwind(AssertUnwindSafe(|| run(model, node, form))).is_err() {
                        panics.push(label);
                    }
                }
            }
        }
        (count, panics)
    });
    let mut last = String::new();
    while let Some(label) = match labels.recv_timeout(PATIENCE) {
        Ok(label) => Some(label),
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("{last} does not end"),
        Err(mpsc::RecvTimeoutError::Disconnected) => None,
    } {
        last = label;
    }
    let (count, panics) = runs.join().unwrap();
    assert!(panics.is_empty(), "{} of {count} runs panic: {panics:#?}", panics.len());
    assert!(count > 10_000, "{count} runs");
}
