//! Selectors: text that denotes graphs, nodes and values of a model.
//!
//! ```text
//! selector = term { ("," | "|") term }
//! term     = primary { ("&" | "~") primary }
//! primary  = name | pattern | function | (selector)
//! graph    = main() | body(selector, attribute) | body(selector, attribute, K) | function(domain.name:overload)
//! ```
//!
//! * A complete text that equals the name of a value or node of the main graph, or of a graph nested in it, is that name.
//! * `,` and `|` are the union, `&` the intersection, `~` the difference; `&` and `~` bind more tightly than the union and are
//!   applied from left to right.
//! * A word is a run of characters other than blanks and `, | & ~ ( ) < > [ ] " =`; `->` ends it. It is a name, or with `*`,
//!   `**` or `?` a [`Glob`]. Every other name is written between double quotes with the escapes `\"`, `\\`, `\n`, `\r`, `\t` and
//!   `\u{HEX}`.
//! * Names and `node(K)` (the node at index K of a graph, counted from 0 in the order of the file) are resolved in the main
//!   graph; names also in the graphs nested in it, if the main graph has none of the name. Everything else is selected in the
//!   main graph and the graphs nested in it. `in(graph, selector)` resolves a selector in one graph.
//! * Where nodes are expected, a value denotes the node that produces it; where values are expected, a node denotes its
//!   outputs. A graph denotes its nodes and those nested in them.
//! * `near(S, N)`, `up(S, N)`, `down(S, N)`: the nodes of S and those that at most N edges separate from them; without N, any
//!   number. For `near` and `down`, a value that no node produces stands for the nodes that use it. `between(A, B)`: the nodes on the paths from the values of A to those of B. Paths stay in a graph: a node uses what
//!   the graphs nested in it use.
//! * `inputs()`, `outputs()`, `weights()`, `all()`, `metadata(key = glob)`, and with [`SelectorFacts`]: `type(float16)`,
//!   `rank(4)`, `bytes(>1MB)`, `unknown()`, `constant()`, `finding(ONNX2308)`.
//! * `Op<attribute = value>(operands)` are nodes by operator; [`SelectorFacts`] finds them.
//!
//! [`Selectors::text`] returns the selector of an element. It resolves to exactly this element, or there is none.

mod evaluate;
mod flow;
mod parse;
mod resolve;

use std::fmt::{self, Write as _};

use onnx_diag::Locus;
use onnx_ir::{Glob, NodeId, ValueId};
use onnx_types::ElemType;
use thiserror::Error;

pub use resolve::{Element, Selectors};

/// A parsed selector.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Selector {
    /// The name of values and nodes.
    Name(String),
    /// The names that a pattern matches.
    Glob(Glob),
    /// The node at this index of a graph.
    Node(usize),
    /// Nodes that at most this many edges separate from those of a selector.
    Flow(Direction, Box<Self>, Option<usize>),
    /// The nodes on the paths from some values to others.
    Between(Box<Self>, Box<Self>),
    /// What a selector denotes in one graph.
    In(SelectorScope, Box<Self>),
    /// A graph.
    Graph(SelectorScope),
    /// The elements of a set.
    Set(ElementSet),
    /// The elements with a property.
    Fact(ValueFact),
    /// The elements with an entry of metadata: its key, and its value.
    Metadata(String, Option<TextPattern>),
    /// The elements that diagnostics of a rule are about.
    Finding(String),
    /// The nodes that a call describes: its text, and the byte of the selector at which it begins.
    Pattern(String, usize),
    /// The union of selectors.
    Union(Vec<Self>),
    /// A selector without what others exclude, from left to right.
    Refined(Box<Self>, Vec<(Refinement, Self)>),
}

/// A text, or a pattern of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextPattern {
    /// This text.
    Exact(String),
    /// The texts that a pattern matches.
    Glob(Glob),
}

/// The direction in which edges are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// To the producers of operands.
    Up,
    /// To the users of results.
    Down,
    /// In both.
    Near,
}

/// A set of elements of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ElementSet {
    /// The inputs of graphs that have no initializer.
    Inputs,
    /// The outputs of graphs.
    Outputs,
    /// Initializers.
    Weights,
    /// All nodes, or all values.
    All,
}

