//! Attributes of the node, with references and defaults resolved. A name is a symbol, such as `attr::AXIS`, or text.

use onnx_ir::Attribute;
use onnx_ops::{Kind, Param, kind};
use onnx_schema::SchemaRef;
use onnx_types::{ElemType, NameRef};

use super::{Cx, Outcome, Stop};

impl<'r, 'm: 'r> Cx<'r, 'm> {
    /// The attribute as the node has it; in the body of a function, a reference is the attribute of the call or the
    /// default of the function, and `None` if there is neither.
    #[must_use]
    pub fn attribute<'n>(&self, name: impl Into<NameRef<'n>>) -> Option<&'r Attribute> {
        let attribute = self.node.attribute(name.into().symbol(self.names())?)?;
        match attribute.value() {
            onnx_ir::AttrValue::Ref(target) => {
                self.arguments.iter().find(|argument| argument.name() == *target)
            }
            _ => Some(attribute),
        }
    }

    /// Returns `true` if the attribute is given, by the node or by the call of the function around it.
    #[must_use]
    pub fn has_attribute<'n>(&self, name: impl Into<NameRef<'n>>) -> bool {
        self.attribute(name).is_some()
    }

    /// A parameter, with the default in force.
    fn param<K: Kind>(&self, name: NameRef<'_>) -> Outcome<Option<K::Value<'r>>> {
        let Some(attribute) = self.attribute(name) else { return Ok(self.default::<K>(name)) };
        match onnx_ops::read_attribute::<K>(attribute) {
            Param::Given(value) => Ok(Some(value)),
            _ => {
                let (name, found, wanted) = (name.text(self.names()), attribute.kind(), K::KIND);
                let wanted = wanted.text_name();
                let found = found.text_name();
                Err(Stop::failed(format_args!("attribute `{name}` is of kind {found}, not {wanted}")))
            }
        }
    }

    /// The default in force.
    fn default<K: Kind>(&self, name: NameRef<'_>) -> Option<K::Value<'r>> {
        match self.schema? {
            SchemaRef::Standard(schema) => {
                K::of_default(schema.attribute(name.symbol(self.names())?)?.default?)
            }
            SchemaRef::Declared(schema) => {
                let declared = schema.attribute(name.text(self.names()))?;
                K::of_declared(declared.default.as_ref()?)
            }
        }
    }

    /// An integer attribute, the default in force, or `None`.
    ///
    /// # Errors
    ///
    /// Returns an error if the attribute is of another kind. The same holds for the other kinds below.
    pub fn int<'n>(&self, name: impl Into<NameRef<'n>>) -> Outcome<Option<i64>> {
        self.param::<kind::Int>(name.into())
    }

    /// An integer attribute, the default in force, or `otherwise`.
    ///
    /// # Errors
    ///
    /// See [`Cx::int`].
    pub fn int_or<'n>(&self, name: impl Into<NameRef<'n>>, otherwise: i64) -> Outcome<i64> {
        Ok(self.int(name)?.unwrap_or(otherwise))
    }

    /// An integer attribute that is a truth value, `false` by default.
    ///
    /// # Errors
    ///
    /// See [`Cx::int`].
    pub fn flag<'n>(&self, name: impl Into<NameRef<'n>>) -> Outcome<bool> {
        Ok(self.int_or(name, 0)? != 0)
    }

    /// A float attribute, the default in force, or `None`.
    ///
    /// # Errors
    ///
    /// See [`Cx::int`].
    pub fn float<'n>(&self, name: impl Into<NameRef<'n>>) -> Outcome<Option<f32>> {
        self.param::<kind::Float>(name.into())
    }

    /// A float attribute, the default in force, or `otherwise`.
    ///
    /// # Errors
    ///
    /// See [`Cx::int`].
    pub fn float_or<'n>(&self, name: impl Into<NameRef<'n>>, otherwise: f32) -> Outcome<f32> {
        Ok(self.float(name)?.unwrap_or(otherwise))
    }

    /// A list of integers, the default in force, or `None`.
    ///
    /// # Errors
    ///
    /// See [`Cx::int`].
    pub fn ints<'n>(&self, name: impl Into<NameRef<'n>>) -> Outcome<Option<Vec<i64>>> {
        Ok(self.param::<kind::Ints>(name.into())?.map(std::borrow::Cow::into_owned))
    }

    /// A list of floats, the default in force, or `None`.
    ///
    /// # Errors
    ///
    /// See [`Cx::int`].
    pub fn floats<'n>(&self, name: impl Into<NameRef<'n>>) -> Outcome<Option<Vec<f32>>> {
        Ok(self.param::<kind::Floats>(name.into())?.map(std::borrow::Cow::into_owned))
    }

    /// A list of strings, the default in force, or `None`.
    ///
    /// # Errors
    ///
    /// See [`Cx::int`].
    pub fn texts<'n>(&self, name: impl Into<NameRef<'n>>) -> Outcome<Option<Vec<&'r [u8]>>> {
        let texts = self.param::<kind::Texts>(name.into())?;
        Ok(texts.map(|texts| (0..texts.len()).filter_map(|index| texts.get(index)).collect()))
    }

    /// A string attribute or the default in force; empty if there is neither.
    ///
    /// # Errors
    ///
    /// See [`Cx::int`].
    pub fn text<'n>(&self, name: impl Into<NameRef<'n>>) -> Outcome<&'r str> {
        let name = name.into();
        let text = self.param::<kind::Text>(name)?.unwrap_or_default();
        std::str::from_utf8(text)
            .map_err(|_| Stop::failed(format_args!("attribute `{}` is not UTF-8", name.text(self.names()))))
    }

    /// Like [`Cx::elem_attribute`]; 0 counts as absent, as it does where it is the default.
    ///
    /// # Errors
    ///
    /// See [`Cx::elem_attribute`].
    pub fn elem_attribute_or_zero<'n>(&self, name: impl Into<NameRef<'n>>) -> Outcome<Option<ElemType>> {
        let name = name.into();
        if self.int(name)? == Some(0) { Ok(None) } else { self.elem_attribute(name) }
    }

    /// The element type that an integer attribute names; `None` if the attribute is absent. If floats are computed in 64 bits, it
    /// is `double` for narrower ones.
    ///
    /// # Errors
    ///
    /// Returns an error if the number is not that of an element type.
    pub fn elem_attribute<'n>(&self, name: impl Into<NameRef<'n>>) -> Outcome<Option<ElemType>> {
        let name = name.into();
        let Some(code) = self.int(name)? else { return Ok(None) };
        let elem = i32::try_from(code).ok().and_then(ElemType::from_code);
        match elem.filter(|&elem| elem != ElemType::Undefined) {
            Some(elem) => Ok(Some(self.in_force(elem))),
            None => {
                let name = name.text(self.names());
                Err(Stop::failed(format_args!("attribute `{name}` is {code}, which is not an element type")))
            }
        }
    }
}
