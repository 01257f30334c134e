//! Errors that `--verify` finds.

use std::fmt;

use heapwright::{Alignment, ByteSize, GpuVirtualAddress};
use heapwright_trace::Position;

use super::pattern::Damage;

/// An error of the buffer with the given id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Fault {
    #[error("id {id} has {} bytes, but {} were requested", .granted.get(), .requested.get())]
    TooSmall { id: u64, requested: ByteSize, granted: ByteSize },
    #[error("id {id} has no GPU address")]
    NoAddress { id: u64 },
    #[error("id {id} is at GPU address {address}, which is not a multiple of {}", .alignment.get())]
    Misaligned { id: u64, address: GpuVirtualAddress, alignment: Alignment },
    #[error(
        "id {id} ({} bytes at {address}) overlaps id {other_id} of {other_position} ({} bytes at {other_address})",
        .size.get(), .other_size.get()
    )]
    Overlap {
        id: u64,
        address: GpuVirtualAddress,
        size: ByteSize,
        other_id: u64,
        other_position: Position,
        other_address: GpuVirtualAddress,
        other_size: ByteSize,
    },
    #[error("id {id} cannot be written through Map: {reason}")]
    Unwritable { id: u64, reason: String },
    #[error("id {id} cannot be read through Map {seen}: {reason}")]
    Unreadable { id: u64, reason: String, seen: Seen },
    #[error("the content of id {id} changed: {damage}, detected {seen}")]
    Damaged { id: u64, damage: Damage, seen: Seen },
}

/// Time at which an error was detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    BeforeFree { position: Position },
    AtEnd,
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BeforeFree { position } => write!(f, "before its free on {position}"),
            Self::AtEnd => f.write_str("at the end of the trace"),
        }
    }
}