/// A property of values.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueFact {
    /// The element type is one of these.
    Type(Vec<ElemType>),
    /// The rank is in a range.
    Rank(NumberRange),
    /// The size in bytes is in a range.
    Bytes(NumberRange),
    /// A part of the type is unknown.
    Unknown,
    /// The elements do not depend on inputs.
    Constant,
}

/// A range of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberRange {
    /// Which numbers relate to `number` so.
    pub relation: NumberRelation,
    /// The number on the right.
    pub number: u64,
}

/// A relation of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberRelation {
    /// `=`
    Equal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

impl NumberRange {
    /// Returns `true` if a number is in the range.
    #[must_use]
    pub const fn holds(self, number: u64) -> bool {
        match self.relation {
            NumberRelation::Equal => number == self.number,
            NumberRelation::Less => number < self.number,
            NumberRelation::AtMost => number <= self.number,
            NumberRelation::Greater => number > self.number,
            NumberRelation::AtLeast => number >= self.number,
        }
    }
}

/// What a selector on the right does to the set on the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refinement {
    /// Elements of both stay.
    And,
    /// Elements of the right side are removed.
    Without,
}

/// A graph in a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SelectorScope {
    /// The main graph.
    Main,
    /// A graph that is the value of an attribute of a node.
    Body {
        /// The node.
        node: Box<Selector>,
        /// The name of the attribute.
        attribute: String,
        /// The position in a list of graphs.
        index: usize,
    },
    /// The body of a function, by `domain.name:overload`; an empty domain or overload is omitted with its separator.
    Function(String),
}

/// Why a text is not a selector, or cannot be resolved: a message and the byte at which it applies.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}{}", at(*.offset))]
pub struct SelectorError {
    /// The message that states the defect.
    pub message: String,
    /// The offset in bytes; `None` if the text is a selector.
    pub offset: Option<usize>,
    /// The name of the limit that was exceeded, if that is the reason.
    pub limit: Option<&'static str>,
}

impl SelectorError {
    /// A defect at a byte.
    pub fn new(message: impl Into<String>, offset: usize) -> Self {
        Self { message: message.into(), offset: Some(offset), limit: None }
    }

    /// A reason why a selector cannot be resolved.
    pub fn of(message: impl Into<String>) -> Self {
        Self { message: message.into(), offset: None, limit: None }
    }

    /// The limit of the work to resolve a selector was exceeded.
    #[must_use]
    pub fn of_limit() -> Self {
        let message =
            "it takes more steps than the limit `selector_steps` to resolve the selector".to_owned();
        Self { message, offset: None, limit: Some("selector_steps") }
    }
}

fn at(offset: Option<usize>) -> String {
    offset.map_or_else(String::new, |offset| format!(" at byte {offset} of the selector"))
}

/// What selectors need beyond the graphs of a model: matching, inference and the checker.
pub trait SelectorFacts {
    /// The nodes, among some, that a call of a selector describes, in order. `steps` is what may still be done; it is reduced by
    /// what was done.
    ///
    /// # Errors
    ///
    /// If the text is not a call, with the byte of it, or if the steps do not suffice.
    fn matching(
        &self,
        call: &str,
        nodes: &mut dyn Iterator<Item = NodeId>,
        steps: &mut u64,
    ) -> Result<Vec<NodeId>, SelectorError>;

    /// The element type of a value.
    fn elem(&self, value: ValueId) -> Option<ElemType>;

    /// The rank of a value.
    fn rank(&self, value: ValueId) -> Option<usize>;

    /// The size of the elements of a value in bytes.
    fn bytes(&self, value: ValueId) -> Option<u64>;

    /// Returns `true` if a part of the type of a value is unknown.
    fn is_unknown(&self, value: ValueId) -> bool;

    /// Returns `true` if the elements of a value are known not to depend on inputs.
    fn is_constant(&self, value: ValueId) -> bool;

    /// The places of the diagnostics of a rule, which is a code or a name.
    ///
    /// # Errors
    ///
    /// Returns a message if no rule has the code or name.
    fn findings(&self, rule: &str) -> Result<Vec<Locus>, String>;
}

