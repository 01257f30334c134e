//! Dumps of all ranges of a block, as text and as JSON.

use std::fmt::{self, Debug, Display, Formatter, Write};

use super::VirtualBlock;
use crate::suballoc::RangeUse;

/// Formats every range of a [`VirtualBlock`] as text, for people. Created by [`VirtualBlock::dump`].
///
/// The text has three lines of totals, the column names, then one line per range in address order: the offset
/// in hexadecimal, the size in bytes, the use (`used`, `free`, or `padding`), and for a used range the
/// `Debug` format of its value, with line breaks and other control characters escaped. The columns are as
/// wide as the capacity requires.
///
/// ```
/// use heapwright_core::suballoc::{Algorithm, SuballocError, VirtualBlock};
/// use heapwright_core::{Alignment, ByteSize};
///
/// let mut block = VirtualBlock::new(Algorithm::Tlsf, ByteSize::from_kib(4))?;
/// let first = block.allocate(ByteSize::new(100), Alignment::ONE, "indices")?;
/// block.allocate(ByteSize::new(640), Alignment::new(256).unwrap(), "constants")?;
/// block.free(first.id)?;
/// assert_eq!(
///     block.dump().to_string(),
///     r#"tlsf: 640 B of 4.00 KiB used in 1 allocation, 3.38 KiB free, 0 B padding
/// largest free range 3.13 KiB; fragmentation: internal 0.0 %, external 7.4 %
/// free ranges: 256 B: 1, 2 KiB: 1
/// offset  size  use      user data
///    0x0   256  free
///  0x100   640  used     "constants"
///  0x380  3200  free
/// "#
/// );
/// # Ok::<(), SuballocError>(())
/// ```
pub struct Dump<'a, T>(&'a VirtualBlock<T>);

impl<'a, T> Dump<'a, T> {
    pub(super) const fn new(block: &'a VirtualBlock<T>) -> Self {
        Self(block)
    }
}

impl<T: Debug> Display for Dump<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let block = self.0;
        let all = block.detailed_statistics();
        writeln!(f, "{}: {}", block.algorithm(), all.summary())?;
        writeln!(
            f,
            "largest free range {}; fragmentation: internal {:.1} %, external {:.1} %",
            all.free.largest,
            100.0 * all.internal_fragmentation(),
            100.0 * all.external_fragmentation(),
        )?;
        let none = if all.free.count == 0 { "none" } else { "" };
        writeln!(f, "free ranges: {}{none}", all.free_sizes)?;

        let capacity = block.capacity().get();
        let offset_width = format!("{capacity:#x}").len().max("offset".len());
        let size_width = capacity.to_string().len().max("size".len());
        writeln!(f, "{:>offset_width$}  {:>size_width$}  use      user data", "offset", "size")?;
        for range_use in block.suballocator().ranges() {
            let range = range_use.range();
            let (offset, size, name) = (range.start().get(), range.size().get(), name(range_use));
            write!(f, "{offset:>#offset_width$x}  {size:>size_width$}  {name}")?;
            if let Some(value) = value(block, range_use) {
                write!(f, "{:indent$}", "", indent = "padding".len() - name.len() + 2)?;
                write!(Escaping { to: f, escape: escape_control }, "{value:?}")?;
            }
            f.write_char('\n')?;
        }
        Ok(())
    }
}

