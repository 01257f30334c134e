//! Memory without contents that is kept for a moment, as its allocation takes as long as the copy into it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// Memory that is kept: its size and type, within which any serves as well as another.
pub(super) trait Kept: Send + 'static {
    /// The number of bytes.
    fn size(&self) -> u64;
}

/// Pieces of memory of one type. One that is given back serves the next request for its size, or is freed after a while.
pub(super) struct KeptMemory<T> {
    /// Bytes that are kept at most.
    most: u64,
    /// How long a piece is kept.
    time: Duration,
    state: Mutex<State<T>>,
    /// Held while pieces are freed, and taken before `state`: who needs the memory waits for that.
    freeing: Mutex<()>,
    this: Weak<Self>,
}

struct State<T> {
    /// The pieces of each size, with the time from which on they have been kept, ascending.
    pieces: BTreeMap<u64, VecDeque<(Instant, T)>>,
    bytes: u64,
    /// Whether a thread frees what is not used.
    is_swept: bool,
}

impl<T: Kept> KeptMemory<T> {
    pub(super) fn new(most: u64, time: Duration) -> Arc<Self> {
        let state = State { pieces: BTreeMap::new(), bytes: 0, is_swept: false };
        Arc::new_cyclic(|this| Self {
            most,
            time,
            state: Mutex::new(state),
            freeing: Mutex::new(()),
            this: Weak::clone(this),
        })
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn freeing(&self) -> MutexGuard<'_, ()> {
        self.freeing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the piece of a size that was given back last, so that those that are not needed grow old.
    pub(super) fn take(&self, size: u64) -> Option<T> {
        let mut state = self.state();
        let (_, piece) = state.pieces.get_mut(&size)?.pop_back()?;
        state.bytes -= size;
        Some(piece)
    }

    /// Keeps a piece, or frees it if too much is kept.
    pub(super) fn give_back(&self, piece: T) {
        let mut state = self.state();
        if state.bytes + piece.size() > self.most {
            drop(state);
            let _freeing = self.freeing();
            return drop(piece);
        }
        state.bytes += piece.size();
        state.pieces.entry(piece.size()).or_default().push_back((Instant::now(), piece));
        if !state.is_swept {
            state.is_swept = self.start_sweep();
            let has_thread = state.is_swept;
            drop(state);
            if !has_thread {
                self.free();
            }
        }
    }

    /// Frees all that is kept, and waits until the pieces that other threads are freeing are free.
    pub(super) fn free(&self) {
        let _freeing = self.freeing();
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
                let _freeing = memory.freeing();
                let mut state = memory.state();
                let before = Instant::now().checked_sub(time);
                let freed = before.map(|before| state.take_older(before));
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

impl<T: Kept> State<T> {
    /// Takes the pieces that have been kept since `before` or longer.
    fn take_older(&mut self, before: Instant) -> Vec<T> {
        let mut taken = Vec::new();
        for pieces in self.pieces.values_mut() {
            let old = pieces.partition_point(|(since, _)| *since <= before);
            taken.extend(pieces.drain(..old).map(|(_, piece)| piece));
        }
        self.bytes -= taken.iter().map(T::size).sum::<u64>();
        taken
    }
}

#[cfg(test)]
mod tests;
