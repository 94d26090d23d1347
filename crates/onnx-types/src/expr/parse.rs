//! Reading dimension texts in every dialect in use.

use std::fmt;

use super::lexer::{Lexer, Token, is_name};
use super::table::ListOp;
use super::{Dim, ExprTable};
use crate::symbol::{Interner, Symbol};

/// Longer texts are not taken apart.
pub(super) const MAX_TEXT: usize = 4096;
/// Maximum nesting depth of parentheses, calls and signs.
const MAX_NESTING: usize = 64;

/// Options for parsing a dimension text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ExprParseOptions {
    /// Read a text that is nothing but an integer as a name, which it is by the letter of the specification, instead
    /// of as the number.
    pub integers_are_names: bool,
    /// Read `2N` as `2*N`. Off by default, because `2d` may be a name.
    pub juxtaposition: bool,
}

crate::option_setters! {
    ExprParseOptions {
        with_integers_are_names => integers_are_names: bool,
        with_juxtaposition => juxtaposition: bool,
    }
}

/// Why a text is not a dimension expression.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExprError {
    position: usize,
    reason: &'static str,
}

impl ExprError {
    /// The byte position of the fault in the text.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.position
    }
}

impl fmt::Display for ExprError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not a dimension expression at byte {}: {}", self.position, self.reason)
    }
}

impl std::error::Error for ExprError {}

impl ExprTable {
    /// Parses a `dim_param` string. Never fails: a string that is not an expression as a whole is one symbol with the
    /// string as its name.
    ///
    /// Examples are strings such as `a::b` or `batch size`, expressions that exceed a limit or are undefined everywhere
    /// (`N//0`), and negative numbers, which are not valid sizes. The empty string carries no information and results
    /// in [`Dim::Unknown`].
    ///
    /// ```
    /// use onnx_types::expr::ExprTable;
    /// use onnx_types::{Dim, Interner};
    ///
    /// let (mut table, mut names) = (ExprTable::new(), Interner::new());
    /// let python = table.parse(&mut names, "(N + 1)//2");
    /// let sympy = table.parse(&mut names, "ceiling(N/2)");
    /// assert_eq!(python, sympy);
    /// let name = table.parse(&mut names, "a::b");
    /// assert_eq!(name, Dim::Var(names.intern("a::b")));
    /// ```
    pub fn parse(&mut self, names: &mut Interner, text: &str) -> Dim {
        self.parse_with(names, text, ExprParseOptions::default())
    }

    /// Like [`parse`](Self::parse), with options.
    pub fn parse_with(&mut self, names: &mut Interner, text: &str, options: ExprParseOptions) -> Dim {
        if text.is_empty() {
            return Dim::Unknown;
        }
        if is_name(text) {
            return Dim::Var(names.intern(text));
        }
        match self.try_parse_with(names, text, options) {
            Ok(Dim::Known(value)) if value < 0 => Dim::Var(names.intern(text)),
            Ok(dim) => dim,
            Err(_) => Dim::Var(names.intern(text)),
        }
    }

    /// Reads a text that must be an expression.
    ///
    /// # Errors
    ///
    /// Returns an error if the text as a whole is not an expression in one of the dialects, or the expression passes a
    /// limit or is defined nowhere. The names that the text begins with may stay in `names`.
    pub fn try_parse(&mut self, names: &mut Interner, text: &str) -> Result<Dim, ExprError> {
        self.try_parse_with(names, text, ExprParseOptions::default())
    }

    /// Like [`try_parse`](Self::try_parse), with options.
    ///
    /// # Errors
    ///
    /// See [`try_parse`](Self::try_parse).
    pub fn try_parse_with(
        &mut self,
        names: &mut Interner,
        text: &str,
        options: ExprParseOptions,
    ) -> Result<Dim, ExprError> {
        self.read(Names::Interned(names), text, options)
    }

