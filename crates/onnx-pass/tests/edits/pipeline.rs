//! Pipelines, the registry of passes, and restructurings.

use std::cell::Cell;
use std::sync::Arc;

use onnx_ir::{Constant, Model};
use onnx_pass::passes::Report;
use onnx_pass::{
    Bisection, Ended, Exactness, Level, Pass, PassCx, PassOptions, PassPack, Pipeline, Trial, Verdict, bisect,
};
use onnx_schema::{Pack, Registry, op};
use onnx_types::tensor::{ExternalData, Tensor};
use onnx_types::{ElemType, Execution, Interrupt, Limits};

use crate::{bytes, nodes, parse, value};

fn names(pipeline: &Pipeline) -> Vec<&str> {
    pipeline.passes().map(Pass::name).collect()
}

#[test]
fn a_pass_follows_those_that_it_requires() {
    let pipeline = Pipeline::named(&["no-unused-imports", "sorted"], Registry::STANDARD).unwrap();
    assert_eq!(names(&pipeline), ["no-dead-nodes", "no-unused-functions", "no-unused-imports", "sorted"]);
    let error = Pipeline::named(&["no-identity"], Registry::STANDARD).unwrap_err();
    assert!(
        error.to_string().starts_with("the pass `no-identity` does not exist; the known ones are sorted, "),
        "{error}"
    );
    // Passes that require each other run once.
    let pass = |name: &'static str, after: &'static str| {
        Pass::new(name, "Nothing.", Exactness::Exact, |_| Report::default()).after(after)
    };
    let pack = Pack::new().with_pass(pass("a", "b")).with_pass(pass("b", "a"));
    let registry = Registry::standard().with(pack).unwrap();
    assert_eq!(names(&Pipeline::named(&["a"], &registry).unwrap()), ["b", "a"]);
}

#[test]
fn every_pass_has_a_page_and_a_name_of_its_own() {
    let all = Pass::standard();
    for (index, pass) in all.iter().enumerate() {
        assert!(pass.page().starts_with(&format!("# {}\n", pass.name())), "{}", pass.name());
        assert!(pass.page().contains("\n## What it changes\n"), "{}", pass.name());
        assert!(pass.page().contains("\n## What it does not change\n"), "{}", pass.name());
        assert!(all.iter().skip(index + 1).all(|other| other.name() != pass.name()), "{}", pass.name());
        for required in pass.requires() {
            assert!(Pass::find(required, Registry::STANDARD).is_some(), "{}", pass.name());
        }
    }
}

const CHAIN: &str = r#"<ir_version: 10, opset_import: ["": 20]>
    g (float[N] x) => (float[N] y) <float a = {2.0}> {
        b = Identity (a)
        c = Mul (b, b)
        d = Add (c, c)
        y = Mul (x, d)
    }"#;

#[test]
fn a_phase_is_repeated_until_no_pass_edits() {
    // Folding comes first and finds nothing behind the `Identity`.
    let order =
        ["folded-constants", "no-identities"].map(|name| Pass::find(name, Registry::STANDARD).unwrap());
    let mut model = parse(CHAIN);
    let once = Pipeline::new().then(order.clone()).run(&mut model, &PassOptions::default());
    assert_eq!((once.edits(), model.node_count()), (1, 3));
    let mut model = parse(CHAIN);
    let done = Pipeline::new().then_repeat(order).unwrap().run(&mut model, &PassOptions::default());
    assert_eq!((done.edits(), nodes(&model)), (3, vec!["y = Mul (x, val_1)".to_owned()]));
    let rounds: Vec<usize> = done.passes.iter().map(|pass| pass.rounds).collect();
    // The last round has nothing to do, and a pass that found nothing since the last edit does not run again.
    assert_eq!(rounds, [3, 2]);
    assert!(done.ended.is_none());
}

