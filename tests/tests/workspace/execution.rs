//! The execution context: every entry point that takes it ends soon after an interrupt, and then has no result.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use onnx_check::{CheckOptions, check};
use onnx_codec::{DecodeOptions, EncodeOptions, decode, encode};
use onnx_diag::STOPPED;
use onnx_eval::{Evaluator, FailureKind, Value};
use onnx_formats::{ConvertError, MessageType, read_json, read_text, write_json, write_text};
use onnx_ir::{Model, ValueId};
use onnx_pass::{PassCx, PassOptions, passes};
use onnx_shape_infer::{InferOptions, infer};
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};
use onnx_types::tensor::Tensor;
use onnx_types::{Execution, Interrupt, Stopped, Symbol};

/// A chain of nodes that is long enough for several checks of the interrupt.
fn chain(nodes: usize) -> String {
    let mut text =
        String::from("<ir_version: 10, opset_import: [\"\": 20]>\ng (float[2] x0) => (float[2] y) {\n");
    for index in 0..nodes {
        text.push_str(&format!("  x{} = Relu (x{index})\n", index + 1));
    }
    text.push_str(&format!("  y = Relu (x{nodes})\n}}\n"));
    text
}

fn model(text: &str) -> Model {
    parse_model(text, &ParseOptions::default()).unwrap()
}

fn bytes(model: &Model) -> Bytes {
    Bytes::from(encode(model, &EncodeOptions::default()).unwrap().to_vec())
}

/// The outputs of all nodes.
fn outputs(model: &Model) -> Vec<ValueId> {
    let nodes = model.nodes_in(model.main_graph());
    nodes.flat_map(|node| model.node(node).outputs().to_vec()).flatten().collect()
}

/// Contexts of work that must end: one that was cancelled, and one whose condition holds.
fn ended() -> [Execution; 2] {
    let cancelled = Interrupt::new();
    cancelled.cancel();
    [cancelled, Interrupt::when(|| true)].map(|interrupt| Execution::default().with_interrupt(interrupt))
}

#[test]
fn every_entry_point_ends() {
    let text = chain(20);
    let model = model(&text);
    let bytes = bytes(&model);
    for execution in ended() {
        let options = DecodeOptions::default().with_execution(execution.clone());
        assert_eq!(decode(bytes.clone(), &options).err().and_then(|error| error.stopped()), Some(Stopped));

        let options = ParseOptions::default().with_execution(execution.clone());
        let error = parse_model(&text, &options).unwrap_err();
        assert_eq!(error.stopped(), Some(Stopped));
        assert_eq!(error.findings().diagnostics().len(), 1);
        assert_eq!(*error.findings().diagnostics()[0].rule, STOPPED);

        let found = check(&model, &CheckOptions::default().with_execution(execution.clone()));
        let [only] = found.diagnostics() else { panic!("there is one finding: {found:?}") };
        assert_eq!(*only.rule, STOPPED);

        let before = model.names().len();
        let inference = infer(&model, &InferOptions::default().with_execution(execution.clone()));
        assert_eq!(inference.stopped(), Some(Stopped));
        assert!(outputs(&model).into_iter().all(|value| inference.ty(value).is_unknown()));
        assert_eq!(*inference.findings().diagnostics()[0].rule, STOPPED);
        assert_eq!(model.names().len(), before);

        let options = onnx_eval::EvalOptions::default().with_execution(execution.clone());
        let run = Evaluator::new(&model, &options).unwrap();
        let x = Value::from(Tensor::from_slice([2], &[1.0_f32, -1.0]).unwrap());
        assert_eq!(run.run(&[("x0", x)]).unwrap_err().kind(), FailureKind::Stopped);
    }
}

#[test]
fn planning_a_large_model_ends() {
    let model = model(&chain(2_000));
    for execution in ended() {
        let options = onnx_eval::EvalOptions::default().with_execution(execution);
        let failure = Evaluator::new(&model, &options).err().expect("it is stopped");
        assert_eq!(failure.kind(), FailureKind::Stopped);
    }
}

/// A context that is interrupted after the first checks.
fn ending_late() -> Execution {
    let checks = AtomicUsize::new(0);
    Execution::default().with_interrupt(Interrupt::when(move || checks.fetch_add(1, Ordering::Relaxed) >= 2))
}

#[test]
fn work_ends_within_each_list_of_a_graph() {
    let types = "<ir_version: 10, opset_import: [\"\": 20]>";
    let list = |count, item: &dyn Fn(usize) -> String| (0..count).map(item).collect::<Vec<_>>().join(", ");
    let inputs = list(8000, &|index| format!("float[2] x{index}"));
    let outputs = list(8000, &|index| format!("float[2] y{index}"));
    let info = list(8000, &|index| format!("float[2] v{index}"));
    let elements = vec!["1"; 16000].join(", ");
    let tensors = list(4, &|index| format!("float[16000] w{index} = {{{elements}}}"));
    for text in [
        format!("{types} g ({inputs}) => () {{}}"),
        format!("{types} g () => ({outputs}) {{}}"),
        format!("{types} g () => () <{info}> {{}}"),
        format!("{types} g () => () <{tensors}> {{}}"),
    ] {
        let options = ParseOptions::default().with_execution(ending_late());
        assert_eq!(parse_model(&text, &options).unwrap_err().stopped(), Some(Stopped), "{}", &text[..99]);

        let bytes = bytes(&model(&text));
        let options = DecodeOptions::default().with_execution(ending_late());
        let error = decode(bytes, &options).err().unwrap();
        assert_eq!(error.stopped(), Some(Stopped), "{}", &text[..99]);
    }
}

