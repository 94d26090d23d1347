//! Names and types of the fields of the ONNX messages. The table itself is generated from `proto/*.proto`.

/// A message.
#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) name: &'static str,
    /// In ascending order of their numbers; at most 64.
    pub(crate) fields: &'static [Field],
}

/// A field of a message.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) number: u32,
    /// The position among the fields of the message.
    pub(crate) index: u8,
    pub(crate) name: &'static str,
    /// The name in lower camel case.
    pub(crate) json_name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) repeated: bool,
    /// Whether repeated numbers are written as one record.
    pub(crate) packed: bool,
    /// The `oneof` that the field belongs to, counted from 1; 0 for none.
    pub(crate) oneof: u8,
}

/// The type of a field.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    Float,
    Double,
    Int32,
    Int64,
    Uint64,
    String,
    Bytes,
    Enum(&'static Enum),
    Message(&'static Message),
}

/// An enumeration.
#[derive(Debug)]
pub(crate) struct Enum {
    pub(crate) name: &'static str,
    pub(crate) values: &'static [(&'static str, i32)],
}

impl Message {
    pub(crate) fn by_number(&self, number: u32) -> Option<&'static Field> {
        let index = self.fields.binary_search_by_key(&number, |field| field.number).ok()?;
        self.fields.get(index)
    }

    pub(crate) fn by_name(&self, name: &[u8]) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name.as_bytes() == name)
    }

    /// The field of this name, which may be in lower camel case.
    pub(crate) fn by_json_name(&self, name: &[u8]) -> Option<&'static Field> {
        let is_it = |field: &&Field| field.name.as_bytes() == name || field.json_name.as_bytes() == name;
        self.fields.iter().find(is_it)
    }

    /// The field of a `oneof` that was seen, where there is one.
    pub(crate) fn seen_member(&self, oneof: u8, seen: u64) -> Option<&'static Field> {
        if oneof == 0 {
            return None;
        }
        self.fields.iter().find(|field| field.oneof == oneof && seen & field.bit() != 0)
    }
}

impl Field {
    /// The bit that stands for this field in a set of fields of its message.
    pub(crate) const fn bit(&self) -> u64 {
        1_u64.wrapping_shl(self.index as u32)
    }
}

impl Enum {
    pub(crate) fn number(&self, name: &[u8]) -> Option<i32> {
        self.values.iter().find(|(known, _)| known.as_bytes() == name).map(|&(_, number)| number)
    }

    pub(crate) fn name_of(&self, number: i32) -> Option<&'static str> {
        self.values.iter().find(|&&(_, known)| known == number).map(|&(name, _)| name)
    }
}
