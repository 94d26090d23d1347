//! Attributes of the node, with references and defaults resolved. A name is a symbol, such as `attr::AXIS`, or text.

use std::sync::Arc;

use onnx_ir::{AttrKind, AttrValue, Attribute, GraphId};
use onnx_types::NameRef;
use onnx_types::tensor::Tensor;

use super::signature::DefaultValue;
use super::{Cx, Outcome, Stop};
use crate::fault::BAD_ATTRIBUTE;

impl<'m> Cx<'_, 'm> {
    /// An attribute as the node has it. In the body of a function, a reference is the attribute of the call or the
    /// function's default, and `None` if there is neither. Rules do not run on nodes with references if no call is known.
    #[must_use]
    pub fn attribute<'n>(&self, name: impl Into<NameRef<'n>>) -> Option<&'m Attribute> {
        let attribute = self.node.attribute(name.into().symbol(self.names())?)?;
        match attribute.value() {
            AttrValue::Ref(target) => {
                self.args?.iter().find(|(formal, _)| formal == target).map(|&(_, actual)| actual)
            }
            _ => Some(attribute),
        }
    }

    /// Returns `true` if the attribute is given, by the node or by the call of the function around it.
    #[must_use]
    pub fn has_attribute<'n>(&self, name: impl Into<NameRef<'n>>) -> bool {
        self.attribute(name).is_some()
    }

    /// Returns `true` if an attribute of the node is a reference to an attribute of a call that is not known.
    pub(crate) fn has_open_reference(&self) -> bool {
        let mut attributes = self.node.attributes().iter();
        self.args.is_none() && attributes.any(|attribute| matches!(attribute.value(), AttrValue::Ref(_)))
    }

    /// Whether an attribute says that it is of this kind, and gives no value: that is the kind's zero, as writers may leave
    /// out the defaults of fields.
    fn is_default_of(&self, name: NameRef<'_>, kind: AttrKind) -> bool {
        self.attribute(name)
            .is_some_and(|attribute| *attribute.value() == AttrValue::None && attribute.kind() == kind)
    }

    fn wrong_kind<T>(&mut self, name: NameRef<'_>) -> Outcome<T> {
        let name = name.text(self.names()).to_owned();
        Err(self.fail(
            &BAD_ATTRIBUTE,
            format_args!("attribute `{name}` is of another type than the operator declares"),
        ))
    }

    /// An integer attribute, or the schema's default.
    ///
    /// # Errors
    ///
    /// When the attribute is of another kind. The same holds for the other kinds below.
    pub fn int<'n>(&mut self, name: impl Into<NameRef<'n>>) -> Outcome<Option<i64>> {
        let name = name.into();
        match self.attribute(name).map(Attribute::value) {
            Some(&AttrValue::Int(value)) => Ok(Some(value)),
            Some(_) if self.is_default_of(name, AttrKind::Int) => Ok(Some(0)),
            Some(_) => self.wrong_kind(name),
            None => Ok(match self.default(name) {
                Some(DefaultValue::Int(value)) => Some(value),
                _ => None,
            }),
        }
    }

    /// An integer attribute, the schema's default, or `otherwise`.
    ///
    /// # Errors
    ///
    /// As for [`Cx::int`].
    pub fn int_or<'n>(&mut self, name: impl Into<NameRef<'n>>, otherwise: i64) -> Outcome<i64> {
        Ok(self.int(name)?.unwrap_or(otherwise))
    }

    /// An integer attribute that is a truth value, `false` by default.
    ///
    /// # Errors
    ///
    /// As for [`Cx::int`].
    pub fn flag<'n>(&mut self, name: impl Into<NameRef<'n>>) -> Outcome<bool> {
        Ok(self.int_or(name, 0)? != 0)
    }

    /// A float attribute, or the schema's default.
    ///
    /// # Errors
    ///
    /// As for [`Cx::int`].
    pub fn float<'n>(&mut self, name: impl Into<NameRef<'n>>) -> Outcome<Option<f32>> {
        let name = name.into();
        match self.attribute(name).map(Attribute::value) {
            Some(&AttrValue::Float(value)) => Ok(Some(value)),
            Some(_) if self.is_default_of(name, AttrKind::Float) => Ok(Some(0.0)),
            Some(_) => self.wrong_kind(name),
            None => Ok(match self.default(name) {
                Some(DefaultValue::Float(value)) => Some(value),
                _ => None,
            }),
        }
    }

    /// A list of integers, or the schema's default.
    ///
    /// # Errors
    ///
    /// As for [`Cx::int`].
    pub fn ints<'n>(&mut self, name: impl Into<NameRef<'n>>) -> Outcome<Option<&'m [i64]>> {
        let name = name.into();
        match self.attribute(name).map(Attribute::value) {
            Some(AttrValue::Ints(values)) => Ok(Some(values)),
            // A file says nothing about the kind of an empty list but by its type field.
            Some(AttrValue::None) => Ok(Some(&[])),
            Some(_) => self.wrong_kind(name),
            None => Ok(match self.default(name) {
                Some(DefaultValue::Ints(values)) => Some(values),
                _ => None,
            }),
        }
    }

    /// A list of floats, or the schema's default.
    ///
    /// # Errors
    ///
    /// As for [`Cx::int`].
    pub fn floats<'n>(&mut self, name: impl Into<NameRef<'n>>) -> Outcome<Option<&'m [f32]>> {
        let name = name.into();
        match self.attribute(name).map(Attribute::value) {
            Some(AttrValue::Floats(values)) => Ok(Some(values)),
            Some(AttrValue::None) => Ok(Some(&[])),
            Some(_) => self.wrong_kind(name),
            None => Ok(match self.default(name) {
                Some(DefaultValue::Floats(values)) => Some(values),
                _ => None,
            }),
        }
    }

    /// A text attribute, or the schema's default.
    ///
    /// # Errors
    ///
    /// As for [`Cx::int`], and when it is not UTF-8.
    pub fn text<'n>(&mut self, name: impl Into<NameRef<'n>>) -> Outcome<Option<&'m str>> {
        let name = name.into();
        match self.attribute(name).map(Attribute::value) {
            Some(AttrValue::String(bytes)) => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Some(text)),
                Err(_) => self.wrong_kind(name),
            },
            Some(_) if self.is_default_of(name, AttrKind::String) => Ok(Some("")),
            Some(_) => self.wrong_kind(name),
            None => Ok(match self.default(name) {
                Some(DefaultValue::Text(text)) => Some(text),
                _ => None,
            }),
        }
    }

    /// Number of strings of an attribute, or of the schema's default.
    ///
    /// # Errors
    ///
    /// As for [`Cx::int`].
    pub fn texts<'n>(&mut self, name: impl Into<NameRef<'n>>) -> Outcome<Option<usize>> {
        let name = name.into();
        match self.attribute(name).map(Attribute::value) {
            Some(AttrValue::Strings(values)) => Ok(Some(values.len())),
            Some(AttrValue::Values(values)) => Ok(Some(values.len())),
            Some(AttrValue::None) => Ok(Some(0)),
            Some(_) => self.wrong_kind(name),
            None => Ok(match self.default(name) {
                Some(DefaultValue::Texts(count)) => Some(count),
                _ => None,
            }),
        }
    }

    /// A tensor attribute.
    ///
    /// # Errors
    ///
    /// As for [`Cx::int`].
    pub fn tensor_attr<'n>(&mut self, name: impl Into<NameRef<'n>>) -> Outcome<Option<&'m Arc<Tensor>>> {
        let name = name.into();
        match self.attribute(name).map(Attribute::value) {
            Some(AttrValue::Tensor(tensor)) => Ok(Some(tensor)),
            Some(_) => self.wrong_kind(name),
            None => Ok(None),
        }
    }

    /// A graph attribute.
    ///
    /// # Errors
    ///
    /// See [`Cx::int`]. Also returns [`Stop::Unknown`] if the node has no such graph, or takes it from a call: such a
    /// graph is in another scope, whose attribute references cannot be resolved here.
    pub fn graph_attr<'n>(&mut self, name: impl Into<NameRef<'n>>) -> Outcome<GraphId> {
        let name = name.into();
        let own = name.symbol(self.names()).and_then(|name| self.node.attribute(name));
        if matches!(own.map(Attribute::value), Some(AttrValue::Ref(_))) {
            return Err(Stop::Unknown);
        }
        match self.attribute(name).map(Attribute::value) {
            Some(&AttrValue::Graph(graph)) => Ok(graph),
            Some(_) => self.wrong_kind(name),
            None => Err(Stop::Unknown),
        }
    }
}
