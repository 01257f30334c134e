//! Packs instances and prints heights, bounds, barriers and times: the figures of the aliasing planner.
//!
//! ```sh
//! cargo run --release -p heapwright-aliasing --example packing -- --capacity 1048576 data/minimalloc/*.csv
//! cargo run --release -p heapwright-aliasing --example packing -- --seconds 3 --generate 62000
//! ```
//!
//! Files are CSV with the columns lower, upper, size and, optionally, alignment. `--out FOLDER` writes the offsets of
//! each, `--steps N` limits the steps (0: only the first packing), `--threads N` searches on several threads, and
//! `--moves N` reduces the number of aliasing pairs. `--generate N` makes the buffers of a training step of a neural
//! network, see [`training_step`], and `--random N` buffers of random sizes and lifetimes, see [`random_buffers`].

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::num::NonZero;
use std::time::{Duration, Instant};

use heapwright_aliasing::{
    Buffer, Instance, Interval, SolveOptions, aliasing_pairs, check, reduce_aliasing_pairs, solve,
};
use heapwright_core::{Alignment, ByteSize};

type Input = (Vec<Buffer>, Vec<Vec<Interval>>);

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (mut seconds, mut steps, mut moves, mut capacity) = (1.0, u64::MAX, 0, None);
    let (mut folder, mut threads) = (None, NonZero::<usize>::MIN);
    let mut total = (0.0, 0.0, 0);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        let (name, input) = match arg.as_str() {
            "--seconds" => {
                seconds = value()?.parse()?;
                continue;
            }
            "--steps" => {
                steps = value()?.parse()?;
                continue;
            }
            "--moves" => {
                moves = value()?.parse()?;
                continue;
            }
            "--capacity" => {
                capacity = Some(ByteSize::new(value()?.parse()?));
                continue;
            }
            "--threads" => {
                threads = value()?.parse()?;
                continue;
            }
            "--out" => {
                folder = Some(value()?);
                continue;
            }
            "--random" => {
                let count = value()?.parse()?;
                (format!("{count} random"), random_buffers(count))
            }
            "--generate" => {
                let count = value()?.parse()?;
                (format!("training step of {count}"), training_step(count))
            }
            path => (path.rsplit('/').next().unwrap_or(path).to_owned(), read(path)?),
        };
        let start = Instant::now();
        let instance = Instance::with_intervals(input.0, input.1)?;
        let options = SolveOptions { capacity, steps, threads, ..SolveOptions::default() };
        let mut stop = || start.elapsed() > Duration::from_secs_f64(seconds);
        let mut packing = solve(&instance, &options, &mut stop);
        let took = start.elapsed().as_secs_f64();
        assert_eq!(check(&instance, &packing.offsets)?, packing.height);
        let before = aliasing_pairs(&instance, &packing);
        let moving = Instant::now();
        let pairs = reduce_aliasing_pairs(&instance, &mut packing, moves, &mut || false);
        let moving = moving.elapsed().as_secs_f64();
        assert_eq!(check(&instance, &packing.offsets)?, packing.height);
        if let Some(folder) = &folder {
            let mut text = "offset\n".to_owned();
            packing.offsets.iter().for_each(|offset| text.push_str(&format!("{}\n", offset.get())));
            std::fs::write(format!("{folder}/{name}.offsets"), text)?;
        }
        let (height, load) = (packing.height.get(), instance.load().size.get());
        let gap = 100.0 * (as_float(height) / as_float(load) - 1.0);
        total = (total.0 + took, total.1 + gap, total.2 + 1);
        println!(
            "{name:28} {:6} buffers, load {load:12}, bound {:12}, height {height:12}, gap {gap:6.3} %, {}, {:8} steps, \
             {:9.3} ms; {before:3} pairs, {pairs:3} after {:.3} ms",
            instance.buffers().len(),
            packing.lower_bound.get(),
            if packing.proved { "proved" } else { "open  " },
            packing.steps,
            took * 1e3,
            moving * 1e3,
        );
    }
    println!("total {:.3} s, mean gap {:.3} %", total.0, total.1 / f64::from(total.2.max(1)));
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
fn as_float(number: u64) -> f64 {
    number as f64
}

