//! A pack of a third party, registered once, is known to the checker, inference, the generator, the evaluator and passes.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests fail by panicking")]

use onnx_check::{CheckOptions, CustomOperators, check};
use onnx_eval::{EvalPack, Evaluator, Value};
use onnx_ir::{Cursor, Model, Position};
use onnx_pass::{Exactness, Level, PassCx, PassOptions, Verdict};
use onnx_schema::{DeclareError, DeclaredDefault, Determinism, OperatorSet, Pack, Registry, declare};
use onnx_shape_infer::{InferPack, infer};
use onnx_smith::{SmithPack, from_seed};
use onnx_types::tensor::{NoData, Tensor};
use onnx_types::{Dim, ElemType};

/// What the third party publishes: `Interleave (a, b)` takes the elements of two tensors of the same sizes in turn, along the
/// first axis. Since version 2 it has a second output, `b`.
mod acme {
    use super::*;

    const DOMAIN: &str = "com.acme";

    fn set(version: i64) -> Result<OperatorSet, DeclareError> {
        let mut operator = declare("Interleave", version).input("a", "T").input("b", "T").output("c", "T");
        if version > 1 {
            operator = operator.optional_output("d", "T");
        }
        let mut set = OperatorSet::new(DOMAIN, version);
        set.add(operator.types("T", ["tensor(float)"]).determinism(Determinism::Deterministic))?;
        Ok(set)
    }

    pub(crate) fn pack() -> Pack {
        Pack::new()
            .with_set(set(1).unwrap())
            .with_set(set(2).unwrap())
            .with_rule(DOMAIN, "Interleave", |cx| {
                let mut dims = cx.shape(0)?;
                for (dim, other) in dims.iter_mut().zip(cx.shape_of_rank(1, cx.rank(0)?)?) {
                    *dim = cx.same(*dim, other, "the sizes of the two tensors")?;
                }
                cx.set_shape(1, dims.iter().copied());
                let Some(first) = dims.first_mut() else {
                    return Err(
                        cx.fail(&onnx_shape_infer::fault::WRONG_RANK, "a tensor of rank 0 has no first axis")
                    );
                };
                *first = cx.dims().mul(*first, 2.into());
                cx.set_shape(0, dims);
                Ok(())
            })
            .with_kernel(DOMAIN, "Interleave", |cx| {
                let (a, b) = (cx.tensor(0)?, cx.tensor(1)?);
                let mut dims = a.dims.clone();
                let (Some(first), true) = (dims.first_mut(), a.dims == b.dims) else {
                    return Err(onnx_eval::Stop::failed("the operands do not fit"));
                };
                let rows = *first;
                *first = rows.checked_mul(2).ok_or_else(|| onnx_eval::Stop::failed("too many rows"))?;
                let (x, y) = (cx.read::<f32>(&a)?, cx.read::<f32>(&b)?);
                let mut out = cx.buffer(cx.count(&dims)?)?;
                let row = x.len().checked_div(rows).unwrap_or(0).max(1);
                for (x, y) in x.chunks(row).zip(y.chunks(row)) {
                    out.extend_from_slice(x);
                    out.extend_from_slice(y);
                }
                cx.put(0, a.elem, &dims, out)?;
                let y = y.to_vec();
                cx.put(1, b.elem, &b.dims, y)
            })
            .with_recipe(DOMAIN, "Interleave", |node| {
                let dims = node.of_rank(1, 3)?;
                node.shaped(&dims)
            })
    }
}

fn registry() -> Registry {
    Registry::standard().with(acme::pack()).unwrap()
}

fn parse(graph: &str) -> Model {
    let text = format!("<ir_version: 10, opset_import: [\"\": 21, \"com.acme\": 2]>\n{graph}");
    onnx_text::parse_model(&text, &onnx_text::ParseOptions::default()).unwrap()
}

fn slugs(model: &Model, registry: &Registry) -> Vec<&'static str> {
    let custom_operators = CustomOperators::Refuse;
    let options =
        CheckOptions::default().with_registry(registry.clone()).with_custom_operators(custom_operators);
    check(model, &options).into_diagnostics().iter().map(|found| found.rule.slug).collect()
}

const MODEL: &str = "g (float[N,3] a, float[N,3] b) => (float[M,3] c) { c = com.acme.Interleave (a, b) }";

#[test]
fn the_checker_knows_its_declarations() {
    assert_eq!(slugs(&parse(MODEL), &Registry::standard()), ["unknown-operator"]);
    assert_eq!(slugs(&parse(MODEL), &registry()), [""; 0]);
    let wrong = parse("g (float[N,3] a) => (float[M,3] c) { c = com.acme.Interleave (a) }");
    assert_eq!(slugs(&wrong, &registry()), ["wrong-input-count"]);
    let later = MODEL.replace("Interleave", "Frob");
    assert_eq!(slugs(&parse(&later), &registry()), ["unknown-operator"]);
}

