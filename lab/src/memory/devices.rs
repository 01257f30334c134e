//! The same workloads on devices with other prices.

use heapwright_trace::Trace;

use super::allocators::{Failed, MemoryAllocator, replay_in};
use super::comparison::geometric_mean;
use super::d3d12ma::D3d12Ma;
use super::meter::Figures;
use super::ours::{Configuration, Default, FewestHitches, Heapwright, LeastMemory, SegmentedPool};
use super::peers::{GpuAllocator, Vma};
use super::prices::{DEVICES, Prices};

/// Means over a group of traces.
#[derive(Clone, Copy, Debug)]
pub struct Means {
    /// Microseconds of an operation.
    pub time: f64,
    /// Operations above 0.25 ms.
    pub hitches: u64,
    /// Mean held over mean live.
    pub mean: f64,
    /// Peak held over peak live.
    pub peak: f64,
}

/// The outcome on a device.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The name of the device.
    pub device: &'static str,
    /// Ours with its defaults first, then with other policies, then those whose decisions do not depend on prices.
    pub rows: Vec<(&'static str, Means)>,
}

fn means(figures: &[Figures]) -> Means {
    let mean = |of: fn(&Figures) -> f64| geometric_mean(figures.iter().map(of));
    Means {
        time: mean(Figures::microseconds),
        hitches: figures.iter().map(|figures| figures.hitches).sum(),
        mean: mean(|figures| figures.mean),
        peak: mean(|figures| figures.peak),
    }
}

/// Replays all traces through new allocators, and returns the means for each of the prices.
fn replay_all<A: MemoryAllocator>(
    traces: &[Trace],
    prices: &[Prices],
    new: impl Fn() -> Result<A, Failed>,
) -> Result<Vec<Means>, Failed> {
    let mut of_prices = vec![Vec::new(); prices.len()];
    for trace in traces {
        for (all, figures) in of_prices.iter_mut().zip(replay_in(new()?, trace, prices)?) {
            all.push(figures);
        }
    }
    Ok(of_prices.iter().map(|figures| means(figures)).collect())
}

/// Replays all traces through heapwright, whose decisions depend on prices.
fn replay_one<C: Configuration>(traces: &[Trace], prices: &Prices) -> Result<Means, Failed> {
    Ok(replay_all(traces, &[*prices], || Heapwright::<C>::new(prices))?[0])
}

/// Replays traces on all devices.
///
/// # Errors
///
/// Returns the first error of an allocator.
pub fn compare_devices(traces: &[Trace]) -> Result<Vec<Outcome>, Failed> {
    let prices = DEVICES.map(|(_, prices)| prices);
    let of_d3d12 = prices.map(Prices::without_dedicated);
    let unlearning = [
        ("VMA", replay_all(traces, &prices, || Vma::<0>::new(&prices[0]))?),
        ("VMA, blocks of 32 MiB", replay_all(traces, &prices, || Vma::<32>::new(&prices[0]))?),
        ("gpu-allocator", replay_all(traces, &prices, || GpuAllocator::new(&prices[0]))?),
        ("D3D12MA", replay_all(traces, &of_d3d12, || D3d12Ma::<64>::new(&prices[0]))?),
        ("D3D12MA, blocks of 16 MiB", replay_all(traces, &of_d3d12, || D3d12Ma::<16>::new(&prices[0]))?),
        (
            "D3D12MA, blocks of 16 MiB, committed as dedicated",
            replay_all(traces, &prices, || D3d12Ma::<16>::new(&prices[0]))?,
        ),
    ];
    let on_device = |(place, (device, prices)): (usize, (&'static str, Prices))| {
        let ours = replay_one::<Default>(traces, &prices)?;
        let of = |name, of: fn(&[Trace], &Prices) -> Result<Means, Failed>| Ok((name, of(traces, &prices)?));
        let mut rows = vec![
            ("heapwright", ours),
            of("heapwright, LeastMemory", replay_one::<LeastMemory>)?,
            of("heapwright, FewestHitches", replay_one::<FewestHitches>)?,
            of("heapwright, SegmentedPool", replay_one::<SegmentedPool>)?,
        ];
        rows.extend(unlearning.iter().map(|(name, means)| (*name, means[place])));
        Ok(Outcome { device, rows })
    };
    DEVICES.into_iter().enumerate().map(on_device).collect()
}
