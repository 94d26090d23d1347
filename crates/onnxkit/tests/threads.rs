//! What may be shared between threads and sent to others: models, results, options and errors.
//!
//! The assertions are made by the compiler; a type that loses the property does not compile.

use onnxkit::{
    check, codec, compose, diag, eval, formats, infer, ir, ops, pass, proto, schema, smith, text, types,
};

const fn shared<T: Send + Sync>() {}

const fn error<T: std::error::Error + Send + Sync + 'static>() {}

const _: () = {
    error::<codec::DecodeError>();
    error::<codec::EncodeError>();
    error::<codec::LoadError>();
    error::<codec::SaveError>();
    error::<compose::SelectorError>();
    error::<codec::ExternalizeError>();
    error::<codec::FileError>();
    error::<codec::message::MessageError>();
    error::<codec::operator_set::OperatorSetError>();
    error::<eval::Failure>();
    error::<eval::compare::CompareFailure>();
    error::<eval::generate::GenerateError>();
    error::<formats::ConvertError>();
    error::<formats::SignatureError>();
    error::<infer::Contradictions>();
    error::<ir::Cycle>();
    error::<ir::EditError>();
    error::<ir::Fault>();
    error::<ops::MakeError>();
    error::<ops::Mismatch>();
    error::<pass::EquivalenceError>();
    error::<pass::PatternError>();
    error::<pass::Reason>();
    error::<pass::Refusal>();
    error::<proto::wire::WireError>();
    error::<schema::DeclareError>();
    error::<text::FormatError>();
    error::<text::ParseError>();
    error::<text::PrintError>();
    error::<text::WriteError>();
    error::<types::Stopped>();
    error::<types::UnknownElemTypeError>();
    error::<types::UnknownLimitError>();
    error::<types::expr::ExprError>();
    error::<types::tensor::DataError>();
    error::<types::tensor::TensorError>();
    error::<types::tensor::TensorFault>();
    error::<types::tensor::VarintError>();
};

const _: () = {
    shared::<ir::Model>();
    shared::<ir::Changes>();
    shared::<ir::Importer<'_>>();
    shared::<ir::NamePlan>();
    shared::<codec::Loaded>();
    shared::<codec::Decoded>();
    shared::<codec::DecodeOptions>();
    shared::<codec::EncodeOptions>();
    shared::<codec::WriteOptions>();
    shared::<codec::Segments>();
    shared::<text::ParseOptions<'_>>();
    shared::<text::PrintOptions<'_>>();
    shared::<formats::Losses>();
    shared::<check::CheckOptions>();
    shared::<diag::Sink>();
    shared::<diag::Diagnostic>();
    shared::<diag::CommandReport>();
    shared::<infer::InferOptions<'_>>();
    shared::<infer::Inference>();
    shared::<infer::Justification>();
    shared::<infer::InferenceReport>();
    shared::<eval::EvalOptions<'_>>();
    shared::<eval::Evaluator<'_>>();
    shared::<eval::Value>();
    shared::<pass::PassOptions<'_>>();
    shared::<pass::Equivalence>();
    shared::<pass::Verdict>();
    shared::<smith::Made>();
    shared::<schema::Registry>();
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
