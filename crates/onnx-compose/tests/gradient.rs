//! Models with `Gradient`, whose attributes name values: after each edit they name the same values, or the edit is refused.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::convert::Infallible;

use onnx_check::{CheckOptions, check};
use onnx_compose::{
    ComposeError, ExtractOptions, MergeOptions, Parts, ReduceOptions, RenameKinds, RenameRule, SplitOptions,
    extract, extract_nodes, merge, reduce, rename, split,
};
use onnx_functions::{
    InlineOptions, OutlineOptions, import_functions, inline_all, outline, outline_repeated,
};
use onnx_ir::{AttrValue, Def, Model, NodeId, Owner, ValueId};
use onnx_pass::{Pass, PassOptions, Pipeline, Trial};
use onnx_rewrite::{RuleSet, simplification};
use onnx_schema::Registry;
use onnx_text::{ParseOptions, PrintOptions, parse_model, print_model};
use onnx_version::{ConvertOptions, convert};

const MAIN: &str = r#"<ir_version: 8, opset_import: ["": 14, "ai.onnx.preview.training": 1]>
g (float a, float b) => (float c, float da, float db) {
   c = Mul (a, b)
   da, db = ai.onnx.preview.training.Gradient <xs = ["a", "b"], y = "c"> (a, b)
}"#;

/// The value that is differentiated is not an output, and another `Gradient` differentiates the first one.
const CHAIN: &str = r#"<ir_version: 8, opset_import: ["": 14, "ai.onnx.preview.training": 1]>
g (float a, float b, float unused) => (float dda, float other) <float w = {3}> {
   other = Neg (unused)
   h = Mul (a, w)
   c = Mul (h, b)
   l = Mul (c, h)
   da = ai.onnx.preview.training.Gradient <xs = ["a"], zs = ["b"], y = "l"> (a, b)
   dda = ai.onnx.preview.training.Gradient <xs = ["a"], zs = ["b"], y = "da"> (a, b)
}"#;

const FUNCTIONS: &str = r#"<ir_version: 8, opset_import: ["": 14, "ai.onnx.preview.training": 1, "l": 1]>
g (float a, float b) => (float p, float q) {
   p = l.of_mul (a, b)
   q = l.of_sub (b, a)
}
<domain: "l", opset_import: ["": 14, "ai.onnx.preview.training": 1]>
of_mul (a, b) => (d) {
   m = Mul (a, b)
   d = ai.onnx.preview.training.Gradient <xs = ["a"], zs = ["b"], y = "m"> (a, b)
}
<domain: "l", opset_import: ["": 14, "ai.onnx.preview.training": 1]>
of_sub (a, b) => (d) {
   m = Sub (a, b)
   d = ai.onnx.preview.training.Gradient <xs = ["a"], zs = ["b"], y = "m"> (a, b)
}"#;

const NESTED: &str = r#"<ir_version: 8, opset_import: ["": 14, "ai.onnx.preview.training": 1]>
g (bool k, float a, float b) => (float p) {
   m = Mul (a, b)
   p = If (k) <
      then_branch = t () => (d) {
         d = ai.onnx.preview.training.Gradient <xs = ["a"], zs = ["b"], y = "m"> (a, b)
      },
      else_branch = e () => (f) {
         n = Sub (m, b)
         f = ai.onnx.preview.training.Gradient <xs = ["m"], zs = ["b"], y = "n"> (m, b)
      }
   >
}"#;

const TRAINING: &str = r#"<ir_version: 8, opset_import: ["": 14, "ai.onnx.preview.training": 1]>
g (float[N,2] x) => (float[N,1] y) <float[2,1] w = {1, 2}, float[1] zero = {0}> {
   h = MatMul (x, w)
   i = Identity (h)
   y = Add (i, zero)
}
@training {
   algorithm: step (float[N,2] x, float[N,1] t) => (float[2,1] w_new) <float lr = {0.1}> {
      e = Sub (y, t)
      l = Mul (e, e)
      gw = ai.onnx.preview.training.Gradient <xs = ["w"], y = "l", zs = ["x"]> (w, x)
      d = Mul (gw, lr)
      w_new = Sub (w, d)
   },
   update_binding: ["w": "w_new"]
}"#;

const ALL: [&str; 5] = [MAIN, CHAIN, FUNCTIONS, NESTED, TRAINING];

fn model(text: &str) -> Model {
    let model = parse_model(text, &ParseOptions::default()).unwrap();
    model.verify().unwrap();
    model
}

fn print(model: &Model) -> String {
    print_model(model, &PrintOptions::default()).unwrap().text
}

