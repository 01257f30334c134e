//! What real programs did: traces recorded from PyTorch on one GPU.

use std::path::{Path, PathBuf};

use heapwright_core::{Alignment, ByteSize};
use heapwright_trace::{EventKind, Trace, TraceError};

use super::rounded_up;
use super::script::{Operation, Script};
use crate::rival::Terms;

/// The five traces by name; two of them are in the repository.
pub const NAMES: [&str; 5] =
    ["bert_finetune", "gpt2_generate", "resnet50_train", "unet_diffusion", "vision_serving"];

/// What buffers are aligned to on the GPUs that the traces are compared on.
const ALIGNMENT: Alignment = Alignment::new(256).unwrap();

/// Four times the highest peak, and a power of two: no rival may run out, as heaps that grow would not.
const CAPACITY: ByteSize = ByteSize::from_gib(32);

/// The traces that were found and the names of those that were not.
#[derive(Debug)]
pub struct Traces {
    /// One script for each trace found.
    pub scripts: Vec<Script>,
    /// Those in none of the folders.
    pub left_out: Vec<&'static str>,
}

impl Traces {
    /// Looks for each trace in each of the folders.
    ///
    /// # Errors
    ///
    /// A file that is there and cannot be read.
    pub fn read(folders: &[PathBuf]) -> Result<Self, TraceError> {
        let mut traces = Self { scripts: Vec::new(), left_out: Vec::new() };
        for name in NAMES {
            let paths = folders.iter().map(|folder| folder.join(format!("{name}.csv.gz")));
            match paths.into_iter().find(|path| path.exists()) {
                Some(path) => traces.scripts.push(script(&path)?),
                None => traces.left_out.push(name),
            }
        }
        Ok(traces)
    }
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
        repeats: 1,
    })
}
