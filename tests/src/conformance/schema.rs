//! The message descriptors, in the form that the tests traverse.

use onnx_proto::FILE_DESCRIPTOR_SET;
use prost_reflect::{Cardinality, DescriptorPool, FieldDescriptor, Kind, MessageDescriptor};

/// The message types of ONNX.
#[derive(Debug)]
pub struct Schema {
    messages: Vec<Message>,
}

/// A position in the table of message types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageId(usize);

/// A message type.
#[derive(Debug)]
pub struct Message {
    /// The name without the package: `TypeProto.Tensor`.
    pub name: String,
    /// Known fields, by ascending number.
    pub fields: Vec<Field>,
    /// Position in `fields` by number, for numbers below 32; all of ONNX are.
    by_number: [u8; 32],
}

/// A known field.
#[derive(Debug)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The number.
    pub number: u32,
    /// What it holds.
    pub ty: FieldType,
    /// Whether it is repeated.
    pub repeated: bool,
    /// Which `oneof` of its message it belongs to.
    pub oneof: Option<usize>,
}

/// What a field holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FieldType {
    /// `int64` or `uint64`.
    Int64,
    /// `int32`.
    Int32,
    /// An enum, with the numbers it knows. In proto2 any other number counts as an unknown field.
    Enum(Vec<i32>),
    /// `float`.
    Float,
    /// `double`.
    Double,
    /// `string`.
    String,
    /// `bytes`.
    Bytes,
    /// A message.
    Message(MessageId),
}

impl FieldType {
    /// The wire type of one value.
    #[must_use]
    pub const fn wire_type(&self) -> u8 {
        match self {
            Self::Int64 | Self::Int32 | Self::Enum(_) => 0,
            Self::Double => 1,
            Self::String | Self::Bytes | Self::Message(_) => 2,
            Self::Float => 5,
        }
    }

    /// Whether values may be packed.
    #[must_use]
    pub const fn packable(&self) -> bool {
        self.wire_type() != 2
    }
}

impl Schema {
    /// The message types of ONNX, from the descriptors of the workspace.
    ///
    /// # Errors
    ///
    /// When the descriptors cannot be read or hold something that ONNX does not use, such as maps.
    pub fn load() -> Result<Self, String> {
        let pool = DescriptorPool::decode(FILE_DESCRIPTOR_SET)
            .map_err(|error| format!("the descriptors cannot be read: {error}"))?;
        let types: Vec<MessageDescriptor> = pool.all_messages().collect();
        let messages = types.iter().map(|ty| message(ty, &types)).collect::<Result<_, _>>()?;
        Ok(Self { messages })
    }

    /// The message type of a name such as `ModelProto`.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<MessageId> {
        self.messages.iter().position(|message| message.name == name).map(MessageId)
    }

    /// What is known of a message type.
    #[must_use]
    pub fn message(&self, id: MessageId) -> &Message {
        // Only this table makes identifiers.
        &self.messages[id.0]
    }
}

impl Message {
    /// The field of a number.
    #[must_use]
    pub fn field(&self, number: u32) -> Option<&Field> {
        let position = *self.by_number.get(usize::try_from(number).ok()?)?;
        self.fields.get(usize::from(position))
    }
}

fn message(ty: &MessageDescriptor, types: &[MessageDescriptor]) -> Result<Message, String> {
    let mut fields = ty.fields().map(|field| self::field(&field, types)).collect::<Result<Vec<_>, _>>()?;
    fields.sort_by_key(|field| field.number);
    let mut by_number = [u8::MAX; 32];
    for (position, field) in fields.iter().enumerate() {
        let slot = by_number
            .get_mut(field.number as usize)
            .ok_or_else(|| format!("{} has a number above 31: widen the table", field.name))?;
        *slot = position as u8;
    }
    let name = ty.full_name().strip_prefix("onnx.").unwrap_or(ty.full_name()).to_owned();
    Ok(Message { name, fields, by_number })
}

fn field(field: &FieldDescriptor, types: &[MessageDescriptor]) -> Result<Field, String> {
    let ty = match field.kind() {
        Kind::Int64 | Kind::Uint64 => FieldType::Int64,
        Kind::Int32 => FieldType::Int32,
        Kind::Enum(values) => FieldType::Enum(values.values().map(|value| value.number()).collect()),
        Kind::Float => FieldType::Float,
        Kind::Double => FieldType::Double,
        Kind::String => FieldType::String,
        Kind::Bytes => FieldType::Bytes,
        Kind::Message(inner) => {
            let position = types.iter().position(|ty| *ty == inner);
            FieldType::Message(MessageId(position.ok_or("a message type is missing")?))
        }
        other => return Err(format!("{} is a {other:?}: teach the tests this type", field.full_name())),
    };
    Ok(Field {
        name: field.name().to_owned(),
        number: field.number(),
        ty,
        repeated: field.cardinality() == Cardinality::Repeated,
        oneof: field.containing_oneof().and_then(|oneof| {
            let parent = field.parent_message();
            parent.oneofs().position(|other| other == oneof)
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_knows_what_the_specification_says() {
        let schema = Schema::load().unwrap();
        let find = |message, number| {
            let field = schema.message(schema.find(message).unwrap()).field(number).unwrap();
            (field.name.as_str(), field.repeated, field.oneof)
        };
        assert_eq!(find("ModelProto", 7), ("graph", false, None));
        assert_eq!(find("GraphProto", 1), ("node", true, None));
        assert_eq!(find("TensorShapeProto.Dimension", 2), ("dim_param", false, Some(0)));
        assert!(schema.message(schema.find("GraphProto").unwrap()).field(3).is_none());
        assert!(schema.find("NoSuchProto").is_none());
    }
}
