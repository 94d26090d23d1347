//! Tensors in the format of NumPy: `.npy`, versions 1 to 3.

use bytes::Bytes;
use onnx_codec::EncodeError;
use onnx_types::tensor::{NoData, Payload, Tensor};
use onnx_types::{ElemType, Execution, Interrupt, Limits, Stopped};

use super::super::show::unreadable;
use super::PIECE;
use super::npz::TooLarge;
use crate::exit::Failure;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Bytes with which a file begins: those before the header of version 1, and a part of it.
pub(super) const START: usize = 16;

/// The header of a file as text, and the offset of the elements; `None` if the bytes do not reach that far, or are not an array.
fn header(bytes: &[u8]) -> Option<(&[u8], usize)> {
    let (from, end) = header_range(bytes)?;
    Some((bytes.get(from..end)?, end))
}

/// Where the header begins and ends.
fn header_range(bytes: &[u8]) -> Option<(usize, usize)> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (from, length) = match *rest {
        [1, _, a, b, ..] => (MAGIC.len() + 4, usize::from(u16::from_le_bytes([a, b]))),
        [2 | 3, _, a, b, c, d, ..] => (MAGIC.len() + 6, u32::from_le_bytes([a, b, c, d]) as usize),
        _ => return None,
    };
    Some((from, from.checked_add(length)?))
}

/// The number of bytes of a file, as far as its beginning tells: those up to the elements, or all. `None` if it is not an array.
///
/// # Errors
///
/// Returns an error if the header is that of another kind of array.
pub(super) fn extent(bytes: &[u8], declared: Option<ElemType>) -> Result<Option<usize>, Failure> {
    let Some((_, end)) = header_range(bytes) else { return Ok(None) };
    let Some((text, _)) = header(bytes) else { return Ok(Some(end)) };
    let Ok(text) = std::str::from_utf8(text) else { return Ok(None) };
    let header = Header::parse(text)?;
    header.elem(declared)?;
    let (_, length) = header.size().ok_or_else(too_short)?;
    Ok(Some(end.checked_add(length).ok_or_else(too_short)?))
}

pub(super) fn out_of_memory(bytes: usize) -> Failure {
    Failure::exceeding(Limits::MEMORY, format_args!("the system has no memory for {bytes} bytes"))
}

/// A vector with room for bytes.
fn room(bytes: usize) -> Result<Vec<u8>, Failure> {
    let mut room = Vec::new();
    room.try_reserve_exact(bytes).map_err(|_| out_of_memory(bytes))?;
    Ok(room)
}

fn too_short() -> Failure {
    Failure::new("is shorter than its header says").help("write the file again: it is truncated")
}

/// The tensor in a file. An array of opaque elements, which is what extensions of NumPy write, has the declared type.
pub(super) fn read(
    bytes: &Bytes,
    declared: Option<ElemType>,
    execution: &Execution,
) -> Result<Tensor, Failure> {
    let malformed =
        || Failure::new("is not an array in the format of NumPy").help("write it with `numpy.save`");
    let (text, end) = header(bytes).ok_or_else(malformed)?;
    let header = Header::parse(std::str::from_utf8(text).map_err(|_| malformed())?)?;
    header.tensor(&bytes.slice(end..), declared, execution)
}

/// What the header says: a dictionary in the notation of Python.
struct Header {
    is_big_endian: bool,
    kind: char,
    size: usize,
    is_fortran_order: bool,
    dims: Vec<i64>,
}

