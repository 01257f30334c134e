//! Drivers, which implement the [`ddi`](crate::ddi).
//!
//! * [`host`]: a simulated GPU whose memory is the host's.

pub(crate) mod host;