fn read(path: &str) -> Result<Input, Box<dyn Error>> {
    let text = std::fs::read_to_string(path)?;
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().ok_or("the file is empty")?.split(',').collect();
    let column = |name: &str| header.iter().position(|&title| title == name);
    let required = |name: &str| column(name).ok_or(format!("{path}: no column {name}"));
    let (lower, upper, size) = (required("lower")?, required("upper")?, required("size")?);
    let alignment = column("alignment");
    let mut input = Input::default();
    for line in lines {
        let fields: Vec<&str> = line.split(',').collect();
        let mut buffer = Buffer::new(ByteSize::new(fields[size].parse()?));
        if let Some(alignment) = alignment {
            buffer.alignment =
                Alignment::new(fields[alignment].parse()?).ok_or("alignment is no power of two")?;
        }
        input.0.push(buffer);
        input.1.push(vec![Interval { lower: fields[lower].parse()?, upper: fields[upper].parse()? }]);
    }
    Ok(input)
}

/// Returns a function that returns random numbers below its argument, always the same ones.
fn random_numbers() -> impl FnMut(u64) -> u64 {
    let mut state = 0x5EED_u64;
    move |bound| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    }
}

/// Makes `count` buffers of 512 bytes to 1 MiB, in steps of 512 bytes, that live for up to a hundredth of the time.
fn random_buffers(count: usize) -> Input {
    let mut random = random_numbers();
    let mut input = Input::default();
    let time = count as u64;
    for _ in 0..count {
        input.0.push(Buffer::new(ByteSize::new(512 * (1 + random(2048)))));
        let lower = random(time);
        let upper = lower + 1 + random((time / 100).max(1));
        input.1.push(vec![Interval { lower: signed(lower), upper: signed(upper) }]);
    }
    input
}

fn signed(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

/// Makes `count` buffers of a training step: layers run forward and then backward.
///
/// An eighth of the buffers are weights and their gradients, an eighth activations that live from their layer's forward
/// pass to its backward pass, and the rest temporaries that live for 1 to 6 operations. Sizes are 512 bytes to 64 MiB
/// in steps of 512 bytes, a network's few dozen shapes: each layer has one of 12 shapes of activations, and temporaries
/// have a half, a quarter, or all of it. The numbers come from a fixed seed.
fn training_step(count: usize) -> Input {
    let mut random = random_numbers();
    let shapes: Vec<u64> = (0..12).map(|_| (random(255) + 1) << (9 + random(10))).collect();
    let operations = i64::try_from(count).unwrap_or(i64::MAX);
    let layers = i64::try_from(count / 16).unwrap_or(1).max(1);
    let per_layer = operations / layers / 2;
    let end = 2 * layers * per_layer + 8;
    let mut input = Input::default();
    for number in 0..count {
        let layer = i64::try_from(number / 16).unwrap_or(0).min(layers - 1);
        let shape = shapes[usize::try_from(layer * 5 % 12).unwrap_or(0)];
        let (forward, backward) = (layer * per_layer, (2 * layers - 1 - layer) * per_layer);
        let (size, lower, upper) = match number % 16 {
            0 => (shape / 4 + 512, 0, end),
            1 => (shape / 4 + 512, backward, end),
            2 | 3 => (shape, forward, backward + 1 + i64::try_from(random(4)).unwrap_or(0)),
            kind => {
                let base = if kind % 2 == 0 { forward } else { backward };
                let lower = base + i64::try_from(random(per_layer.unsigned_abs().max(1))).unwrap_or(0);
                (shape >> random(3), lower, lower + 1 + i64::try_from(random(6)).unwrap_or(0))
            }
        };
        input.0.push(Buffer::new(ByteSize::new(size.next_multiple_of(512))));
        input.1.push(vec![Interval { lower, upper }]);
    }
    input
}
