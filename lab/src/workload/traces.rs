//! Traces of real programs, recorded from PyTorch on one GPU.

use std::path::{Path, PathBuf};

use heapwright_core::{Alignment, ByteSize};
use heapwright_trace::{EventKind, Trace, TraceError};

use super::rounded_up;
use super::script::{Operation, Script};
use crate::rival::Terms;

/// Names of the five traces, two of which are in the repository.
pub const NAMES: [&str; 5] =
    ["bert_finetune", "gpt2_generate", "resnet50_train", "unet_diffusion", "vision_serving"];

/// Alignment of buffers on the GPUs for which the traces are compared.
const ALIGNMENT: Alignment = Alignment::new(256).unwrap();

/// Four times the highest peak, and a power of two: no rival may run out of memory, since heaps that grow would not.
const CAPACITY: ByteSize = ByteSize::from_gib(32);

/// The traces that were found, and the names of the others.
#[derive(Debug)]
pub struct Traces {
    /// The scripts, one for each trace found.
    pub scripts: Vec<Script>,
    /// Names of the traces found in none of the folders.
    pub left_out: Vec<&'static str>,
}

impl Traces {
    /// Searches the folders for each trace.
    ///
    /// # Errors
    ///
    /// A file exists, but cannot be read.
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
    })
}