impl Header {
    fn parse(text: &str) -> Result<Self, Failure> {
        let malformed = || {
            Failure::new("has a header that is not of an array of numbers or strings")
                .help("save an array of numbers or strings with `numpy.save`")
        };
        let after = |key: &str| {
            let quoted = [format!("'{key}'"), format!("\"{key}\"")];
            let found = quoted.iter().find_map(|key| Some(text.split_once(key.as_str())?.1));
            found.and_then(|rest| rest.trim_start().strip_prefix(':')).map(str::trim_start)
        };
        let descr = after("descr").ok_or_else(malformed)?;
        let quote = descr.chars().next().filter(|quote| matches!(quote, '\'' | '"')).ok_or_else(malformed)?;
        let descr = descr.get(1..).and_then(|rest| rest.split_once(quote)).ok_or_else(malformed)?.0;
        let mut characters = descr.chars();
        let order = characters.next().ok_or_else(malformed)?;
        let kind = characters.next().ok_or_else(malformed)?;
        let is_known = matches!(order, '<' | '>' | '|' | '=');
        let size = characters.as_str().parse().ok().filter(|_| is_known).ok_or_else(malformed)?;
        let is_fortran_order = after("fortran_order").ok_or_else(malformed)?.starts_with("True");
        let shape = after("shape").and_then(|rest| rest.strip_prefix('(')).ok_or_else(malformed)?;
        let shape = shape.split_once(')').ok_or_else(malformed)?.0;
        let dims = shape.split(',').map(str::trim).filter(|dim| !dim.is_empty());
        let dims: Option<Vec<i64>> = dims.map(|dim| dim.parse().ok().filter(|&dim| dim >= 0)).collect();
        Ok(Self {
            is_big_endian: order == '>',
            kind,
            size,
            is_fortran_order,
            dims: dims.ok_or_else(malformed)?,
        })
    }

    fn elem(&self, declared: Option<ElemType>) -> Result<ElemType, Failure> {
        use ElemType as E;
        Ok(match (self.kind, self.size) {
            ('b', 1) => E::Bool,
            ('i', 1) => E::Int8,
            ('i', 2) => E::Int16,
            ('i', 4) => E::Int32,
            ('i', 8) => E::Int64,
            ('u', 1) => E::Uint8,
            ('u', 2) => E::Uint16,
            ('u', 4) => E::Uint32,
            ('u', 8) => E::Uint64,
            ('f', 2) => E::Float16,
            ('f', 4) => E::Float,
            ('f', 8) => E::Double,
            ('c', 8) => E::Complex64,
            ('c', 16) => E::Complex128,
            ('U' | 'S', _) => E::String,
            ('V', size) => declared
                .filter(|elem| elem.bits().is_some_and(|bits| bits >= 8 && bits as usize == size * 8))
                .ok_or_else(|| {
                    Failure::new("has opaque elements that are not of the declared type")
                        .help("use `.pb` for element types that NumPy does not have")
                })?,
            ('O', _) => {
                return Err(
                    Failure::new("holds objects of Python").help("save an array of fixed-width strings")
                );
            }
            (kind, size) => {
                return Err(Failure::new(format_args!("has elements of type `{kind}{size}`"))
                    .help("convert the array to a type that ONNX has (`numpy.ndarray.astype`)"));
            }
        })
    }

    /// Bytes of an element.
    fn width(&self) -> Option<usize> {
        if self.kind == 'U' { self.size.checked_mul(4) } else { Some(self.size) }
    }

    /// The number of elements, and of their bytes; `None` if there are too many to count.
    fn size(&self) -> Option<(usize, usize)> {
        let count = if self.dims.contains(&0) {
            0
        } else {
            let size = |dim: i64| usize::try_from(dim).ok();
            self.dims.iter().try_fold(1_usize, |count, &dim| count.checked_mul(size(dim)?))?
        };
        Some((count, count.checked_mul(self.width()?)?))
    }

    fn tensor(
        &self,
        data: &Bytes,
        declared: Option<ElemType>,
        execution: &Execution,
    ) -> Result<Tensor, Failure> {
        let interrupt = &execution.interrupt;
        let elem = self.elem(declared)?;
        let (count, length) = self.size().ok_or_else(too_short)?;
        let width = self.width().unwrap_or_default();
        let mut data = if length <= data.len() { data.slice(..length) } else { return Err(too_short()) };
        if self.is_fortran_order && self.dims.len() > 1 && !data.is_empty() {
            data = from_fortran(&data, width, &self.dims, interrupt)?.into();
        }
        let payload = if elem == ElemType::String {
            Payload::strings(self.strings(&data, width, count, execution)?)
        } else {
            let unit = if self.kind == 'c' { width / 2 } else { width };
            if self.is_big_endian && unit > 1 {
                data = swapped(&data, unit, interrupt)?.into();
            }
            Payload::Raw(data)
        };
        Ok(Tensor::from_parts(elem.code(), self.dims.iter().copied().collect(), payload))
    }

