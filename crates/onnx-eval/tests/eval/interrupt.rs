//! An interrupt ends a single kernel that runs long.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use onnx_eval::{EvalOptions, Evaluator, FailureKind, Limits, Value};
use onnx_types::tensor::Tensor;
use onnx_types::{Execution, Interrupt};

/// Checks of the interrupt of a run that ends at the check of a number; whether it was stopped.
fn checks(node: &str, elem: &str, shapes: &[&[i64]], threads: usize, last: usize) -> (usize, bool) {
    let named = ["a", "b", "c"].into_iter().zip(shapes);
    let declared: Vec<String> = named.clone().map(|(name, dims)| format!("{elem}{dims:?} {name}")).collect();
    let text = format!(
        "<ir_version: 10, opset_import: [\"\": 22, \"ai.onnx.ml\": 3]>\ng ({}) => (y) {{ y = {node} }}",
        declared.join(", ")
    );
    let model = onnx_text::parse_model(&text, &onnx_text::ParseOptions::default()).unwrap();
    let numbers = |dims: &[i64]| {
        let squares = (0..dims.iter().product::<i64>()).map(|at| at * at % 97);
        match elem {
            "int64" => Tensor::from_slice(dims.iter().copied(), &squares.collect::<Vec<i64>>()),
            _ => Tensor::from_slice(
                dims.iter().copied(),
                &squares.map(|square| square as f32).collect::<Vec<f32>>(),
            ),
        }
    };
    let inputs: Vec<(&str, Value)> =
        named.map(|(name, dims)| (name, numbers(dims).unwrap().into())).collect();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let interrupt = Interrupt::when(move || counted.fetch_add(1, Ordering::Relaxed) + 1 >= last);
    let options = EvalOptions::default()
        .with_threads(threads)
        .with_limits(Limits::default().with_run_steps(u64::MAX))
        .with_execution(Execution::default().with_interrupt(interrupt));
    let outcome = Evaluator::new(&model, &options).unwrap().run(&inputs);
    if let Err(failure) = &outcome {
        assert_eq!(failure.kind(), FailureKind::Stopped, "{failure}\n{text}");
    }
    (count.load(Ordering::Relaxed), outcome.is_err())
}

/// Runs a node on small tensors, which shows how often the interrupt is checked around a kernel, and on tensors whose work
/// takes minutes: the run must end at one of the next checks, which the kernel makes.
#[track_caller]
fn stops(node: &str, elem: &str, small: &[&[i64]], large: &[&[i64]]) {
    let (around, is_stopped) = checks(node, elem, small, 1, usize::MAX);
    assert!(!is_stopped, "{node}");
    for threads in [1, 2] {
        // Tensors that are large themselves are allocated in a few steps.
        assert!(checks(node, elem, large, threads, around + 4).1, "{node} with {threads} threads");
    }
}

#[test]
fn products_end() {
    let large: &[&[i64]] = &[&[1500, 1500], &[1500, 1500]];
    stops("MatMul (a, b)", "int64", &[&[2, 2], &[2, 2]], large);
    let deep: &[&[i64]] = &[&[900, 2000], &[2000, 900]];
    stops("MatMul (a, b)", "float", &[&[2, 2], &[2, 2]], deep);
    stops("Gemm <transA = 1> (a, b)", "float", &[&[2, 2], &[2, 2]], &[&[2000, 900], &[2000, 900]]);
    // Each product is short.
    stops("MatMul (a, b)", "float", &[&[2, 2, 2], &[2, 2, 2]], &[&[1 << 10, 64, 64], &[1 << 10, 64, 64]]);
    stops("Einsum <equation = \"ij,jk->ik\"> (a, b)", "float", &[&[2, 2], &[2, 2]], large);
    stops("Einsum <equation = \"i,j->\"> (a, b)", "float", &[&[2], &[2]], &[&[1 << 20], &[1 << 20]]);
    stops("Det (a)", "float", &[&[2, 2]], &[&[600, 600]]);
}

#[test]
fn windows_end() {
    let kernel: &[i64] = &[1, 1, 31, 31];
    stops("Conv (a, b)", "float", &[kernel, kernel], &[&[1, 1, 700, 700], kernel]);
    stops("Conv (a, b)", "float", &[&[1, 8, 9, 9], &[8, 8, 9, 9]], &[&[1, 8, 300, 300], &[8, 8, 31, 31]]);
    stops("ConvTranspose (a, b)", "float", &[kernel, kernel], &[&[1, 1, 500, 500], kernel]);
    for pool in ["MaxPool", "AveragePool", "LpPool"] {
        let node = format!("{pool} <kernel_shape = [31, 31]> (a)");
        stops(&node, "float", &[kernel], &[&[1, 1, 700, 700]]);
    }
    stops(
        "DeformConv (a, b, c)",
        "float",
        &[&[1, 1, 1, 1], &[1, 1, 1, 1], &[1, 2, 1, 1]],
        &[&[1, 500, 100, 100], &[1, 500, 1, 1], &[1, 2, 100, 100]],
    );
    stops("LRN <size = 1000> (a)", "float", &[&[1, 2, 1]], &[&[1, 1000, 100]]);
}

#[test]
fn loops_over_one_large_tensor_end() {
    let large: &[&[i64]] = &[&[3 << 21]];
    for node in [
        "Sin (a)",
        "Neg (a)",
        "Cast <to = 7> (a)",
        "Softmax <axis = 0> (a)",
        "RandomNormalLike (a)",
        "Concat <axis = 0> (a, a)",
        "Pow (a, a)",
    ] {
        let (count, is_stopped) = checks(node, "float", large, 1, usize::MAX);
        // Reading and writing are checked before the loop; the loop is checked at least four times.
        let around = checks(node, "float", &[&[2]], 1, usize::MAX).0;
        assert!(!is_stopped && count >= around + 4, "{node}: {count} checks instead of {around}");
    }
}
