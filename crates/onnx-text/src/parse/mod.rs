//! Text to the graph.
//!
//! The text is parsed straight into the arenas. Names are looked up as the decoder of files does it: the definitions of a
//! graph first, then its nodes, then what refers to values by name; a text puts outputs and value info before the nodes,
//! so these wait. The result is the model that decoding the equivalent file gives.

mod attr;
mod device;
mod entries;
mod fast_number;
mod graph;
mod info;
mod meta;
mod model;
mod node;
mod position;
mod recover;
mod simple_node;
mod tensor;
mod ty;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use onnx_diag::{Caps, Diagnostic, Locus, Policy, Reported, Rule, STOPPED, Sink};
use onnx_ir::raw::ModelWriter;
use onnx_ir::{FunctionId, GraphId, Model, NodeId, Origin};
use onnx_types::raw_text::from_bytes;
use onnx_types::{Execution, Limits, Stopped, Symbol, Type, Watch};

use crate::elided::{ElidedTensorSource, TensorKey};
use crate::error::ParseError;
use crate::lexer::{LexError, Lexer, Literal, Mark};
use crate::rules;
use position::{Positions, count};

/// Options for parsing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ParseOptions<'a> {
    /// Bounds on what parsing may cost, and what ends it early.
    pub execution: Execution,
    /// Record the lines and columns of nodes, inputs and initializers, which takes 8 bytes for each. Default: yes.
    pub positions: bool,
    /// Where the data of elided tensors are. Tensors whose elements were not edited are stored as they are stored there.
    pub elided_source: Option<&'a ElidedTensorSource<'a>>,
    /// Without `elided_source`: accept elided tensors, whose elements are then unknown ([`Payload::Elided`]). By default they
    /// are errors.
    ///
    /// [`Payload::Elided`]: onnx_types::tensor::Payload::Elided
    pub keep_elided: bool,
    /// Refuse tensors with another number of elements than their dimensions specify. Default: yes. The reference keeps them, and
    /// its checker refuses the model.
    pub element_counts: bool,
}

impl Default for ParseOptions<'_> {
    fn default() -> Self {
        Self {
            execution: Execution::default(),
            positions: true,
            elided_source: None,
            keep_elided: false,
            element_counts: true,
        }
    }
}

onnx_types::option_setters! {
    ParseOptions<'a> {
        with_execution => execution: into Execution,
        with_positions => positions: bool,
        with_elided_source => elided_source: into Option<&'a ElidedTensorSource<'a>>,
        with_keep_elided => keep_elided: bool,
        with_element_counts => element_counts: bool,
    }
}

/// Parses a model.
///
/// # Errors
///
/// Returns an error if the text is not a model, or the interrupt stops the work. The error holds everything that is
/// wrong, up to [`Limits::text_errors`] diagnostics.
pub fn parse_model(text: impl AsRef<[u8]>, options: &ParseOptions<'_>) -> Result<Model, ParseError> {
    let (model, ()) = parse(text.as_ref(), options, Parser::model)?;
    Ok(model)
}

/// Parses a graph; it becomes the main graph of a model that holds nothing else.
///
/// # Errors
///
/// Returns an error if the text is not a graph, or the interrupt stops the work. The error holds everything that is
/// wrong, up to [`Limits::text_errors`] diagnostics.
pub fn parse_graph(text: impl AsRef<[u8]>, options: &ParseOptions<'_>) -> Result<Model, ParseError> {
    let (model, ()) = parse(text.as_ref(), options, |parser| {
        let main = parser.model.main_graph();
        parser.graph(main, true)
    })?;
    Ok(model)
}

/// Parses a function; the model that holds it has nothing else but an empty main graph.
///
/// # Errors
///
/// Returns an error if the text is not a function, or the interrupt stops the work. The error holds everything that is
/// wrong, up to [`Limits::text_errors`] diagnostics.
pub fn parse_function(
    text: impl AsRef<[u8]>,
    options: &ParseOptions<'_>,
) -> Result<(Model, FunctionId), ParseError> {
    parse(text.as_ref(), options, Parser::function)
}

/// Parses a node into the main graph of a model without other content. The names it uses are unresolved.
///
/// # Errors
///
/// Returns an error if the text is not a node, or the interrupt stops the work. The error holds everything that is
/// wrong, up to [`Limits::text_errors`] diagnostics.
pub fn parse_node(text: impl AsRef<[u8]>, options: &ParseOptions<'_>) -> Result<(Model, NodeId), ParseError> {
    parse(text.as_ref(), options, |parser| {
        let main = parser.model.main_graph();
        let outer = parser.model.enter(main, true);
        let node = parser.node(main);
        parser.leave(outer);
        node
    })
}

