//! Header of a session and headers of blocks.

#[cfg(feature = "read")]
use crate::error::Fault;

/// Version of the format.
pub const VERSION: u16 = 1;

/// Maximum length of the records in a block, in bytes.
pub const MAX_BLOCK_LEN: usize = 1 << 20;

/// First bytes of a session.
pub(crate) const MAGIC: [u8; 8] = *b"\x89HWS\r\n\x1a\n";

pub(super) const HEADER_LEN: usize = 16;

/// Returns the header of a session.
pub(super) fn header() -> [u8; HEADER_LEN] {
    let mut header = [0; HEADER_LEN];
    header[..8].copy_from_slice(&MAGIC);
    header[8..10].copy_from_slice(&VERSION.to_le_bytes());
    let checksum = crc32fast::hash(&header[..12]);
    header[12..].copy_from_slice(&checksum.to_le_bytes());
    header
}

/// Checks the header of a session.
#[cfg(feature = "read")]
pub(super) fn check_header(header: &[u8]) -> Result<(), Fault> {
    let Ok(header) = <&[u8; HEADER_LEN]>::try_from(header) else {
        return Err("the session ends within its header".into());
    };
    if header[..8] != MAGIC {
        return Err("the first 8 bytes are not those of a session; the file is corrupted".into());
    }
    if crc32fast::hash(&header[..12]).to_le_bytes() != header[12..] {
        return Err("the session's header does not match its checksum; the file is corrupted".into());
    }
    match (u16::from_le_bytes([header[8], header[9]]), u16::from_le_bytes([header[10], header[11]])) {
        (VERSION, 0) => Ok(()),
        (VERSION, found) => {
            Err(format!("the reserved field of the session's header is {found}, but must be 0").into())
        }
        (found, _) => Err(format!("session version {found} is not supported; expected {VERSION}").into()),
    }
}

pub(super) const BLOCK_HEADER_LEN: usize = 12;

/// Returns the bytes of the header of a block with these records.
pub(super) fn header_of(records: &[u8], count: u32) -> [u8; BLOCK_HEADER_LEN] {
    let len = u32::try_from(records.len()).expect("a block has at most MAX_BLOCK_LEN bytes");
    let mut header = [0; BLOCK_HEADER_LEN];
    header[..4].copy_from_slice(&len.to_le_bytes());
    header[4..8].copy_from_slice(&count.to_le_bytes());
    let checksum = checksum(&header[..8], records);
    header[8..].copy_from_slice(&checksum.to_le_bytes());
    header
}

/// Header of a block.
#[cfg(feature = "read")]
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockHeader {
    /// Length of the records in bytes, 0 for the end of the session.
    pub(super) len: usize,
    /// Number of records.
    pub(super) count: u32,
    checksum: u32,
}

#[cfg(feature = "read")]
impl BlockHeader {
    pub(super) fn parse(bytes: [u8; BLOCK_HEADER_LEN]) -> Result<Self, Fault> {
        let [len, count, checksum] =
            [0, 4, 8].map(|at| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]));
        // Before the length is used, because the bytes have not been checked.
        let is_possible = if len == 0 { count == 0 } else { (1..=len).contains(&count) };
        match usize::try_from(len) {
            Ok(len) if is_possible && len <= MAX_BLOCK_LEN => Ok(Self { len, count, checksum }),
            _ => Err(format!(
                "a block of {len} bytes with {count} records is impossible; the limit is {MAX_BLOCK_LEN} bytes"
            )
            .into()),
        }
    }

    /// Checks the checksum of the header and the records.
    pub(super) fn check(self, header: &[u8; BLOCK_HEADER_LEN], records: &[u8]) -> Result<(), Fault> {
        if checksum(&header[..8], records) == self.checksum {
            Ok(())
        } else {
            Err("the block does not match its checksum; the file is corrupted".into())
        }
    }
}

fn checksum(header: &[u8], records: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(header);
    hasher.update(records);
    hasher.finalize()
}