/// How a value is computed: operators down to inputs of graphs and initializers, without names.
fn structure(model: &Model, value: ValueId) -> String {
    match model.value(value).def() {
        Def::Unresolved(_) => "nothing".to_owned(),
        Def::Initializer(_) => "weight".to_owned(),
        Def::Input { graph, index } => match model.graph(graph).owner() {
            Owner::Model => format!("input{index}"),
            _ => format!("formal{index}"),
        },
        Def::Output { node, index } => {
            let record = model.node(node);
            let operands: Vec<String> =
                record.inputs().flatten().map(|operand| structure(model, operand)).collect();
            format!("{}.{index}({})", model.str(record.op()), operands.join(","))
        }
    }
}

fn gradients(model: &Model) -> Vec<NodeId> {
    let nodes = model.all_graphs().flat_map(|graph| model.nodes(graph));
    nodes.filter(|&node| model.str(model.node(node).op()) == "Gradient").collect()
}

/// The values that each `Gradient` names, by their structures.
fn meanings(model: &Model) -> Vec<String> {
    let meaning = |node: NodeId| {
        let attributes = model.node(node).attributes().iter().map(|attribute| {
            let values: Vec<String> = match attribute.value() {
                AttrValue::Value(_) | AttrValue::Values(_) => {
                    attribute.value().values().iter().map(|&value| structure(model, value)).collect()
                }
                _ => vec!["not resolved".to_owned()],
            };
            format!("{}={}", model.str(attribute.name()), values.join(" "))
        });
        let mut attributes: Vec<String> = attributes.collect();
        attributes.sort();
        attributes.join("; ")
    };
    gradients(model).into_iter().map(meaning).collect()
}

/// The meanings in the model and in what is written and read again, which are the same.
fn checked(model: &Model) -> Vec<String> {
    model.verify().unwrap();
    let found = check(model, &CheckOptions::default());
    assert!(!found.has_errors(), "{:?}\n{}", found.diagnostics(), print(model));
    let read = self::model(&print(model));
    assert_eq!(meanings(&read), meanings(model), "{}", print(model));
    meanings(model)
}

fn value(model: &Model, name: &str) -> ValueId {
    model.find_value(model.main_graph(), name).unwrap()
}

#[test]
fn names_are_resolved_and_printed_as_they_were() {
    assert_eq!(checked(&model(MAIN)), ["xs=input0 input1; y=Mul.0(input0,input1)"]);
    assert_eq!(
        checked(&model(FUNCTIONS)),
        [
            "xs=formal0; y=Mul.0(formal0,formal1); zs=formal1",
            "xs=formal0; y=Sub.0(formal0,formal1); zs=formal1"
        ]
    );
    for text in ALL {
        let model = model(text);
        assert!(checked(&model).iter().all(|meaning| !meaning.contains("not")), "{text}");
        assert_eq!(print(&self::model(&print(&model))), print(&model));
    }
}

