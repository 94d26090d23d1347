//! Selection: the nodes and values of a model that selectors denote.

mod candidates;
mod facts;

use onnx_ir::{GraphId, Model, NodeId, ValueId};
use onnx_types::Limits;

pub use facts::ModelFacts;

use crate::{Element, Selector, SelectorError, Selectors};
use candidates::{near, texts};

/// Maximum number of terms of a union that are resolved one by one.
const MAX_TERMS: usize = 1000;

/// Resolves selectors of a model, as [`Selectors`] does, with the facts of inference, of the checker and of the matcher of rewrite
/// rules.
///
/// ```
/// use onnx_select::{ModelFacts, Selection};
/// use onnx_text::{ParseOptions, parse_model};
///
/// let text = r#"<ir_version: 10, opset_import: ["": 21]>
/// g (float[N, 4] x) => (float[N, 4] y) {
///    a = Relu (x)
///    b = Shape (a)
///    y = Exp (a)
/// }"#;
/// let model = parse_model(text, &ParseOptions::default())?;
/// let facts = ModelFacts::new(&model);
/// let selection = Selection::new(&facts);
/// assert_eq!(selection.nodes("Relu() -> Exp()")?.len(), 1);
/// assert_eq!(selection.values("type(int64)")?.len(), 1);
/// assert_eq!(selection.nodes("up(y) ~ Relu()")?, [selection.node("y")?]);
/// let error = selection.node("z").unwrap_err();
/// assert_eq!(error.to_string(), "no node of the model matches `z`");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Selection<'a> {
    model: &'a Model,
    selectors: Selectors<'a>,
}

/// Why a selector does not denote what is needed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SelectError {
    /// The text is not a selector, or cannot be resolved.
    #[error("`{}` is not a selector: {error}", shown(.text))]
    Malformed {
        /// The text.
        text: String,
        /// The defect.
        error: SelectorError,
    },
    /// Nothing is denoted.
    #[error("no {what} of the model matches `{}`", shown(.text))]
    Nothing {
        /// The selector.
        text: String,
        /// The kind of element that is needed: `node`, `value`, `graph`.
        what: &'static str,
        /// Selectors of elements with similar names.
        candidates: Vec<String>,
    },
    /// More than one element is denoted, and one is needed.
    #[error("{count} {what}s of the model match `{}`, and one is needed", shown(.text))]
    Several {
        /// The selector.
        text: String,
        /// The kind of element that is needed.
        what: &'static str,
        /// Number of elements.
        count: usize,
        /// Selectors of the first of them.
        candidates: Vec<String>,
    },
}

impl SelectError {
    /// The name of the limit that was exceeded, if that is the reason.
    #[must_use]
    pub const fn limit(&self) -> Option<&'static str> {
        match self {
            Self::Malformed { error, .. } => error.limit,
            _ => None,
        }
    }

    /// Selectors that may have been meant.
    #[must_use]
    pub fn candidates(&self) -> &[String] {
        match self {
            Self::Malformed { .. } => &[],
            Self::Nothing { candidates, .. } | Self::Several { candidates, .. } => candidates,
        }
    }
}

/// The beginning of a selector in a message.
fn shown(text: &str) -> String {
    const LONGEST: usize = 200;
    let escaped: String = text.chars().take(LONGEST).collect::<String>().escape_debug().collect();
    if text.chars().nth(LONGEST).is_some() { format!("{escaped}…") } else { escaped }
}

impl<'a> Selection<'a> {
    /// The selection in the model of these facts.
    #[must_use]
    pub fn new(facts: &'a ModelFacts<'a>) -> Self {
        let model = facts.model();
        let selectors = Selectors::new(model).with_facts(facts).with_limits(facts.limits());
        Self { model, selectors }
    }

    /// Also selects in the bodies of functions, where selectors do not name a graph.
    #[must_use]
    pub fn with_functions(self) -> Self {
        Self { selectors: self.selectors.with_functions(), ..self }
    }

