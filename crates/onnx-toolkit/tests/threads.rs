//! What may be shared between threads and sent to others: models, results, options and errors.
//!
//! The assertions are made by the compiler; a type that loses the property does not compile.

use onnx_toolkit::{
    check, codec, diag, eval, formats, infer, ir, ops, pass, proto, schema, smith, text, types,
};

const fn shared<T: Send + Sync>() {}

const _: () = {
    shared::<ir::Model>();
    shared::<ir::Changes>();
    shared::<ir::Importer<'_>>();
    shared::<ir::NamePlan>();
    shared::<ir::EditError>();
    shared::<codec::Loaded>();
    shared::<codec::Decoded>();
    shared::<codec::DecodeOptions>();
    shared::<codec::EncodeOptions>();
    shared::<codec::WriteOptions>();
    shared::<codec::Segments>();
    shared::<codec::LoadError>();
    shared::<codec::SaveError>();
    shared::<codec::DecodeError>();
    shared::<codec::EncodeError>();
    shared::<text::ParseOptions<'_>>();
    shared::<text::PrintOptions<'_>>();
    shared::<text::ParseError>();
    shared::<text::PrintError>();
    shared::<formats::FormatError>();
    shared::<formats::Losses>();
    shared::<check::CheckOptions>();
    shared::<check::IncrementalCheck>();
    shared::<diag::Sink>();
    shared::<diag::Diagnostic>();
    shared::<diag::Report>();
    shared::<infer::InferOptions<'_>>();
    shared::<infer::Inference>();
    shared::<infer::Justification>();
    shared::<infer::Report>();
    shared::<eval::EvalOptions<'_>>();
    shared::<eval::Evaluator<'_>>();
    shared::<eval::Value>();
    shared::<eval::Failure>();
    shared::<pass::PassOptions<'_>>();
    shared::<pass::Equivalence>();
    shared::<pass::Verdict>();
    shared::<pass::Refusal>();
    shared::<smith::Made>();
    shared::<schema::Registry>();
    shared::<ops::MakeError>();
    shared::<proto::wire::WireError>();
    shared::<types::Execution>();
    shared::<types::tensor::Tensor>();
};

/// One model is inferred and run by several threads at the same time, with one result.
#[test]
fn one_model_serves_many_threads() {
    let source = r#"<ir_version: 10, opset_import: ["": 20]>
    g (float[N] x) => (float["2*N"] y) { s = Concat <axis = 0> (x, x)  y = Relu (s) }"#;
    let model = text::parse_model(source, &text::ParseOptions::default()).unwrap();
    let evaluator = eval::Evaluator::new(&model, &eval::EvalOptions::default()).unwrap();
    let results: Vec<(String, Vec<f32>)> = std::thread::scope(|scope| {
        let work = || {
            let inference = infer::infer(&model, &infer::InferOptions::default());
            let y = model.graph(model.main_graph()).outputs()[0].value();
            let size = inference.display(&model, inference.shape(y).unwrap()[0]).to_string();
            let x = types::tensor::Tensor::vector(&[1.0_f32, -1.0]);
            let outputs = evaluator.run(&[("x", eval::Value::from(x))]).unwrap();
            (size, outputs[0].tensor().unwrap().to_vec(&types::tensor::NoData).unwrap())
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(
        results.iter().all(|result| *result == ("2*N".to_owned(), vec![1.0, 0.0, 1.0, 0.0])),
        "{results:?}"
    );
}
