//! Violations of the session format.

use super::{MAX_BLOCK_LEN, VERSION};

/// A violation of the [session format](crate::session#format).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SessionFault {
    /// The file ends within the header.
    #[error("the session ends within its header")]
    HeaderTruncated,
    /// The first bytes are not those of a session.
    #[error("the first 8 bytes are not those of a session; the file is corrupted")]
    WrongMagic,
    /// The header does not match its checksum.
    #[error("the session's header does not match its checksum; the file is corrupted")]
    HeaderChecksum,
    /// The session has another version.
    #[error("session version {found} is not supported; expected {VERSION}")]
    Version {
        /// Version of the session.
        found: u16,
    },
    /// The reserved field of the header is not 0.
    #[error("the reserved field of the session's header is {found}, but must be 0")]
    Reserved {
        /// Value of the field.
        found: u16,
    },
    /// A block has an impossible length or number of records.
    #[error("a block of {len} bytes with {count} records is impossible; the limit is {MAX_BLOCK_LEN} bytes")]
    BlockHeader {
        /// Length of the records, in bytes.
        len: u32,
        /// Number of records.
        count: u32,
    },
    /// A block does not match its checksum.
    #[error("the block does not match its checksum; the file is corrupted")]
    BlockChecksum,
    /// A block ends within a record, or after more than its records.
    #[error("the records do not fill the block exactly")]
    BlockLength,
    /// A byte that stands for an action, resource kind or heap type has an unknown value.
    #[error("unknown {what} {value}")]
    UnknownValue {
        /// Meaning of the byte.
        what: &'static str,
        /// Value of the byte.
        value: u8,
    },
    /// An integer exceeds its size.
    #[error("an integer does not fit in {bits} bits")]
    IntegerTooLarge {
        /// Size of the integer.
        bits: u32,
    },
    /// A name, contents or a list is too long.
    #[error("{what} has length {len}, which exceeds the limit of {limit}")]
    TooLong {
        /// The list or string.
        what: &'static str,
        /// Its length.
        len: u64,
        /// Maximum length.
        limit: usize,
    },
    /// A name is not valid UTF-8.
    #[error("a name is not valid UTF-8")]
    NameNotUtf8,
    /// A record refers to an object that does not exist at that time.
    #[error("there is no {what} {id}")]
    NoSuchObject {
        /// The kind of object.
        what: &'static str,
        /// Its id.
        id: u64,
    },
    /// An object is created although one with its id exists.
    #[error("{what} {id} is created a second time")]
    CreatedTwice {
        /// The kind of object.
        what: &'static str,
        /// Its id.
        id: u64,
    },
    /// Contents go beyond the end of their allocation.
    #[error("contents of allocation {allocation} end at {end}, beyond its size of {size}")]
    ContentsBeyondEnd {
        /// Id of the allocation.
        allocation: u64,
        /// End of the contents.
        end: u64,
        /// Size of the allocation.
        size: u64,
    },
    /// There are too many objects at the same time.
    #[error("there are more than {limit} {what}")]
    TooManyObjects {
        /// The kind of object.
        what: &'static str,
        /// Maximum number.
        limit: u32,
    },
    /// There are bytes after the end.
    #[error("there are bytes after the end of the session")]
    TrailingBytes,
}
