//! The conditions of a rule.

use onnx_types::ElemType;

use super::{Parser, Result};
use crate::ast::{Class, Condition, Elems, Size, Var};
use crate::fault::Mistake;

/// The forms of a size in a condition.
const SIZES: &str = "a size is an integer, `rank(x)` or `dim(x, AXIS)`";

impl Parser<'_> {
    /// Conditions with commas between them.
    pub(super) fn conditions(&mut self) -> Result<Vec<(usize, Condition)>> {
        let mut conditions = Vec::new();
        loop {
            let at = self.at();
            conditions.push((at, self.condition()?));
            self.no_arithmetic()?;
            if !self.eat(",") {
                return Ok(conditions);
            }
        }
    }

    fn condition(&mut self) -> Result<Condition> {
        let at = self.at();
        if self.eat("not") {
            self.expect("const")?;
            return Ok(Condition::NotConstant(self.argument()?));
        }
        let is_function = self.peek_at(1).is_some_and(|token| token.text == "(");
        if !is_function && self.peek().is_some_and(|token| token.kind == onnx_text::TokenKind::Word) {
            let name = self.word("a condition")?;
            return Ok(Condition::Holds(self.known(name, at)?));
        }
        match self.peek().map(|token| token.text) {
            Some("elem") => self.elem(),
            Some("const") => {
                self.bump();
                Ok(Condition::Constant(self.argument()?))
            }
            Some("shared") => {
                self.bump();
                Ok(Condition::Shared(self.argument()?))
            }
            Some("uses") => {
                self.bump();
                let var = self.argument()?;
                self.expect("==")?;
                let count = self.at();
                if self.integer()? != 1 {
                    return Err(Mistake::syntax(count, "only `uses(…) == 1` is a condition"));
                }
                Ok(Condition::OneUse(var))
            }
            Some("granted") => {
                self.bump();
                self.expect("(")?;
                let granted = self.granted()?;
                self.expect(")")?;
                Ok(Condition::Granted(granted))
            }
            Some("shape") => {
                self.bump();
                let first = self.argument()?;
                self.expect("==")?;
                self.expect("shape")?;
                Ok(Condition::SameShape(first, self.argument()?))
            }
            _ => self.relation(),
        }
    }

    /// `(name)`.
    fn argument(&mut self) -> Result<Var> {
        self.expect("(")?;
        let var = self.name()?;
        self.expect(")")?;
        Ok(var)
    }

    /// `no-nan`, `finite` or `no-negative-zero`.
    fn granted(&mut self) -> Result<onnx_pass::Condition> {
        let at = self.at();
        let name = self.hyphenated("a condition")?;
        onnx_pass::Condition::from_name(&name).ok_or_else(|| {
            let message = "a caller grants `no-nan`, `finite` or `no-negative-zero`";
            Mistake::meaning(at, message)
        })
    }

    fn name(&mut self) -> Result<Var> {
        let at = self.at();
        let name = self.word("a name")?;
        self.known(name, at)
    }

    /// `elem(x) in floats`, `elem(x) in (float, double)`, `elem(x) == double`, `elem(x) == elem(y)`.
    fn elem(&mut self) -> Result<Condition> {
        self.bump();
        let var = self.argument()?;
        if self.eat("==") {
            if self.eat("elem") {
                return Ok(Condition::Elem(var, Elems::Of(self.argument()?)));
            }
            return Ok(Condition::Elem(var, Elems::List(vec![self.elem_type()?])));
        }
        self.expect("in")?;
        if !self.eat("(") {
            let class = match self.peek().map(|token| token.text) {
                Some("floats") => Class::Floats,
                Some("integers") => Class::Integers,
                Some("signed") => Class::Signed,
                Some("unsigned") => Class::Unsigned,
                Some("numbers") => Class::Numbers,
                _ => {
                    let classes = "`floats`, `integers`, `signed`, `unsigned`, `numbers` or a list of types";
                    return Err(self.expected(classes));
                }
            };
            self.bump();
            return Ok(Condition::Elem(var, Elems::Class(class)));
        }
        let mut elems = vec![self.elem_type()?];
        while self.eat(",") {
            elems.push(self.elem_type()?);
        }
        self.expect(")")?;
        Ok(Condition::Elem(var, Elems::List(elems)))
    }

    fn elem_type(&mut self) -> Result<ElemType> {
        let elem = self.peek().and_then(|token| ElemType::from_name(token.text));
        let elem = elem.ok_or_else(|| self.expected("an element type"))?;
        self.bump();
        Ok(elem)
    }

    /// A condition ends in a size, and sizes are not calculated.
    fn no_arithmetic(&self) -> Result {
        match self.peek() {
            Some(token) if matches!(token.text, "+" | "-" | "*" | "/" | "%") => Err(Mistake::syntax(
                token.at,
                format!("{SIZES}; `let` calculates with the results of `rule.Shape` and `rule.Rank`"),
            )),
            _ => Ok(()),
        }
    }

    fn relation(&mut self) -> Result<Condition> {
        let first = self.size().ok_or_else(|| self.expected("a condition"))??;
        self.no_arithmetic()?;
        if self.eat("==") {
            return Ok(Condition::Equal(first, self.second_size()?));
        }
        if self.eat("<=") {
            return Ok(Condition::AtMost(first, self.second_size()?));
        }
        Err(self.expected("`==` or `<=`"))
    }

    /// The size on the right of a relation.
    fn second_size(&mut self) -> Result<Size> {
        self.size().ok_or_else(|| {
            let Mistake { at, message, rule, help } = self.expected("a size");
            Mistake { at, message: format!("{message}: {SIZES}"), rule, help }
        })?
    }

    /// `3`, `rank(x)` or `dim(x, -1)`; `None` if no size begins here.
    fn size(&mut self) -> Option<Result<Size>> {
        if self.eat("rank") {
            return Some(self.argument().map(Size::Rank));
        }
        if self.eat("dim") {
            return Some(self.dimension());
        }
        self.integer().ok().map(|number| Ok(Size::Number(number)))
    }

    /// `(x, -1)`.
    fn dimension(&mut self) -> Result<Size> {
        self.expect("(")?;
        let var = self.name()?;
        self.expect(",")?;
        let axis = self.integer()?;
        self.expect(")")?;
        Ok(Size::Dim(var, axis))
    }
}
