//! Closed lists: enums whose values have one name each, in storage and on the wire. A name never changes.

/// Defines such enums.
macro_rules! closed_lists {
    ($($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $value:ident $text:literal,)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub enum $name {
                $($(#[$of])* $value,)*
            }

            impl $name {
                /// All values.
                pub const ALL: &'static [Self] = &[$(Self::$value),*];

                /// The name in storage and on the wire.
                pub const fn as_str(self) -> &'static str {
                    match self {
                        $(Self::$value => $text,)*
                    }
                }
            }
        )*
    };
}
pub(crate) use closed_lists;
