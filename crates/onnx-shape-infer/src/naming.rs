//! Names for the symbols that inference made, and inferred dimensions in the tables of a model.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use foldhash::fast::RandomState;
use onnx_diag::Quoted;
use onnx_ir::{Model, ValueId};
use onnx_types::expr::{Dialect, ExprTable};
use onnx_types::{
    Dim, ElemType, Interner, InternerId, Shape, Symbol, SymbolNames, TensorType, Type, TypeKind,
};

use crate::result::Inference;
use crate::ty::with_shapes;

/// The names that unnamed symbols of a result have in the tables of one model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Named {
    /// The interner that the names are in.
    table: Option<InternerId>,
    /// The name of each symbol, by the number of the symbol.
    symbols: Vec<Option<Symbol>>,
    /// The symbol of each name.
    own: HashMap<Symbol, Symbol, RandomState>,
}

impl Named {
    fn is_within(&self, names: &Interner) -> bool {
        self.table.as_ref().is_some_and(|table| *table == names.id())
    }

    /// Begins work with an interner: names in another one are forgotten.
    pub(crate) fn begin(&mut self, names: &Interner) {
        if !self.is_within(names) {
            *self = Self { table: Some(names.id()), ..Self::default() };
        }
    }

    /// The unnamed symbol that a name was made for.
    pub(crate) fn of(&self, name: Symbol) -> Option<Symbol> {
        if self.own.is_empty() { None } else { self.own.get(&name).copied() }
    }

    /// The named symbol for an unnamed one; a symbol with a name is returned as it is. [`begin`](Self::begin) must have been
    /// called for the interner.
    fn symbol(&mut self, names: &mut Interner, symbol: Symbol) -> Symbol {
        let Some(number) = symbol.number() else { return symbol };
        let number = number as usize;
        if self.symbols.len() <= number {
            self.symbols.resize(number.saturating_add(1), None);
        }
        let Self { symbols, own, .. } = self;
        let new = || {
            let text = names.name(symbol).into_owned();
            let name = names.intern(&text);
            own.insert(name, symbol);
            name
        };
        symbols.get_mut(number).map_or(Symbol::EMPTY, |slot| *slot.get_or_insert_with(new))
    }
}

/// The names of the symbols in a result: those of the model, those that [`Inference::apply`] gave, and texts for the
/// others. See [`SymbolNames`].
#[derive(Clone, Copy, Debug)]
pub struct ResultNames<'a> {
    names: &'a Interner,
    given: &'a [Option<Symbol>],
}

impl SymbolNames for ResultNames<'_> {
    fn name(&self, symbol: Symbol) -> Cow<'_, str> {
        let given = symbol.number().and_then(|number| *self.given.get(number as usize)?);
        self.names.name(given.unwrap_or(symbol))
    }
}

/// An inferred dimension, to be printed.
#[derive(Clone, Copy)]
struct Shown<'a> {
    inference: &'a Inference,
    model: &'a Model,
    dim: Dim,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.inference.names(self.model);
        self.inference.table_of(self.model, self.dim).display(self.dim, &names).fmt(f)
    }
}

/// An inferred type, to be printed.
struct ShownType<'a> {
    inference: &'a Inference,
    model: &'a Model,
    ty: Option<Type>,
}

impl ShownType<'_> {
    fn tensor(&self, f: &mut fmt::Formatter<'_>, tensor: &TensorType) -> fmt::Result {
        let is_known = tensor.elem != ElemType::Undefined;
        f.write_str(if is_known { tensor.elem.name() } else { "?" })?;
        let Some(shape) = &tensor.shape else { return f.write_str("[…]") };
        if shape.dims().is_empty() {
            return Ok(());
        }
        for (index, &dim) in shape.dims().iter().enumerate() {
            f.write_str(if index == 0 { "[" } else { ", " })?;
            write!(f, "{}", self.inference.display(self.model, dim))?;
        }
        f.write_str("]")
    }
}