    /// Strings of fixed width, which end at zeros.
    fn strings(
        &self,
        data: &[u8],
        width: usize,
        count: usize,
        execution: &Execution,
    ) -> Result<Vec<Bytes>, Failure> {
        let interrupt = &execution.interrupt;
        // The records of the strings twice, and what the allocator keeps of each: more than their bytes in the file.
        let bytes = count.saturating_mul(4 * size_of::<Bytes>());
        if bytes as u64 > execution.limits.run_bytes {
            return Err(TooLarge.into());
        }
        room(bytes)?;
        if width == 0 {
            return Ok(vec![Bytes::new(); count]);
        }
        let text = |chunk: &[u8]| {
            if self.kind == 'S' {
                let end = chunk.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
                return Some(Bytes::copy_from_slice(chunk.get(..end)?));
            }
            let codes = chunk.as_chunks::<4>().0.iter().map(|&code| match self.is_big_endian {
                true => u32::from_be_bytes(code),
                false => u32::from_le_bytes(code),
            });
            let text: Option<String> = codes.map(char::from_u32).collect();
            Some(text?.trim_end_matches('\0').to_owned().into())
        };
        let mut texts = Vec::new();
        for (index, chunk) in data.chunks_exact(width).enumerate() {
            check_each(index, width, interrupt)?;
            texts.push(text(chunk).ok_or_else(|| {
                Failure::new("has a string that is not valid Unicode")
                    .help("save strings as `numpy.str_`, or write protobuf (`.pb`)")
            })?);
        }
        Ok(texts)
    }
}

/// Checks the interrupt once for each piece of elements of this width.
fn check_each(index: usize, width: usize, interrupt: &Interrupt) -> Result<(), Stopped> {
    let step = (PIECE / width.max(1)).max(1);
    if index.is_multiple_of(step) { interrupt.check() } else { Ok(()) }
}

/// The elements with the bytes of each unit in reverse order.
fn swapped(data: &[u8], unit: usize, interrupt: &Interrupt) -> Result<Vec<u8>, Failure> {
    let mut swapped = room(data.len())?;
    for (index, chunk) in data.chunks_exact(unit).enumerate() {
        check_each(index, unit, interrupt)?;
        swapped.extend(chunk.iter().rev());
    }
    Ok(swapped)
}

/// The elements of an array whose first axis varies fastest, in the order in which the last one does.
fn from_fortran(data: &[u8], width: usize, dims: &[i64], interrupt: &Interrupt) -> Result<Vec<u8>, Failure> {
    let dims: Vec<usize> = dims.iter().map(|&dim| usize::try_from(dim).unwrap_or_default()).collect();
    let mut strides = Vec::with_capacity(dims.len());
    let mut stride = width;
    for &dim in &dims {
        strides.push(stride);
        stride = stride.saturating_mul(dim);
    }
    let mut ordered = room(data.len())?;
    let mut index = vec![0_usize; dims.len()];
    let mut offset = 0_usize;
    for count in 0.. {
        check_each(count, width, interrupt)?;
        let Some(element) = data.get(offset..offset + width).filter(|_| ordered.len() < data.len()) else {
            break;
        };
        ordered.extend_from_slice(element);
        // The next index, with the last axis varying fastest.
        for ((at, &dim), &stride) in index.iter_mut().zip(&dims).zip(&strides).rev() {
            *at += 1;
            offset += stride;
            if *at < dim {
                break;
            }
            offset -= stride * dim;
            *at = 0;
        }
    }
    Ok(ordered)
}

