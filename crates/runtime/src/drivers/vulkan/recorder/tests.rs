//! Commands on a real device.