#[test]
fn a_name_of_nothing_stays_and_is_found() {
    let text = MAIN.replace(r#"y = "c""#, r#"y = "missing""#);
    let model = model(&text);
    assert!(print(&model).contains(r#"y = "missing""#));
    let found = check(&model, &CheckOptions::default());
    let codes: Vec<u16> = found.diagnostics().iter().map(|found| found.rule.code).collect();
    assert_eq!(codes, [2424]);
}

#[test]
fn names_follow_when_values_are_renamed() {
    for text in ALL {
        for rule in [RenameRule::add_prefix("part/"), RenameRule::exact("a", "other")] {
            let mut model = model(text);
            let before = meanings(&model);
            if rename(&mut model, &[rule], RenameKinds::default()).is_ok() {
                assert_eq!(checked(&model), before, "{text}");
            }
            assert_eq!(meanings(&model), before);
        }
    }
}

#[test]
fn names_follow_when_models_are_merged() {
    for (one, two) in [(MAIN, CHAIN), (MAIN, MAIN), (FUNCTIONS, MAIN), (NESTED, FUNCTIONS)] {
        let (one, two) = (model(one), model(two));
        let merged = merge(&[&one, &two], &[], &MergeOptions::default()).unwrap().model;
        let inputs = one.graph(one.main_graph()).inputs().len();
        let moved = |meaning: &String| {
            let digits = (0..8).rev();
            digits.fold(meaning.clone(), |text, digit| {
                text.replace(&format!("input{digit}"), &format!("input{}", digit + inputs))
            })
        };
        let mut expected = meanings(&one);
        expected.extend(meanings(&two).iter().map(moved));
        let mut found = checked(&merged);
        expected.sort();
        found.sort();
        assert_eq!(found, expected);
    }
    // The merged model has one of the two inputs.
    let (maker, user) = (
        model("<ir_version: 8, opset_import: [\"\": 14]> g (float x) => (float y) { y = Neg (x) }"),
        model(MAIN),
    );
    let y = (0, value(&maker, "y"));
    let to = |name| onnx_compose::Connection::new(y, (1, value(&user, name)));
    let error = merge(&[&maker, &user], &[to("a"), to("b")], &MergeOptions::default()).unwrap_err();
    assert!(error.to_string().contains("Gradient"), "{error}");
    let merged = merge(&[&maker, &user], &[to("a")], &MergeOptions::default()).unwrap().model;
    assert_eq!(checked(&merged), ["xs=Neg.0(input0) input1; y=Mul.0(Neg.0(input0),input1)"]);
}

#[test]
fn names_follow_when_functions_are_inlined() {
    let mut model = model(FUNCTIONS);
    inline_all(&mut model, &InlineOptions::default()).unwrap();
    assert_eq!(
        checked(&model),
        ["xs=input0; y=Mul.0(input0,input1); zs=input1", "xs=input1; y=Sub.0(input1,input0); zs=input0"]
    );
    assert!(model.functions().is_empty());
}

#[test]
fn inputs_of_a_body_stay_apart_for_a_gradient_of_it() {
    let mut model = model(&FUNCTIONS.replace("l.of_mul (a, b)", "l.of_mul (a, a)"));
    inline_all(&mut model, &InlineOptions::default()).unwrap();
    assert_eq!(
        checked(&model)[0],
        "xs=Identity.0(input0); y=Mul.0(Identity.0(input0),Identity.0(input0)); zs=Identity.0(input0)"
    );
    let gradient = gradients(&model)[0];
    let named: Vec<ValueId> = model.node(gradient).named_values().collect();
    assert!(named[0] != named[1] && named[1] != named[2], "{}", print(&model));
}

#[test]
fn results_of_a_call_stay_apart_for_a_gradient_around_it() {
    let mut model = model(
        r#"<ir_version: 8, opset_import: ["": 14, "ai.onnx.preview.training": 1, "l": 1]>
        g (float a) => (float d) {
           p = l.outer (a)
           y = Mul (p, a)
           d = ai.onnx.preview.training.Gradient <xs = ["p"], zs = ["a"], y = "y"> (p, a)
        }
        <domain: "l", opset_import: ["l": 1]> outer (x) => (z) { z = l.inner (x) }
        <domain: "l", opset_import: ["": 14]> inner (x) => (x) { }"#,
    );
    inline_all(&mut model, &InlineOptions::default()).unwrap();
    assert!(model.functions().is_empty());
    assert_eq!(checked(&model), ["xs=Identity.0(input0); y=Mul.0(Identity.0(input0),input0); zs=input0"]);
}

#[test]
fn a_call_stays_if_it_passes_names_or_omits_a_named_input() {
    for (call, attribute) in [("l.f <t = \"m\"> (a, b)", "y: string = @t"), ("l.f (a)", "y = \"m\"")] {
        let text = format!(
            r#"<ir_version: 8, opset_import: ["": 14, "ai.onnx.preview.training": 1, "l": 1]>
            g (float a, float b) => (float d) {{ d = {call} }}
            <domain: "l", opset_import: ["": 14, "ai.onnx.preview.training": 1]> f {} (a, b) => (d) {{
               m = Neg (a)
               d = ai.onnx.preview.training.Gradient <xs = ["a"], zs = ["b"], {attribute}> (a)
            }}"#,
            if attribute.contains('@') { "<t>" } else { "" }
        );
        let mut model = model(&text);
        let before = print(&model);
        let done = inline_all(&mut model, &InlineOptions::default()).unwrap();
        assert!(done.calls.iter().all(|call| call.result.is_err()), "{text}");
        assert_eq!(print(&model), before);
    }
}

#[test]
fn a_part_has_what_is_differentiated_or_is_refused() {
    let mut part = model(CHAIN);
    let outputs = [value(&part, "dda")];
    let before = meanings(&part);
    extract(&mut part, None, &outputs, &ExtractOptions::default()).unwrap();
    assert_eq!(checked(&part), before);
    assert_eq!(part.node_count(), 5);
    // A value between the named ones cannot be cut; one of the named ones can.
    for (text, input, output) in [(CHAIN, "h", "dda"), (MAIN, "c", "da"), (NESTED, "m", "p")] {
        let mut whole = model(text);
        let before = print(&whole);
        let graph = whole.main_graph();
        let mut inputs = vec![value(&whole, input)];
        inputs.extend_from_slice(whole.graph(graph).inputs());
        let outputs = [value(&whole, output)];
        let error = extract(&mut whole, Some(&inputs), &outputs, &ExtractOptions::default()).unwrap_err();
        let ComposeError::Refused(reason, _) = &error else { unreachable!("{error}") };
        assert!(reason.contains(&format!("`{input}`")) && reason.contains("Gradient"), "{reason}");
        assert_eq!(print(&whole), before);
    }
    // So it is for nodes without the ones that are differentiated.
    let mut whole = model(MAIN);
    let gradient = gradients(&whole)[0];
    extract_nodes(&mut whole, &[gradient], &ExtractOptions::default()).unwrap_err();
}

#[test]
fn parts_have_what_is_differentiated_or_the_model_is_not_split() {
    let parts = split(&model(CHAIN), Parts::CountByNodes(2), &SplitOptions::default());
    match parts {
        Ok(parts) => {
            let found: Vec<String> = parts.iter().flat_map(|part| checked(&part.model)).collect();
            assert_eq!(found.len(), 2);
        }
        Err(error) => assert!(error.to_string().contains("Gradient"), "{error}"),
    }
}

#[test]
fn nodes_that_are_differentiated_are_not_outlined() {
    let mut model = model(CHAIN);
    let before = print(&model);
    for name in ["h", "c", "da"] {
        let node = model.value(value(&model, name)).producer().unwrap();
        let reason = outline(&mut model, &[node], ("my", "f", ""), Registry::STANDARD).unwrap_err();
        assert!(reason.to_string().contains("Gradient"), "{reason}");
    }
    let main = model.main_graph();
    outline_repeated(&mut model, main, &OutlineOptions::default()).unwrap();
    assert_eq!(print(&model), before);
    let other = model.value(value(&model, "other")).producer().unwrap();
    let meaning = meanings(&model);
    outline(&mut model, &[other], ("my", "f", ""), Registry::STANDARD).unwrap();
    assert_eq!(checked(&model), meaning);
}

#[test]
fn names_follow_in_every_pass_conversion_and_simplification() {
    for text in ALL {
        let before = meanings(&model(text));
        for pass in Pass::standard() {
            let mut model = model(text);
            let pipeline = Pipeline::named(&[pass.name()], Registry::STANDARD).unwrap();
            pipeline.run(&mut model, &PassOptions::default());
            assert_eq!(checked(&model), before, "{}", pass.name());
        }
        let mut simplified = model(text);
        simplification(RuleSet::standard().unwrap(), Registry::STANDARD)
            .unwrap()
            .run(&mut simplified, &PassOptions::default());
        assert_eq!(checked(&simplified), before);
        for version in [13, 21] {
            let mut converted = model(text);
            if convert(&mut converted, version, &ConvertOptions::default()).is_ok() {
                assert_eq!(checked(&converted), before, "{version}");
            }
        }
    }
}

#[test]
fn names_follow_when_functions_are_linked() {
    let mut library = model(FUNCTIONS);
    let before = meanings(&library);
    let mut into = model(MAIN);
    let own = meanings(&into);
    import_functions(&mut into, &mut library, Registry::STANDARD).unwrap();
    assert_eq!(checked(&into), [own, before].concat());
}

#[test]
fn a_model_that_is_reduced_stays_consistent() {
    for text in ALL {
        let trial = |model: &Model| {
            model.verify().unwrap();
            Ok::<_, Infallible>(if gradients(model).is_empty() { Trial::Good } else { Trial::Bad })
        };
        let done = reduce(&model(text), &ReduceOptions::default(), trial).unwrap();
        // One of the two in the chain differentiates the other one, and each of two branches has to compute its output.
        let left = if text == CHAIN || text == NESTED { 2 } else { 1 };
        assert_eq!(gradients(&done.model).len(), left, "{}", print(&done.model));
    }
}

#[test]
fn a_part_of_a_model_has_no_training_information() {
    let captured = r#"<ir_version: 8, opset_import: ["": 14]>
        g (float[N,2] x) => (float[N,1] y) <float[2,1] w = {1, 2}> {
           h = MatMul (x, w)
           y = Relu (h)
        }
        @training {
           algorithm: step (float[N,1] t) => (float w_loss) {
              e = Sub (y, t)
              w_loss = ReduceSum <keepdims = 0> (e)
           }
        }"#;
    for text in [captured, TRAINING] {
        let mut part = model(text);
        let outputs = [value(&part, "h")];
        let done = extract(&mut part, None, &outputs, &ExtractOptions::default()).unwrap();
        assert!(done.removed_training && part.info().training.is_empty());
        checked(&part);
        let mut part = model(text);
        let node = part.value(value(&part, "h")).producer().unwrap();
        assert!(extract_nodes(&mut part, &[node], &ExtractOptions::default()).unwrap().removed_training);
        checked(&part);
        let parts = split(&model(text), Parts::CountByNodes(2), &SplitOptions::default()).unwrap();
        assert!(parts.len() == 2 && parts.iter().all(|part| part.removed_training));
        parts.iter().for_each(|part| _ = checked(&part.model));
    }
}