    /// Like [`try_parse`](Self::try_parse), but adds no name: a text is not an expression if `names` does not hold all names
    /// in it.
    ///
    /// ```
    /// use onnx_types::Interner;
    /// use onnx_types::expr::ExprTable;
    ///
    /// let (mut table, mut names) = (ExprTable::new(), Interner::new());
    /// let twice = table.parse(&mut names, "2*N");
    /// assert_eq!(table.try_parse_known(&names, "N + N"), Ok(twice));
    /// assert!(table.try_parse_known(&names, "2*M").is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// See [`try_parse`](Self::try_parse).
    pub fn try_parse_known(&mut self, names: &Interner, text: &str) -> Result<Dim, ExprError> {
        self.read(Names::Known(names), text, ExprParseOptions::default())
    }

    fn read(
        &mut self,
        mut names: Names<'_>,
        text: &str,
        options: ExprParseOptions,
    ) -> Result<Dim, ExprError> {
        if text.len() > MAX_TEXT {
            return Err(ExprError { position: MAX_TEXT, reason: "the text is too long" });
        }
        if options.integers_are_names && text.bytes().all(|b| b.is_ascii_digit()) && !text.is_empty() {
            let symbol = names.symbol(text).ok_or(ExprError { position: 0, reason: UNKNOWN_NAME })?;
            return Ok(Dim::Var(symbol));
        }
        let mut parser = Parser {
            table: self,
            names,
            lexer: Lexer::new(text),
            token: Token::End,
            at: 0,
            depth: 0,
            juxtaposition: options.juxtaposition,
        };
        parser.advance()?;
        let value = parser.nested(Parser::broadcast)?;
        if parser.token != Token::End {
            return Err(parser.error("expected an operator"));
        }
        // What is left as a fraction is a whole number, because it is a size.
        parser.exact(value)
    }
}

/// A value while it is read: `num / den`. Fractions occur inside `floor()` and `ceiling()`.
#[derive(Clone, Copy)]
struct Fraction {
    num: Dim,
    den: Dim,
}

const ONE: Dim = Dim::Known(1);

const UNKNOWN_NAME: &str = "the name is not known";

/// The names that symbols are looked up in.
enum Names<'a> {
    /// New names are added.
    Interned(&'a mut Interner),
    /// New names are errors.
    Known(&'a Interner),
}

impl Names<'_> {
    fn symbol(&mut self, name: &str) -> Option<Symbol> {
        match self {
            Self::Interned(names) => Some(names.intern(name)),
            Self::Known(names) => names.get(name),
        }
    }
}

struct Parser<'a> {
    table: &'a mut ExprTable,
    names: Names<'a>,
    lexer: Lexer<'a>,
    token: Token,
    at: usize,
    depth: usize,
    juxtaposition: bool,
}

type Parsed<T> = Result<T, ExprError>;

