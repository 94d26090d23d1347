//! Nodes and values that arguments denote.

use std::collections::HashSet;

use onnx_codec::FileSource;
use onnx_ir::{Model, NodeId, ValueId};
use onnx_schema::{Registry, Schema};
use onnx_select::Selector;
use onnx_select::{ModelFacts, SelectError, Selection};
use onnx_types::{ElemType, Execution};

use crate::exit::{Failure, LibraryError};
use crate::input::Loaded;
use crate::output::shown;

/// What selectors need beyond the model, so that it can be edited while this is held.
pub(crate) struct Context {
    registry: Registry,
    source: FileSource,
    execution: Execution,
}

impl Context {
    /// The context of a model, with the operators that inference knows.
    pub(crate) fn new(loaded: &Loaded) -> Result<Self, Failure> {
        Self::with_registry(loaded, onnx_shape_infer::contrib::registry())
    }

    /// The context of a model, with these operators.
    pub(crate) fn with_registry(loaded: &Loaded, registry: Registry) -> Result<Self, Failure> {
        Ok(Self { registry, source: loaded.source()?, execution: loaded.execution.clone() })
    }

    /// The facts of the model.
    pub(crate) fn facts<'a>(&'a self, model: &'a Model) -> ModelFacts<'a> {
        let facts = ModelFacts::new(model).with_registry(&self.registry).with_data(&self.source);
        facts.with_execution(self.execution.clone())
    }

    /// The nodes that selectors denote, each once, in the order of the arguments.
    pub(crate) fn nodes(&self, model: &Model, texts: &[String]) -> Result<Vec<NodeId>, Failure> {
        let facts = self.facts(model);
        let selection = Selection::new(&facts);
        self.each(texts, |text| nodes_of(model, &selection, text))
    }

    /// The values that selectors denote, each once, in the order of the arguments.
    pub(crate) fn values(&self, model: &Model, texts: &[String]) -> Result<Vec<ValueId>, Failure> {
        let facts = self.facts(model);
        let selection = Selection::new(&facts);
        self.each(texts, |text| Ok(selection.values(&pasted(model, text))?))
    }

    fn each<T: Copy + Eq + std::hash::Hash>(
        &self,
        texts: &[String],
        mut select: impl FnMut(&str) -> Result<Vec<T>, Failure>,
    ) -> Result<Vec<T>, Failure> {
        let (mut all, mut seen) = (Vec::new(), HashSet::new());
        for text in texts {
            let found = select(text);
            // What inference found before it was stopped decides nothing.
            self.execution.interrupt.check()?;
            all.extend(found?.into_iter().filter(|&element| seen.insert(element)));
        }
        Ok(all)
    }
}

/// The values that selectors denote, each once, in the order of the arguments. Patterns do not compare external data; a
/// [`Context`] does.
pub(crate) fn values(model: &Model, texts: &[String]) -> Result<Vec<ValueId>, Failure> {
    let facts = ModelFacts::new(model);
    let selection = Selection::new(&facts);
    each(texts, |text| Ok(selection.values(&pasted(model, text))?))
}

/// The nodes that selectors denote, as [`values`].
pub(crate) fn nodes(model: &Model, texts: &[String]) -> Result<Vec<NodeId>, Failure> {
    let facts = ModelFacts::new(model);
    let selection = Selection::new(&facts);
    each(texts, |text| nodes_of(model, &selection, text))
}

fn each<T: Copy + Eq + std::hash::Hash>(
    texts: &[String],
    mut select: impl FnMut(&str) -> Result<Vec<T>, Failure>,
) -> Result<Vec<T>, Failure> {
    let (mut all, mut seen) = (Vec::new(), HashSet::new());
    for text in texts {
        all.extend(select(text)?.into_iter().filter(|&element| seen.insert(element)));
    }
    Ok(all)
}