/// Formats every range of a [`VirtualBlock`] as JSON lines, for tools. Created by
/// [`VirtualBlock::dump_json`].
///
/// Each line is one JSON object. The first has the totals:
///
/// | key | value |
/// |---|---|
/// | `algorithm` | [`Algorithm`](super::Algorithm) as it is formatted by `Display` |
/// | `capacity`, `used`, `free`, `padding` | bytes |
/// | `allocation_count`, `free_range_count` | counts |
/// | `largest_free_range` | bytes, exact |
/// | `internal_fragmentation`, `external_fragmentation` | 0 to 1, with six digits; the [formulas](crate::suballoc::statistics) |
///
/// Each following line is one range, in address order:
///
/// | key | value |
/// |---|---|
/// | `offset`, `size` | bytes |
/// | `use` | `used`, `free` or `padding` |
/// | `user_data` | the `Debug` format of the value, as a string; only if `use` is `used` |
///
/// Numbers are exact and have up to 64 bits, more than the 53 that some readers keep. Keys may be added later.
///
/// ```
/// use heapwright_core::suballoc::{Algorithm, SuballocError, VirtualBlock};
/// use heapwright_core::{Alignment, ByteSize};
///
/// let mut block = VirtualBlock::new(Algorithm::Tlsf, ByteSize::new(1000))?;
/// block.allocate(ByteSize::new(600), Alignment::ONE, Some("a \"quoted\" name"))?;
/// let lines: Vec<String> = block.dump_json().to_string().lines().map(str::to_owned).collect();
/// assert!(lines[0].starts_with(r#"{"algorithm":"tlsf","capacity":1000,"used":600,"#));
/// assert_eq!(
///     lines[1],
///     r#"{"offset":0,"size":600,"use":"used","user_data":"Some(\"a \\\"quoted\\\" name\")"}"#
/// );
/// assert_eq!(lines[2], r#"{"offset":600,"size":400,"use":"free"}"#);
/// # Ok::<(), SuballocError>(())
/// ```
pub struct DumpJson<'a, T>(&'a VirtualBlock<T>);

impl<'a, T> DumpJson<'a, T> {
    pub(super) const fn new(block: &'a VirtualBlock<T>) -> Self {
        Self(block)
    }
}

impl<T: Debug> Display for DumpJson<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let block = self.0;
        let all = block.detailed_statistics();
        write!(f, r#"{{"algorithm":"{}","capacity":{}"#, block.algorithm(), all.capacity.get())?;
        write!(f, r#","used":{},"free":{}"#, all.used.total.get(), all.free.total.get())?;
        write!(f, r#","padding":{},"allocation_count":{}"#, all.padding.total.get(), all.used.count)?;
        write!(f, r#","free_range_count":{}"#, all.free.count)?;
        write!(f, r#","largest_free_range":{}"#, all.free.largest.get())?;
        write!(f, r#","internal_fragmentation":{:.6}"#, all.internal_fragmentation())?;
        writeln!(f, r#","external_fragmentation":{:.6}}}"#, all.external_fragmentation())?;
        for range_use in block.suballocator().ranges() {
            let range = range_use.range();
            let (offset, size, name) = (range.start().get(), range.size().get(), name(range_use));
            write!(f, r#"{{"offset":{offset},"size":{size},"use":"{name}""#)?;
            if let Some(value) = value(block, range_use) {
                f.write_str(r#","user_data":""#)?;
                write!(Escaping { to: f, escape: escape_json }, "{value:?}")?;
                f.write_char('"')?;
            }
            f.write_str("}\n")?;
        }
        Ok(())
    }
}

impl<T> Debug for Dump<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Dump").field(self.0).finish()
    }
}

impl<T> Debug for DumpJson<'_, T> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DumpJson").field(self.0).finish()
    }
}

const fn name(range_use: RangeUse) -> &'static str {
    match range_use {
        RangeUse::Used(_) => "used",
        RangeUse::Free(_) => "free",
        RangeUse::Padding(_) => "padding",
    }
}

fn value<T>(block: &VirtualBlock<T>, range_use: RangeUse) -> Option<&T> {
    match range_use {
        RangeUse::Used(suballocation) => block.user_data_of(suballocation),
        RangeUse::Free(_) | RangeUse::Padding(_) => None,
    }
}

/// A writer that replaces some characters.
struct Escaping<'a, 'f> {
    to: &'a mut Formatter<'f>,
    /// Writes a character, or its replacement.
    escape: fn(&mut Formatter<'f>, char) -> fmt::Result,
}

impl Write for Escaping<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        text.chars().try_for_each(|character| (self.escape)(self.to, character))
    }
}

/// Escapes control characters, for a line of text.
fn escape_control(f: &mut Formatter<'_>, character: char) -> fmt::Result {
    if character.is_control() { write!(f, "{}", character.escape_default()) } else { f.write_char(character) }
}

/// Escapes a character for a JSON string (RFC 8259, section 7).
fn escape_json(f: &mut Formatter<'_>, character: char) -> fmt::Result {
    match character {
        '"' | '\\' => write!(f, "\\{character}"),
        '\0'..='\x1f' => write!(f, "\\u{:04x}", u32::from(character)),
        _ => f.write_char(character),
    }
}