fn parse<'a, T>(
    text: &'a [u8],
    options: &ParseOptions<'a>,
    read: impl FnOnce(&mut Parser<'a>) -> Result<T>,
) -> Result<(Model, T), ParseError> {
    // Some editors begin every text with a byte order mark.
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    // Most lines hold a node or describe a value. The bound keeps a text of empty lines from asking for much.
    let lines = count(text, |byte| byte == b'\n').min(text.len() / 16).min(1 << 20);
    let names = onnx_schema::interner_with_capacity(lines.saturating_mul(2), text.len() / 4);
    let mut model = ModelWriter::new(names);
    model.reserve_graph(lines, 0);
    let mut parser = Parser {
        lex: Lexer::new(text),
        model,
        types: HashMap::default(),
        findings: Sink::with(Policy::new(), Caps::NONE),
        steps: Vec::new(),
        limits: options.execution.limits,
        watch: Watch::new(&options.execution, "parse", text.len() as u64, WATCHED_BYTES),
        stopped: None,
        has_positions: options.positions,
        elided_source: options.elided_source,
        keep_elided: options.keep_elided,
        has_element_counts: options.element_counts,
        holder: TensorKey::new(Symbol::EMPTY, Symbol::EMPTY),
        positions: Positions::default(),
        last_output: (&[], Symbol::EMPTY),
        exhausted: false,
        depth: 0,
    };
    let length = text.len() as u64;
    let limits = &options.execution.limits;
    // A text is an input as well.
    let (limit, name) = (limits.text_bytes, "text_bytes").min((limits.input_bytes, "input_bytes"));
    let result = if length > limit {
        Err(parser.error(&rules::TEXT_LIMIT, || {
            format!("the text has {length} bytes, more than {limit}: raise the limit `{name}`")
        }))
    } else {
        parser
            .work()
            .and_then(|()| read(&mut parser))
            .and_then(|result| parser.end_of_text().map(|()| result))
    };
    if let Some(stopped) = parser.stopped {
        return Err(ParseError::stopped_by(stopped));
    }
    match result {
        Ok(result) if !parser.findings.has_errors() => Ok((parser.model.finish(), result)),
        _ => Err(ParseError::new(parser.findings)),
    }
}

/// Number of bytes between two checks of the interrupt.
const WATCHED_BYTES: u64 = 16 << 10;

/// The result of parsing something; an error has been reported already.
type Result<T = (), E = Reported> = std::result::Result<T, E>;

/// A step of the path to the parser's position.
#[derive(Clone, Copy)]
enum Step {
    Graph(GraphId),
    Function {
        domain: Symbol,
        name: Symbol,
        overload: Symbol,
    },
    /// The next node of a graph, with what is known of it.
    Node {
        graph: GraphId,
        op: Symbol,
        name: Symbol,
        /// The first output.
        output: Symbol,
    },
}

struct Parser<'a> {
    lex: Lexer<'a>,
    model: ModelWriter,
    /// Types by their spelling.
    types: HashMap<&'a [u8], Arc<Type>, RandomState>,
    findings: Sink,
    /// The open constructs, the outermost first, for diagnostics.
    steps: Vec<Step>,
    limits: Limits,
    watch: Watch,
    /// Why the work is to end.
    stopped: Option<Stopped>,
    has_positions: bool,
    elided_source: Option<&'a ElidedTensorSource<'a>>,
    keep_elided: bool,
    has_element_counts: bool,
    /// The site of the next tensor.
    holder: TensorKey<Symbol>,
    positions: Positions,
    /// The last output of a simple node, which is often an input of the next one.
    last_output: (&'a [u8], Symbol),
    /// Whether a search for a synchronization point has reached the end of the text.
    exhausted: bool,
    /// Number of open graphs and types.
    depth: u32,
}

impl<'a> Parser<'a> {
    /// Reports an error at the next token.
    #[cold]
    fn error(&mut self, rule: &'static Rule, message: impl FnOnce() -> String) -> Reported {
        let locus = self.locus_of_next();
        self.findings.report(Diagnostic::new(rule, locus, message()))
    }

    /// The place of the next token.
    fn locus_of_next(&mut self) -> Locus {
        self.lex.peek();
        let mark = self.lex.mark();
        let length = self.lex.peek_word().map_or(1, <[u8]>::len);
        self.locus_at(mark, length)
    }

    /// Reports an error at a place.
    #[cold]
    fn error_at(&mut self, rule: &'static Rule, mark: Mark, length: usize, message: String) -> Reported {
        let locus = self.locus_at(mark, length);
        self.findings.report(Diagnostic::new(rule, locus, message))
    }

    /// The place of some bytes of the text.
    fn locus_at(&mut self, mark: Mark, length: usize) -> Locus {
        let (line, column) = self.position(mark);
        let length = u32::try_from(length).unwrap_or(u32::MAX).max(1);
        self.locus().at_text(line, column, length)
    }