    /// The selectors of elements, as text.
    #[must_use]
    pub const fn selectors(&self) -> &Selectors<'a> {
        &self.selectors
    }

    /// Parses a selector. A complete text that equals a name is this name.
    ///
    /// # Errors
    ///
    /// If the text is not a selector.
    pub fn parse(&self, text: &str) -> Result<Selector, SelectError> {
        self.selectors.parse(text).map_err(|error| malformed(text, error))
    }

    /// The nodes that a selector denotes, each once.
    ///
    /// # Errors
    ///
    /// If the text is not a selector, or it or a term of its union denotes no node.
    pub fn nodes(&self, text: &str) -> Result<Vec<NodeId>, SelectError> {
        self.each(text, "node", |selector| self.selectors.nodes(selector))
    }

    /// The values that a selector denotes, each once.
    ///
    /// # Errors
    ///
    /// If the text is not a selector, or it or a term of its union denotes no value.
    pub fn values(&self, text: &str) -> Result<Vec<ValueId>, SelectError> {
        self.each(text, "value", |selector| self.selectors.values(selector))
    }

    /// Everything that a selector denotes by itself: nodes and values of names, nodes of operators, values of types, or one graph.
    ///
    /// # Errors
    ///
    /// If the text is not a selector, or a term of a union is a name that denotes nothing. A selector that denotes nothing is not
    /// an error otherwise.
    pub fn elements(&self, text: &str) -> Result<Vec<Element>, SelectError> {
        let selector = self.parse(text)?;
        let find =
            |selector: &Selector| self.selectors.elements(selector).map_err(|error| malformed(text, error));
        for term in terms(&selector) {
            if matches!(term, Selector::Name(_)) && find(term)?.is_empty() {
                return Err(self.nothing_of(term, "node or value"));
            }
        }
        find(&selector)
    }

    /// The node that a selector denotes.
    ///
    /// # Errors
    ///
    /// If it denotes none, or several.
    pub fn node(&self, text: &str) -> Result<NodeId, SelectError> {
        self.one(text, "node", &self.nodes(text)?, Element::Node)
    }

    /// The value that a selector denotes.
    ///
    /// # Errors
    ///
    /// If it denotes none, or several.
    pub fn value(&self, text: &str) -> Result<ValueId, SelectError> {
        self.one(text, "value", &self.values(text)?, Element::Value)
    }

    /// The graph that a selector denotes by itself: `main()`, `body(…)` or `function(…)`; `None` if it denotes something else.
    ///
    /// # Errors
    ///
    /// If the text is not a selector, or no such graph exists.
    pub fn graph(&self, text: &str) -> Result<Option<GraphId>, SelectError> {
        match self.parse(text)? {
            Selector::Graph(scope) => {
                self.selectors.graph(&scope).map(Some).map_err(|error| malformed(text, error))
            }
            _ => Ok(None),
        }
    }

    /// What a selector denotes. Each term of a union must denote something: a name that is misspelled would be left out otherwise.
    fn each<T>(
        &self,
        text: &str,
        what: &'static str,
        find: impl Fn(&Selector) -> Result<Vec<T>, SelectorError>,
    ) -> Result<Vec<T>, SelectError> {
        let selector = self.parse(text)?;
        let found = find(&selector).map_err(|error| malformed(text, error))?;
        for term in terms(&selector) {
            if find(term).map_err(|error| malformed(text, error))?.is_empty() {
                return Err(self.nothing_of(term, what));
            }
        }
        if found.is_empty() { Err(self.nothing(text, what)) } else { Ok(found) }
    }

    fn one<T: Copy>(
        &self,
        text: &str,
        what: &'static str,
        found: &[T],
        element: fn(T) -> Element,
    ) -> Result<T, SelectError> {
        match found {
            &[one] => Ok(one),
            several => {
                let candidates = texts(&self.selectors, several.iter().map(|&one| element(one)));
                Err(SelectError::Several { text: text.to_owned(), what, count: several.len(), candidates })
            }
        }
    }

    fn nothing(&self, text: &str, what: &'static str) -> SelectError {
        let candidates = self.candidates(text);
        SelectError::Nothing { text: text.to_owned(), what, candidates }
    }

    /// Like [`nothing`](Self::nothing), for a term of a union.
    fn nothing_of(&self, term: &Selector, what: &'static str) -> SelectError {
        let text = term.to_string();
        let name = if let Selector::Name(name) = term { name } else { &text };
        let candidates = self.candidates(name);
        SelectError::Nothing { text, what, candidates }
    }

    /// Selectors of elements with names similar to a text.
    #[must_use]
    pub fn candidates(&self, text: &str) -> Vec<String> {
        near(self.model, &self.selectors, text)
    }
}

/// The terms of a union that are resolved one by one; none if it has too many, or the selector is not a union.
fn terms(selector: &Selector) -> &[Selector] {
    match selector {
        Selector::Union(terms) if terms.len() <= MAX_TERMS => terms,
        _ => &[],
    }
}

fn malformed(text: &str, error: SelectorError) -> SelectError {
    SelectError::Malformed { text: text.to_owned(), error }
}

impl ModelFacts<'_> {
    fn limits(&self) -> &Limits {
        &self.execution().limits
    }
}
