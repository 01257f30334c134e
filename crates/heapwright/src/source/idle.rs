//! The clock by which empty heaps are released while the application tells of no frames.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use heapwright_core::placement::{HeapTally, lane_of_thread};

use super::owner::Owner;

/// The time after which idle memory is looked for. A heap that is kept for two whole periods leaves within a second.
pub(super) const PERIOD: Duration = Duration::from_millis(PERIOD_MS);
const PERIOD_MS: u64 = 400;

/// The largest number of periods that matters: that of the longest pause.
pub(super) const MOST_PERIODS: u64 = 150;

/// Frames that are farther apart than this are too few to be counted instead of time.
const LONG_FRAME_MS: u64 = 100;

/// The time between two releases of some of the heaps that were empty for too long, so that those of a peak do not
/// leave at once.
const PART_OF_PERIOD: Duration = Duration::from_millis(25);

/// Idle memory of all kinds is looked for with every so many creations of a thread.
const CALLS_PER_LOOK: u32 = 32;

/// The number of counters of calls, which further threads share.
const COUNTERS: usize = 16;

const NOT_TOLD: u64 = u64::MAX;

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(NOT_TOLD - 1)
}

/// Counts periods.
pub(crate) struct IdleClock {
    start: Instant,
    /// When the last period ended or the last frame passed, in milliseconds.
    last: AtomicU64,
    /// The time that the application told, in milliseconds, or `NOT_TOLD`.
    told: AtomicU64,
    /// The calls of each thread.
    calls: [Counter; COUNTERS],
}

/// A counter on its own cache lines. Processors fetch lines of 64 bytes in pairs.
#[derive(Default)]
#[repr(align(128))]
struct Counter(AtomicU32);

impl IdleClock {
    /// Starts a clock, which has the time that was told to the clock of a parent.
    pub(crate) fn start(parent: Option<&Self>) -> Self {
        let told = parent.map_or(NOT_TOLD, |parent| parent.told.load(Ordering::Relaxed));
        Self {
            start: Instant::now(),
            last: AtomicU64::new(if told == NOT_TOLD { 0 } else { told }),
            told: AtomicU64::new(told),
            calls: Default::default(),
        }
    }

    fn now(&self) -> u64 {
        match self.told.load(Ordering::Relaxed) {
            NOT_TOLD => milliseconds(self.start.elapsed()),
            told => told,
        }
    }

    /// Sets the time, which the clock no longer does. A time before an earlier one is ignored. Returns whether it is
    /// told so often that not all that is due has to be done now.
    pub(crate) fn tell(&self, time: Duration) -> bool {
        let now = milliseconds(time);
        let later = |told| (told == NOT_TOLD || told < now).then_some(now);
        let (Ok(told) | Err(told)) = self.told.fetch_update(Ordering::Relaxed, Ordering::Relaxed, later);
        if told == NOT_TOLD {
            self.last.store(now, Ordering::Relaxed);
        }
        now.saturating_sub(told) <= LONG_FRAME_MS
    }

    /// Returns the number of periods that passed, up to those that are enough to release everything. Each is returned
    /// to one caller only.
    pub(crate) fn take_periods(&self) -> u64 {
        let (now, last) = (self.now(), self.last.load(Ordering::Relaxed));
        let periods = now.saturating_sub(last) / PERIOD_MS;
        let is_first = periods > 0
            && self
                .last
                .compare_exchange(last, last + periods * PERIOD_MS, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        if is_first { periods.min(MOST_PERIODS) } else { 0 }
    }

    /// Returns whether the application tells the time.
    pub(crate) fn is_told(&self) -> bool {
        self.told.load(Ordering::Relaxed) != NOT_TOLD
    }

    /// Begins a new period.
    pub(crate) fn restart(&self) {
        self.last.store(self.now(), Ordering::Relaxed);
    }

    /// Begins a new period if frames pass often: they are counted instead.
    pub(crate) fn pass_frame(&self) {
        let now = self.now();
        if now.saturating_sub(self.last.load(Ordering::Relaxed)) <= LONG_FRAME_MS {
            self.last.store(now, Ordering::Relaxed);
        }
    }

    /// Returns whether this creation is one that looks for idle memory of all kinds.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        let Counter(calls) = self.calls_of_thread();
        // Two threads may share a counter, and then lose a call.
        let count = calls.load(Ordering::Relaxed).wrapping_add(1);
        calls.store(count, Ordering::Relaxed);
        count.is_multiple_of(CALLS_PER_LOOK)
    }

