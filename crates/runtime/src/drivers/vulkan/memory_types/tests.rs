//! Memory types of devices as they are sold.
