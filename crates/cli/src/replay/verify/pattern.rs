//! The pattern that `--verify` writes to a sample of the buffers and compares.
//!
//! A pattern covers the first, middle and last bytes of a buffer. Each byte depends on the buffer's id and on its
//! offset, so zeros and bytes of another buffer or offset are detected.

use std::ops::Range;

use heapwright::ByteSize;

/// Reciprocal of the fraction of buffers in the sample.
pub(super) const SAMPLING: u64 = 8;

/// Number of bytes at each of the three places.
const WINDOW: u64 = 32;

/// Returns whether the buffer with this id is in the sample. The decision uses a hash of the id, so the sample is the
/// same in every run and independent of patterns in the order of ids.
pub(super) fn is_sampled(id: u64) -> bool {
    mix(id).is_multiple_of(SAMPLING)
}

/// Writes the pattern to a buffer of `size` bytes with the given function.
pub(super) fn write(
    id: u64,
    size: ByteSize,
    mut write: impl FnMut(u64, &[u8]) -> Result<(), String>,
) -> Result<(), String> {
    windows(size.get()).try_for_each(|window| write(window.start, &expected(id, window)))
}

/// Compares a buffer of `size` bytes with the pattern. Returns the first difference.
pub(super) fn check(
    id: u64,
    size: ByteSize,
    mut read: impl FnMut(u64, &mut [u8]) -> Result<(), String>,
) -> Result<Option<String>, String> {
    for window in windows(size.get()) {
        let expected = expected(id, window.clone());
        // Every byte is wrong initially, in case `read` does not write to it.
        let mut found: Vec<u8> = expected.iter().map(|byte| !byte).collect();
        read(window.start, &mut found)?;
        let mut bytes = window.zip(expected.into_iter().zip(found));
        if let Some((offset, (expected, found))) = bytes.find(|(_, (expected, found))| expected != found) {
            return Ok(Some(format!("byte {offset} is {found:#04x} instead of {expected:#04x}")));
        }
    }
    Ok(None)
}

/// Returns the ranges of offsets that hold the pattern: the whole of a small buffer, or three ranges of a large one.
fn windows(size: u64) -> impl Iterator<Item = Range<u64>> {
    let windows = if size <= 3 * WINDOW {
        [0..size, 0..0, 0..0]
    } else {
        let middle = size / 2 - WINDOW / 2;
        [0..WINDOW, middle..middle + WINDOW, size - WINDOW..size]
    };
    windows.into_iter().filter(|window| !window.is_empty())
}

/// Returns the pattern at these offsets.
fn expected(id: u64, offsets: Range<u64>) -> Vec<u8> {
    let key = mix(id);
    offsets.map(|offset| mix(key ^ offset).to_le_bytes()[0]).collect()
}

/// Hashes a number with one step of SplitMix64 (Steele, Lea and Flood, 2014).
fn mix(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns memory with the pattern of `id`.
    fn written(id: u64, size: u64) -> Vec<u8> {
        let mut memory = vec![0; usize::try_from(size).unwrap()];
        let result = write(id, ByteSize::new(size), |offset, bytes| {
            place(&mut memory, offset, bytes.len()).copy_from_slice(bytes);
            Ok(())
        });
        result.unwrap();
        memory
    }

    fn checked(id: u64, memory: &mut [u8]) -> Option<String> {
        let size = ByteSize::new(memory.len() as u64);
        let result = check(id, size, |offset, bytes| {
            bytes.copy_from_slice(place(memory, offset, bytes.len()));
            Ok(())
        });
        result.unwrap()
    }

    fn place(memory: &mut [u8], offset: u64, len: usize) -> &mut [u8] {
        let start = usize::try_from(offset).unwrap();
        &mut memory[start..start + len]
    }

    #[test]
    fn a_written_pattern_passes() {
        for size in [1, 2, 31, 96, 97, 98, 1000, 4096] {
            assert_eq!(checked(5, &mut written(5, size)), None, "{size}");
        }
    }

    #[test]
    fn a_change_of_any_byte_is_detected() {
        for size in [1, 96, 97, 500] {
            let bytes: Vec<u64> = windows(size).flatten().collect();
            assert!(
                bytes.contains(&0) && bytes.contains(&(size / 2)) && bytes.contains(&(size - 1)),
                "{size}"
            );
            for &offset in &bytes {
                let mut memory = written(9, size);
                let byte = &mut place(&mut memory, offset, 1)[0];
                let expected = *byte;
                *byte ^= 0x10;
                let found = *byte;
                let damage = format!("byte {offset} is {found:#04x} instead of {expected:#04x}");
                assert_eq!(checked(9, &mut memory), Some(damage));
            }
        }
    }

    #[test]
    fn bytes_of_another_buffer_or_offset_are_detected() {
        assert!(checked(1, &mut written(2, 500)).is_some());
        assert!(checked(0, &mut vec![0; 500]).is_some());
        // Moved by one page.
        let mut memory = written(1, 500 + 4096);
        assert!(checked(1, &mut memory[4096..]).is_some());
    }

    #[test]
    fn memory_that_cannot_be_read_is_an_error() {
        assert!(check(1, ByteSize::new(64), |_, _| Ok(())).unwrap().is_some());
        assert_eq!(check(1, ByteSize::new(64), |_, _| Err("gone".to_owned())), Err("gone".to_owned()));
    }

    #[test]
    fn the_sample_is_about_one_in_eight_and_always_the_same() {
        let sampled = (0..80_000).filter(|&id| is_sampled(id)).count();
        assert!((9_500..10_500).contains(&sampled), "{sampled}");
        let first: Vec<u64> = (0..40).filter(|&id| is_sampled(id)).collect();
        assert_eq!(first, [6, 29, 33, 38]);
        for turn in 0..8 {
            let sampled = (0..8_000).map(|round| round * 8 + turn).filter(|&id| is_sampled(id)).count();
            assert!((800..1_200).contains(&sampled), "{sampled} of those made {turn}th in a turn of eight");
        }
    }
}
