//! Violations of the capture format.

use crate::text::Snippet;

/// Reason why a file is not a valid [capture](crate::gpgmm).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureFault {
    /// The JSON is invalid. The string is the parser's message.
    #[error("invalid JSON: {0}")]
    Json(String),
    /// The JSON has another structure around the events.
    #[error("invalid JSON: expected {expected}, found {found}")]
    Unexpected {
        /// Expected syntax.
        expected: &'static str,
        /// Text at the position.
        found: Snippet,
    },
    /// The file ends within the JSON.
    #[error("unexpected end of the JSON; the file may be truncated")]
    Truncated,
    /// An event, or the name of a member, is too long.
    #[error("{what} exceeds the limit of {limit} bytes")]
    TooLong {
        /// The event or name.
        what: &'static str,
        /// Maximum length in bytes.
        limit: usize,
    },
    /// The JSON object has no array of events.
    #[error("the JSON object has no array traceEvents; it is not a capture of GPGMM")]
    NoEvents,
    /// No event is one of GPGMM's.
    #[error("no event is GPGMM's; the capture needs its recording flags for API objects and API calls")]
    NotGpgmm,
    /// An event of an object has no id.
    #[error("event {name} has no id")]
    NoId {
        /// Name of the event.
        name: Snippet,
    },
    /// An object is created although it exists.
    #[error("{name} {id:#x} is created although it exists")]
    CreatedTwice {
        /// Name of the event.
        name: Snippet,
        /// Id in the file.
        id: u64,
    },
    /// An allocation is deleted that does not exist.
    #[error("{name} {id:#x} is deleted although it does not exist")]
    DeletedTwice {
        /// Name of the event.
        name: Snippet,
        /// Id in the file.
        id: u64,
    },
    /// The size of a resource is unknown.
    #[error("resourceDescriptor: {0}")]
    ResourceSize(&'static str),
    /// More objects exist at the same time than a trace can have allocations.
    #[error("more than {limit} objects exist at the same time")]
    TooManyObjects {
        /// Maximum number of objects.
        limit: u32,
    },
}
