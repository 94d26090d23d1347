//! Attributes of the node, with references and defaults resolved.

use onnx_ir::Attribute;
use onnx_ops::{Kind, Param, kind};
use onnx_schema::AttrDefault;
use onnx_types::{ElemType, Symbol};

use super::{Cx, Outcome, Stop};

impl<'r, 'm: 'r> Cx<'r, 'm> {
    /// The attribute as the node has it; in the body of a function, a reference is the attribute of the call or the
    /// default of the function, and `None` if there is neither.
    #[must_use]
    pub fn attribute(&self, name: Symbol) -> Option<&'r Attribute> {
        let attribute = self.node.attribute(name)?;
        match attribute.value() {
            onnx_ir::AttrValue::Ref(target) => {
                self.arguments.iter().find(|argument| argument.name() == *target)
            }
            _ => Some(attribute),
        }
    }

    /// Returns `true` if the attribute is given, by the node or by the call of the function around it.
    #[must_use]
    pub fn has_attribute(&self, name: Symbol) -> bool {
        self.attribute(name).is_some()
    }

    /// A parameter, with the default in force.
    fn param<K: Kind>(&self, name: Symbol) -> Outcome<Option<K::Value<'r>>> {
        let Some(attribute) = self.attribute(name) else {
            let formal = self.schema.and_then(|schema| schema.attribute(name));
            return Ok(formal.and_then(|formal| formal.default).and_then(|default| of_default::<K>(default)));
        };
        match onnx_ops::read_attribute::<K>(attribute) {
            Param::Given(value) => Ok(Some(value)),
            _ => {
                let name = self.model.str(name);
                Err(Stop::failed(format_args!("attribute `{name}` is of the wrong kind")))
            }
        }
    }

    /// An integer attribute, the default in force, or `None`.
    ///
    /// # Errors
    ///
    /// Returns an error if the attribute is of another kind. The same holds for the other kinds below.
    pub fn int(&self, name: Symbol) -> Outcome<Option<i64>> {
        self.param::<kind::Int>(name)
    }

    /// An integer attribute, the default in force, or `otherwise`.
    ///
    /// # Errors
    ///
    /// See [`Cx::int`].
    pub fn int_or(&self, name: Symbol, otherwise: i64) -> Outcome<i64> {
        Ok(self.int(name)?.unwrap_or(otherwise))
    }

    /// An integer attribute that is a truth value, `false` by default.
    ///
    /// # Errors
    ///
    /// See [`Cx::int`].
    pub fn flag(&self, name: Symbol) -> Outcome<bool> {
        Ok(self.int_or(name, 0)? != 0)
    }

    /// A float attribute, the default in force, or `None`.
    ///
    /// # Errors
    ///
    /// See [`Cx::int`].
    pub fn float(&self, name: Symbol) -> Outcome<Option<f32>> {
        self.param::<kind::Float>(name)
    }

    /// A float attribute, the default in force, or `otherwise`.
    ///
    /// # Errors
    ///
    /// See [`Cx::int`].
    pub fn float_or(&self, name: Symbol, otherwise: f32) -> Outcome<f32> {
        Ok(self.float(name)?.unwrap_or(otherwise))
    }

    /// A list of integers, the default in force, or `None`.
    ///
    /// # Errors
    ///
    /// See [`Cx::int`].
    pub fn ints(&self, name: Symbol) -> Outcome<Option<Vec<i64>>> {
        Ok(self.param::<kind::Ints>(name)?.map(std::borrow::Cow::into_owned))
    }

    /// A list of floats, the default in force, or `None`.
    ///
    /// # Errors
    ///
    /// See [`Cx::int`].
    pub fn floats(&self, name: Symbol) -> Outcome<Option<Vec<f32>>> {
        Ok(self.param::<kind::Floats>(name)?.map(std::borrow::Cow::into_owned))
    }

    /// A list of strings, the default in force, or `None`.
    ///
    /// # Errors
    ///
    /// See [`Cx::int`].
    pub fn texts(&self, name: Symbol) -> Outcome<Option<Vec<&'r [u8]>>> {
        let texts = self.param::<kind::Texts>(name)?;
        Ok(texts.map(|texts| (0..texts.len()).filter_map(|index| texts.get(index)).collect()))
    }

    /// A string attribute or the default in force; empty if there is neither.
    ///
    /// # Errors
    ///
    /// See [`Cx::int`].
    pub fn text(&self, name: Symbol) -> Outcome<&'r str> {
        let text = self.param::<kind::Text>(name)?.unwrap_or_default();
        std::str::from_utf8(text).map_err(|_| Stop::failed("a string attribute is not UTF-8"))
    }

    /// Like [`Cx::elem_attribute`]; 0 counts as absent, as it does where it is the default.
    ///
    /// # Errors
    ///
    /// See [`Cx::elem_attribute`].
    pub fn elem_attribute_or_zero(&self, name: Symbol) -> Outcome<Option<ElemType>> {
        if self.int(name)? == Some(0) { Ok(None) } else { self.elem_attribute(name) }
    }

    /// The element type that an integer attribute names; `None` if the attribute is absent. If floats are computed in 64 bits, it
    /// is `double` for narrower ones.
    ///
    /// # Errors
    ///
    /// Returns an error if the number is not that of an element type.
    pub fn elem_attribute(&self, name: Symbol) -> Outcome<Option<ElemType>> {
        let Some(code) = self.int(name)? else { return Ok(None) };
        let elem = i32::try_from(code).ok().and_then(ElemType::from_code);
        match elem.filter(|&elem| elem != ElemType::Undefined) {
            Some(elem) => Ok(Some(self.in_force(elem))),
            None => Err(Stop::failed(format_args!("{code} is not the number of an element type"))),
        }
    }
}

fn of_default<'r, K: Kind>(default: AttrDefault) -> Option<K::Value<'r>> {
    K::of_default(default)
}
