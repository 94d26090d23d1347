//! Selectors that may have been meant by one that denotes nothing.

use onnx_ir::{Model, NodeId};

use crate::{Element, Selector, Selectors};

/// Maximum number of candidates.
const MAX: usize = 5;

/// Maximum number of names that are compared with a text.
const MAX_NAMES: usize = 100_000;

/// Maximum length of a text that names are compared with.
const MAX_TEXT: usize = 1000;

/// Minimum number of characters of a part of a name: most names contain a given letter by chance.
const LEAST_PART: usize = 3;

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
    if let Some(last) = last_node(model, text) {
        return vec![last];
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
    if let Some(spelled) = spelled(model, text) {
        return vec![spelled];
    }
    let scope = text.trim_end_matches('/');
    let is_inside = |name: &str| name.strip_prefix(scope).is_some_and(|rest| rest.starts_with('/'));
    if !scope.is_empty() && named.iter().any(|(_, name)| is_inside(name)) {
        return vec![format!("{scope}/**")];
    }
    let is_part =
        !text.contains(['(', '*', '?', '|', '&', '~', '"', '<']) && text.chars().count() >= LEAST_PART;
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
    if is_part {
        let containing = named.iter().filter(|(_, name)| name.contains(text));
        containing.take(MAX).for_each(|(element, _)| add(*element));
    }
    if found.is_empty() {
        let mut found: Vec<String> = Vec::new();
        for element in of_similar_paths(&named, text) {
            found.extend(written(model, selectors, element).filter(|text| !found.contains(text)));
        }
        return found;
    }
    found
}

/// The selector of the last node, if a text is that of a node behind it.
fn last_node(model: &Model, text: &str) -> Option<String> {
    let Ok(Selector::Node(index)) = Selector::parse(text) else { return None };
    let last = model.graph(model.main_graph()).node_count().checked_sub(1)?;
    (index > last).then(|| Selector::Node(last).to_string())
}

/// The elements whose names share most parts between slashes with a text, at the beginning and at the end.
fn of_similar_paths(named: &[(Element, &str)], text: &str) -> Vec<Element> {
    let wanted: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
    let shared = |name: &str| {
        let parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty()).collect();
        let most = wanted.len().min(parts.len());
        let first = wanted.iter().zip(&parts).take_while(|(a, b)| a == b).count();
        let last = wanted.iter().rev().zip(parts.iter().rev()).take_while(|(a, b)| a == b).count();
        (first + last).min(most)
    };
    let scored: Vec<(usize, Element)> =
        named.iter().map(|&(element, name)| (shared(name), element)).collect();
    let best = scored.iter().map(|(score, _)| *score).max().unwrap_or_default();
    // One common part is chance, and so is less than half of a long path.
    if best < 2 || best * 2 < wanted.len() {
        return Vec::new();
    }
    scored.into_iter().filter(|(score, _)| *score == best).map(|(_, element)| element).take(MAX).collect()
}

/// A pattern with the operator, the attribute or the function that one of nearly this spelling may mean.
fn spelled(model: &Model, text: &str) -> Option<String> {
    let (op, rest) = text.split_at(text.find(['(', '<'])?);
    let nodes = || model.all_graphs().flat_map(|graph| model.nodes(graph)).take(MAX_NAMES);
    let op_of = |node: NodeId| model.str(model.node(node).op());
    if !nodes().any(|node| op_of(node) == op) {
        let near = onnx_schema::nearest(op, nodes().map(op_of))?;
        return Some(format!("{near}{rest}")).filter(|text| Selector::parse(text).is_ok());
    }
    let (attributes, operands) = match rest.strip_prefix('<') {
        Some(rest) => rest.split_once('>')?,
        None => ("", rest),
    };
    let mut known: Vec<&str> = Vec::new();
    for node in nodes().filter(|&node| op_of(node) == op) {
        let record = model.node(node);
        known.extend(record.attributes().iter().map(|attribute| model.str(attribute.name())));
    }
    let schemas = onnx_schema::operators().flatten().filter(|schema| schema.name() == op);
    known.extend(schemas.flat_map(|schema| schema.attributes().iter().map(|formal| formal.text())));
    for name in attributes.split(',').filter_map(|part| Some(part.split_once('=')?.0.trim())) {
        if !known.contains(&name)
            && let Some(near) = onnx_schema::nearest(name, known.iter().copied())
        {
            return Some(text.replacen(name, near, 1)).filter(|text| Selector::parse(text).is_ok());
        }
    }
    // Operands of a pattern are patterns; a function there is read as an operator.
    let operands = operands.trim().strip_prefix('(')?.strip_suffix(')')?;
    let is_function = |operand: &&str| {
        operand.split_once('(').is_some_and(|(word, _)| Selector::FUNCTIONS.contains(&word))
            && Selector::parse(operand).is_ok()
    };
    let function = operands.split(',').map(str::trim).find(is_function)?;
    Some(format!("{op}() & down({function}, 0)"))
}

fn name(model: &Model, element: Element) -> &str {
    match element {
        Element::Node(node) => model.str(model.node(node).name()),
        Element::Value(value) => model.str(model.value(value).name()),
        Element::Graph(_) => "",
    }
}
