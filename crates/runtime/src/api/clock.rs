//! The clock of the simulated GPU's timestamps: the system's own monotonic clock, so that the GPU's and the CPU's agree.

/// Ticks of one second.
pub(super) fn frequency() -> u64 {
    system::frequency()
}

/// Ticks as of now.
pub(super) fn now() -> u64 {
    system::now()
}

#[cfg(windows)]
mod system {
    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn QueryPerformanceCounter(count: *mut i64) -> i32;
        fn QueryPerformanceFrequency(frequency: *mut i64) -> i32;
    }

    pub(super) fn frequency() -> u64 {
        let mut frequency = 0;
        // SAFETY: the pointer is to a local; the call does not fail since Windows XP.
        unsafe { QueryPerformanceFrequency(&mut frequency) };
        u64::try_from(frequency).unwrap_or(0)
    }

    pub(super) fn now() -> u64 {
        let mut count = 0;
        // SAFETY: as above.
        unsafe { QueryPerformanceCounter(&mut count) };
        u64::try_from(count).unwrap_or(0)
    }
}

/// Nanoseconds of CLOCK_MONOTONIC.
#[cfg(not(windows))]
mod system {
    pub(super) fn frequency() -> u64 {
        1_000_000_000
    }

    pub(super) fn now() -> u64 {
        // SAFETY: timespec is plain data, and all zero is one.
        let mut time: libc::timespec = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is to a local, and the clock exists on every Unix.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        seconds.wrapping_mul(frequency()).wrapping_add(u64::try_from(time.tv_nsec).unwrap_or(0))
    }
}