    /// The graphs, functions and nodes that are open.
    fn locus(&self) -> Locus {
        let name = |symbol| self.model.str(symbol);
        self.steps.iter().fold(Locus::model(), |locus, step| match *step {
            Step::Graph(graph) => locus.graph(name(self.model.graph(graph).name())),
            Step::Function { domain, name: function, overload } => {
                locus.function(name(domain), name(function), name(overload))
            }
            Step::Node { graph, op, name: node, .. } => {
                locus.node(self.model.graph(graph).node_count(), name(op), name(node))
            }
        })
    }

    /// Reports an error about what was taken since `mark`.
    #[cold]
    fn error_since(&mut self, rule: &'static Rule, mark: Mark, message: impl FnOnce() -> String) -> Reported {
        let length = self.lex.mark().at.saturating_sub(mark.at);
        self.error_at(rule, mark, length, message())
    }

    /// Reports a missing construct at the next token.
    #[cold]
    fn expected(&mut self, what: &str) -> Reported {
        let message = format!("expected {what}, found {}", self.found());
        let diagnostic = Diagnostic::new(&rules::UNEXPECTED_TOKEN, self.locus_of_next(), message);
        let help = self.quotes();
        self.findings.report(Diagnostic { help: help.map(str::to_owned), ..diagnostic })
    }

