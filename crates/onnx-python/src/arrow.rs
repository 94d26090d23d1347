//! Tables through the C stream interface of Arrow, which pandas, polars, pyarrow and duckdb read.
//!
//! The structs are those of the interface. What is handed over belongs to the consumer, who calls `release`.
#![allow(unsafe_code, reason = "the interface is one of C")]

use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;

use pyo3::ffi as python;
use pyo3::prelude::*;

use crate::fault::Fault;

/// The elements of a column; `None` is a missing one.
#[derive(Clone)]
pub(crate) enum Column {
    Flags(Vec<Option<bool>>),
    Integers(Vec<Option<i64>>),
    Numbers(Vec<Option<f64>>),
    Texts(Vec<Option<String>>),
    TextLists(Vec<Vec<String>>),
    IntegerLists(Vec<Vec<i64>>),
}

impl Column {
    /// The type of the elements, as Arrow names it.
    pub(crate) const fn type_name(&self) -> &'static str {
        match self {
            Self::Flags(_) => "bool",
            Self::Integers(_) => "int64",
            Self::Numbers(_) => "float64",
            Self::Texts(_) => "string",
            Self::TextLists(_) => "list<string>",
            Self::IntegerLists(_) => "list<int64>",
        }
    }
}

impl PartialEq for Column {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Flags(one), Self::Flags(other)) => one == other,
            (Self::Integers(one), Self::Integers(other)) => one == other,
            // A copy of a table with a number that is none is equal to it.
            (Self::Numbers(one), Self::Numbers(other)) => {
                let is_same = |(one, other): (&Option<f64>, &Option<f64>)| {
                    one == other || one.zip(*other).is_some_and(|(one, other)| one.is_nan() && other.is_nan())
                };
                one.len() == other.len() && one.iter().zip(other).all(is_same)
            }
            (Self::Texts(one), Self::Texts(other)) => one == other,
            (Self::TextLists(one), Self::TextLists(other)) => one == other,
            (Self::IntegerLists(one), Self::IntegerLists(other)) => one == other,
            _ => false,
        }
    }
}

/// Names and columns of the same length.
pub(crate) type Columns = Vec<(String, Column)>;

#[repr(C)]
struct Schema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *mut *mut Schema,
    dictionary: *mut Schema,
    release: Option<unsafe extern "C" fn(*mut Schema)>,
    private: *mut c_void,
}

#[repr(C)]
struct Array {
    length: i64,
    null_count: i64,
    offset: i64,
    n_buffers: i64,
    n_children: i64,
    buffers: *mut *const c_void,
    children: *mut *mut Array,
    dictionary: *mut Array,
    release: Option<unsafe extern "C" fn(*mut Array)>,
    private: *mut c_void,
}

#[repr(C)]
struct Stream {
    get_schema: Option<unsafe extern "C" fn(*mut Stream, *mut Schema) -> c_int>,
    get_next: Option<unsafe extern "C" fn(*mut Stream, *mut Array) -> c_int>,
    get_last_error: Option<unsafe extern "C" fn(*mut Stream) -> *const c_char>,
    release: Option<unsafe extern "C" fn(*mut Stream)>,
    private: *mut c_void,
}

/// What a schema owns.
struct SchemaParts {
    format: CString,
    name: CString,
    children: Vec<*mut Schema>,
}

/// The memory of a buffer.
enum Buffer {
    Bytes(Vec<u8>),
    Integers(Vec<i64>),
    Numbers(Vec<f64>),
}

impl Buffer {
    fn start(&self) -> *const c_void {
        match self {
            Self::Bytes(bytes) => bytes.as_ptr().cast(),
            Self::Integers(numbers) => numbers.as_ptr().cast(),
            Self::Numbers(numbers) => numbers.as_ptr().cast(),
        }
    }
}

/// What an array owns.
struct ArrayParts {
    /// The memory that `starts` points into.
    _buffers: Vec<Buffer>,
    starts: Vec<*const c_void>,
    children: Vec<*mut Array>,
}

/// The table that a stream has not handed over yet.
struct Source {
    columns: Columns,
    rows: usize,
    is_done: bool,
}