    fn calls_of_thread(&self) -> &Counter {
        &self.calls[lane_of_thread() as usize % COUNTERS]
    }

    /// Returns the number of creations so far that this thread has counted.
    pub(crate) fn creations(&self) -> u32 {
        self.calls_of_thread().0.load(Ordering::Relaxed)
    }
}

/// The number of periods after which nothing is left to release if no heap becomes empty: heaps that contain only
/// unused slabs or buffers leave after up to twice the longest time.
const LAST_PERIOD: u64 = 2 * MOST_PERIODS + 2;

/// A thread that releases idle memory once in a period. It is started when a heap first becomes empty, sleeps while
/// nothing can be idle, and ends with its allocator, so that a DLL can be unloaded.
#[derive(Default)]
pub(crate) struct IdleThread {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Whether the thread is awake, or is about to be.
    is_awake: AtomicBool,
    state: Mutex<State>,
    changed: Condvar,
    /// Locked by the thread for as long as it has a handle of the allocator.
    has_handle: Mutex<()>,
    /// The number of [`IdleThreadUser`]s.
    users: AtomicUsize,
}

#[derive(Default)]
struct State {
    has_ended: bool,
    thread: Option<JoinHandle<()>>,
}

impl IdleThread {
    /// Has the thread call [`release_idle`](Owner::release_idle) of the allocator for as long as that may release
    /// something. Returns whether it slept.
    #[inline]
    pub(crate) fn wake(&self, owner: &Weak<dyn Owner>, tally: &Arc<HeapTally>) -> bool {
        let is_awake = &self.shared.is_awake;
        if is_awake.load(Ordering::Relaxed) || is_awake.swap(true, Ordering::SeqCst) {
            return false;
        }
        self.wake_sleeping(owner, tally);
        true
    }

    #[cold]
    fn wake_sleeping(&self, owner: &Weak<dyn Owner>, tally: &Arc<HeapTally>) {
        // Under the lock, so that the thread does not miss it between looking and waiting.
        let mut state = self.shared.lock();
        if state.thread.is_none() && !state.has_ended {
            let (shared, owner) = (Arc::clone(&self.shared), Weak::clone(owner));
            let tally = Arc::clone(tally);
            let thread = std::thread::Builder::new().name("heapwright idle".to_owned());
            match thread.spawn(move || shared.run(&owner, &tally)) {
                Ok(thread) => state.thread = Some(thread),
                Err(error) => {
                    tracing::warn!(%error, "failed to spawn the thread that releases empty heaps by time");
                }
            }
        }
        self.shared.changed.notify_all();
    }

    /// Ends the thread, and waits for its end. If this is the thread, the last user waits.
    pub(crate) fn end(&self) {
        self.shared.lock().has_ended = true;
        self.shared.changed.notify_all();
        self.shared.join_if_ended();
    }

    /// Creates a user.
    pub(crate) fn user(&self) -> IdleThreadUser {
        self.shared.users.fetch_add(1, Ordering::Relaxed);
        IdleThreadUser(Arc::clone(&self.shared))
    }
}

/// Belongs to a handle of the allocator, and is dropped after it. The thread may have the last handle for a moment: the
/// last user then waits for it, so that the allocator and its thread are gone when its handles are.
pub(crate) struct IdleThreadUser(Arc<Shared>);

impl Clone for IdleThreadUser {
    fn clone(&self) -> Self {
        self.0.users.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(&self.0))
    }
}