#[test]
fn an_interrupt_ends_a_pipeline_between_passes() {
    let mut model = parse(CHAIN);
    let interrupt = Interrupt::when(|| true);
    let options = PassOptions::default().with_execution(Execution::default().with_interrupt(interrupt));
    let done = Pipeline::named(&["no-identities"], Registry::STANDARD).unwrap().run(&mut model, &options);
    assert_eq!((done.ended, done.edits(), model.node_count()), (Some(Ended::Stopped), 0, 4));
}

#[test]
fn edits_beyond_the_limit_of_nodes_are_refused() {
    let text = r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
        g (float[N] x) => (float[N] y) { y = my.F (x) }
        <domain: "my", opset_import: ["": 20]> F (p) => (q) { a = Exp (p) b = Exp (a) q = Exp (b) }"#;
    for (nodes, edits) in [(6, 1), (5, 0)] {
        let mut model = parse(text);
        let limits = Limits { nodes, ..Limits::default() };
        let mut cx = PassCx::new(
            &mut model,
            PassOptions::default().with_execution(Execution::default().with_limits(limits)),
        );
        let is_call = |model: &Model, node| model.callee(node, Registry::STANDARD).function().is_some();
        let report =
            cx.rewrite_nodes("inline", Exactness::Exact, is_call, |patch, node| patch.inline_call(node));
        assert_eq!(
            (report.edits, report.refusals.len()),
            (edits, 1 - edits),
            "{nodes}: {:?}",
            report.refusals
        );
    }
}

/// Replaces a transposition of a square by its operand, which is wrong.
fn wrong() -> Pass {
    Pass::new("wrong", "Drops transpositions.", Exactness::Exact, |cx| {
        cx.rewrite("wrong", Exactness::Exact, op::TRANSPOSE, |patch, node| {
            let record = patch.model().node(node);
            let (Some(x), Some(y)) = (record.input(0), record.output(0)) else {
                return Err("no operand".into());
            };
            patch.tap(x);
            patch.replace(y, x);
            Ok(())
        })
    })
}

#[test]
fn a_model_that_computes_something_else_is_restored() {
    let text = r#"<ir_version: 10, opset_import: ["": 23]>
        g (int4[2,2] x) => (int4[2,2] y) { t = Transpose (x) y = Reshape <allowzero = 1> (t, s) }"#
        .replace("=> (int4[2,2] y)", "=> (int4[2,2] y) <int64[2] s = {2, 2}>");
    let pipeline = Pipeline::new().then([wrong()]);
    let mut model = parse(&text);
    let before = bytes(&model);
    // No claim of an edit is tested, but the whole model is.
    let options = PassOptions::default().with_untested(true).with_max_proof_steps(0);
    let done = pipeline.run(&mut model, &options);
    assert!(matches!(done.journal[0].verdict, Verdict::Untested(_)), "{:?}", done.journal);
    assert!(bytes(&model) != before);
    let mut model = parse(&text);
    let done = pipeline.run(&mut model, &options.with_level(Level::Model));
    let Some(Verdict::Refuted(found)) = &done.model else { panic!("{:?}", done.model) };
    assert!(found.difference.starts_with("y[0,1] is "), "{}", found.difference);
    assert!(bytes(&model) == before);
}

#[test]
fn the_whole_model_is_compared_after_correct_edits() {
    let mut model = parse(CHAIN);
    let pipeline = Pipeline::named(&["no-identities", "folded-constants"], Registry::STANDARD).unwrap();
    let done = pipeline.run(&mut model, &PassOptions::default().with_level(Level::Model));
    assert_eq!(done.model.unwrap().to_string(), "tested in 3 runs (3 attempts)");
}

/// A model with an edit to make, and this graph.
fn compared(graph: &str, limits: &Limits) -> String {
    let mut model = parse(&format!("<ir_version: 10, opset_import: [\"\": 20]> g {graph}"));
    let pipeline = Pipeline::named(&["no-identities"], Registry::STANDARD).unwrap();
    let options = PassOptions::default().with_level(Level::Model).with_execution(*limits);
    let done = pipeline.run(&mut model, &options);
    assert_eq!(done.edits(), 1);
    done.model.unwrap().to_string()
}

