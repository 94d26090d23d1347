//! Operands.

use std::sync::Arc;

use onnx_types::ElemType;
use onnx_types::tensor::{Payload, Tensor};

use super::{Cx, Dims, Outcome, Stop};
use crate::number::{Elems, Number, Unit};
use crate::value::Value;

/// Maximum number of elements of an operand that is a list of axes, sizes or similar values.
const LIST: usize = 1 << 20;

/// A tensor operand.
#[derive(Clone, Debug)]
pub struct Operand {
    /// The tensor.
    pub tensor: Arc<Tensor>,
    /// The type of its elements.
    pub elem: ElemType,
    /// Its sizes.
    pub dims: Dims,
    /// The number of its elements.
    pub count: usize,
}

impl Operand {
    /// An operand of a tensor.
    ///
    /// # Errors
    ///
    /// Returns an error if the tensor is invalid or too large to count.
    pub fn new(tensor: Arc<Tensor>) -> Outcome<Self> {
        let sizes = tensor.dims().iter().map(|&dim| usize::try_from(dim));
        let dims = sizes.collect::<Result<Dims, _>>().map_err(|_| Stop::failed("a size is negative"))?;
        let count = tensor.element_count().and_then(|count| usize::try_from(count).ok());
        let count = count.ok_or(Stop::Limit("run_elements"))?;
        Ok(Self { elem: tensor.elem(), tensor, dims, count })
    }

    /// Number of axes.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.dims.len()
    }
}

impl Cx<'_, '_> {
    /// Number of inputs, omitted ones in the middle included.
    #[must_use]
    pub fn input_count(&self) -> usize {
        self.inputs.len()
    }

    /// Returns `true` if the input is given.
    #[must_use]
    pub fn has_input(&self, index: usize) -> bool {
        self.inputs.get(index).is_some_and(Option::is_some)
    }

    /// The value of an input.
    ///
    /// # Errors
    ///
    /// Returns an error if the input is omitted.
    pub fn value(&self, index: usize) -> Outcome<&Value> {
        let value = self.inputs.get(index).and_then(Option::as_ref);
        value.ok_or_else(|| Stop::failed(format_args!("input {index} is missing")))
    }

    /// The tensor of an input.
    ///
    /// # Errors
    ///
    /// Returns an error if the input is omitted or is not a tensor.
    pub fn tensor(&self, index: usize) -> Outcome<Operand> {
        match self.value(index)? {
            Value::Tensor(tensor) => Operand::new(Arc::clone(tensor)),
            _ => Err(Stop::failed(format_args!("input {index} is not a tensor"))),
        }
    }

    /// The tensor of an optional input; `None` if it is omitted.
    ///
    /// # Errors
    ///
    /// Returns an error if the input is not a tensor.
    pub fn optional(&self, index: usize) -> Outcome<Option<Operand>> {
        if self.has_input(index) { self.tensor(index).map(Some) } else { Ok(None) }
    }

    /// The elements of an operand in the type in which they are computed.
    ///
    /// # Errors
    ///
    /// Returns an error if they cannot be read or exceed a limit.
    pub fn read<T: Number>(&mut self, operand: &Operand) -> Outcome<Elems<T>> {
        self.admit::<T>(operand)?;
        Ok(T::decode(&operand.tensor, self.data)?)
    }

    /// The elements of an operand of any real type as `f64`.
    ///
    /// # Errors
    ///
    /// See [`Cx::read`].
    pub fn read_f64(&mut self, operand: &Operand) -> Outcome<Elems<f64>> {
        self.admit::<f64>(operand)?;
        match operand.elem {
            ElemType::Double => Ok(f64::decode(&operand.tensor, self.data)?),
            ElemType::Float => {
                let narrow = f32::decode(&operand.tensor, self.data)?;
                Ok(Elems::owned(narrow.iter().map(|&value| f64::from(value)).collect()))
            }
            _ => Ok(Elems::owned(operand.tensor.iter_f64(self.data)?.collect())),
        }
    }

    /// The real and the imaginary parts of the elements of a complex operand.
    pub(crate) fn complex_parts(&mut self, operand: &Operand) -> Outcome<[Vec<f64>; 2]> {
        Ok(self.complex(operand)?.into_iter().unzip().into())
    }