#[test]
fn inference_uses_its_rules() {
    let model = parse(MODEL);
    let registry = registry();
    let inference = infer(&model, &onnx_shape_infer::InferOptions::default().with_registry(&registry));
    let c = model.graph(model.main_graph()).outputs()[0].value();
    assert_eq!(inference.elem(c), Some(ElemType::Float), "the declaration says so");
    let dims: Vec<String> =
        inference.shape(c).unwrap().iter().map(|&dim| inference.display(&model, dim).to_string()).collect();
    assert_eq!(dims, ["2*N", "3"]);

    let wrong = parse("g (float[2] a, float[3] b) => (float[M] c) { c = com.acme.Interleave (a, b) }");
    let inference = infer(&wrong, &onnx_shape_infer::InferOptions::default().with_registry(&registry));
    assert!(inference.findings().has_errors());
}

#[test]
fn the_evaluator_uses_its_kernels() {
    let model = parse(&MODEL.replace("N,3", "N").replace("M,3", "M"));
    let registry = registry();
    let options = onnx_eval::EvalOptions::default().with_registry(&registry);
    let [a, b] = [[1.0_f32, 2.0], [3.0, 4.0]].map(|numbers| Value::from(Tensor::vector(&numbers)));
    let outputs = Evaluator::new(&model, &options).unwrap().run(&[("a", a), ("b", b)]).unwrap();
    assert_eq!(outputs[0].tensor().unwrap().to_vec::<f32>(&NoData).unwrap(), [1.0, 3.0, 2.0, 4.0]);
}

#[test]
fn the_generator_makes_its_operators() {
    let registry = registry();
    let options = onnx_smith::SmithOptions::default().with_registry(&registry);
    let (mut made, mut versions) = (0, [0; 2]);
    for seed in 0..40 {
        let model = from_seed(seed, &options).model;
        let again = from_seed(seed, &options).model;
        assert_eq!(text(&model), text(&again), "seed {seed}");
        let is_ours = |&node: &onnx_ir::NodeId| model.str(model.node(node).op()) == "Interleave";
        let count = model.all_graphs().flat_map(|graph| model.nodes(graph)).filter(is_ours).count();
        made += count;
        if count > 0 {
            let imports = &model.info().opset_imports;
            let import = imports.iter().find(|import| model.str(import.domain()) == "com.acme").unwrap();
            versions[usize::try_from(import.version()).unwrap() - 1] += 1;
        }
        let options = CheckOptions::default().with_registry(registry.clone());
        assert!(!check(&model, &options).has_errors(), "seed {seed}: {}", text(&model));
        let inference = infer(&model, &onnx_shape_infer::InferOptions::default().with_registry(&registry));
        assert!(inference.findings().is_empty(), "seed {seed}: {}", text(&model));
    }
    assert!(made > 20, "{made} nodes of the pack");
    assert!(versions.iter().all(|&count| count > 2), "models of both versions: {versions:?}");
    // Without the pack, the choices are the same as ever.
    let usual = from_seed(1, &onnx_smith::SmithOptions::default()).model;
    assert!(!text(&usual).contains("Interleave"));
}

fn text(model: &Model) -> String {
    onnx_text::print_model(model, &onnx_text::PrintOptions::default()).unwrap().text
}

/// Replaces `Interleave (a, b)` by `Concat (first, second)`.
fn concat(model: &mut Model, order: [usize; 2], registry: &Registry) -> Result<Verdict, (Level, String)> {
    let mut options = PassOptions::default();
    options.registry = registry;
    let mut cx = PassCx::new(model, options);
    let node = Cursor::all(cx.model()).next(cx.model()).unwrap();
    let operands: Vec<_> = cx.model().node(node).inputs().flatten().collect();
    let c = cx.model().node(node).output(0).unwrap();
    let mut patch = cx.patch("concat", Exactness::Exact);
    patch.source(node);
    operands.iter().for_each(|&operand| patch.tap(operand));
    let axis = patch.model().names().get("axis").unwrap();
    let new = patch.build(Position::Before(node), |build| {
        build.op(onnx_schema::op::CONCAT, order.map(|index| operands[index])).attr(axis, 0).output()
    });
    patch.replace(c, new.unwrap());
    patch.commit().map(|proof| proof.verdict).map_err(|refusal| (refusal.level, refusal.reason))
}

#[test]
fn passes_prove_edits_of_its_operators() {
    let registry = registry();
    // Of one row each, rows in turn are one behind the other.
    let graph = "g (float[1,3] a, float[1,3] b) => (float[2,3] c) { c = com.acme.Interleave (a, b) }";
    let verdict = concat(&mut parse(graph), [0, 1], &registry).unwrap();
    assert!(matches!(verdict, Verdict::Tested { .. }), "{verdict}");
    let mut model = parse(graph);
    let before = text(&model);
    let (level, reason) = concat(&mut model, [1, 0], &registry).unwrap_err();
    assert_eq!(level, Level::Values, "{reason}");
    assert_eq!(text(&model), before);
    // Whether an operator is deterministic is not known without its declaration.
    let (level, _) = concat(&mut model, [0, 1], &Registry::standard()).unwrap_err();
    assert_eq!(level, Level::Structure);
}