#[test]
fn whole_models_are_compared_within_the_limits_of_proofs() {
    let doubled: String =
        (0..60).map(|at| format!("s{} = Concat <axis = 0> (s{at}, s{at}) ", at + 1)).collect();
    let doubled =
        format!("() => (float[N] y) <float[1] s = {{1}}> {{ s0 = Identity (s) {doubled} y = Neg (s60) }}");
    let few = |limits: Limits| limits.with_proof_bytes(1 << 20).with_proof_steps(1 << 20);
    let verdict = compared(&doubled, &few(Limits::default()));
    assert!(verdict.starts_with("untested: ") && verdict.contains("the limit `proof_bytes`"), "{verdict}");
    // The limits of runs hold, too.
    let verdict = compared(&doubled, &Limits::default().with_run_bytes(1 << 20));
    assert!(verdict.contains("the limit `run_bytes`"), "{verdict}");
    let repeated =
        "() => (float[1] y, float[K, 1] z) <int64 n = {1000000000}, bool c = {1}, float[1] x = {1}> {
        s = Identity (x)
        y, z = Loop <body = b (int64 i, bool p, float[1] s) => (bool q, float[1] t, float[1] u)
            { q = Identity (p) t = Neg (s) u = Neg (s) }> (n, c, s)
    }";
    let verdict = compared(repeated, &few(Limits::default()));
    assert!(verdict.starts_with("untested: ") && verdict.contains("the limit `proof_steps`"), "{verdict}");
    let verdict = compared(repeated, &Limits::default().with_run_steps(1 << 20));
    assert!(verdict.contains("the limit `run_steps`"), "{verdict}");
    // More nodes and weights allow more.
    let many: String = (0..40).map(|at| format!("s{} = Neg (s{at}) ", at + 1)).collect();
    let many = format!("(float[1000] x) => (float[1000] y) {{ s0 = Identity (x) {many} y = Neg (s40) }}");
    assert!(compared(&many, &Limits::default().with_proof_steps(10_000)).starts_with("tested in "));
}

#[test]
fn models_without_their_weights_are_not_compared() {
    let mut model = parse(
        r#"<ir_version: 10, opset_import: ["": 20]>
        g (float[N, 2] x) => (float[N, 2] y) <float[2] w = {1, 2}> { i = Identity (x) y = Add (i, w) }"#,
    );
    let graph = model.main_graph();
    let weight = model.initializers(graph).next().unwrap();
    let data = ExternalData::new("missing.data");
    let missing = Tensor::external(ElemType::Float, [2], data).unwrap();
    model.set_initializer(graph, weight, Some(Arc::new(Constant::Dense(missing))));
    let pipeline = Pipeline::named(&["no-identities"], Registry::STANDARD).unwrap();
    let done = pipeline.run(&mut model, &PassOptions::default().with_level(Level::Model));
    let verdict = done.model.unwrap().to_string();
    assert!(verdict.starts_with("untested: data missing: "), "{verdict}");
    assert_eq!(done.journal.len(), 1);
}

/// An edit under the name of a restructuring.
fn restructures(text: &str, edit: impl FnOnce(&mut Model)) -> Result<Model, String> {
    let mut model = parse(text);
    let before = bytes(&model);
    let edit = Cell::new(Some(edit));
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    let report = cx.restructure("edit", |model| {
        edit.take().unwrap()(model);
        1
    });
    drop(cx);
    model.verify().unwrap();
    match report.refusals.first() {
        None => Ok(model),
        Some(refusal) => {
            assert!(bytes(&model) == before, "the refused edit changed the model");
            Err(refusal.reason.clone())
        }
    }
}

