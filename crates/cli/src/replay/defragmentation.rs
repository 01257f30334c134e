//! The defragmentations of a replay.

use std::collections::HashMap;

use heapwright::defragmentation::{Defragmentation, DefragmentationDesc, Move};
use heapwright::{
    ByteSize, Error, InitialState, MemoryAllocation, Pool, ResourceAllocation, ResourceAllocator,
};

/// The runs that have not ended, and the moves that are neither completed nor abandoned.
#[derive(Default)]
pub(super) struct Runs {
    runs: HashMap<u32, Run>,
    moves: HashMap<(u32, u64), Move>,
}

struct Run {
    defragmentation: Defragmentation,
    /// Number of moves that it has planned.
    planned: u64,
}

impl Runs {
    pub(super) fn begin(
        &mut self,
        run: u32,
        allocator: &ResourceAllocator,
        pool: Option<&Pool>,
    ) -> Result<(), Error> {
        let defragmentation = allocator.defragment(DefragmentationDesc { pool })?;
        self.runs.insert(run, Run { defragmentation, planned: 0 });
        Ok(())
    }

    /// Plans moves, and returns their number.
    pub(super) fn step(&mut self, number: u32, moves: u32, bytes: u64, time_checks: Option<u64>) -> usize {
        let Some(run) = self.runs.get_mut(&number) else { return 0 };
        let step = run.defragmentation.replay_step(moves, ByteSize::new(bytes), time_checks);
        let planned = step.moves.len();
        for planned in step.moves {
            self.moves.insert((number, run.planned), planned);
            run.planned += 1;
        }
        planned
    }

    /// Moves an allocation to the place that was planned, without its contents.
    pub(super) fn complete(
        &mut self,
        run: u32,
        number: u64,
        allocation: &mut ResourceAllocation,
        initial_state: InitialState,
    ) -> Result<(), String> {
        let mut planned = self.planned(run, number)?;
        let created = planned.create_resource(allocation, initial_state, None, &[]).map(drop);
        created.and_then(|()| planned.complete(allocation)).map_err(|error| error.to_string())
    }

    /// Moves memory without a resource.
    pub(super) fn complete_memory(
        &mut self,
        run: u32,
        number: u64,
        memory: &mut MemoryAllocation,
    ) -> Result<(), String> {
        self.planned(run, number)?.complete_memory(memory).map_err(|error| error.to_string())
    }

    fn planned(&mut self, run: u32, number: u64) -> Result<Move, String> {
        self.moves.remove(&(run, number)).ok_or_else(|| "no such move was planned".to_owned())
    }

    pub(super) fn abandon(&mut self, run: u32, number: u64) {
        self.moves.remove(&(run, number));
    }

    pub(super) fn end(&mut self, run: u32) {
        self.runs.remove(&run);
    }
}
