//! Printing of the graph as text.
//!
//! The printer writes into one string, which is flushed to a stream from time to time if there is one, and keeps no
//! other state per node. Content of the model beyond the basic syntax follows its element as one annotation, `@{…}`, so
//! a model without such content is printed as the reference prints it.

mod attr;
mod device;
mod graph;
mod meta;
mod model;
mod names_and_strings;
mod node;
mod number;
mod stream;
mod tensor;
mod ty;

use onnx_diag::{Caps, Diagnostic, Locus, Policy, Rule, Sink};
use onnx_ir::{FunctionId, GraphId, Model, NamePlan, NodeId, ValueId};
use onnx_types::tensor::Tensor;
use onnx_types::{Symbol, Type};

use crate::error::PrintError;
use crate::rules;
use stream::Stream;
pub use stream::print_model_to;

/// Makes a digest of a tensor's data, such as `sha256:0f…`; returns `None` if they cannot be read. The parser checks its
/// interrupt before each digest; a function that computes a long one can check it, too, and return `None`.
pub type Digest<'a> = dyn Fn(&Tensor) -> Option<String> + Sync + 'a;

/// Options for printing.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct PrintOptions<'a> {
    /// Print everything, bit-level details included, so that parsing the text gives exactly the same model.
    pub full: bool,
    /// Print only what the reference parser accepts, and say what had to be left out. Tensors are never elided then.
    pub compat: bool,
    /// The largest number of elements of a tensor that is printed in full, unless `full` or `compat` asks for all of
    /// them. Default: 64.
    pub elide_above: u64,
    /// Print documentation strings and metadata entries. Default: yes.
    pub metadata: bool,
    /// Makes a digest such as `sha256:0f…` of an elided tensor. Without it, elided tensors are not read at all.
    pub digest: Option<&'a Digest<'a>>,
}

impl Default for PrintOptions<'_> {
    fn default() -> Self {
        Self { full: false, compat: false, elide_above: 64, metadata: true, digest: None }
    }
}

impl PrintOptions<'_> {
    /// Options that print everything.
    #[must_use]
    pub fn full() -> Self {
        Self { full: true, ..Self::default() }
    }

    /// Options that print what the reference parser accepts.
    #[must_use]
    pub fn compat() -> Self {
        Self { compat: true, ..Self::default() }
    }
}

onnx_types::option_setters! {
    PrintOptions<'a> {
        with_full => full: bool,
        with_compat => compat: bool,
        with_elide_above => elide_above: u64,
        with_metadata => metadata: bool,
        with_digest => digest: Option<&'a Digest<'a>>,
    }
}

/// A text, and what it does not say.
#[derive(Clone, Debug)]
pub struct Printed {
    /// The text.
    pub text: String,
    /// Content that the reference's syntax cannot express; empty unless [`PrintOptions::compat`] was set.
    pub left_out: Sink,
}

/// Prints a model.
///
/// # Errors
///
/// Returns an error if graphs or types are nested too deeply.
pub fn print_model(model: &Model, options: &PrintOptions<'_>) -> Result<Printed, PrintError> {
    print(model, options, model.node_count().saturating_mul(64), Printer::model)
}

/// Prints a graph.
///
/// # Errors
///
/// Returns an error if graphs or types are nested too deeply.
///
/// # Panics
///
/// Panics if the graph is not of this model.
pub fn print_graph(model: &Model, graph: GraphId, options: &PrintOptions<'_>) -> Result<Printed, PrintError> {
    print(model, options, model.graph(graph).node_count().saturating_mul(64), |printer| {
        printer.graph(graph)?;
        printer.out.push('\n');
        Ok(())
    })
}

/// Prints a function.
///
/// # Errors
///
/// Returns an error if graphs or types are nested too deeply.
///
/// # Panics
///
/// Panics if the function is not of this model.
pub fn print_function(
    model: &Model,
    function: FunctionId,
    options: &PrintOptions<'_>,
) -> Result<Printed, PrintError> {
    print(model, options, 1024, |printer| printer.function(function))
}

/// Prints a node.
///
/// # Errors
///
/// Returns an error if graphs or types are nested too deeply.
///
/// # Panics
///
/// Panics if the node is not of this model.
pub fn print_node(model: &Model, node: NodeId, options: &PrintOptions<'_>) -> Result<Printed, PrintError> {
    print(model, options, 256, |printer| {
        printer.node(node)?;
        printer.out.push('\n');
        Ok(())
    })
}

/// Prints nodes, each on separate lines, without the surrounding graph.
///
/// # Errors
///
/// If graphs or types are nested too deeply.
///
/// # Panics
///
/// If a node is not of this model.
pub fn print_nodes(
    model: &Model,
    nodes: &[NodeId],
    options: &PrintOptions<'_>,
) -> Result<Printed, PrintError> {
    print(model, options, nodes.len().saturating_mul(256), |printer| {
        for &node in nodes {
            printer.node(node)?;
            printer.out.push('\n');
        }
        Ok(())
    })
}

