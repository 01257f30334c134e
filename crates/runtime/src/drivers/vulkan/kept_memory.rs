//! Memory without contents that is kept for a moment, as its allocation takes longer than the copy into it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Memory that is kept. Any serves as well as another of its size.
pub(super) trait Kept: Send + 'static {
    /// The number of bytes.
    fn size(&self) -> u64;
}

/// Pieces of memory. One that is given back serves the next request for its size, or is freed after a while.
pub(super) struct KeptMemory<T> {
    /// Bytes that are kept at most.
    most: u64,
    /// How long a piece is kept.
    time: Duration,
    state: Mutex<State<T>>,
    this: Weak<Self>,
}

struct State<T> {
    /// The pieces, with the time from which on they have been kept, ascending.
    pieces: Vec<(Instant, T)>,
    bytes: u64,
    /// Whether a thread frees what is not used.
    is_swept: bool,
}

impl<T: Kept> KeptMemory<T> {
    pub(super) fn new(most: u64, time: Duration) -> Arc<Self> {
        let state = Mutex::new(State { pieces: Vec::new(), bytes: 0, is_swept: false });
        Arc::new_cyclic(|this| Self { most, time, state, this: Weak::clone(this) })
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the piece of a size that was given back last, so that those that are not needed grow old. O(n) for n
    /// pieces.
    pub(super) fn take(&self, size: u64) -> Option<T> {
        let mut state = self.state();
        let index = state.pieces.iter().rposition(|(_, piece)| piece.size() == size)?;
        state.bytes -= size;
        Some(state.pieces.remove(index).1)
    }

    /// Keeps a piece, or frees it if too much is kept.
    pub(super) fn give_back(&self, piece: T) {
        let mut state = self.state();
        if state.bytes + piece.size() > self.most {
            drop(state);
            return drop(piece);
        }
        state.bytes += piece.size();
        state.pieces.push((Instant::now(), piece));
        if !state.is_swept {
            state.is_swept = self.start_sweep();
            let has_thread = state.is_swept;
            drop(state);
            if !has_thread {
                self.free();
            }
        }
    }

    /// Frees all that is kept.
    pub(super) fn free(&self) {
        let pieces = {
            let mut state = self.state();
            state.bytes = 0;
            std::mem::take(&mut state.pieces)
        };
        drop(pieces);
    }

    /// The number of bytes that are kept.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> u64 {
        self.state().bytes
    }

    /// Starts a thread that frees what is not used, and ends when nothing is kept. Returns false if there is no thread.
    fn start_sweep(&self) -> bool {
        let (memory, time) = (Weak::clone(&self.this), self.time);
        let sweep = move || {
            let mut is_swept = true;
            while is_swept {
                std::thread::sleep(time);
                let Some(memory) = memory.upgrade() else { return };
                let mut state = memory.state();
                let old = state.pieces.partition_point(|(since, _)| since.elapsed() >= time);
                let freed: Vec<(Instant, T)> = state.pieces.drain(..old).collect();
                state.bytes -= freed.iter().map(|(_, piece)| piece.size()).sum::<u64>();
                is_swept = state.bytes > 0;
                state.is_swept = is_swept;
                drop(state);
                drop(freed);
            }
        };
        let started = std::thread::Builder::new().name("heapwright memory".to_owned()).spawn(sweep);
        if let Err(error) = &started {
            tracing::warn!(%error, "failed to spawn a thread; memory is not kept");
        }
        started.is_ok()
    }
}

#[cfg(test)]
mod tests;