/// A selector in which a name that was cut on a terminal is a pattern: `a/b…` is `a/b**`. A name that ends so is itself.
pub(crate) fn pasted<'t>(model: &Model, text: &'t str) -> std::borrow::Cow<'t, str> {
    if !text.contains('…') {
        return text.into();
    }
    let is_name = model.graphs_in(model.main_graph()).any(|graph| {
        let mut values = model.definitions(graph).map(|value| model.value(value).name());
        values.any(|name| model.str(name) == text)
            || model.nodes(graph).any(|node| model.str(model.node(node).name()) == text)
    });
    if is_name { text.into() } else { text.replace('…', "**").into() }
}

/// The nodes that a selector denotes; an error that says so if it denotes a value that no node makes.
pub(crate) fn nodes_of(model: &Model, selection: &Selection<'_>, text: &str) -> Result<Vec<NodeId>, Failure> {
    let text = &*pasted(model, text);
    selection.nodes(text).map_err(|error| match selection.values(text).as_deref() {
        Ok(&[value, ..]) => {
            let name = shown(model.str(model.value(value).name()));
            Failure::new(format_args!("no node produces `{name}`: it is an input or an initializer"))
                .help("`onnx info --all` lists inputs; name a node that uses it")
        }
        _ => Failure::from(error),
    })
}

impl LibraryError for SelectError {
    fn limit(&self) -> Option<&'static str> {
        self.limit()
    }

    fn help(&self) -> Option<String> {
        let listed = || {
            let quoted: Vec<String> = self.candidates().iter().map(|text| format!("`{text}`")).collect();
            quoted.join(", ")
        };
        Some(match self {
            _ if self.limit().is_some() => return None,
            Self::Several { .. } => format!("select one of them: {}", listed()),
            _ if !self.candidates().is_empty() => format!("did you mean {}?", listed()),
            Self::Malformed { text, error } => {
                let is_type = error.message.contains("element type");
                let help = if is_type { type_help } else { function_help };
                error.offset.and_then(|offset| help(text.get(offset..)?)).unwrap_or_else(|| {
                    "write a name, `Op(…)` or `near(SELECTOR, N)`; quote other names: `\"a name\"`".to_owned()
                })
            }
            _ => "`onnx find MODEL 'all()'` lists nodes and values with their selectors".to_owned(),
        })
    }
}

/// The element type that the last word of a text may mean: `flaot)`.
fn type_help(text: &str) -> Option<String> {
    let word: String = text.chars().take_while(char::is_ascii_alphanumeric).collect();
    let names: Vec<String> = ElemType::all().map(|elem| elem.to_string()).collect();
    let letters = |text: &str| {
        let mut letters: Vec<char> = text.chars().collect();
        letters.sort_unstable();
        letters
    };
    let near = onnx_schema::nearest(&word, names.iter().map(String::as_str));
    // Two letters in the wrong order.
    let near = near.or_else(|| names.iter().map(String::as_str).find(|name| letters(name) == letters(&word)));
    Some(match near {
        Some(near) => format!("did you mean the type `{near}`?"),
        None => format!("the element types are {}", names.join(", ")),
    })
}

/// The function or the operator that a word before a parenthesis may mean; `None` if no such word is at the beginning of a text.
fn function_help(text: &str) -> Option<String> {
    let (word, _) = text.split_once('(')?;
    let is_word = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_word || Selector::FUNCTIONS.contains(&word) || word.starts_with(|c: char| c.is_uppercase()) {
        return None;
    }
    let operators = onnx_schema::operators().filter_map(|versions| versions.first().map(Schema::name));
    if let Some(operator) = operators.into_iter().find(|name| name.eq_ignore_ascii_case(word)) {
        return Some(format!("did you mean the operator, `{operator}()`?"));
    }
    // A longer word may have the name of a function at its beginning: `nearby`.
    let functions = Selector::FUNCTIONS.iter().copied();
    let prefix = functions
        .clone()
        .filter(|name| name.len() > 2 && word.starts_with(name))
        .max_by_key(|name| name.len());
    Some(match onnx_schema::nearest(word, functions).or(prefix) {
        Some(near) => format!("did you mean `{near}(…)`?"),
        None => format!("the functions are {}", Selector::FUNCTIONS.join(", ")),
    })
}
