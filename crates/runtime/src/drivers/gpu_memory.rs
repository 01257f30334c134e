//! Memory accesses of a GPU, by GPU virtual address.

use super::page_fault::PageFault;

/// A GPU's access to memory. All accesses go through the driver's page table, which checks that memory is mapped and
/// resident.
///
/// Accesses take effect in order. A driver may defer copies and writes until the [queue](super::queue) asks it to
/// finish them.
pub(crate) trait GpuMemory {
    /// Copies `size` bytes. Within contiguous memory, overlapping ranges are copied as if through a temporary buffer.
    fn copy(&mut self, target: u64, source: u64, size: u64) -> Result<(), PageFault>;

    /// Copies bytes from this process to GPU memory.
    fn write(&mut self, target: u64, bytes: &[u8]) -> Result<(), PageFault>;

    /// Copies bytes from GPU memory to this process, after all accesses before.
    fn read(&mut self, source: u64, bytes: &mut [u8]) -> Result<(), PageFault>;

    /// Fills `size` bytes, a multiple of the pattern's length, with the pattern. An empty pattern fills nothing.
    fn fill(&mut self, target: u64, size: u64, pattern: &[u8]) -> Result<(), PageFault>;

    /// Finishes all accesses before. Their effects are then visible to the CPU and to other queues.
    fn finish(&mut self) -> Result<(), PageFault> {
        Ok(())
    }

    /// Overwrites `size` bytes with pseudorandom data from a seed. Bytes that the GPU cannot access stay unchanged.
    fn scramble(&mut self, target: u64, size: u64, seed: u64) {
        const PAGE: usize = 4096;
        let mut state = seed;
        // Whole words, since unoptimized builds spend most of their time here.
        let mut words = [[0; 8]; PAGE / 8];
        let mut done = 0;
        while done < size {
            for word in &mut words {
                // SplitMix64, by Steele, Lea and Flood.
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                *word = (mixed ^ (mixed >> 31)).to_le_bytes();
            }
            let step = usize::try_from(size - done).unwrap_or(PAGE).min(PAGE);
            // The application has not caused a fault here.
            let _ = self.write(target + done, &words.as_flattened()[..step]);
            done += step as u64;
        }
    }
}