/// The interrupt is checked within a list of elements, also in one of simple literals.
#[test]
fn parsing_ends_within_a_list_of_elements() {
    const COUNT: usize = 40_000;
    let list = |element: &str| vec![element; COUNT].join(", ");
    let (ones, floats, strings) = (list("1"), list("nan"), list("\"a\""));
    for value in [
        format!("float[{COUNT}] {{{ones}}}"),
        format!("float[{COUNT}] {{{floats}}}"),
        format!("float16[{COUNT}] raw {{{ones}}}"),
        format!("string[{COUNT}] {{{strings}}}"),
        format!("[{ones}]"),
        format!(
            "sparse_tensor[{}] = {{values: float[1] {{1}} @{{metadata_props: [{}]}}}}",
            list("1"),
            list("\"a\": \"b\"")
        ),
    ] {
        let text = format!("<ir_version: 10> g () => () {{ y = F <a = {value}> () }}");
        let options = ParseOptions::default().with_execution(ending_late());
        assert_eq!(
            parse_model(&text, &options).err().and_then(|error| error.stopped()),
            Some(Stopped),
            "{}",
            &text[..99]
        );
    }
}

#[test]
fn forms_end() {
    let bytes = bytes(&model(&chain(20)));
    let (mut text, mut json) = (Vec::new(), Vec::new());
    write_text(MessageType::MODEL, [&bytes[..]], &Execution::DEFAULT, &mut text).unwrap();
    write_json(MessageType::MODEL, [&bytes[..]], &Execution::DEFAULT, &mut json).unwrap();
    for execution in ended() {
        let is_stopped = |error: ConvertError| matches!(error, ConvertError::Stopped(_));
        assert!(is_stopped(read_text(MessageType::MODEL, &text, &execution).unwrap_err()));
        assert!(is_stopped(read_json(MessageType::MODEL, &json, &execution).unwrap_err()));
        for write in [write_text, write_json] {
            let mut out = Vec::new();
            assert!(is_stopped(write(MessageType::MODEL, [&bytes[..]], &execution, &mut out).unwrap_err()));
            assert!(out.is_empty());
        }
    }
}

/// An update that is stopped knows nothing, and the next one everything again.
#[test]
fn an_update_recovers_from_a_stop() {
    let mut model = model(&chain(10));
    let revision = model.revision();
    let whole = infer(&model, &InferOptions::default());
    let first = model.graph(model.main_graph()).first().unwrap();
    let (op, nothing) = (model.intern("Sigmoid"), Symbol::EMPTY);
    model.set_op(first, nothing, op, nothing);
    let changes = model.changes_since(&revision);
    for execution in ended() {
        let options = InferOptions::default().with_execution(execution);
        let stopped = whole.clone().update(&model, &options, &changes);
        assert_eq!(stopped.stopped(), Some(Stopped));
        let again = stopped.update(&model, &InferOptions::default(), &changes);
        assert_eq!(again.stopped(), None);
        let values = outputs(&model);
        assert!(values.iter().all(|&value| again.shape(value) == whole.shape(value)));
    }
}

/// A pass that is stopped edits nothing, whatever it could not prove.
#[test]
fn a_stopped_pass_changes_nothing() {
    let text = "<ir_version: 10, opset_import: [\"\": 20]>
        g (float[2] x) => (float[2] y) { a = Relu (x)  b = Relu (x)  y = Add (a, b) }";
    let printed = |model: &Model| print_model(model, &PrintOptions::full()).unwrap().text;
    for execution in ended() {
        let mut model = model(text);
        let before = printed(&model);
        let mut cx = PassCx::new(&mut model, PassOptions::default().with_execution(execution));
        let _ = passes::unique_subexpressions(&mut cx);
        drop(cx);
        assert_eq!(printed(&model), before);
    }
    let mut model = model(text);
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    let _ = passes::unique_subexpressions(&mut cx);
    drop(cx);
    assert_eq!(model.node_count(), 2);
}

/// An interrupt that comes late changes nothing about the result.
#[test]
fn work_in_time_has_the_usual_result() {
    let text = chain(2000);
    let plain = model(&text);
    let interrupt = Interrupt::when(|| false);
    let execution = Execution::default().with_interrupt(interrupt);
    let options = ParseOptions::default().with_execution(execution.clone());
    let parsed = parse_model(&text, &options).unwrap();
    assert_eq!(bytes(&parsed), bytes(&plain));
    let inference = infer(&parsed, &InferOptions::default().with_execution(execution));
    assert_eq!(inference.stopped(), None);
    assert!(outputs(&parsed).into_iter().all(|value| inference.shape(value).is_some()));
}

/// Observers hear from each kind of work, with growing numbers.
#[test]
fn progress_is_reported() {
    let text = chain(10_000);
    let steps = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&steps);
    let execution =
        Execution::default().with_progress(move |step| log.lock().unwrap().push((step.task, step.done)));
    let options = ParseOptions::default().with_execution(execution.clone());
    let model = parse_model(&text, &options).unwrap();
    let _ = decode(bytes(&model), &DecodeOptions::default().with_execution(execution.clone()));
    let _ = infer(&model, &InferOptions::default().with_execution(execution.clone()));
    let _ = check(&model, &CheckOptions::default().with_execution(execution));
    let steps = steps.lock().unwrap();
    for task in ["parse", "decode", "infer", "check"] {
        let done: Vec<u64> = steps.iter().filter(|step| step.0 == task).map(|step| step.1).collect();
        assert!(done.len() > 2 && done.is_sorted(), "{task}: {done:?}");
    }
}