fn schema(format: &str, name: &str, children: Vec<Schema>) -> Schema {
    let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
    let (format, name) = (CString::new(format).unwrap_or_default(), CString::new(name).unwrap_or_default());
    let mut parts = Box::new(SchemaParts { format, name, children });
    Schema {
        format: parts.format.as_ptr(),
        name: parts.name.as_ptr(),
        metadata: ptr::null(),
        // Elements can be missing.
        flags: 2,
        n_children: count(parts.children.len()),
        children: parts.children.as_mut_ptr(),
        dictionary: ptr::null_mut(),
        release: Some(release_schema),
        private: Box::into_raw(parts).cast(),
    }
}

fn array(length: usize, present: Option<Vec<bool>>, buffers: Vec<Buffer>, children: Vec<Array>) -> Array {
    let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
    let missing = present.iter().flatten().filter(|&&is_there| !is_there).count();
    let mut owned = Vec::new();
    // The first buffer says which elements are there, if some are not.
    let mut starts = vec![ptr::null()];
    if let Some(present) = present.filter(|_| missing > 0) {
        let bits = Buffer::Bytes(bits(&present));
        starts = vec![bits.start()];
        owned.push(bits);
    }
    starts.extend(buffers.iter().map(Buffer::start));
    owned.extend(buffers);
    let mut parts = Box::new(ArrayParts { _buffers: owned, starts, children });
    Array {
        length: count(length),
        null_count: count(missing),
        offset: 0,
        n_buffers: count(parts.starts.len()),
        n_children: count(parts.children.len()),
        buffers: parts.starts.as_mut_ptr(),
        children: parts.children.as_mut_ptr(),
        dictionary: ptr::null_mut(),
        release: Some(release_array),
        private: Box::into_raw(parts).cast(),
    }
}

fn bits(flags: &[bool]) -> Vec<u8> {
    let byte = |flags: &[bool]| flags.iter().rev().fold(0, |byte, &flag| byte << 1 | u8::from(flag));
    flags.chunks(8).map(byte).collect()
}

fn are_there<T>(elements: &[Option<T>]) -> Option<Vec<bool>> {
    Some(elements.iter().map(Option::is_some).collect())
}

fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

fn schema_of(name: &str, column: &Column) -> Schema {
    match column {
        Column::Flags(_) => schema("b", name, Vec::new()),
        Column::Integers(_) => schema("l", name, Vec::new()),
        Column::Numbers(_) => schema("g", name, Vec::new()),
        Column::Texts(_) => schema("U", name, Vec::new()),
        Column::TextLists(_) => schema("+L", name, vec![schema("U", "item", Vec::new())]),
        Column::IntegerLists(_) => schema("+L", name, vec![schema("l", "item", Vec::new())]),
    }
}

fn array_of(column: &Column) -> Array {
    match column {
        Column::Flags(flags) => {
            let set: Vec<bool> = flags.iter().map(|flag| flag.unwrap_or_default()).collect();
            array(flags.len(), are_there(flags), vec![Buffer::Bytes(bits(&set))], Vec::new())
        }
        Column::Integers(numbers) => {
            let plain = numbers.iter().map(|number| number.unwrap_or_default()).collect();
            array(numbers.len(), are_there(numbers), vec![Buffer::Integers(plain)], Vec::new())
        }
        Column::Numbers(numbers) => {
            let plain = numbers.iter().map(|number| number.unwrap_or_default()).collect();
            array(numbers.len(), are_there(numbers), vec![Buffer::Numbers(plain)], Vec::new())
        }
        Column::Texts(texts) => {
            let plain = || texts.iter().map(|text| text.as_deref().unwrap_or_default());
            let bytes = plain().flat_map(str::bytes).collect();
            let buffers = vec![Buffer::Integers(offsets(plain().map(str::len))), Buffer::Bytes(bytes)];
            array(texts.len(), are_there(texts), buffers, Vec::new())
        }
        Column::TextLists(lists) => {
            let items = array_of(&Column::Texts(lists.iter().flatten().cloned().map(Some).collect()));
            list_of(lists.iter().map(Vec::len), items)
        }
        Column::IntegerLists(lists) => {
            let items = array_of(&Column::Integers(lists.iter().flatten().copied().map(Some).collect()));
            list_of(lists.iter().map(Vec::len), items)
        }
    }
}

