//! The source of the data of elided tensors.

use std::collections::HashMap;
use std::fmt;

use foldhash::fast::RandomState;
use onnx_ir::{Model, TensorHolder, TensorPart};
use onnx_types::tensor::{NoData, Payload, Tensor};

use crate::print::Digest;

/// The tensors of the model that a text was printed from. The parser takes the data of elided tensors from it.
///
/// An initializer is found by its name, and the tensor in an attribute by the first output of the node and the name of the
/// attribute, in a list by its index, too; the two tensors of a sparse one are distinguished. Element type and dimensions
/// must be the same, and the digest, if the text has one. Of several tensors to which all of that applies none is taken,
/// unless they are equal.
///
/// ```
/// use onnx_text::{ElidedTensorSource, ParseOptions, PrintOptions, parse_model, print_model};
///
/// let text = "<ir_version: 10>\ng () => () <float[3] w = {1, 2, 3}> { }";
/// let original = parse_model(text, &ParseOptions::default())?;
/// let options = PrintOptions::default().with_elide_above(2);
/// let elided = print_model(&original, &options)?.text.replace("g ()", "renamed ()");
/// assert!(elided.contains("{…3 elements}"));
///
/// let elided_source = ElidedTensorSource::new(&original, None);
/// let edited = parse_model(&elided, &ParseOptions::default().with_elided_source(&elided_source))?;
/// assert!(print_model(&edited, &PrintOptions::default())?.text.contains("{1, 2, 3}"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ElidedTensorSource<'a> {
    tensors: HashMap<TensorKey<&'a str>, Vec<&'a Tensor>, RandomState>,
    digest: Option<&'a Digest<'a>>,
}

/// The site of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct TensorKey<Name> {
    /// The initializer, or the first output of the node.
    pub(crate) holder: Name,
    /// The attribute; empty for initializers.
    pub(crate) attribute: Name,
    /// The position in a list.
    pub(crate) element: usize,
    /// Which part of a sparse tensor, if it is one.
    pub(crate) part: TensorPart,
}

impl<Name> TensorKey<Name> {
    /// The first or only tensor of an initializer or attribute.
    pub(crate) const fn new(holder: Name, attribute: Name) -> Self {
        Self { holder, attribute, element: 0, part: TensorPart::Dense }
    }
}

impl<'a> ElidedTensorSource<'a> {
    /// The tensors of a model. `digest` makes the digests that the text may have; without it, a text that has some cannot
    /// be parsed.
    #[must_use]
    pub fn new(model: &'a Model, digest: Option<&'a Digest<'a>>) -> Self {
        let mut tensors: HashMap<_, Vec<&'a Tensor>, RandomState> = HashMap::default();
        model.for_each_tensor(|place, tensor| {
            let (holder, attribute) = match place.holder {
                TensorHolder::Initializer(value) => (model.str(model.value(value).name()), ""),
                TensorHolder::Attribute(node, position) => {
                    let record = model.node(node);
                    let Some(attribute) = record.attributes().get(position) else { return };
                    let Some(output) = record.output(0) else { return };
                    (model.str(model.value(output).name()), model.str(attribute.name()))
                }
                TensorHolder::Default(..) => return,
            };
            if holder.is_empty() {
                return;
            }
            let key = TensorKey { holder, attribute, element: place.element, part: place.part };
            tensors.entry(key).or_default().push(tensor);
        });
        Self { tensors, digest }
    }

    /// The tensor that was elided with this key.
    ///
    /// # Errors
    ///
    /// Returns an error if there is none, or more than one; says why.
    pub(crate) fn find(
        &self,
        key: &TensorKey<&str>,
        head: &Tensor,
        digest: Option<&str>,
    ) -> Result<&'a Tensor, &'static str> {
        let listed = self.tensors.get(key).map(Vec::as_slice).unwrap_or_default();
        let mut found: Vec<&Tensor> = listed
            .iter()
            .copied()
            .filter(|tensor| tensor.data_type() == head.data_type() && tensor.dims() == head.dims())
            .collect();
        if found.is_empty() {
            return Err("the original model has no such tensor of this type and these dimensions");
        }
        if let Some(wanted) = digest {
            let Some(make) = self.digest else { return Err("nothing here can make its digest") };
            found.retain(|tensor| make(tensor).as_deref() == Some(wanted));
        }
        match found.as_slice() {
            [] => Err("the tensor of the original model has another digest"),
            [first, others @ ..] if others.iter().all(|other| other.payload() == first.payload()) => {
                Ok(first)
            }
            _ => Err("the original model has several such tensors"),
        }
    }
}

impl<'a> ElidedTensorSource<'a> {
    /// The tensor with this key that has the same type, dimensions and elements, bit for bit, whatever field holds them.
    pub(crate) fn same(&self, key: &TensorKey<&str>, tensor: &Tensor) -> Option<&'a Tensor> {
        let listed = self.tensors.get(key)?;
        let has_elements = |original: &&Tensor| {
            original.data_type() == tensor.data_type()
                && original.dims() == tensor.dims()
                && equal_elements(original, tensor)
        };
        listed.iter().copied().find(has_elements)
    }
}

fn equal_elements(a: &Tensor, b: &Tensor) -> bool {
    // Elements that were taken from the original are not compared again.
    if let (Payload::Raw(a), Payload::Raw(b)) = (a.payload(), b.payload())
        && (a.as_ptr(), a.len()) == (b.as_ptr(), b.len())
    {
        return true;
    }
    if a.payload() == b.payload() {
        return true;
    }
    // Elements in other files are stated by the text as a place, and a splat is stated as such.
    if [a, b].iter().any(|tensor| matches!(tensor.payload(), Payload::External(_) | Payload::Splat(_))) {
        return false;
    }
    match (a.bytes(&NoData), b.bytes(&NoData)) {
        (Ok(a), Ok(b)) => a == b,
        _ => matches!((a.string_bytes(), b.string_bytes()), (Ok(a), Ok(b)) if a == b),
    }
}

impl fmt::Debug for ElidedTensorSource<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ElidedTensorSource({} tensors)", self.tensors.len())
    }
}
