//! Figures measured on real GPUs, with which the model's are compared.
//!
//! [`MEASURED`] are whole replays by VMA and gpu-allocator through Vulkan, on the five recorded traces, with their defaults: on
//! an NVIDIA H100 (2026-11-22), whose driver preferred dedicated memory for no buffer, and on an NVIDIA H200 (2026-11-23), whose
//! driver prefers it for large ones (`bench-gpu`). [`calls_on_gpu`] are the calls of all allocators alone, made on an NVIDIA H200 by
//! `heap-times calls`.

/// The measured figures of an allocator on a trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Name of the trace.
    pub trace: &'static str,
    /// Name of the allocator, as in the comparison.
    pub allocator: &'static str,
    /// The GPU.
    pub gpu: &'static str,
    /// Mean time of an operation in microseconds, including the allocator's own.
    pub microseconds: f64,
    /// Mean held over mean live.
    pub mean: f64,
    /// Peak held over peak live.
    pub peak: f64,
}

/// The largest factor by which a modelled time may differ from the measured one.
pub const HONEST: f64 = 1.5;

const fn measured(
    allocator: &'static str,
    gpu: &'static str,
    trace: &'static str,
    microseconds: f64,
    mean: f64,
    peak: f64,
) -> Measured {
    Measured { trace, allocator, gpu, microseconds, mean, peak }
}

/// All measured figures.
pub const MEASURED: [Measured; 15] = [
    measured("VMA", "H200", "bert_finetune", 20.91, 1.25, 1.033),
    measured("VMA", "H200", "gpt2_generate", 0.34, 2.23, 1.278),
    measured("VMA", "H200", "resnet50_train", 21.93, 1.41, 1.117),
    measured("VMA", "H200", "unet_diffusion", 0.48, 2.80, 1.584),
    measured("VMA", "H200", "vision_serving", 2.91, 1.78, 1.342),
    measured(WITHOUT, "H100", "bert_finetune", 83.0, 1.44, 1.033),
    measured(WITHOUT, "H100", "gpt2_generate", 0.59, 1.94, 1.144),
    measured(WITHOUT, "H100", "resnet50_train", 37.5, 1.57, 1.049),
    measured(WITHOUT, "H100", "unet_diffusion", 0.49, 2.80, 1.584),
    measured(WITHOUT, "H100", "vision_serving", 13.5, 1.78, 1.410),
    measured("gpu-allocator", "H100", "bert_finetune", 70.0, 1.44, 1.090),
    measured("gpu-allocator", "H100", "gpt2_generate", 1.07, 1.19, 1.401),
    measured("gpu-allocator", "H100", "resnet50_train", 82.9, 1.40, 1.059),
    measured("gpu-allocator", "H100", "unet_diffusion", 0.79, 7.48, 4.224),
    measured("gpu-allocator", "H100", "vision_serving", 22.8, 1.82, 1.472),
];

/// VMA on a driver without a preference for dedicated memory.
pub const WITHOUT: &str = "VMA without preference";

/// Returns an allocator's own time for an operation, in microseconds: the middle of what was measured for the recorded
/// traces (100 to 390 ns for VMA, 200 to 870 ns for gpu-allocator).
#[must_use]
pub fn own_microseconds(allocator: &str) -> f64 {
    match allocator {
        "VMA" | WITHOUT => 0.245,
        "gpu-allocator" => 0.535,
        _ => 0.0,
    }
}

/// Returns the time of an operation that the calls of an allocator take on an NVIDIA H200, in microseconds.
///
/// Returns `None` if it was not measured.
#[must_use]
pub fn calls_on_gpu(trace: &str, allocator: &str) -> Option<f64> {
    let file = include_str!("../../heap-times/calls.csv");
    let line = file.lines().find_map(|line| line.strip_prefix(&format!("{trace},{allocator},")))?;
    line.parse().ok()
}