impl Selector {
    /// The names of the functions of selectors, in alphabetical order.
    pub const FUNCTIONS: &'static [&'static str] = parse::FUNCTIONS;

    /// Parses a selector. The rule that a complete text may be a name needs a model: see [`Selectors::parse`].
    ///
    /// # Errors
    ///
    /// If the text is not a selector.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        parse::parse(text)
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => write_name(f, name),
            Self::Glob(glob) => f.write_str(glob.as_str()),
            Self::Node(index) => write!(f, "node({index})"),
            Self::Flow(direction, selector, distance) => {
                let name = match direction {
                    Direction::Up => "up",
                    Direction::Down => "down",
                    Direction::Near => "near",
                };
                write!(f, "{name}({selector}")?;
                distance.map_or(Ok(()), |distance| write!(f, ", {distance}"))?;
                f.write_char(')')
            }
            Self::Between(from, to) => write!(f, "between({from}, {to})"),
            Self::In(scope, selector) => write!(f, "in({scope}, {selector})"),
            Self::Graph(scope) => scope.fmt(f),
            Self::Set(set) => set.fmt(f),
            Self::Fact(fact) => fact.fmt(f),
            Self::Metadata(key, value) => {
                f.write_str("metadata(")?;
                write_name(f, key)?;
                match value {
                    Some(TextPattern::Exact(value)) => {
                        f.write_str(" = ")?;
                        write_name(f, value)?;
                    }
                    Some(TextPattern::Glob(glob)) => write!(f, " = {}", glob.as_str())?,
                    None => {}
                }
                f.write_char(')')
            }
            Self::Finding(rule) => {
                f.write_str("finding(")?;
                write_name(f, rule)?;
                f.write_char(')')
            }
            Self::Pattern(text, _) => f.write_str(text),
            Self::Union(terms) => {
                for (index, term) in terms.iter().enumerate() {
                    f.write_str(if index == 0 { "" } else { " | " })?;
                    term.write_operand(f)?;
                }
                Ok(())
            }
            Self::Refined(first, rest) => {
                first.write_operand(f)?;
                for (refinement, selector) in rest {
                    f.write_str(if *refinement == Refinement::And { " & " } else { " ~ " })?;
                    selector.write_operand(f)?;
                }
                Ok(())
            }
        }
    }
}

impl Selector {
    /// Writes an operand of `|`, `&` or `~`.
    fn write_operand(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Union(_) | Self::Refined(..) => write!(f, "({self})"),
            other => write!(f, "{other}"),
        }
    }
}

impl fmt::Display for ElementSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inputs => "inputs()",
            Self::Outputs => "outputs()",
            Self::Weights => "weights()",
            Self::All => "all()",
        })
    }
}

impl fmt::Display for ValueFact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Type(elems) => {
                let names: Vec<String> = elems.iter().map(ToString::to_string).collect();
                write!(f, "type({})", names.join(", "))
            }
            Self::Rank(comparison) => write!(f, "rank({comparison})"),
            Self::Bytes(comparison) => write!(f, "bytes({comparison})"),
            Self::Unknown => f.write_str("unknown()"),
            Self::Constant => f.write_str("constant()"),
        }
    }
}

impl fmt::Display for NumberRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.relation {
            NumberRelation::Equal => "",
            NumberRelation::Less => "<",
            NumberRelation::AtMost => "<=",
            NumberRelation::Greater => ">",
            NumberRelation::AtLeast => ">=",
        })?;
        self.number.fmt(f)
    }
}

impl fmt::Display for SelectorScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Main => f.write_str("main()"),
            Self::Body { node, attribute, index } => {
                write!(f, "body({node}, ")?;
                write_name(f, attribute)?;
                if *index > 0 { write!(f, ", {index})") } else { f.write_char(')') }
            }
            Self::Function(name) => {
                f.write_str("function(")?;
                write_name(f, name)?;
                f.write_char(')')
            }
        }
    }
}

/// Returns `true` if a character can be in a word.
fn is_word(c: char) -> bool {
    !(c.is_whitespace() || ",|&~()<>[]\"=".contains(c))
}

/// Writes a name, between quotes if it is not a word.
fn write_name(f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
    let is_plain = |c: char| is_word(c) && !matches!(c, '*' | '?' | '\\') && !onnx_diag::is_unprintable(c);
    if !name.is_empty() && !name.contains("->") && name.chars().all(is_plain) {
        return f.write_str(name);
    }
    f.write_char('"')?;
    for c in name.chars() {
        match c {
            '"' | '\\' => write!(f, "\\{c}")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            c if onnx_diag::is_unprintable(c) => write!(f, "\\u{{{:x}}}", u32::from(c))?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}
