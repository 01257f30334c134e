//! Traces of real programs, recorded from PyTorch on one GPU.

use std::path::Path;

use heapwright_core::{Alignment, ByteSize};
use heapwright_trace::{EventKind, Trace, TraceError};

use super::rounded_up;
use super::script::{Operation, Script};
use crate::rival::Terms;

/// Names of the five recorded traces.
pub const NAMES: [&str; 5] =
    ["bert_finetune", "gpt2_generate", "resnet50_train", "unet_diffusion", "vision_serving"];

/// Alignment of buffers on the GPUs for which the traces are compared.
const ALIGNMENT: Alignment = Alignment::new(256).unwrap();

/// Four times the highest peak, and a power of two: no rival may run out of memory, since heaps that grow would not.
const CAPACITY: ByteSize = ByteSize::from_gib(32);

/// Reads the traces from a folder, as a script each.
///
/// # Errors
///
/// Returns an error if a trace is missing or cannot be read.
pub fn scripts(folder: &Path) -> Result<Vec<Script>, TraceError> {
    NAMES.iter().map(|name| script(&folder.join(format!("{name}.csv.gz")))).collect()
}

fn script(path: &Path) -> Result<Script, TraceError> {
    let trace = Trace::read(path)?;
    let (mut live, mut most_live) = (0_u32, 0);
    let operations = trace.events().iter().map(|event| {
        let slot = event.allocation.get();
        match event.kind {
            EventKind::Alloc => {
                live += 1;
                most_live = most_live.max(live);
                Operation::Allocate { slot, size: rounded_up(event.size, ALIGNMENT) }
            }
            EventKind::Free => {
                live -= 1;
                Operation::Free { slot }
            }
        }
    });
    let operations = operations.collect();
    Ok(Script {
        name: trace.name().to_owned(),
        terms: Terms { capacity: CAPACITY, alignment: ALIGNMENT, most_live },
        slots: trace.allocation_count(),
        warm_up: Vec::new(),
        passes: vec![operations],
    })
}