/// The bytes of a file with a tensor, in pieces.
pub(super) fn write(tensor: &Tensor, execution: &Execution) -> Result<Vec<Bytes>, Failure> {
    use ElemType as E;
    let (descr, data) = match tensor.elem() {
        E::String => strings(tensor, &execution.interrupt).map(|(descr, data)| (descr, vec![data]))?,
        elem => {
            let descr = match elem {
                E::Bool => "|b1",
                E::Int8 => "|i1",
                E::Int16 => "<i2",
                E::Int32 => "<i4",
                E::Int64 => "<i8",
                E::Uint8 => "|u1",
                E::Uint16 => "<u2",
                E::Uint32 => "<u4",
                E::Uint64 => "<u8",
                E::Float16 => "<f2",
                E::Float => "<f4",
                E::Double => "<f8",
                E::Complex64 => "<c8",
                E::Complex128 => "<c16",
                _ => {
                    let failure = Failure::new(format_args!("NumPy has no element type for {elem}"));
                    return Err(failure.help("write protobuf: `-o DIR --to pb`"));
                }
            };
            (descr.to_owned(), pieces(tensor, execution)?)
        }
    };
    let mut dims: String = tensor.dims().iter().map(|dim| format!("{dim}, ")).collect();
    if tensor.rank() > 1 {
        dims.truncate(dims.len() - 2);
    } else {
        dims.truncate(dims.len().saturating_sub(1));
    }
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({dims}), }}");
    // The elements begin at a multiple of 64 bytes.
    let filled = (MAGIC.len() + 4 + header.len() + 1).next_multiple_of(64) - (MAGIC.len() + 4 + 1);
    header.extend(std::iter::repeat_n(' ', filled - header.len()));
    header.push('\n');
    let length = u16::try_from(header.len()).map_err(|_| {
        Failure::new("the tensor has too many dimensions").help("write protobuf: `-o DIR --to pb`")
    })?;
    let first = [MAGIC, &[1, 0], &length.to_le_bytes(), header.as_bytes()].concat();
    Ok(std::iter::once(first.into()).chain(data).collect())
}

/// The elements as bytes. The pieces of a tensor of one repeated element share their memory.
fn pieces(tensor: &Tensor, execution: &Execution) -> Result<Vec<Bytes>, Failure> {
    let is_splat = matches!(tensor.payload(), Payload::Splat(_));
    let (size, limit) = (tensor.byte_len().unwrap_or(u64::MAX), execution.limits.splat_bytes);
    if is_splat && size > limit {
        return Err(EncodeError::SplatTooLarge { limit }.into());
    }
    let mut pieces = Vec::new();
    for piece in tensor.chunks(&NoData).map_err(unreadable)? {
        execution.interrupt.check()?;
        pieces.push(piece);
    }
    Ok(pieces)
}

