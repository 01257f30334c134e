//! Objects at given GPU virtual addresses (Microsoft's *Recreate at GPUVA*), through the COM interfaces.

mod objects;
mod tools;
mod two_processes;
