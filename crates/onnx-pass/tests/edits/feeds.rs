//! Generated inputs, proofs of whole models on them, and what converts into a reason.

use onnx_ir::Model;
use onnx_ops::{Operator, ops};
use onnx_pass::{Exactness, FeedOptions, PassOptions, Reason, Verdict, feeds, present, prove_models};
use onnx_text::{ParseOptions, parse_model};
use onnx_types::Execution;

/// The sizes of the past and of the new elements add up, and `Reshape` needs a multiple of 3.
const CACHE: &str = r#"<ir_version: 10, opset_import: ["": 20]>
    g (float[past,4] p, float[new,4] n, float["past + new",4] mask) => (float[a,3] y) <int64[2] shape = {-1, 3}> {
        all = Concat <axis = 0> (p, n)
        masked = Add (all, mask)
        y = Reshape (masked, shape)
    }"#;

fn model(text: &str) -> Model {
    parse_model(text, &ParseOptions::default()).unwrap()
}

#[test]
fn sizes_satisfy_all_relations() {
    let model = model(CACHE);
    for seed in 0..8 {
        let options = FeedOptions::default().with_execution(Execution::DEFAULT.with_seed(seed));
        let feeds = feeds(&model, &options).unwrap();
        let rows = |name: &str| {
            let value = &feeds.values.iter().find(|(known, _)| known == name).unwrap().1;
            value.tensor().unwrap().dims()[0]
        };
        assert_eq!(rows("p") + rows("n"), rows("mask"), "seed {seed}");
        assert_eq!(rows("mask") % 3, 0, "seed {seed}");
        assert_eq!(feeds.generated, ["p", "n", "mask"]);
    }
}

#[test]
fn sizes_that_are_set_or_given_stay() {
    let model = model(CACHE);
    let set = [("past".to_owned(), 5)];
    let feeds = feeds(&model, &FeedOptions::default().with_sizes(&set)).unwrap();
    assert_eq!(feeds.sizes[0], set[0]);
    let unknown = [("seq".to_owned(), 5)];
    let error = onnx_pass::feeds(&model, &FeedOptions::default().with_sizes(&unknown)).unwrap_err();
    assert_eq!(error.to_string(), "no input has the dimension variable `seq`");
}

#[test]
fn models_whose_sizes_are_related_are_tested() {
    let before = model(CACHE);
    let after = model(&CACHE.replace("Add (all, mask)", "Sub (all, mask)"));
    let verdict = |after: &Model| prove_models(&before, after, Exactness::Exact, &PassOptions::default());
    assert!(matches!(verdict(&before), Verdict::Tested { .. }), "{}", verdict(&before));
    assert!(matches!(verdict(&after), Verdict::Refuted(_)), "{}", verdict(&after));
}

#[test]
fn a_node_without_a_view_is_a_reason() {
    let model = model(CACHE);
    let node = model.nodes(model.main_graph()).next().unwrap();
    let operands = || -> Result<_, Reason> {
        let add = ops::Add::try_of(&model, node)?;
        present([add.a(), add.b()])
    };
    assert_eq!(operands().unwrap_err().to_string(), "the node calls another operator");
    let omitted = present([model.node(node).input(0), model.node(node).input(7)]).unwrap_err();
    assert_eq!(omitted.to_string(), "an operand or a result of the node is omitted");
}