fn list_of(lengths: impl ExactSizeIterator<Item = usize>, items: Array) -> Array {
    array(lengths.len(), None, vec![Buffer::Integers(offsets(lengths))], vec![items])
}

/// Where each of elements of these lengths begins, and where the last one ends.
fn offsets(lengths: impl Iterator<Item = usize>) -> Vec<i64> {
    let mut offsets = vec![0];
    let mut end = 0_i64;
    offsets.extend(lengths.map(|length| {
        end = end.saturating_add(count(length));
        end
    }));
    offsets
}

unsafe extern "C" fn release_schema(schema: *mut Schema) {
    // SAFETY: A consumer calls this once, with a schema of `schema`, or a copy of it whose original it forgot.
    unsafe {
        let parts = Box::from_raw((*schema).private.cast::<SchemaParts>());
        for &child in &parts.children {
            if let Some(release) = (*child).release {
                release(child);
            }
            drop(Box::from_raw(child));
        }
        (*schema).release = None;
    }
}

unsafe extern "C" fn release_array(array: *mut Array) {
    // SAFETY: As for schemas. A child that the consumer moved away has no `release`.
    unsafe {
        let parts = Box::from_raw((*array).private.cast::<ArrayParts>());
        for &child in &parts.children {
            if let Some(release) = (*child).release {
                release(child);
            }
            drop(Box::from_raw(child));
        }
        (*array).release = None;
    }
}

unsafe extern "C" fn get_schema(stream: *mut Stream, out: *mut Schema) -> c_int {
    // SAFETY: `private` is a source while the stream is not released, and `out` is memory for a schema.
    unsafe {
        let source = &*(*stream).private.cast::<Source>();
        let children = source.columns.iter().map(|(name, column)| schema_of(name, column)).collect();
        out.write(schema("+s", "", children));
    }
    0
}

unsafe extern "C" fn get_next(stream: *mut Stream, out: *mut Array) -> c_int {
    // SAFETY: As for `get_schema`. The consumer calls one function at a time.
    unsafe {
        let source = &mut *(*stream).private.cast::<Source>();
        if source.is_done {
            (*out).release = None;
            return 0;
        }
        source.is_done = true;
        let children = source.columns.iter().map(|(_, column)| array_of(column)).collect();
        out.write(array(source.rows, None, Vec::new(), children));
    }
    0
}

unsafe extern "C" fn get_last_error(_: *mut Stream) -> *const c_char {
    ptr::null()
}

unsafe extern "C" fn release_stream(stream: *mut Stream) {
    // SAFETY: Called once, with a stream that `stream_of` made.
    unsafe {
        drop(Box::from_raw((*stream).private.cast::<Source>()));
        (*stream).release = None;
    }
}

unsafe extern "C" fn destroy(capsule: *mut python::PyObject) {
    // SAFETY: Python calls this once, with a capsule of `stream_of`. A consumer that moved the stream away has set `release` to null.
    unsafe {
        let stream = python::PyCapsule_GetPointer(capsule, c"arrow_array_stream".as_ptr()).cast::<Stream>();
        if stream.is_null() {
            python::PyErr_Clear();
            return;
        }
        if let Some(release) = (*stream).release {
            release(stream);
        }
        drop(Box::from_raw(stream));
    }
}

/// A capsule with a stream of one batch.
pub(crate) fn stream_of(py: Python<'_>, columns: Columns, rows: usize) -> PyResult<Bound<'_, PyAny>> {
    let stream = Stream {
        get_schema: Some(get_schema),
        get_next: Some(get_next),
        get_last_error: Some(get_last_error),
        release: Some(release_stream),
        private: Box::into_raw(Box::new(Source { columns, rows, is_done: false })).cast(),
    };
    let stream = Box::into_raw(Box::new(stream));
    // SAFETY: The capsule owns the stream, which `destroy` frees. The name lives for ever.
    unsafe {
        let capsule = python::PyCapsule_New(stream.cast(), c"arrow_array_stream".as_ptr(), Some(destroy));
        if capsule.is_null() {
            release_stream(stream);
            drop(Box::from_raw(stream));
            return Err(Fault::argument("no capsule can be made").into());
        }
        Ok(Bound::from_owned_ptr(py, capsule))
    }
}
