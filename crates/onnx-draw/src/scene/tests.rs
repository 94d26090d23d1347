//! Properties of scenes and of what is written of them.

use onnx_ir::Model;
use onnx_shape_infer::{InferOptions, infer};
use onnx_text::{ParseOptions, parse_model};

use super::*;
use crate::{
    Coloring, DifferenceMark, HtmlOptions, Marks, Open, PictureStyle, html, level_json, svg, text_width,
};

fn model(body: &str) -> Model {
    let text = format!("<ir_version: 10, opset_import: [\"\": 21]>\n{body}");
    parse_model(&text, &ParseOptions::default()).unwrap()
}

/// The titles of a level with those of the levels in it.
fn outline(scene: &Scene, level: LevelId) -> String {
    let items = scene.level(level).unwrap().items.iter().filter(|item| item.kind.is_box());
    let texts: Vec<String> = items
        .map(|item| match item.inside {
            Some(inside) => format!("{}({})", item.title, outline(scene, inside)),
            None => item.title.clone(),
        })
        .collect();
    texts.join(" ")
}

#[test]
fn scopes_of_names_are_boxes() {
    let model = model(
        "g (float[2] x) => (float[2] y) {
          [\"/enc/l.0/Relu\"] a = Relu (x)
          [\"/enc/l.0/Abs\"] b = Abs (a)
          [\"/enc/l.1/Relu\"] c = Relu (b)
          [\"/enc/l.1/Abs\"] d = Abs (c)
          [\"/head/Exp\"] y = Exp (d)
        }",
    );
    let scene = Scene::new(&model, &SceneOptions::default());
    assert_eq!(outline(&scene, 0), "enc(l.0(Relu Abs) l.1(Relu Abs)) Exp");
    let node = model.nodes(model.main_graph()).nth(3).unwrap();
    assert_eq!(scene.path(scene.place(node).unwrap()), [0, 1, 1]);
}

#[test]
fn scopes_without_a_box_are_in_the_title() {
    let model = model(
        "g (float[2] x) => (float[2] y) {
          [\"/a/b/c/Relu\"] p = Relu (x)
          [\"/a/b/c/Abs\"] q = Abs (p)
          [\"/d/Exp\"] y = Exp (q)
        }",
    );
    let scene = Scene::new(&model, &SceneOptions::default());
    assert_eq!(outline(&scene, 0), "a/b/c(Relu Abs) Exp");
}

#[test]
fn constants_are_lines_of_their_users() {
    let model = model(
        "g (float[N, 3] x) => (float[N, 3] y) <float[3] w = {1, 2, 3}> {
          two = Constant <value_float = 2.0> ()
          a = Mul (x, two)
          y = Add (a, w)
        }",
    );
    let inference = infer(&model, &InferOptions::default());
    let scene = Scene::new(&model, &SceneOptions::default().with_inference(Some(&inference)));
    assert_eq!(outline(&scene, 0), "Mul Add");
    let lines: Vec<&[String]> =
        scene.level(0).unwrap().items.iter().map(|item| item.lines.as_slice()).collect();
    assert_eq!(lines[..2], [["B 2".to_owned()], ["B [1, 2, 3]".to_owned()]]);
    let constant = model.nodes(model.main_graph()).next().unwrap();
    assert_eq!(scene.place(constant), Some((0, 0)));
    let labels: Vec<Option<&str>> =
        scene.level(0).unwrap().edges.iter().map(|edge| edge.label.as_deref()).collect();
    // The box of the input has its type.
    assert_eq!(labels, [Some("N×3"), None, Some("N×3")]);
}

#[test]
fn values_of_a_series_have_one_box() {
    let caches: Vec<String> = (0..6).map(|layer| format!("float[N, 4] past_{layer}_key")).collect();
    let nodes: Vec<String> =
        (0..6).map(|layer| format!("present_{layer}_key = Relu (past_{layer}_key)")).collect();
    let outputs: Vec<String> = (0..6).map(|layer| format!("float[N, 4] present_{layer}_key")).collect();
    let text = format!(
        "g (float[2] a, float[2] b, float[3] c, {}) => (float[2] s, float[3] y, float[2] z, {}) {{ s = Add (a, b) y = Abs (c) z = Neg (s) {} }}",
        caches.join(", "),
        outputs.join(", "),
        nodes.join(" ")
    );
    let model = model(&text);
    let scene = Scene::new(&model, &SceneOptions::default());
    let items = &scene.level(0).unwrap().items;
    let ports = |kind| items.iter().filter(move |item| item.kind == kind).map(|item| item.title.as_str());
    assert_eq!(ports(ItemKind::Input).collect::<Vec<_>>(), ["a", "b", "c", "past_*_key"]);
    assert_eq!(ports(ItemKind::Output).collect::<Vec<_>>(), ["s", "y", "z", "present_*_key"]);
    let caches = items.iter().find(|item| item.title == "past_*_key").unwrap();
    assert_eq!(
        (caches.values.len(), caches.lines.as_slice()),
        (6, ["N×4".to_owned(), "6 inputs".to_owned()].as_slice())
    );
}

#[test]
fn weights_in_narrow_formats_are_weights() {
    let model = model(
        "g (float[3] x) => (float[3] y, float[3] z) <int8[3] w = {1, 2, 3}, float s = {0.5}> {
          d = DequantizeLinear (w, s)
          a = Mul (x, d)
          q = DequantizeLinear (w, s)
          y = Add (a, a)
          z = Identity (q)
        }",
    );
    let scene = Scene::new(&model, &SceneOptions::default());
    // What a graph returns is drawn.
    assert_eq!(outline(&scene, 0), "Mul Add Identity");
}

#[test]
fn bodies_of_nested_graphs_and_functions_open() {
    let model = model(
        r#"g (bool c, float[2] x) => (float[2] y, float[2] z) {
          y = If (c) <
            then_branch = t () => (float[2] p) { p = Relu (x) },
            else_branch = e () => (float[2] q) { q = Abs (x) }
          >
          z = Identity (x)
        }"#,
    );
    let scene = Scene::new(&model, &SceneOptions::default());
    assert_eq!(outline(&scene, 0), "If(then_branch(Relu) else_branch(Abs)) Identity");
    // What the branches capture is an operand of the node.
    let level = scene.level(0).unwrap();
    assert_eq!(level.edges.iter().filter(|edge| edge.to == 0).count(), 2);
}

#[test]
fn recursive_functions_end() {
    let text = r#"<ir_version: 10, opset_import: ["": 21, "d": 1]>
        g (float[2] x) => (float[2] y) { y = d.f (x) }
        <domain: "d", opset_import: ["": 21, "d": 1]> f (a) => (b) { c = d.f (a) b = Relu (c) }"#;
    let model = parse_model(text, &ParseOptions::default()).unwrap();
    let scene = Scene::new(&model, &SceneOptions::default());
    let picture = scene.picture(&scene.opened(300)).unwrap();
    assert!(picture.boxes.len() <= 300);
    let deep = scene.picture(&scene.opened_to(1_000).unwrap()).unwrap();
    assert!(deep.boxes.len() < 1_000);
}

/// A level has few boxes, whatever the graph is.
#[test]
fn every_level_has_few_boxes() {
    let wide: String = (0..3000).map(|index| format!("w{index} = Relu (x)\n")).collect();
    let names: Vec<String> = (0..3000).map(|index| format!("w{index}")).collect();
    let chain: String = (0..3000).map(|index| format!("c{} = Abs (c{index})\n", index + 1)).collect();
    let body = format!(
        "g (float[2] x, float[2] c0) => (float[6000] y, float[2] c3000) {{\n{wide}{chain} y = Concat <axis = 0> ({})\n}}",
        names.join(", ")
    );
    let model = model(&body);
    let scene = Scene::new(&model, &SceneOptions::default());
    for level in 0..scene.level_count() {
        let level = scene.level(level).unwrap();
        assert!(level.items.iter().filter(|item| item.kind.is_box()).count() <= MAX_BOXES);
        assert!(level.items.len() <= 3 * MAX_BOXES, "{}", level.items.len());
        assert!(level.edges.iter().all(|edge| edge.from != edge.to));
    }
    for node in model.nodes(model.main_graph()) {
        let place = scene.place(node).unwrap();
        assert_eq!(scene.level(place.0).unwrap().items[place.1].kind, ItemKind::Node(node));
    }
    let all = scene.picture(&scene.opened_to(100).unwrap()).unwrap();
    assert!(all.boxes.iter().filter(|drawn| matches!(drawn.kind, ItemKind::Node(_))).count() == 6001);
    check(&all);
}

/// What is true of every picture.
fn check(picture: &crate::Picture) {
    let mut boxes: Vec<&crate::Drawn> = picture.boxes.iter().collect();
    for drawn in &boxes {
        assert!(drawn.x >= -0.01 && drawn.x + drawn.size.width <= picture.size.width + 0.01);
        assert!(drawn.y >= -0.01 && drawn.y + drawn.size.height <= picture.size.height + 0.01);
    }
    // Closed boxes do not overlap: neighbours from the left to the right in one row of pixels.
    boxes.retain(|drawn| !drawn.is_open);
    boxes.sort_by(|a, b| a.y.total_cmp(&b.y).then(a.x.total_cmp(&b.x)));
    for near in boxes.windows(2).filter(|near| (near[0].y - near[1].y).abs() < 0.01) {
        assert!(near[0].x + near[0].size.width <= near[1].x + 0.01);
    }
}

#[test]
fn open_boxes_contain_what_is_in_them() {
    let model = model(
        "g (float[2] x) => (float[2] y) {
          [\"/a/b/r\"] p = Relu (x)
          [\"/a/b/s\"] q = Abs (p)
          [\"/a/t\"] r = Exp (q)
          [\"/u\"] y = Add (r, p)
        }",
    );
    let scene = Scene::new(&model, &SceneOptions::default());
    let picture = scene.picture(&scene.opened_to(9).unwrap()).unwrap();
    check(&picture);
    for drawn in picture.boxes.iter().filter(|drawn| drawn.path.len() > 1) {
        let outer =
            picture.boxes.iter().find(|outer| outer.path == drawn.path[..drawn.path.len() - 1]).unwrap();
        assert!(outer.is_open && outer.x < drawn.x && outer.y < drawn.y);
        assert!(drawn.x + drawn.size.width < outer.x + outer.size.width);
        assert!(drawn.y + drawn.size.height < outer.y + outer.size.height);
    }
    let closed = scene.picture(&Open::new()).unwrap();
    assert_eq!(closed.boxes.len(), 4);
    // Paths that do not exist have no effect.
    let wrong = Open::from([vec![77], vec![1], vec![0, 0, 0]]);
    assert_eq!(scene.picture(&wrong).unwrap().boxes.len(), 4);
}

#[test]
fn hostile_names_are_text() {
    let name = "</text><script>alert(1)</script>\u{202e}\u{0}&'\"";
    let mut model = model("g (float[2] x) => (float[2] y) { a = Relu (x) b = Abs (a) y = Exp (b) }");
    let scoped = model.intern(&format!("{name}/{name}/n"));
    let nodes: Vec<_> = model.nodes(model.main_graph()).collect();
    model.set_node_name(nodes[0], scoped);
    model.set_node_name(nodes[1], scoped);
    let symbol = model.intern(name);
    let input = model.graph(model.main_graph()).inputs()[0];
    model.set_value_name(input, symbol);
    let scene = Scene::new(&model, &SceneOptions::default());
    let picture = scene.picture(&scene.opened(100)).unwrap();
    let document = svg(&picture, &PictureStyle::default().with_title(name.to_owned()));
    assert!(!document.contains("<script") && !document.contains('\u{202e}') && !document.contains('\0'));
    assert!(document.contains("&lt;script&gt;"));
    let page = html(
        &model,
        &scene,
        &scene.summary(&Marks::default()),
        &HtmlOptions::default().with_title(name.to_owned()),
    );
    assert_eq!(page.matches("<script").count(), 2, "the data and the page itself");
    assert!(!page.contains('\u{202e}'));
    let json = level_json(&scene, 0, &scene.summary(&Marks::default()));
    assert!(!json.contains('<') && json.contains("\\u003c"));
    assert_eq!(level_json(&scene, 999, &scene.summary(&Marks::default())), "null");
}

#[test]
fn broken_models_have_pictures() {
    for body in [
        "g () => () { }",
        "g (float[2] x) => (float[2] x) { }",
        // A cycle, an unknown operator, and a name that nothing defines.
        "g (float[2] x) => (float[2] y) { a = Add (x, b) b = Relu (a) y = no.Such (b, missing) }",
        "g (float[2] x) => (float[2] y) { y = Relu (x) y = Abs (x) }",
    ] {
        let model = model(body);
        let inference = infer(&model, &InferOptions::default());
        let scene = Scene::new(&model, &SceneOptions::default().with_inference(Some(&inference)));
        let picture = scene.picture(&scene.opened(100)).unwrap();
        check(&picture);
        assert!(svg(&picture, &PictureStyle::default()).ends_with("</svg>\n"));
    }
}

#[test]
fn pictures_are_deterministic() {
    let body: String = (0..400)
        .map(|index| {
            format!("[\"/m/l.{}/n{index}\"] v{} = Add (v{index}, v{})\n", index / 20, index + 1, index / 2)
        })
        .collect();
    let model = model(&format!("g (float[2] v0) => (float[2] v400) {{\n{body}}}"));
    let draw = || {
        let scene = Scene::new(&model, &SceneOptions::default());
        svg(&scene.picture(&scene.opened(500)).unwrap(), &PictureStyle::default())
    };
    assert_eq!(draw(), draw());
}

#[test]
fn a_selection_shows_what_enters_and_leaves_it() {
    let model = model("g (float[2] x) => (float[2] y) { a = Relu (x) b = Abs (a) c = Exp (b) y = Neg (c) }");
    let nodes: Vec<_> = model.nodes(model.main_graph()).skip(1).take(2).collect();
    let scene = Scene::new(&model, &SceneOptions::default().with_nodes(Some(&nodes)));
    let titles: Vec<&str> = scene.level(0).unwrap().items.iter().map(|item| item.title.as_str()).collect();
    assert_eq!(titles, ["Abs", "Exp", "a", "c"]);
}

#[test]
fn labels_side_by_side_do_not_overlap() {
    let long = "a_very_long_name_of_a_dimension";
    let model = model(&format!(
        "g (float[\"{long}_0\", \"{long}_1\", 3, 8] x) => (float[n] a, float[n] b, float[n] c) {{
          p, q, r = Split <axis = 2, num_outputs = 3> (x)
          a = Relu (p)
          b = Relu (q)
          c = Relu (r)
        }}"
    ));
    let inference = infer(&model, &InferOptions::default());
    let scene = Scene::new(&model, &SceneOptions::default().with_inference(Some(&inference)));
    let picture = scene.picture(&Open::new()).unwrap();
    let mut ends: Vec<(f64, f64, f64)> = picture
        .lines
        .iter()
        .filter_map(|line| line.label.as_ref())
        .map(|(x, y, text)| {
            (*y, x - text_width(text, SMALL_FONT) / 2.0, x + text_width(text, SMALL_FONT) / 2.0)
        })
        .collect();
    ends.sort_by(|a, b| a.partial_cmp(b).unwrap());
    assert!(ends.len() >= 6, "{ends:?}");
    for pair in ends.windows(2) {
        assert!(pair[0].0 < pair[1].0 || pair[0].2 <= pair[1].1, "{pair:?}");
    }
}

#[test]
fn differences_are_colors() {
    let model = model(
        "g (float[2] x) => (float[2] y) {
          [\"/new/Relu\"] a = Relu (x)
          [\"/new/Abs\"] b = Abs (a)
          [\"/old/Relu\"] c = Relu (b)
          [\"/old/Abs\"] y = Abs (c)
        }",
    );
    let nodes: Vec<_> = model.nodes(model.main_graph()).collect();
    let scene = Scene::new(&model, &SceneOptions::default());
    let mut marks = Marks::default();
    marks.changes.insert(nodes[0], DifferenceMark::Added);
    marks.changes.insert(nodes[1], DifferenceMark::Added);
    marks.changes.insert(nodes[2], DifferenceMark::Added);
    let summary = scene.summary(&marks);
    let of = |index: usize| summary.difference(&scene.level(0).unwrap().items[index]);
    // All of the first box is new, and a part of the second one.
    assert_eq!((of(0), of(1)), (Some(DifferenceMark::Added), Some(DifferenceMark::Changed)));
    assert!(level_json(&scene, 0, &summary).contains("\"d\":\"added\""));
    let picture = scene.picture_with(&Open::new(), &marks).unwrap();
    let text = svg(&picture, &PictureStyle::default().with_coloring(Coloring::Diff));
    assert!(text.contains(DifferenceMark::Added.color()) && text.contains(DifferenceMark::Changed.color()));
}

#[test]
fn parts_say_what_they_begin_and_end_with() {
    let chain = |count: usize, name: &dyn Fn(usize) -> String| {
        let mut body = String::from("g (float[2] v0) => (float[2] y) {\n");
        let named = |index: usize| match name(index) {
            name if name.is_empty() => name,
            name => format!("[\"{name}\"] "),
        };
        for index in 0..count {
            body += &format!("{}v{} = Relu (v{index})\n", named(index), index + 1);
        }
        model(&(body + &format!("{}y = Abs (v{count}) }}", named(count))))
    };
    let titles = |model: &Model| -> Vec<String> {
        let scene = Scene::new(model, &SceneOptions::default());
        let items = scene.level(scene.root()).unwrap().items.clone();
        items.into_iter().filter(|item| item.kind == ItemKind::Group).map(|item| item.title).collect()
    };
    let found = titles(&chain(100, &|index| format!("Relu_{index}")));
    assert!(found.len() > 1, "{found:?}");
    assert!(
        found[0].starts_with("Relu_0 … Relu_") && found[0].ends_with(&format!("(1 of {})", found.len())),
        "{found:?}"
    );
    // A name of the model that looks like a number of a part is a name.
    let found = titles(&chain(200, &|index| format!("/m/part {}/op/Relu_{index}", index / 2)));
    assert!(found.len() > 1 && found.iter().all(|title| title.starts_with("part ")), "{found:?}");
    // Scopes are named if most nodes are in them, and what the whole picture is in is not.
    let found = titles(&chain(120, &|index| match index {
        0..40 => format!("/net/{}/Relu_{index}", ["body", "neck", "head"][index / 15]),
        _ => format!("/net/Relu_{index}"),
    }));
    assert!(found[0].starts_with("body, neck, head (1 of "), "{found:?}");
    assert!(found[1].starts_with("Relu_"), "{found:?}");
    // Nodes without names have operators.
    let found = titles(&chain(100, &|_| String::new()));
    assert!(found[0].starts_with("Relu (1 of "), "{found:?}");
}

#[test]
fn sizes_that_are_formulas_are_in_parentheses() {
    let model = model(
        "g (float[N, past, 8] x, float[N, seq, 8] z) => (float[a, b, c] y) { y = Concat <axis = 1> (x, z) }",
    );
    let inference = infer(&model, &InferOptions::default());
    let scene = Scene::new(&model, &SceneOptions::default().with_inference(Some(&inference)));
    let output = &scene.level(scene.root()).unwrap().items[3];
    assert!(["N×(past + seq)×8", "N×(seq + past)×8"].contains(&output.lines[0].as_str()), "{output:?}");
}