    /// The real and imaginary parts of the elements of a complex operand.
    pub(crate) fn complex(&mut self, operand: &Operand) -> Outcome<Vec<(f64, f64)>> {
        let single =
            |code: u64| (f32::from_bits(code as u32).into(), f32::from_bits((code >> 32) as u32).into());
        let double = |code: u128| (f64::from_bits(code as u64), f64::from_bits((code >> 64) as u64));
        self.budget.allocate(operand.count, size_of::<(f64, f64)>())?;
        match operand.elem {
            ElemType::Complex64 => Ok(self.units::<u64>(operand)?.iter().map(|&code| single(code)).collect()),
            ElemType::Complex128 => {
                Ok(self.units::<u128>(operand)?.iter().map(|&code| double(code)).collect())
            }
            other => Err(Stop::unsupported_type(other)),
        }
    }

    /// The elements of an operand as units that are moved.
    ///
    /// # Errors
    ///
    /// See [`Cx::read`].
    pub fn units<U: Unit>(&mut self, operand: &Operand) -> Outcome<Elems<U>> {
        self.admit::<U>(operand)?;
        Ok(U::load(&operand.tensor, self.data)?)
    }

    /// Counts the memory of elements that are written out or converted; elements in place cost nothing.
    fn admit<T>(&mut self, operand: &Operand) -> Outcome {
        let is_aligned = |bytes: &bytes::Bytes| bytes.as_ptr().addr().is_multiple_of(align_of::<T>());
        let is_in_place = matches!(operand.tensor.payload(), Payload::Raw(bytes) if is_aligned(bytes))
            && operand.elem.bits().is_some_and(|bits| bits as usize == size_of::<T>() * 8);
        if is_in_place {
            return self.budget.work(operand.count as u64);
        }
        self.budget.allocate(operand.count, size_of::<T>())?;
        match operand.tensor.payload() {
            Payload::Splat(_) => self.budget.write_out(operand.count as u64 * size_of::<T>() as u64),
            _ => Ok(()),
        }
    }

    /// The elements of a small integer operand: axes, sizes, a shape.
    ///
    /// # Errors
    ///
    /// Returns an error if the input is omitted, is not a tensor of integers, or has more than a million elements.
    pub fn list(&self, index: usize) -> Outcome<Vec<i64>> {
        let operand = self.tensor(index)?;
        Ok(operand.tensor.get_i64s(self.data, LIST)?)
    }

    /// Like [`Cx::list`], of an operand that must have rank 1, such as the sizes of a result.
    ///
    /// # Errors
    ///
    /// See [`Cx::list`]; also if the operand has another rank.
    pub(crate) fn vector(&self, index: usize) -> Outcome<Vec<i64>> {
        match self.tensor(index)?.rank() {
            1 => self.list(index),
            rank => Err(Stop::failed(format_args!("input {index} has rank {rank}, and must have rank 1"))),
        }
    }

    /// Like [`Cx::list`]; `None` if the input is omitted.
    ///
    /// # Errors
    ///
    /// See [`Cx::list`].
    pub fn optional_list(&self, index: usize) -> Outcome<Option<Vec<i64>>> {
        if self.has_input(index) { self.list(index).map(Some) } else { Ok(None) }
    }

    /// The only element of an integer operand, whatever its rank.
    ///
    /// # Errors
    ///
    /// Returns an error if the operand is omitted or does not have exactly one element.
    pub fn scalar_int(&self, index: usize) -> Outcome<i64> {
        match *self.list(index)? {
            [value] => Ok(value),
            _ => Err(Stop::failed(format_args!("input {index} must have one element"))),
        }
    }

    /// The only element of an operand of real numbers, whatever its rank; `None` if the input is omitted.
    ///
    /// # Errors
    ///
    /// Returns an error if the operand does not have exactly one element.
    pub fn optional_scalar<T: Number>(&mut self, index: usize) -> Outcome<Option<T>> {
        let Some(operand) = self.optional(index)? else { return Ok(None) };
        match *self.read::<T>(&operand)? {
            [value] => Ok(Some(value)),
            _ => Err(Stop::failed(format_args!("input {index} must have one element"))),
        }
    }

    /// Several axes: those of the attribute `axes`, or of an input in versions that have it as one.
    ///
    /// # Errors
    ///
    /// See [`Cx::list`].
    pub fn axes_at(&self, place: crate::family::Axes) -> Outcome<Option<Vec<i64>>> {
        match place {
            crate::family::Axes::Attribute => self.ints(onnx_schema::attr::AXES),
            crate::family::Axes::Input(index) => self.optional_list(index),
        }
    }
}