impl fmt::Display for ShownType<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Every kind holds at most one other type, so nesting is a chain.
        let (mut at, mut open) = (self.ty.as_ref(), 0_usize);
        loop {
            let Some(ty) = at else {
                f.write_str("?")?;
                break;
            };
            at = ty.inner();
            match &ty.kind {
                TypeKind::Sequence(_) => f.write_str("seq(")?,
                TypeKind::Optional(_) => f.write_str("optional(")?,
                TypeKind::Map { key, .. } => write!(f, "map({}, ", key.name())?,
                innermost => {
                    self.innermost(f, innermost)?;
                    break;
                }
            }
            open = open.saturating_add(1);
        }
        (0..open).try_for_each(|_| f.write_str(")"))
    }
}

impl ShownType<'_> {
    /// A type that holds no other.
    fn innermost(&self, f: &mut fmt::Formatter<'_>, kind: &TypeKind) -> fmt::Result {
        match kind {
            TypeKind::Tensor(tensor) => self.tensor(f, tensor),
            TypeKind::SparseTensor(tensor) => {
                f.write_str("sparse ")?;
                self.tensor(f, tensor)
            }
            TypeKind::Opaque { domain, name } => {
                write!(f, "opaque({}, {})", Quoted(self.model.str(*domain)), Quoted(self.model.str(*name)))
            }
            _ => f.write_str("?"),
        }
    }
}

impl Inference {
    /// The names of the symbols in the results.
    #[must_use]
    pub fn names<'a>(&'a self, model: &'a Model) -> ResultNames<'a> {
        let is_named = self.named.is_within(model.names());
        ResultNames { names: model.names(), given: if is_named { &self.named.symbols } else { &[] } }
    }

    /// The table that has an expression: that of the results, or that of the model.
    fn table_of<'a>(&'a self, model: &'a Model, dim: Dim) -> &'a ExprTable {
        if self.exprs.has(dim) { &self.exprs } else { model.exprs() }
    }

    /// Prints a dimension of the results or of the model; an unknown one as `?`.
    pub fn display<'a>(&'a self, model: &'a Model, dim: Dim) -> impl fmt::Display + 'a {
        Shown { inference: self, model, dim }
    }

    /// Prints the inferred type of a value: `float[N, 3]`, `seq(int64[?])`, `float` for a scalar, `float[…]` for a tensor of
    /// unknown rank, and `?` for what is unknown. Names that could be mistaken are quoted.
    ///
    /// ```
    /// use onnx_shape_infer::{InferOptions, infer};
    /// use onnx_text::{ParseOptions, parse_model};
    ///
    /// let text = r#"<ir_version: 10, opset_import: ["": 21]>
    ///     g (float[N,3] x) => (y, z) { y = Concat <axis = 0> (x, x) z = SequenceConstruct (y) }"#;
    /// let model = parse_model(text, &ParseOptions::default())?;
    /// let inference = infer(&model, &InferOptions::default());
    /// let outputs = model.graph(model.main_graph()).outputs();
    /// let types: Vec<_> = outputs.iter().map(|out| inference.display_type(&model, out.value()).to_string()).collect();
    /// assert_eq!(types, ["float[2*N, 3]", "seq(float[2*N, 3])"]);
    /// # Ok::<(), onnx_text::ParseError>(())
    /// ```
    pub fn display_type<'a>(&'a self, model: &'a Model, value: ValueId) -> impl fmt::Display + 'a {
        ShownType { inference: self, model, ty: self.ty(value).to_type() }
    }

    /// The text of a dimension of the results or of the model, as [`ExprTable::text`] makes it: `None` if it is unknown or
    /// too long.
    #[must_use]
    pub fn text(&self, model: &Model, dim: Dim) -> Option<String> {
        self.table_of(model, dim).text(dim, &self.names(model), Dialect::Python)
    }

    /// The same dimension in the tables of the model, to be used in types of the model: unnamed symbols get names, the same
    /// ones in each call. An exact quotient becomes one that is rounded down. [`Dim::Unknown`] if the expression passes a
    /// limit of the table of the model, or its text that of [`ExprTable::text`].
    pub fn intern(&mut self, model: &mut Model, dim: Dim) -> Dim {
        self.named.begin(model.names());
        intern(&self.exprs, &mut self.named, model, dim)
    }