/// `Gain` scales by `factor`, which is 3 by default, and 5 since version 2; `label` and `biases` have defaults, too.
fn gain() -> Registry {
    let set = |version, factor| {
        let mut set = OperatorSet::new("com.acme", version);
        let gain = declare("Gain", version).input("x", "tensor(float)").output("y", "tensor(float)");
        let gain = gain.attribute_with_default("factor", DeclaredDefault::Float(factor));
        let gain = gain.attribute_with_default("label", DeclaredDefault::String("none".to_owned()));
        let biases = DeclaredDefault::Floats(vec![0.5, 0.25]);
        set.add(gain.attribute_with_default("biases", biases)).unwrap();
        set
    };
    let kernel = |cx: &mut onnx_eval::Cx<'_, '_>, rows: i64| {
        assert_eq!(cx.text("label")?, "none");
        assert_eq!(cx.schema().map(onnx_schema::SchemaRef::is_declared), Some(true));
        let (x, bias) = (cx.tensor(0)?, cx.floats("biases")?.unwrap_or_default().iter().sum::<f32>());
        let factor = cx.float("factor")?.unwrap_or(f32::NAN);
        let mut scaled: Vec<f32> = cx.read::<f32>(&x)?.iter().map(|x| x * factor + bias).collect();
        scaled.extend([cx.since(), cx.opset(), rows].map(|version| version as f32));
        let dims = [scaled.len()];
        cx.put(0, x.elem, &dims, scaled)
    };
    let pack = Pack::new()
        .with_set(set(1, 3.0))
        .with_set(set(2, 5.0))
        // The order in which one pack lists its versions has no meaning.
        .with_kernel_since("com.acme", "Gain", 2, move |cx| kernel(cx, 2))
        .with_kernel("com.acme", "Gain", move |cx| kernel(cx, 1))
        .with_rule("com.acme", "Gain", |cx| {
            assert_eq!(cx.text("label")?, Some("none"));
            assert_eq!(cx.floats("biases")?, Some(&[0.5, 0.25][..]));
            let factor = cx.float("factor")?.unwrap_or(f32::NAN);
            let sizes = [factor as i64, cx.since(), cx.opset()];
            cx.set_shape(0, sizes.map(Dim::Known));
            Ok(())
        });
    Registry::standard().with(pack).unwrap()
}

#[test]
fn rules_and_kernels_read_attributes_by_name_with_the_declared_defaults() {
    let registry = gain();
    for (import, attributes, [factor, since]) in
        [(1, "", [3, 1]), (2, "", [5, 2]), (2, "<factor = 7.0>", [7, 2]), (1, "<factor = 7.0>", [7, 1])]
    {
        let text = format!(
            "<ir_version: 10, opset_import: [\"com.acme\": {import}]>
             g (float[1] x) => (y) {{ y = com.acme.Gain {attributes} (x) }}"
        );
        let model = onnx_text::parse_model(&text, &onnx_text::ParseOptions::default()).unwrap();
        let options = onnx_eval::EvalOptions::default().with_registry(&registry);
        let x = Value::from(Tensor::vector(&[2.0_f32]));
        let outputs = Evaluator::new(&model, &options).unwrap().run(&[("x", x)]).unwrap();
        let computed = outputs[0].tensor().unwrap().to_vec::<f32>(&NoData).unwrap();
        let scaled = 2.0 * factor as f32 + 0.75;
        assert_eq!(computed, [scaled, since as f32, import as f32, since as f32], "{text}");

        let options = onnx_shape_infer::InferOptions::default().with_registry(&registry);
        let y = model.graph(model.main_graph()).outputs()[0].value();
        let inference = infer(&model, &options);
        assert_eq!(inference.shape(y), Some(&[factor, since, import].map(Dim::Known)[..]), "{text}");
    }
}

#[test]
fn a_rule_that_panics_leaves_the_model_as_it_was() {
    let bytes = |model: &Model| {
        onnx_codec::encode(model, &onnx_codec::EncodeOptions::default()).unwrap().into_bytes()
    };
    let model = parse(
        "g (float[N,3] a, int64[2] s) => (c) { r = Reshape (a, s) b = Concat <axis = 0> (r, r) c = com.acme.Op (b) }",
    );
    let before = (bytes(&model), model.names().len(), model.exprs().len());
    let pack = Pack::new().with_rule("com.acme", "Op", |cx| {
        let model = cx.model();
        assert_eq!(model.str(cx.node().op()), "Op", "a rule sees the names");
        assert!(matches!(model.callee(cx.node_id(), Registry::STANDARD), onnx_ir::Callee::Undefined));
        std::panic::panic_any("a rule")
    });
    let registry = Registry::standard().with(pack).unwrap();
    let options = onnx_shape_infer::InferOptions::default().with_registry(&registry);
    let work = std::panic::AssertUnwindSafe(|| drop(infer(&model, &options)));
    let caught = std::panic::catch_unwind(work).unwrap_err();
    assert_eq!(caught.downcast_ref(), Some(&"a rule"));
    assert_eq!((bytes(&model), model.names().len(), model.exprs().len()), before);
    model.verify().unwrap();
    assert_eq!(infer(&model, &onnx_shape_infer::InferOptions::default()).symbol_count(), 2);
}
