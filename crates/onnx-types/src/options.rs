//! Builder methods of options structs.

/// Defines the builder methods of an options struct: `with_data => data: bool` sets the field `data`, and
/// `with_external => external: into Option<Files>` takes whatever converts to its type.
///
/// ```
/// #[derive(Default)]
/// #[non_exhaustive]
/// pub struct Options {
///     /// Whether to read weights.
///     pub data: bool,
///     /// The largest number of threads.
///     pub threads: Option<u32>,
/// }
///
/// onnx_types::option_setters! {
///     Options {
///         with_data => data: bool,
///         with_threads => threads: into Option<u32>,
///     }
/// }
///
/// let options = Options::default().with_data(true).with_threads(2);
/// assert!(options.data && options.threads == Some(2));
/// ```
#[macro_export]
macro_rules! option_setters {
    (@methods) => {};
    (@methods $with:ident => $field:ident : into $type:ty, $($rest:tt)*) => {
        #[doc = concat!("The same with this [`", stringify!($field), "`](Self::", stringify!($field), ").")]
        #[must_use]
        pub fn $with(mut self, $field: impl Into<$type>) -> Self {
            self.$field = $field.into();
            self
        }
        $crate::option_setters! { @methods $($rest)* }
    };
    (@methods $with:ident => $field:ident : $type:ty, $($rest:tt)*) => {
        #[doc = concat!("The same with this [`", stringify!($field), "`](Self::", stringify!($field), ").")]
        #[must_use]
        pub fn $with(mut self, $field: $type) -> Self {
            self.$field = $field;
            self
        }
        $crate::option_setters! { @methods $($rest)* }
    };
    ($name:ident $(<$lifetime:lifetime>)? { $($method:tt)* }) => {
        impl $(<$lifetime>)? $name $(<$lifetime>)? {
            $crate::option_setters! { @methods $($method)* }
        }
    };
}