const MODEL: &str = r#"<ir_version: 10, opset_import: ["": 20, "my": 1]>
    g (float[N] x, float d) => (float[N] y, float[N] z)
    <float a = {2.0}, float same = {2.0}, float other = {3.0}, float d = {2.0}> {
        b = Mul (x, a)
        c = my.F <k = 1> (b)
        y, mask = Dropout (c)
        z = LeakyRelu <alpha = 0.01> (b)
    }
    <domain: "my", opset_import: ["": 20]> F <k> (p) => (q) { q = Neg (p) }"#;

#[test]
fn restructurings_that_change_a_result_are_refused() {
    type Edit = fn(&mut Model);
    let node = |model: &Model, name: &str| model.value(value(model, name)).producer().unwrap();
    let refused: [(&str, Edit); 8] = [
        ("it replaces `a` by `other`, another value", |model| {
            let [a, other] = ["a", "other"].map(|name| value(model, name));
            model.replace_all_uses(a, other);
        }),
        // Callers can override it.
        ("it replaces `a` by `d`, another value", |model| {
            let [a, d] = ["a", "d"].map(|name| value(model, name));
            model.replace_all_uses(a, d);
        }),
        ("it replaces `b` by `x`, another value", |model| {
            let [b, x] = ["b", "x"].map(|name| value(model, name));
            model.replace_all_uses(b, x);
        }),
        ("it changes the attributes of `LeakyRelu`", |model| {
            let node = model.value(value(model, "z")).producer().unwrap();
            let alpha = onnx_ir::Attribute::new(onnx_schema::attr::ALPHA, 0.02_f32);
            model.set_attribute(node, alpha).unwrap();
        }),
        ("it changes what `Mul` calls", |model| {
            let node = model.value(value(model, "b")).producer().unwrap();
            model.set_op(node, onnx_schema::domain::ONNX, op::ADD, onnx_types::Symbol::EMPTY);
        }),
        ("it renames the output `y`", |model| {
            let (y, name) = (value(model, "y"), model.intern("renamed"));
            model.set_value_name(y, name);
        }),
        ("it changes what `Mul` calls", |model| {
            model.info_mut().opset_imports.iter_mut().for_each(|import| import.set_version(13));
        }),
        ("it replaces `a` by `a`, another value", |model| {
            let (graph, a) = (model.main_graph(), value(model, "a"));
            let constant = Constant::Dense(Tensor::scalar(-2.0_f32));
            model.set_initializer(graph, a, Some(Arc::new(constant)));
        }),
    ];
    for (reason, edit) in refused {
        assert_eq!(restructures(MODEL, edit).err().as_deref(), Some(reason));
    }
    let accepted: [Edit; 3] = [
        |model| {
            let [a, same] = ["a", "same"].map(|name| value(model, name));
            model.replace_all_uses(a, same);
        },
        |model| {
            let node = model.value(value(model, "z")).producer().unwrap();
            assert!(model.remove_attribute(node, onnx_schema::attr::ALPHA));
        },
        |model| {
            let node = model.value(value(model, "mask")).producer().unwrap();
            model.clear_output(node, 1).unwrap();
        },
    ];
    for edit in accepted {
        restructures(MODEL, edit).unwrap();
    }
    let model = parse(MODEL);
    assert!(model.node(node(&model, "z")).is(op::LEAKY_RELU));
}

#[test]
fn an_edit_that_a_restructuring_does_not_count_is_undone() {
    let mut model = parse(MODEL);
    let before = bytes(&model);
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    let report = cx.restructure("silent", |model| {
        let z = value(model, "z");
        let node = model.value(z).producer().unwrap();
        model.set_op(node, onnx_schema::domain::ONNX, op::ELU, onnx_types::Symbol::EMPTY);
        0
    });
    assert_eq!((report.edits, report.refusals.len(), cx.journal().len()), (0, 1, 0));
    assert_eq!(report.refusals[0].reason, "it edits the model, but counts no edit");
    drop(cx);
    assert!(bytes(&model) == before);
}