impl Drop for IdleThreadUser {
    fn drop(&mut self) {
        if self.0.users.fetch_sub(1, Ordering::AcqRel) == 1 && !self.0.is_this_thread() {
            drop(self.0.has_handle.lock().unwrap_or_else(PoisonError::into_inner));
            self.0.join_if_ended();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether it is the thread that calls this.
    fn is_this_thread(&self) -> bool {
        self.lock().thread.as_ref().is_some_and(|thread| thread.thread().id() == std::thread::current().id())
    }

    /// Waits for the end of the thread if it is to end, unless this is the thread.
    fn join_if_ended(&self) {
        let mut state = self.lock();
        let is_other = |thread: &mut JoinHandle<()>| thread.thread().id() != std::thread::current().id();
        let thread = if state.has_ended { state.thread.take_if(is_other) } else { None };
        drop(state);
        if let Some(thread) = thread {
            let _panicked = thread.join();
        }
    }

    /// Waits for some time in which the thread is awake. Returns `false` at the end of the thread.
    fn wait(&self, time: Duration) -> bool {
        let sleeps = |state: &mut State| !state.has_ended && !self.is_awake.load(Ordering::SeqCst);
        let state = self.changed.wait_while(self.lock(), sleeps).unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(state, time, |state| !state.has_ended);
        !waited.unwrap_or_else(PoisonError::into_inner).0.has_ended
    }

    fn run(&self, owner: &Weak<dyn Owner>, tally: &HeapTally) {
        let mut quiet_periods = 0;
        let mut time = PERIOD;
        while self.wait(time) {
            // This may become the last handle of the allocator, and is dropped before the lock is released.
            let _has_handle = self.has_handle.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(owner) = owner.upgrade() else { return };
            quiet_periods = if tally.take_became_empty() { 0 } else { quiet_periods + 1 };
            time = if owner.release_idle() { PART_OF_PERIOD } else { PERIOD };
            if quiet_periods > LAST_PERIOD {
                quiet_periods = 0;
                self.is_awake.store(false, Ordering::SeqCst);
                // A heap that became empty before this did not wake the thread.
                self.is_awake.fetch_or(tally.became_empty(), Ordering::SeqCst);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::error::{HeldBytes, HoldsMemory};
    use crate::{ByteSize, HeapType};

    #[test]
    fn the_first_time_that_is_told_and_frequent_frames_are_no_pause() {
        let ms = Duration::from_millis;
        let clock = IdleClock::start(None);
        clock.tell(ms(7_000));
        assert_eq!(clock.take_periods(), 0);
        assert_eq!(IdleClock::start(Some(&clock)).take_periods(), 0, "nor for one that is nested");
        clock.tell(ms(7_100));
        clock.pass_frame();
        clock.tell(ms(7_450));
        assert_eq!(clock.take_periods(), 0);
        clock.pass_frame();
        clock.tell(ms(7_500));
        assert_eq!((clock.take_periods(), clock.take_periods()), (1, 0), "the last frame came late");
    }

    /// An allocator whose release takes until it is told to go on, and a moment longer.
    struct Slow {
        enters: mpsc::Sender<()>,
        leaves: Mutex<mpsc::Receiver<()>>,
    }

    impl HoldsMemory for Slow {
        fn held_in(&self, _: HeapType) -> HeldBytes {
            HeldBytes { reserved: ByteSize::ZERO, used: ByteSize::ZERO, video_memory: None }
        }
    }

    impl Owner for Slow {
        fn release_unused_buffers(&self, _: &dyn Fn(u64) -> bool, _: bool) -> bool {
            false
        }

        fn pass_frame_of_parent(&self) {}

        fn tell_time_of_parent(&self, _: Duration) {}

        fn release_idle(&self) -> bool {
            let _no_receiver = self.enters.send(());
            let _no_sender = self.leaves.lock().unwrap().recv();
            std::thread::sleep(Duration::from_millis(20));
            false
        }
    }

    /// Without the wait, the allocator is gone some time after its last handle.
    #[test]
    fn the_last_user_waits_for_the_thread_that_has_the_last_handle() {
        let (enters, entered) = mpsc::channel();
        let (leave, leaves) = mpsc::channel();
        let owner: Arc<dyn Owner> = Arc::new(Slow { enters, leaves: Mutex::new(leaves) });
        let of_thread = Arc::downgrade(&owner);
        let thread = IdleThread::default();
        let users = [thread.user(), thread.user()];
        thread.wake(&of_thread, &Arc::default());
        entered.recv().unwrap();
        leave.send(()).unwrap();
        drop(owner);
        let [first, last] = users;
        drop(first);
        drop(last);
        assert_eq!(of_thread.strong_count(), 0);
        thread.end();
    }
}
