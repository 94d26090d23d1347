//! Inference does not change the tables of names and expressions of a model, whatever a rule of a user does.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use onnx_ir::{Attribute, Changes, Model};
use onnx_schema::{Pack, Registry, attr};
use onnx_shape_infer::{InferOptions, InferPack, Inference, MergePolicy, infer, infer_function, infer_node};
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};
use onnx_types::{Dim, Shape, Type};

const MODEL: &str = r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
    g (float[N, M] x) => (float[a, b] y) { r = Reshape (x, s) q = my.Op (r) y = Relu (q) }
    <domain: "my", opset_import: ["": 20, "other": 1]> F (u) => (v) { v = other.Op (u) }"#;

fn text(model: &Model) -> String {
    print_model(model, &PrintOptions::full()).unwrap().text
}

/// Runs `work` with rules that panic, and checks that the model is as it was.
fn check(work: impl Fn(&mut Model, &InferOptions<'_>)) {
    let mut model = parse_model(MODEL, &ParseOptions::default()).unwrap();
    let pack = Pack::new()
        .with_rule("my", "Op", |cx| {
            assert_eq!(cx.names().resolve(cx.node().op()), "Op", "a rule sees the names");
            std::panic::panic_any("a rule")
        })
        .with_rule("other", "Op", |_| std::panic::panic_any("a rule"));
    let registry = Registry::standard().with(pack).unwrap();
    let mut options = InferOptions::default();
    options.registry = &registry;
    let (before, names, revision) = (text(&model), model.names().len(), model.revision());
    let caught = catch_unwind(AssertUnwindSafe(|| work(&mut model, &options))).unwrap_err();
    assert_eq!(caught.downcast_ref(), Some(&"a rule"));
    assert_eq!(text(&model), before);
    assert_eq!(model.names().len(), names);
    assert!(model.changes_since(&revision).is_empty());
    model.verify().unwrap();
    // The model serves for another run.
    assert!(infer(&model, &InferOptions::default()).findings().is_empty());
}

#[test]
fn a_rule_that_panics_leaves_the_model_as_it_was() {
    check(|model, options| drop(infer(model, options)));
    check(|model, options| {
        let inference = infer(model, &InferOptions::default());
        drop(inference.update(model, options, &Changes::Everything));
    });
    check(|model, options| {
        let node = model.nodes(model.main_graph()).nth(1).unwrap();
        drop(infer_node(model, node, options));
    });
    check(|model, options| {
        let function = model.functions()[0];
        drop(infer_function(model, function, &[None], &[], options));
    });
}

/// Sizes that nothing is known about, expressions of them and of variables, a nested graph, and a function.
const GROWING: &str = r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
    g (float[N, M] x, int64[2] s, bool c) => (y, z) {
        r = Reshape (x, s)
        d = Concat <axis = 0> (r, r)
        e = Concat <axis = 1> (x, x)
        y = If (c) <then_branch = t () => (p) { p = Concat <axis = 0> (d, d) }, else_branch = f () => (q) { q = Neg (r) }>
        z = my.F (e)
    }
    <domain: "my", opset_import: ["": 20]> F (u) => (v) { v = Concat <axis = 1> (u, u) }"#;

#[test]
fn inferring_a_model_a_thousand_times_does_not_grow_it() {
    let mut model = parse_model(GROWING, &ParseOptions::default()).unwrap();
    let (before, names, exprs) = (text(&model), model.names().len(), model.exprs().len());
    let options = InferOptions::default();
    for _ in 0..500 {
        let inference = infer(&model, &options);
        assert!(inference.symbol_count() > 2 && inference.exprs().len() > 2);
        drop(inference.update(&model, &options, &Changes::Everything));
    }
    assert_eq!((model.names().len(), model.exprs().len()), (names, exprs));
    assert_eq!(text(&model), before);
    // Types that are applied again add nothing, either.
    infer(&model, &options).apply(&mut model, MergePolicy::Refine).unwrap();
    let (names, exprs) = (model.names().len(), model.exprs().len());
    for policy in [MergePolicy::Keep, MergePolicy::Refine, MergePolicy::Override] {
        let applied = infer(&model, &options).apply(&mut model, policy).unwrap();
        assert_eq!((applied.added, applied.changed), (0, 0), "{policy:?}");
        assert_eq!((model.names().len(), model.exprs().len()), (names, exprs), "{policy:?}");
    }
}

/// The shape of a value of the main graph as text, of a result and of a model.
fn shapes(model: &Model, inference: &Inference, name: &str) -> [String; 2] {
    let name = model.names().get(name).unwrap();
    let mut values = model.definitions(model.main_graph());
    let value = values.find(|&value| model.value(value).name() == name).unwrap();
    let join = |texts: Vec<String>| texts.join(", ");
    let inferred = inference.shape(value).unwrap();
    let declared = model.ty(value).and_then(Type::shape).map_or(&[][..], Shape::dims);
    [
        join(inferred.iter().map(|&dim| inference.display(model, dim).to_string()).collect()),
        join(declared.iter().map(|&dim| model.exprs().display(dim, model.names()).to_string()).collect()),
    ]
}

#[test]
fn names_of_new_symbols_avoid_those_of_the_model_and_stay() {
    let source = GROWING.replace("float[N, M] x", "float[unk__0, unk__1] x");
    let mut model = parse_model(&source, &ParseOptions::default()).unwrap();
    let mut inference = infer(&model, &InferOptions::default());
    let mut other = model.clone();
    let before = shapes(&model, &inference, "d")[0].clone();
    assert_eq!(before, "2*unk__0_1, unk__1_1");
    inference.apply(&mut model, MergePolicy::Refine).unwrap();
    assert_eq!(shapes(&model, &inference, "d"), [before.clone(), before.clone()]);
    assert_eq!(shapes(&model, &inference, "e"), ["unk__0, 2*unk__1", "unk__0, 2*unk__1"]);
    // A clone has other names for the same symbols.
    other.intern("unk__0_1");
    assert_eq!(shapes(&other, &inference, "d")[0], "2*unk__0_2, unk__1_1");
    let mut copy = inference.clone();
    copy.apply(&mut other, MergePolicy::Refine).unwrap();
    assert_eq!(shapes(&other, &copy, "d"), ["2*unk__0_2, unk__1_1", "2*unk__0_2, unk__1_1"]);
    assert_eq!(shapes(&model, &inference, "d"), [before.clone(), before]);
}

#[test]
fn results_that_are_applied_one_after_the_other_share_no_name() {
    let mut model = parse_model(GROWING, &ParseOptions::default()).unwrap();
    let mut results = [0, 1].map(|_| infer(&model, &InferOptions::default()));
    let graph = model.main_graph();
    let values: Vec<_> = model.nodes(graph).filter_map(|node| model.node(node).output(0)).collect();
    let [first, second] = results.each_mut().map(|inference| inference.intern_type(&mut model, values[0]));
    let symbols = |ty: Option<Type>| -> Vec<Dim> { ty.unwrap().shape().unwrap().dims().to_vec() };
    let (first, second) = (symbols(first), symbols(second));
    assert!(first.iter().all(|dim| !second.contains(dim)), "{first:?} and {second:?}");
}

#[test]
fn an_update_after_a_result_was_applied_keeps_its_symbols() {
    let mut model = parse_model(GROWING, &ParseOptions::default()).unwrap();
    let revision = model.revision();
    let mut inference = infer(&model, &InferOptions::default());
    inference.apply(&mut model, MergePolicy::Refine).unwrap();
    let reshape = model.graph(model.main_graph()).first().unwrap();
    model.set_attribute(reshape, Attribute::new(attr::ALLOWZERO, 1)).unwrap();
    let output = model.node(reshape).output(0).unwrap();
    let before = inference.shape(output).unwrap().to_vec();
    let changes = model.changes_since(&revision);
    let inference = inference.update(&model, &InferOptions::default(), &changes);
    assert_eq!(inference.shape(output), Some(before.as_slice()));
    assert_eq!(shapes(&model, &inference, "r"), ["unk__0, unk__1", "unk__0, unk__1"]);
    assert_eq!(shapes(&model, &inference, "d"), ["2*unk__0, unk__1", "2*unk__0, unk__1"]);
}

#[test]
fn an_expression_that_is_too_long_becomes_one_symbol() {
    let name = "n".repeat(3000);
    let source = format!(
        "<ir_version: 10, opset_import: [\"\": 20]> g (float[\"{name}\", K] x, float[\"{name}m\", K] w) => (y, z) {{ \
         y = Concat <axis = 0> (x, w) z = Neg (y) }}"
    );
    let mut model = parse_model(&source, &ParseOptions::default()).unwrap();
    let mut inference = infer(&model, &InferOptions::default());
    inference.apply(&mut model, MergePolicy::Refine).unwrap();
    let [y, z] = ["y", "z"].map(|name| shapes(&model, &inference, name)[1].clone());
    assert_eq!((y.as_str(), z), ("unk__0, K", y.clone()));
}

/// The size of the output of `my.Op` at a version, as the rules of packs say it.
fn size_at(version: i64, packs: impl IntoIterator<Item = Pack>) -> Option<Vec<Dim>> {
    let text = format!(
        "<ir_version: 10, opset_import: [\"my\": {version}]> g (float[2] x) => (y) {{ y = my.Op (x) }}"
    );
    let model = parse_model(&text, &ParseOptions::default()).unwrap();
    let registry =
        packs.into_iter().fold(Registry::standard(), |registry, pack| registry.with(pack).unwrap());
    let inference = infer(&model, &InferOptions::default().with_registry(&registry));
    inference.shape(model.graph(model.main_graph()).outputs()[0].value()).map(<[_]>::to_vec)
}

/// A pack whose rules say the version that they serve from.
fn pack(versions: &[i64]) -> Pack {
    versions.iter().fold(Pack::new(), |pack, &version| {
        pack.with_rule_since("my", "Op", version, move |cx| {
            cx.set_elem(0, onnx_types::ElemType::Float);
            cx.set_shape(0, [Dim::Known(version)]);
            Ok(())
        })
    })
}

#[test]
fn rules_of_packs_serve_from_a_version_on() {
    let all: fn(i64) -> Pack = |size| {
        Pack::new().with_rule("my", "Op", move |cx| {
            cx.set_elem(0, onnx_types::ElemType::Float);
            cx.set_shape(0, [Dim::Known(size)]);
            Ok(())
        })
    };
    let at = |version, packs: Vec<Pack>| {
        size_at(version, packs).map(|dims| dims.first().and_then(|dim| dim.known()).unwrap())
    };
    let sizes = |packs: &dyn Fn() -> Vec<Pack>| [1, 2, 3, 4, 5].map(|version| at(version, packs()));
    assert_eq!(sizes(&|| vec![pack(&[2, 4])]), [None, Some(2), Some(2), Some(4), Some(4)]);
    assert_eq!(sizes(&|| vec![all(9), pack(&[4])]), [Some(9), Some(9), Some(9), Some(4), Some(4)]);
    // A later pack replaces rules from its first version on.
    assert_eq!(sizes(&|| vec![pack(&[2, 4]), pack(&[3])]), [None, Some(2), Some(3), Some(3), Some(3)]);
    assert_eq!(sizes(&|| vec![pack(&[2, 4]), all(9)]), [Some(9); 5]);
}
