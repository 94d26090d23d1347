//! Importing graphs and functions of generated models into another model.

use onnx_ir::{CallGraph, Importer, Model, ValueId};
use onnx_schema::Registry;
use onnx_types::tensor::NoData;

/// The dimensions of a value as text.
fn dims(model: &Model, value: ValueId) -> Vec<String> {
    let shape = model.ty(value).and_then(|ty| ty.shape());
    let dims = shape.map(|shape| shape.dims().to_vec()).unwrap_or_default();
    dims.into_iter().map(|dim| model.exprs().display(dim, model.names()).to_string()).collect()
}

#[test]
fn generated_models_mean_the_same_after_import() {
    let mut functions = 0;
    for seed in 0..120 {
        let from = onnx_smith::from_seed(seed, &onnx_smith::SmithOptions::default()).model;
        // Into a copy of the model itself, which has all functions, so that both graphs can be compared.
        let mut into = from.clone();
        let mut importer = Importer::new(&from);
        for &function in CallGraph::new(&from, &Registry::standard()).callees_first() {
            let kept = importer.function(&mut into, function);
            assert_eq!(kept, Ok(function), "seed {seed}");
            functions += 1;
        }
        let copy = importer.graph(&mut into, from.main_graph()).unwrap();
        into.verify_sorted().unwrap();
        assert!(into.same_graph_meaning(into.main_graph(), copy, &NoData), "seed {seed}");
        assert_eq!(into.functions().len(), from.functions().len());
    }
    assert!(functions > 20, "{functions} functions");
}

#[test]
fn generated_models_are_imported_by_name() {
    for seed in 0..60 {
        let from = onnx_smith::from_seed(seed, &onnx_smith::SmithOptions::default()).model;
        // Other symbols for most names.
        let mut into = Model::new();
        for index in 0..100 {
            into.intern(&format!("other{index}"));
        }
        let copy = Importer::new(&from).graph(&mut into, from.main_graph()).unwrap();
        into.verify_sorted().unwrap();
        let (inputs, copies) = (from.graph(from.main_graph()).inputs(), into.graph(copy).inputs());
        assert_eq!(inputs.len(), copies.len());
        for (&input, &copy) in inputs.iter().zip(copies) {
            assert_eq!(from.str(from.value(input).name()), into.str(into.value(copy).name()), "seed {seed}");
            assert_eq!(dims(&from, input), dims(&into, copy), "seed {seed}");
        }
        let calls = |model: &Model, graph| -> Vec<String> {
            model.nodes_in(graph).map(|node| model.str(model.node(node).op()).to_owned()).collect()
        };
        assert_eq!(calls(&from, from.main_graph()), calls(&into, copy), "seed {seed}");
    }
}