#[test]
fn nothing_is_edited_around_a_gradient() {
    // `xs` and `y` name values.
    let mut model = parse(
        r#"<ir_version: 10, opset_import: ["": 12, "ai.onnx.preview.training": 1]>
        g (float x) => (float dx) {
            a = Identity (x)
            y = Mul (a, a)
            dx = ai.onnx.preview.training.Gradient <xs = ["x"], y = "y"> (x)
        }"#,
    );
    let before = bytes(&model);
    let pipeline = Pipeline::named(&["no-identities", "no-dead-nodes"], Registry::STANDARD).unwrap();
    let done = pipeline.run(&mut model, &PassOptions::default());
    assert_eq!(done.edits(), 0);
    for pass in &done.passes {
        let [refusal] = &pass.report.refusals[..] else { panic!("{pass:?}") };
        assert_eq!(refusal.reason, "a `Gradient` of the model refers to values by name");
    }
    assert!(bytes(&model) == before);
}

#[test]
fn opposite_passes_are_not_repeated() {
    let pairs = [
        ["value-info", "no-value-info"],
        ["unique-names", "short-names"],
        ["constants-as-initializers", "initializers-as-constants"],
        ["no-default-attributes", "explicit-default-attributes"],
        ["no-initializer-inputs", "initializers-as-inputs"],
    ];
    for pair in pairs {
        let pipeline = Pipeline::named(&pair, Registry::STANDARD).unwrap();
        let error = pipeline.repeated().unwrap_err();
        assert_eq!([error.first.as_str(), error.second.as_str()], pair);
        let reversed = Pipeline::named(&[pair[1], pair[0]], Registry::STANDARD).unwrap();
        assert!(reversed.repeated().is_err(), "{pair:?}");
    }
    let all = Pass::standard();
    let opposed = all.iter().flat_map(|one| all.iter().filter(|two| one.opposes(two))).count();
    assert_eq!(opposed, 2 * pairs.len());
    let pipeline = Pipeline::named(&["value-info", "unique-names"], Registry::STANDARD).unwrap();
    assert!(pipeline.repeated().is_ok());
    // Separate phases do not meet.
    let [one, two] =
        ["value-info", "no-value-info"].map(|name| Pass::find(name, Registry::STANDARD).unwrap());
    let pipeline = Pipeline::new().then_repeat([one]).and_then(|pipeline| pipeline.then_repeat([two]));
    assert!(pipeline.is_ok());
}

#[test]
fn a_misspelled_pass_has_a_suggestion() {
    let error = Pipeline::named(&["no-identites"], Registry::STANDARD).unwrap_err();
    assert_eq!(error.nearest(), Some("no-identities"));
    let error = Pipeline::named(&["xyz"], Registry::STANDARD).unwrap_err();
    assert_eq!(error.nearest(), None);
}

/// Identities, twins and a dead node: patches and a restructuring.
const SEVERAL: &str = r#"<ir_version: 10, opset_import: ["": 20]>
g (float[N] x) => (float[N] y) {
    a = Identity (x)
    b = Identity (a)
    c = Exp (b)
    d = Exp (b)
    dead = Neg (d)
    y = Add (c, d)
}"#;

#[test]
fn a_limited_pipeline_makes_the_first_edits_of_the_whole_one() {
    let names = ["no-identities", "unique-subexpressions", "no-dead-nodes"];
    let pipeline = Pipeline::named(&names, Registry::STANDARD).unwrap();
    let run = |max: Option<usize>| {
        let mut model = parse(SEVERAL);
        let done = pipeline.run(&mut model, &PassOptions::default().with_max_edits(max));
        let journal: Vec<String> = done.journal.iter().map(|entry| format!("{entry:?}")).collect();
        (journal, model.node_count(), done.ended)
    };
    let (all, nodes, ended) = run(None);
    assert_eq!((all.len(), nodes, ended), (4, 2, None));
    let counts = [6, 5, 4, 3, 2];
    for (max, &count) in counts.iter().enumerate() {
        let (journal, nodes, ended) = run(Some(max));
        assert_eq!(journal, all[..max]);
        assert_eq!(nodes, count);
        assert_eq!(ended, Some(Ended::Edits), "{max}");
    }
    assert_eq!(run(Some(9)).0, all);
}

