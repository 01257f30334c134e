//! Pointers to zero-terminated strings.
//!
//! On Windows these are the types of `windows-core`, which lacks them on other systems.

#[cfg(windows)]
pub use windows_core::{PCSTR, PCWSTR};

#[cfg(not(windows))]
mod portable {
    use windows_core::{CopyType, TypeKind};

    macro_rules! pointer_to_string {
        ($(#[$doc:meta])* $name:ident, $unit:ty) => {
            $(#[$doc])*
            #[repr(transparent)]
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub struct $name(pub *const $unit);

            impl $name {
                /// Returns a null pointer.
                #[must_use]
                pub const fn null() -> Self {
                    Self(std::ptr::null())
                }

                /// Returns whether the pointer is null.
                #[must_use]
                pub const fn is_null(&self) -> bool {
                    self.0.is_null()
                }
            }

            impl Default for $name {
                fn default() -> Self {
                    Self::null()
                }
            }

            impl TypeKind for $name {
                type TypeKind = CopyType;
            }
        };
    }

    pointer_to_string! {
        /// A pointer to a zero-terminated string of 8-bit characters.
        PCSTR, u8
    }
    pointer_to_string! {
        /// A pointer to a zero-terminated string of UTF-16 units.
        PCWSTR, u16
    }
}

#[cfg(not(windows))]
pub use portable::{PCSTR, PCWSTR};