/// Strings as code points of fixed width, with the type of the elements.
fn strings(tensor: &Tensor, interrupt: &Interrupt) -> Result<(String, Bytes), Failure> {
    let texts: Result<Vec<&str>, _> = tensor.strings().map_err(unreadable)?.collect();
    let texts = texts.map_err(|_| {
        Failure::new("a string is not UTF-8, which NumPy cannot hold")
            .help("write protobuf: `-o DIR --to pb`")
    })?;
    let width = texts.iter().map(|text| text.chars().count()).max().unwrap_or_default().max(1);
    let size = texts.len().checked_mul(width).and_then(|count| count.checked_mul(4));
    if size.is_none_or(|size| size > (1 << 31)) {
        return Err(Failure::new("the strings take too much memory with a fixed width")
            .help("write protobuf: `-o DIR --to pb`"));
    }
    let mut data = room(size.unwrap_or_default())?;
    for (index, text) in texts.into_iter().enumerate() {
        check_each(index, width * 4, interrupt)?;
        let end = data.len() + width * 4;
        for c in text.chars() {
            data.extend_from_slice(&u32::from(c).to_le_bytes());
        }
        data.resize(end, 0);
    }
    Ok((format!("<U{width}"), data.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(descr: &str, rest: &str, data: &[u8]) -> Bytes {
        let header = format!("{{'descr': '{descr}', {rest}}}\n");
        let length = (header.len() as u16).to_le_bytes();
        [MAGIC, &[1, 0], &length, header.as_bytes(), data].concat().into()
    }

    const MATRIX: &str = "'fortran_order': False, 'shape': (2, 2), ";

    #[test]
    fn what_is_written_is_read() {
        for tensor in [
            Tensor::from_slice([2, 1], &[1.5_f32, -2.0]).unwrap(),
            Tensor::scalar(7_i64),
            Tensor::vector(&[true, false, true]),
            Tensor::from_slice([0, 3], &[] as &[f64]).unwrap(),
            Tensor::from_strings([2], ["é", "abc"]).unwrap(),
        ] {
            let bytes = write(&tensor, &Execution::DEFAULT).unwrap().concat();
            let length = u16::from_le_bytes([bytes[8], bytes[9]]);
            assert_eq!((10 + usize::from(length)) % 64, 0);
            let read = read(&bytes.into(), None, &Execution::DEFAULT).unwrap();
            assert_eq!((read.elem(), read.dims()), (tensor.elem(), tensor.dims()));
            assert!(read.same_meaning(&tensor, &NoData));
        }
    }

    #[test]
    fn orders_of_bytes_and_axes() {
        let big = read(&file(">i2", MATRIX, &[0, 1, 0, 2, 0, 3, 0, 4]), None, &Execution::DEFAULT).unwrap();
        assert_eq!(big.to_vec::<i16>(&NoData).unwrap(), [1, 2, 3, 4]);
        let fortran = "'fortran_order': True, 'shape': (2, 3), ";
        let columns = read(&file("|u1", fortran, &[1, 4, 2, 5, 3, 6]), None, &Execution::DEFAULT).unwrap();
        assert_eq!(columns.to_vec::<u8>(&NoData).unwrap(), [1, 2, 3, 4, 5, 6]);
    }

    /// Conversions of elements, in both directions.
    #[test]
    fn an_interrupt_ends_conversions() {
        let execution = Execution::DEFAULT.with_interrupt(Interrupt::when(|| true));
        let stopped = |failure: Failure| assert_eq!(failure.outcome(), crate::exit::Outcome::Limit);
        let fortran = "'fortran_order': True, 'shape': (2, 3), ";
        stopped(read(&file("|u1", fortran, &[1, 4, 2, 5, 3, 6]), None, &execution).unwrap_err());
        stopped(read(&file(">i2", MATRIX, &[0; 8]), None, &execution).unwrap_err());
        stopped(read(&file("<U1", MATRIX, &[0; 16]), None, &execution).unwrap_err());
        for tensor in [Tensor::vector(&[1_i64]), Tensor::from_strings([1], ["a"]).unwrap()] {
            stopped(write(&tensor, &execution).unwrap_err());
        }
    }

    #[test]
    fn opaque_elements_have_the_declared_type() {
        let bytes = file("|V2", "'fortran_order': False, 'shape': (1,), ", &[0x80, 0x3f]);
        let read_as = |elem| read(&bytes, elem, &Execution::DEFAULT);
        assert_eq!(read_as(Some(ElemType::Bfloat16)).unwrap().elem(), ElemType::Bfloat16);
        assert!(read_as(Some(ElemType::Float)).is_err());
        assert!(read_as(None).is_err());
    }

    #[test]
    fn malformed_files_are_refused() {
        for bytes in [
            file("<f4", MATRIX, &[0; 15]),
            file("<f4", "'fortran_order': False, 'shape': (2, -2), ", &[0; 16]),
            file("<f4", "'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807), ", &[]),
            file("|O", MATRIX, &[0; 16]),
            file("[('a', '<f4')]", MATRIX, &[0; 16]),
            file("é4", MATRIX, &[0; 16]),
            Bytes::from_static(b"\x93NUMPY\x01\x00\xff\xff{}"),
            Bytes::from_static(b"\x93NUMPY"),
            Bytes::new(),
        ] {
            read(&bytes, None, &Execution::DEFAULT).unwrap_err();
        }
    }
}
