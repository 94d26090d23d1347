//! Selectors that may have been meant by one that denotes nothing.

use onnx_ir::{Element, Model, Selector, Selectors};

/// Maximum number of candidates.
const MAX: usize = 5;

/// Maximum number of names that are compared with a text.
const MAX_NAMES: usize = 100_000;

/// Maximum length of a text that names are compared with.
const MAX_TEXT: usize = 1000;

/// The selectors of the first of some elements.
pub(super) fn texts(selectors: &Selectors<'_>, elements: impl Iterator<Item = Element>) -> Vec<String> {
    elements.filter_map(|element| selectors.text(element)).take(MAX).collect()
}

/// The selector of an element: its name, if that denotes nothing else.
fn written(model: &Model, selectors: &Selectors<'_>, element: Element) -> Option<String> {
    let by_name = Selector::Name(name(model, element).to_owned());
    let is_unique = selectors.elements(&by_name).is_ok_and(|found| found == [element]);
    if is_unique { Some(by_name.to_string()) } else { selectors.text(element) }
}

/// Selectors of elements with names that are in the scope of a text, contain it, or are nearly the same.
pub(super) fn near(model: &Model, selectors: &Selectors<'_>, text: &str) -> Vec<String> {
    let text = text.trim();
    if text.is_empty() || text.len() > MAX_TEXT {
        return Vec::new();
    }
    let graphs = model.graphs_in(model.main_graph());
    let elements = graphs.flat_map(|graph| {
        let nodes = model.nodes(graph).map(Element::Node);
        nodes.chain(model.definitions(graph).map(Element::Value))
    });
    let named: Vec<(Element, &str)> = elements
        .map(|element| (element, name(model, element)))
        .filter(|(_, name)| !name.is_empty())
        .take(MAX_NAMES)
        .collect();
    let mut nodes = model.all_graphs().flat_map(|graph| model.nodes(graph));
    if nodes.any(|node| model.str(model.node(node).op()) == text) {
        return vec![format!("{text}()")];
    }
    let scope = text.trim_end_matches('/');
    let is_inside = |name: &str| name.strip_prefix(scope).is_some_and(|rest| rest.starts_with('/'));
    if !scope.is_empty() && named.iter().any(|(_, name)| is_inside(name)) {
        return vec![format!("{scope}/**")];
    }
    let is_plain = !text.contains(['(', '*', '?', '|', '&', '~', '"', '<']);
    let mut found: Vec<String> = Vec::new();
    let mut add = |element: Element| {
        if let Some(text) = written(model, selectors, element)
            && found.len() < MAX
            && !found.contains(&text)
        {
            found.push(text);
        }
    };
    let nearest = onnx_schema::nearest(text, named.iter().map(|(_, name)| *name));
    named.iter().filter(|(_, name)| Some(*name) == nearest).take(1).for_each(|(element, _)| add(*element));
    if is_plain {
        let containing = named.iter().filter(|(_, name)| name.contains(text));
        containing.take(MAX).for_each(|(element, _)| add(*element));
    }
    found
}

fn name(model: &Model, element: Element) -> &str {
    match element {
        Element::Node(node) => model.str(model.node(node).name()),
        Element::Value(value) => model.str(model.value(value).name()),
        Element::Graph(_) => "",
    }
}