#[test]
fn bisection_finds_the_first_bad_patch() {
    let names = ["no-identities", "unique-subexpressions", "no-dead-nodes"];
    let pipeline = Pipeline::named(&names, Registry::STANDARD).unwrap();
    let model = parse(SEVERAL);
    let search = |is_bad: fn(usize) -> Trial| {
        let mut seen = Vec::new();
        let result = bisect(&pipeline, &model, &PassOptions::default(), |model, count| {
            assert_eq!(model.node_count(), 6 - count);
            seen.push(count);
            Ok::<_, std::convert::Infallible>(is_bad(count))
        });
        (result.unwrap(), seen)
    };
    for first in 1..=4 {
        let result = bisect(&pipeline, &model, &PassOptions::default(), |_, count| {
            Ok::<_, std::convert::Infallible>(if count >= first { Trial::Bad } else { Trial::Good })
        });
        let Ok(Bisection::Found(found)) = result else { panic!("{first}") };
        assert_eq!((found.good, found.bad, found.suspects.len()), (first - 1, first, 1));
        let pass = ["no-identities", "no-identities", "unique-subexpressions", "no-dead-nodes"][first - 1];
        assert_eq!(found.suspects[0].pass, pass);
    }
    assert!(matches!(search(|_| Trial::Good), (Bisection::Good(4), _)));
    assert!(matches!(search(|_| Trial::Bad), (Bisection::BadBefore, seen) if seen == [0]));
    assert!(matches!(search(|_| Trial::Undecided).0, Bisection::Undecided));
    // Models in the middle that cannot be tried leave several suspects.
    let (result, seen) = search(|count| match count {
        0 => Trial::Good,
        4 => Trial::Bad,
        _ => Trial::Undecided,
    });
    let Bisection::Found(found) = result else { panic!() };
    assert_eq!((found.good, found.bad, found.suspects.len()), (0, 4, 4));
    assert_eq!(seen, [0, 4, 2, 3, 1]);
}

#[test]
fn new_nodes_have_the_metadata_that_their_sources_agree_on() {
    use onnx_ir::{MetadataEntry, Position};

    let mut model = parse(
        "<ir_version: 10, opset_import: [\"\": 20]>
        g (float[N] x) => (float[N] y) { a = Neg (x) y = Neg (a) }",
    );
    let graph = model.main_graph();
    let negs: Vec<_> = model.nodes(graph).collect();
    let [common, differs, first] = ["common", "differs", "first"].map(|key| model.intern(key));
    for (index, &node) in negs.iter().enumerate() {
        let mut extras = model.node_extras_mut(node);
        extras.metadata.push(MetadataEntry::new(common, "same"));
        extras.metadata.push(MetadataEntry::new(differs, index.to_string()));
        extras.doc = common;
        if index == 0 {
            extras.metadata.push(MetadataEntry::new(first, "only"));
        }
    }
    let (x, y) = (model.graph(graph).inputs()[0], model.graph(graph).outputs()[0].value());
    let mut cx = PassCx::new(&mut model, PassOptions::default());
    let mut patch = cx.patch("test", Exactness::Exact);
    negs.iter().for_each(|&node| patch.source(node));
    patch.tap(x);
    let new = patch.build(Position::Before(negs[0]), |build| build.op(op::IDENTITY, [x]).output()).unwrap();
    patch.replace(y, new);
    patch.commit().unwrap();
    drop(cx);
    let node = model.nodes(graph).next().unwrap();
    let record = model.node(node);
    let metadata: Vec<(&str, String)> =
        record.metadata().iter().map(|entry| (model.str(entry.key()), entry.value().to_string())).collect();
    assert!(record.is(op::IDENTITY) && record.doc().is_empty());
    assert_eq!(metadata, [("common", "same".to_owned()), ("first", "only".to_owned())]);
}
