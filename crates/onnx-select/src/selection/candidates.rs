//! Selectors that may have been meant by one that denotes nothing.

use std::collections::HashSet;

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
    let known = operators(model);
    let meant = same_operator(&known, text);
    if !meant.is_empty() {
        return meant.iter().map(|name| format!("{name}()")).collect();
    }
    let spelled = with_operators(selectors, &known, text);
    if !spelled.is_empty() {
        return spelled;
    }
    if let Some(spelled) = with_attributes(model, &known, text) {
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

/// The operators of a model as patterns have them: with their domain, except those of ONNX.
fn operators(model: &Model) -> Vec<String> {
    let (mut known, mut seen) = (Vec::new(), HashSet::new());
    let nodes = model.all_graphs().flat_map(|graph| model.nodes(graph)).take(MAX_NAMES);
    for record in nodes.map(|node| model.node(node)) {
        if seen.insert((record.domain(), record.op())) {
            known.push(operator(model.str(record.domain()), model.str(record.op())));
        }
    }
    known
}

fn operator(domain: &str, op: &str) -> String {
    if domain.is_empty() { op.to_owned() } else { format!("{domain}.{op}") }
}

/// The name of an operator without its domain.
fn bare(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(_, op)| op)
}

/// The operators with this name in any domain, or with the domain before `::`, as other outputs write it.
fn same_operator<'k>(known: &'k [String], name: &str) -> Vec<&'k str> {
    let dotted = name.replace("::", ".");
    let dotted = dotted.strip_prefix("ai.onnx.").filter(|op| !op.contains('.')).unwrap_or(&dotted);
    let known = || known.iter().map(String::as_str);
    if let Some(same) = known().find(|known| *known == dotted) {
        return vec![same];
    }
    let is_same = |known: &&str| !name.contains(['.', ':']) && bare(known) == name;
    known().filter(is_same).take(MAX).collect()
}

/// The operators that a name may mean; none if there is one of this name.
fn meant<'k>(known: &'k [String], name: &str) -> Vec<&'k str> {
    if known.iter().any(|known| known == name) {
        return Vec::new();
    }
    let same = same_operator(known, name);
    if !same.is_empty() {
        return same;
    }
    let all = || known.iter().map(String::as_str);
    let near = onnx_schema::nearest(name, all()).or_else(|| {
        let near = onnx_schema::nearest(bare(name), all().map(bare))?;
        all().find(|known| bare(known) == near)
    });
    if near.is_some() {
        return near.into_iter().collect();
    }
    // A part of a name: `SVM` of `SVMRegressor`.
    let part = bare(name).to_lowercase();
    let has_part = |known: &&str| bare(known).to_lowercase().contains(&part);
    let is_long = part.chars().count() >= LEAST_PART;
    all().filter(|known| is_long && has_part(known)).take(MAX).collect()
}

/// The words of a selector that are names of operators: those before parentheses and attributes that are not functions.
fn calls(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (end, _) in text.match_indices(['(', '<']) {
        let before = text.get(..end).unwrap_or_default();
        let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.' | ':');
        let start = before.trim_end_matches(is_part).len();
        let word = before.get(start..).unwrap_or_default();
        if !word.is_empty() && !Selector::FUNCTIONS.contains(&word) {
            found.push((start, word));
        }
    }
    found
}

/// The selector with the operators that those which the model does not have may mean. Each result denotes something.
fn with_operators(selectors: &Selectors<'_>, known: &[String], text: &str) -> Vec<String> {
    let unknown: Vec<(usize, &str, Vec<&str>)> =
        calls(text).into_iter().map(|(start, word)| (start, word, meant(known, word))).collect();
    let denotes = |text: &str| {
        let found = Selector::parse(text).ok().and_then(|selector| selectors.elements(&selector).ok());
        found.is_some_and(|found| !found.is_empty())
    };
    let most = unknown.iter().map(|(.., meant)| meant.len()).max().unwrap_or_default();
    let mut found: Vec<String> = Vec::new();
    for choice in 0..most {
        let mut spelled = text.to_owned();
        for (start, word, meant) in unknown.iter().rev() {
            if let Some(new) = meant.get(choice).or(meant.first()) {
                spelled.replace_range(*start..*start + word.len(), new);
            }
        }
        found.extend(Some(spelled).filter(|spelled| denotes(spelled)));
    }
    if found.is_empty() {
        // The rest of the selector denotes nothing with the operator, either.
        let names = unknown.iter().flat_map(|(.., meant)| meant);
        found = names.map(|name| format!("{name}()")).take(MAX).collect();
    }
    found
}

/// A pattern with the attribute or the function that one of nearly this spelling may mean.
fn with_attributes(model: &Model, operators: &[String], text: &str) -> Option<String> {
    let (op, rest) = text.split_at(text.find(['(', '<'])?);
    let nodes = || model.all_graphs().flat_map(|graph| model.nodes(graph)).take(MAX_NAMES);
    let op_of =
        |node: NodeId| operator(model.str(model.node(node).domain()), model.str(model.node(node).op()));
    if !operators.iter().any(|known| known == op) {
        return None;
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