/// A type as a text that states it: `float[batch,3]`, `float` for a scalar, `float[]` without a rank. Parts that only the complete
/// form of a model has, such as the form of a file, are left out.
///
/// # Errors
///
/// Returns an error if types are nested too deeply.
pub fn print_type(model: &Model, ty: &Type) -> Result<String, PrintError> {
    let options = PrintOptions::default();
    // A type has no names of values.
    let mut printer = Printer::with_plan(model, &options, 32, None, NamePlan::default());
    printer.ty(ty)?;
    Ok(printer.out)
}

fn print<'m>(
    model: &'m Model,
    options: &'m PrintOptions<'m>,
    room: usize,
    write: impl FnOnce(&mut Printer<'m>) -> Result,
) -> Result<Printed> {
    let mut printer = Printer::new(model, options, room, None);
    write(&mut printer)?;
    Ok(Printed { text: printer.out, left_out: printer.left_out })
}

type Result<T = (), E = PrintError> = std::result::Result<T, E>;

/// A step of the path to the printer's position, for reports of omitted content.
#[derive(Clone, Copy)]
enum Step {
    Graph(GraphId),
    Function(FunctionId),
    Node(usize, NodeId),
    Attribute(Symbol),
    Value(ValueId),
}

struct Printer<'m> {
    model: &'m Model,
    plan: NamePlan,
    options: &'m PrintOptions<'m>,
    out: String,
    /// The stream for large texts.
    stream: Option<Stream<'m>>,
    /// The start of the value of a tensor in `out`, until it is decided whether `=` must precede it.
    value_start: Option<usize>,
    indent: usize,
    /// Number of open graphs and types.
    depth: u32,
    left_out: Sink,
    steps: Vec<Step>,
}

impl<'m> Printer<'m> {
    fn new(model: &'m Model, options: &'m PrintOptions<'m>, room: usize, stream: Option<Stream<'m>>) -> Self {
        Self::with_plan(model, options, room, stream, model.name_plan())
    }

    fn with_plan(
        model: &'m Model,
        options: &'m PrintOptions<'m>,
        room: usize,
        stream: Option<Stream<'m>>,
        plan: NamePlan,
    ) -> Self {
        Self {
            model,
            plan,
            options,
            out: String::with_capacity(room),
            stream,
            value_start: None,
            indent: 0,
            depth: 0,
            left_out: Sink::with(Policy::new(), Caps::DEFAULT),
            steps: Vec::new(),
        }
    }

    /// Whether bit-level details are printed.
    const fn exact(&self) -> bool {
        self.options.full && !self.options.compat
    }

    /// Whether only the reference's syntax may be used.
    const fn compat(&self) -> bool {
        self.options.compat
    }

    fn str(&self, symbol: Symbol) -> &'m str {
        self.model.str(symbol)
    }

    /// Begins a line.
    fn line(&mut self) {
        const SPACES: &str = "                                                ";
        self.pass_on();
        self.out.push('\n');
        let mut left = self.indent.saturating_mul(3);
        while left > 0 {
            let some = left.min(SPACES.len());
            self.out.push_str(SPACES.get(..some).unwrap_or_default());
            left = left.saturating_sub(some);
        }
    }

    /// Refuses to nest too deeply; the caller takes the level back.
    fn deeper(&mut self) -> Result {
        self.depth = self.depth.saturating_add(1);
        if self.depth > crate::limits::PRINT_DEPTH {
            return Err(PrintError::TooDeep { limit: crate::limits::PRINT_DEPTH });
        }
        Ok(())
    }

    /// Records content that the reference's syntax cannot express.
    #[cold]
    fn lost(&mut self, what: &str) {
        self.note_loss(&rules::LEFT_OUT, what);
    }

    #[cold]
    fn note_loss(&mut self, rule: &'static Rule, what: &str) {
        let Self { left_out, model, steps, .. } = self;
        left_out.report_with(rule, || {
            let mut locus = Locus::model();
            for &step in steps.iter() {
                locus = match step {
                    Step::Graph(graph) => locus.graph(model.str(model.graph(graph).name())),
                    Step::Function(function) => {
                        let function = model.function(function);
                        let names = [function.written_domain(), function.name(), function.overload()];
                        let [domain, name, overload] = names.map(|name| model.str(name));
                        locus.function(domain, name, overload)
                    }
                    Step::Node(index, node) => {
                        let node = model.node(node);
                        locus.node(index, model.str(node.op()), model.str(node.name()))
                    }
                    Step::Attribute(name) => locus.attribute(model.str(name)),
                    Step::Value(value) => locus.value(model.str(model.value(value).name())),
                };
            }
            Diagnostic::new(rule, locus, what)
        });
    }
}