impl Parser<'_> {
    fn error(&self, reason: &'static str) -> ExprError {
        ExprError { position: self.at, reason }
    }

    fn advance(&mut self) -> Parsed<Token> {
        let (at, token) = self.lexer.next().map_err(|(position, reason)| ExprError { position, reason })?;
        self.at = at;
        Ok(std::mem::replace(&mut self.token, token))
    }

    fn accept(&mut self, token: &Token) -> Parsed<bool> {
        let found = self.token == *token;
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, token: &Token, reason: &'static str) -> Parsed<()> {
        if self.accept(token)? { Ok(()) } else { Err(self.error(reason)) }
    }

    /// A result that must not be unknown.
    fn sure(&self, dim: Dim) -> Parsed<Dim> {
        if dim.is_unknown() { Err(self.error("the value is undefined or passes a limit")) } else { Ok(dim) }
    }

    fn whole(&self, value: Fraction) -> Parsed<Dim> {
        if value.den == ONE {
            Ok(value.num)
        } else {
            Err(self.error("expected a whole number, not a fraction"))
        }
    }

    fn exact(&mut self, value: Fraction) -> Parsed<Dim> {
        if value.den == ONE {
            return Ok(value.num);
        }
        let quotient = self.table.exact_div(value.num, value.den);
        self.sure(quotient)
    }

    /// Parses a construct that is nested one level deeper.
    #[cfg_attr(
        not(test),
        expect(clippy::arithmetic_side_effects, reason = "the depth is less than MAX_NESTING before")
    )]
    fn nested(&mut self, read: fn(&mut Self) -> Parsed<Fraction>) -> Parsed<Fraction> {
        if self.depth >= MAX_NESTING {
            return Err(self.error("the expression is nested too deeply"));
        }
        self.depth += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    /// `a ^ b`: broadcast, with the precedence that Python gives the operator.
    fn broadcast(&mut self) -> Parsed<Fraction> {
        let mut left = self.sum()?;
        while self.accept(&Token::Caret)? {
            let right = self.sum()?;
            let (a, b) = (self.whole(left)?, self.whole(right)?);
            if matches!(a, Dim::Known(_)) || matches!(b, Dim::Known(_)) {
                // `N^2` would be a power to some readers.
                return Err(self.error("`^` with a number may mean a power; write `**` or `bcast`"));
            }
            let num = self.table.bcast(a, b);
            left = Fraction { num: self.sure(num)?, den: ONE };
        }
        Ok(left)
    }

    fn sum(&mut self) -> Parsed<Fraction> {
        let mut left = self.term()?;
        loop {
            let sign = match self.token {
                Token::Plus => 1,
                Token::Minus => -1,
                _ => return Ok(left),
            };
            self.advance()?;
            let right = self.term()?;
            left = self.plus(left, right, sign)?;
        }
    }

    fn term(&mut self) -> Parsed<Fraction> {
        let mut left = self.unary()?;
        loop {
            let operator = self.token.clone();
            if !matches!(
                operator,
                Token::Star | Token::Slash | Token::FloorSlash | Token::ExactSlash | Token::Percent
            ) {
                return Ok(left);
            }
            self.advance()?;
            let right = self.unary()?;
            left = match operator {
                Token::Star => self.times(left, right)?,
                Token::Slash => self.over(left, right)?,
                Token::FloorSlash => {
                    let quotient = self.over(left, right)?;
                    self.floor(quotient)?
                }
                _ => {
                    let (a, b) = (self.whole(left)?, self.whole(right)?);
                    let num = if operator == Token::Percent {
                        self.table.modulo(a, b)
                    } else {
                        self.table.exact_div(a, b)
                    };
                    Fraction { num: self.sure(num)?, den: ONE }
                }
            };
        }
    }

    fn unary(&mut self) -> Parsed<Fraction> {
        let mut negative = false;
        loop {
            match self.token {
                Token::Minus => negative = !negative,
                Token::Plus => {}
                _ => break,
            }
            self.advance()?;
        }
        let value = self.power()?;
        if !negative {
            return Ok(value);
        }
        let num = self.table.neg(value.num);
        Ok(Fraction { num: self.sure(num)?, ..value })
    }

    fn power(&mut self) -> Parsed<Fraction> {
        let base = self.primary()?;
        if !self.accept(&Token::Power)? {
            return Ok(base);
        }
        let exponent = self.primary()?;
        if self.token == Token::Power {
            return Err(self.error("use parentheses for a tower of powers"));
        }
        let exponent = self.whole(exponent)?;
        self.raise(base, exponent)
    }

    fn raise(&mut self, base: Fraction, exponent: Dim) -> Parsed<Fraction> {
        let Some(exponent) = exponent.known().and_then(|e| u32::try_from(e).ok()) else {
            return Err(self.error("expected a number ≥ 0 as the exponent"));
        };
        let (num, den) = (self.table.pow(base.num, exponent), self.table.pow(base.den, exponent));
        // A power of what is not 0 can be 0, as exact quotients cancel in it.
        self.reduced(num, den)
    }

    fn primary(&mut self) -> Parsed<Fraction> {
        let start = self.at;
        let touches = self.lexer.touches_operand();
        match self.advance()? {
            Token::Number(num, den) => {
                let value = Fraction { num: Dim::Known(num), den: Dim::Known(den) };
                if !touches {
                    return Ok(value);
                }
                if !self.juxtaposition {
                    return Err(self.error("expected an operator after the number"));
                }
                let operand = self.nested(Self::power)?;
                self.times(value, operand)
            }
            Token::Name(name) => {
                if self.token == Token::Open {
                    return self.call(&name, start);
                }
                let symbol = self.names.symbol(&name).ok_or_else(|| self.error(UNKNOWN_NAME))?;
                Ok(Fraction { num: Dim::Var(symbol), den: ONE })
            }
            Token::Open => {
                let value = self.nested(Self::broadcast)?;
                self.expect(&Token::Close, "expected `)`")?;
                Ok(value)
            }
            _ => Err(ExprError { position: start, reason: "expected an operand" }),
        }
    }

    fn call(&mut self, name: &str, start: usize) -> Parsed<Fraction> {
        self.advance()?;
        let mut args = Vec::new();
        loop {
            args.push(self.nested(Self::broadcast)?);
            if !self.accept(&Token::Comma)? {
                break;
            }
        }
        self.expect(&Token::Close, "expected `)` or `,`")?;
        let result = self.apply(name, &args)?;
        result
            .ok_or(ExprError { position: start, reason: "no function has this name and number of arguments" })
    }

    /// The result of a function; `None` if the function does not exist.
    fn apply(&mut self, name: &str, args: &[Fraction]) -> Parsed<Option<Fraction>> {
        let value = match (name, args) {
            ("floor" | "Floor" | "FloorToInt" | "math.floor", &[x]) => self.floor(x)?,
            ("ceil" | "ceiling" | "Ceil" | "CeilToInt" | "math.ceil", &[x]) => self.ceil(x)?,
            ("int" | "trunc" | "TruncToInt", &[x]) => self.truncate(x)?,
            ("FloorDiv" | "floor_div" | "floordiv", &[a, b]) => {
                let quotient = self.over(a, b)?;
                self.floor(quotient)?
            }
            ("CeilDiv" | "ceil_div" | "cdiv", &[a, b]) => {
                let quotient = self.over(a, b)?;
                self.ceil(quotient)?
            }
            ("IntTrueDiv", &[a, b]) => self.over(a, b)?,
            ("Pow" | "pow" | "PowByNatural", &[base, exponent]) => {
                let exponent = self.whole(exponent)?;
                self.raise(base, exponent)?
            }
            ("Max" | "max" | "sym_max" | "torch.sym_max", [_, ..]) => self.extremum(args, ListOp::Max)?,
            ("Min" | "min" | "sym_min" | "torch.sym_min", [_, ..]) => self.extremum(args, ListOp::Min)?,
            _ => return self.apply_whole(name, args),
        };
        Ok(Some(value))
    }

    /// The result of a function of whole numbers.
    fn apply_whole(&mut self, name: &str, args: &[Fraction]) -> Parsed<Option<Fraction>> {
        let args = args.iter().map(|&arg| self.whole(arg)).collect::<Parsed<Vec<_>>>()?;
        let num = match (name, args.as_slice()) {
            ("CleanDiv" | "ExactDiv" | "exact_div", &[a, b]) => self.table.exact_div(a, b),
            ("Mod" | "PythonMod" | "mod", &[a, b]) => self.table.modulo(a, b),
            ("bcast" | "Bcast" | "broadcast", &[first, ref rest @ ..]) => {
                rest.iter().fold(first, |all, &arg| self.table.bcast(all, arg))
            }
            ("select" | "Select" | "where" | "Where", &[cond, a, b]) => self.table.select(cond, a, b),
            _ => return Ok(None),
        };
        Ok(Some(Fraction { num: self.sure(num)?, den: ONE }))
    }

    fn floor(&mut self, x: Fraction) -> Parsed<Fraction> {
        let num = self.table.floor_div(x.num, x.den);
        Ok(Fraction { num: self.sure(num)?, den: ONE })
    }

    fn ceil(&mut self, x: Fraction) -> Parsed<Fraction> {
        let num = self.table.ceil_div(x.num, x.den);
        Ok(Fraction { num: self.sure(num)?, den: ONE })
    }

    /// `int(x)`, which rounds towards zero: the floor where `x` is provably not negative.
    fn truncate(&mut self, x: Fraction) -> Parsed<Fraction> {
        if x.den == ONE {
            return Ok(x);
        }
        let zero = Dim::Known(0);
        if self.table.proves_le(zero, x.num) && self.table.proves_le(zero, x.den) {
            return self.floor(x);
        }
        Err(self.error("expected a number that is not negative in `int`"))
    }

    fn extremum(&mut self, args: &[Fraction], op: ListOp) -> Parsed<Fraction> {
        let mut common = 1_i64;
        for arg in args {
            let Some(den) = arg.den.known() else {
                return Err(self.error("expected a number as the denominator in `min` or `max`"));
            };
            common = self.lcm(common, den)?;
        }
        let mut operands = Vec::with_capacity(args.len());
        for arg in args {
            let scale = arg.den.known().and_then(|den| common.checked_div(den)).unwrap_or(1);
            let operand = self.table.mul(arg.num, Dim::Known(scale));
            operands.push(self.sure(operand)?);
        }
        let result = self.table.list(op, &operands, None);
        self.reduced(result, Dim::Known(common))
    }

    fn lcm(&self, a: i64, b: i64) -> Parsed<i64> {
        let common = super::poly::gcd(a.unsigned_abs(), b.unsigned_abs());
        i64::try_from(common)
            .ok()
            .and_then(|common| a.checked_div(common))
            .and_then(|part| part.checked_mul(b))
            .ok_or_else(|| self.error("a denominator is too large"))
    }

    fn plus(&mut self, a: Fraction, b: Fraction, sign: i64) -> Parsed<Fraction> {
        let (a_scale, b_scale, den) = match (a.den, b.den) {
            (x, y) if x == y => (ONE, ONE, x),
            (Dim::Known(x), Dim::Known(y)) => {
                let common = self.lcm(x, y)?;
                let scale = |den| {
                    common.checked_div(den).map(Dim::Known).ok_or_else(|| self.error("the divisor is 0"))
                };
                (scale(x)?, scale(y)?, Dim::Known(common))
            }
            (x, y) => (y, x, self.table.mul(x, y)),
        };
        let a_part = self.table.mul(a.num, a_scale);
        let b_part = self.table.mul(b.num, b_scale);
        let num = if sign < 0 { self.table.sub(a_part, b_part) } else { self.table.add(a_part, b_part) };
        self.reduced(num, den)
    }

    fn times(&mut self, a: Fraction, b: Fraction) -> Parsed<Fraction> {
        let (num, den) = (self.table.mul(a.num, b.num), self.table.mul(a.den, b.den));
        self.reduced(num, den)
    }

    fn over(&mut self, a: Fraction, b: Fraction) -> Parsed<Fraction> {
        let (num, den) = (self.table.mul(a.num, b.den), self.table.mul(a.den, b.num));
        self.reduced(num, den)
    }

    /// A fraction with a positive denominator where it is a number, and none where it divides the numerator.
    fn reduced(&mut self, num: Dim, den: Dim) -> Parsed<Fraction> {
        let (mut num, mut den) = (self.sure(num)?, self.sure(den)?);
        if den == ONE {
            return Ok(Fraction { num, den });
        }
        if let Dim::Known(value) = den {
            if value == 0 {
                return Err(self.error("the divisor is 0"));
            }
            if value < 0 {
                (num, den) = (self.table.neg(num), self.table.neg(den));
                (num, den) = (self.sure(num)?, self.sure(den)?);
            }
        }
        match self.table.quotient(num, den) {
            Some(num) => Ok(Fraction { num, den: ONE }),
            None => Ok(Fraction { num, den }),
        }
    }
}