    /// The type of a value in the tables of the model, as [`apply`](Self::apply) writes it; see [`intern`](Self::intern).
    /// `None` if nothing is known.
    pub fn intern_type(&mut self, model: &mut Model, value: ValueId) -> Option<Type> {
        let ty = self.ty(value).to_type()?;
        let interned = Interning::new(&self.exprs, &mut self.named, model).ty(model, &ty);
        Some(interned.unwrap_or(ty))
    }
}

/// Expressions of fewer nodes than this, with names of at most [`SHORT_NAME`] bytes, have a text that is short enough: an
/// operand takes at most 130 bytes with its factor, operator and parentheses.
const SHORT: u32 = 24;
const SHORT_NAME: usize = 32;

/// The same dimension in the tables of the model; [`Dim::Unknown`] if that is not possible.
fn intern(exprs: &ExprTable, named: &mut Named, model: &mut Model, dim: Dim) -> Dim {
    let (own, names) = model.exprs_mut();
    match dim {
        Dim::Known(_) | Dim::Unknown => dim,
        Dim::Var(symbol) => Dim::Var(named.symbol(names, symbol)),
        // An expression of the model.
        Dim::Expr(_) if !exprs.has(dim) => dim,
        Dim::Expr(_) => {
            let mut longest = 0;
            let interned = own.import_rounded(exprs, dim, &mut |symbol| {
                let symbol = named.symbol(names, symbol);
                longest = longest.max(names.resolve(symbol).len());
                symbol
            });
            let is_short = longest <= SHORT_NAME && own.is_smaller_than(interned, SHORT);
            if is_short || own.text(interned, names, Dialect::Python).is_some() {
                interned
            } else {
                Dim::Unknown
            }
        }
    }
}

/// Returns `true` if a dimension can be part of a type of the model as it is.
const fn is_of_model(dim: Dim) -> bool {
    match dim {
        Dim::Known(_) | Dim::Unknown => true,
        Dim::Var(symbol) => symbol.number().is_none(),
        Dim::Expr(_) => false,
    }
}

/// Returns `true` if a type can be a type of the model as it is.
fn is_type_of_model(ty: &Type) -> bool {
    let mut ty = ty;
    while let Some(inner) = ty.inner() {
        ty = inner;
    }
    ty.shape().is_none_or(|shape| shape.dims().iter().all(|&dim| is_of_model(dim)))
}

/// Translates inferred dimensions and types into the tables of a model, each dimension once.
pub(crate) struct Interning<'a> {
    exprs: &'a ExprTable,
    named: &'a mut Named,
    known: HashMap<Dim, Dim, RandomState>,
}

impl<'a> Interning<'a> {
    pub(crate) fn new(exprs: &'a ExprTable, named: &'a mut Named, model: &Model) -> Self {
        named.begin(model.names());
        Self { exprs, named, known: HashMap::default() }
    }

    /// The same dimension in the tables of the model; a new symbol in the place of an expression whose text would be too
    /// long.
    pub(crate) fn dim(&mut self, model: &mut Model, dim: Dim) -> Dim {
        if !matches!(dim, Dim::Expr(_)) {
            return intern(self.exprs, self.named, model, dim);
        }
        let Self { exprs, named, known } = self;
        *known.entry(dim).or_insert_with(|| match intern(exprs, named, model, dim) {
            Dim::Unknown => Dim::Var(model.names_mut().fresh("unk_")),
            interned => interned,
        })
    }

    /// The same type in the tables of the model; `None` if it is the same.
    pub(crate) fn ty(&mut self, model: &mut Model, ty: &Type) -> Option<Type> {
        if is_type_of_model(ty) {
            return None;
        }
        Some(with_shapes(ty, &mut |shape: &Shape| {
            let mut shape = shape.clone();
            shape.dims_mut().iter_mut().for_each(|dim| *dim = self.dim(model, *dim));
            Some(shape)
        }))
    }
}