    /// What to write where the next token shows that the quotes of a string are missing, or are of the wrong kind.
    fn quotes(&mut self) -> Option<&'static str> {
        let next = self.lex.peek()?;
        let at = self.lex.mark().at;
        let before = at.checked_sub(1).and_then(|at| self.lex.text().get(at));
        let follows_name = before.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
        match next {
            b'\'' => Some("strings are written in double quotes: `\"text\"`"),
            b'-' | b'.' | b'/' | b':' | b'+' | b'@' if follows_name => Some(
                "a name with other characters than letters, digits and `_` is written in quotes: `\"a-name\"`",
            ),
            _ => None,
        }
    }

    /// The next token, for messages.
    fn found(&mut self) -> String {
        if let Some(word) = self.lex.peek_word() {
            return onnx_diag::Quoted(&String::from_utf8_lossy(word)).to_string();
        }
        match self.lex.peek() {
            None => "the end of the text".to_owned(),
            Some(b'"') => "a string".to_owned(),
            Some(b'0'..=b'9') => "a number".to_owned(),
            Some(byte) if byte.is_ascii_graphic() => format!("`{}`", char::from(byte)),
            Some(_) => "a character that is not part of the syntax".to_owned(),
        }
    }

    /// Reports a malformed token.
    #[cold]
    fn lex_error(&mut self, mark: Mark, error: LexError) -> Reported {
        let (rule, text) = match error {
            LexError::OpenString => (&rules::MALFORMED_STRING, "a string has no closing quote"),
            LexError::BadEscape => {
                (&rules::MALFORMED_STRING, "an escape `\\x{…}` takes pairs of hexadecimal digits")
            }
            LexError::BadNumber => (&rules::MALFORMED_NUMBER, "a number is cut off or malformed"),
        };
        self.error_at(rule, mark, 1, text.to_owned())
    }

    /// Line and column of a place, both counted from 1; columns in characters.
    fn position(&mut self, mark: Mark) -> (u32, u32) {
        self.positions.of(self.lex.text(), mark.at)
    }

    /// A place as an origin.
    fn origin(&mut self, mark: Mark) -> Origin {
        let (line, column) = self.position(mark);
        Origin::Text { line, column }
    }

    /// Returns `true` if parsing must stop, after an interrupt or the maximum number of errors.
    fn is_hopeless(&self) -> bool {
        self.stopped.is_some() || self.findings.counts().errors >= self.limits.text_errors
    }

    /// Counts the text that was read. Returns an error if the work is to end.
    fn work(&mut self) -> Result {
        let read = self.lex.mark().at as u64;
        let result = self.watch.reach(read);
        self.unless_stopped(result)
    }

    fn unless_stopped(&mut self, result: Result<(), Stopped>) -> Result {
        self.stopped = result.err();
        if self.stopped.is_none() { Ok(()) } else { Err(self.error(&STOPPED, String::new)) }
    }

    /// Consumes a punctuation mark.
    #[inline]
    fn expect(&mut self, byte: u8) -> Result {
        if self.lex.eat(byte) {
            return Ok(());
        }
        Err(self.expected(&format!("`{}`", char::from(byte))))
    }

    fn end_of_text(&mut self) -> Result {
        match self.lex.peek() {
            None => Ok(()),
            Some(_) => {
                let found = self.found();
                Err(self
                    .error(&rules::TRAILING_TEXT, || format!("expected the end of the text, found {found}")))
            }
        }
    }

    /// Parses an identifier.
    fn word(&mut self, what: &str) -> Result<&'a [u8]> {
        match self.lex.word() {
            Some(word) => Ok(word),
            None => Err(self.expected(what)),
        }
    }

    /// The symbol of a name. Bytes that are not UTF-8 are held as files' are.
    fn intern(&mut self, name: &[u8]) -> Symbol {
        let hash = self.model.names().hash(name);
        match self.model.names_mut().intern_utf8(name, hash) {
            Some(symbol) => symbol,
            None => self.model.intern(&from_bytes(name)),
        }
    }

    /// Parses a name, quoted or not, if one comes next.
    #[inline]
    fn try_name(&mut self) -> Result<Option<Symbol>> {
        if self.lex.peek() == Some(b'"') {
            return match self.lex.plain_string() {
                Some(name) => Ok(Some(self.intern(name))),
                None => self.text("a string").map(Some),
            };
        }
        let Some(word) = self.lex.word_here() else { return Ok(None) };
        self.lex.skip(word.len());
        Ok(Some(self.intern(word)))
    }

    /// Parses a name, quoted or not.
    #[inline]
    fn name(&mut self, what: &str) -> Result<Symbol> {
        match self.try_name()? {
            Some(name) => Ok(name),
            None => Err(self.expected(what)),
        }
    }

    /// Parses a string.
    fn string(&mut self, what: &str) -> Result<Cow<'a, [u8]>> {
        if self.lex.peek() != Some(b'"') {
            return Err(self.expected(what));
        }
        let mark = self.lex.mark();
        self.lex.string().map_err(|error| self.lex_error(mark, error))
    }

    /// Parses a string as a name or text.
    fn text(&mut self, what: &str) -> Result<Symbol> {
        let bytes = self.string(what)?;
        Ok(self.intern(&bytes))
    }

    /// Parses a literal.
    fn literal(&mut self, what: &str) -> Result<Literal<'a>> {
        self.lex.peek();
        let mark = self.lex.mark();
        match self.lex.literal() {
            Ok(Some(literal)) => Ok(literal),
            Ok(None) => Err(self.expected(what)),
            Err(error) => Err(self.lex_error(mark, error)),
        }
    }

    /// Parses an integer.
    fn int(&mut self) -> Result<i64> {
        self.lex.peek();
        let mark = self.lex.mark();
        match self.literal("an integer")? {
            Literal::Int(digits) => match digits.parse() {
                Ok(value) => Ok(value),
                Err(_) => Err(self.out_of_range(mark, digits, "a 64-bit integer")),
            },
            _ => Err(self.wrong_literal(mark, "an integer")),
        }
    }

    #[cold]
    fn out_of_range(&mut self, mark: Mark, digits: &str, what: &str) -> Reported {
        let digits = onnx_diag::Quoted(digits).to_string();
        self.error_since(&rules::NUMBER_OUT_OF_RANGE, mark, || format!("{digits} does not fit {what}"))
    }

    /// Reports that what was taken since `mark` does not fit.
    #[cold]
    fn taken_out_of_range(&mut self, mark: Mark, what: &str) -> Reported {
        let taken = String::from_utf8_lossy(self.lex.slice(mark.at, self.lex.mark().at)).into_owned();
        self.out_of_range(mark, &taken, what)
    }

    #[cold]
    fn wrong_literal(&mut self, mark: Mark, what: &str) -> Reported {
        self.error_since(&rules::WRONG_LITERAL, mark, || format!("expected {what}"))
    }

    /// Goes one level deeper; the caller comes back.
    fn deeper(&mut self) -> Result {
        if self.depth >= self.limits.text_depth {
            let limit = self.limits.text_depth;
            return Err(self.error(&rules::TEXT_LIMIT, || {
                format!(
                    "graphs and types are nested more than {limit} levels deep: raise the limit `text_depth`"
                )
            }));
        }
        self.depth = self.depth.saturating_add(1);
        Ok(())
    }

    /// Returns an error if the model has more nodes, values or graphs than a limit allows.
    fn check_size(&mut self) -> Result {
        self.check("nodes", self.model.node_count(), self.limits.nodes)?;
        self.check("values", self.model.value_count(), self.limits.values)?;
        self.check("graphs", self.model.graph_count(), self.limits.graphs)
    }

    /// Returns an error if a count exceeds a limit.
    fn check(&mut self, what: &str, count: usize, limit: u64) -> Result {
        if count as u64 <= limit {
            return Ok(());
        }
        Err(self.error(&rules::TEXT_LIMIT, || {
            format!("the text has more than {limit} {what}: raise the limit `{what}`")
        }))
    }
}
