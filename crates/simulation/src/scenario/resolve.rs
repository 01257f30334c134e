//! Validates scenario files and converts them to [`Scenario`]s.

use std::collections::HashMap;
use std::ops::{Range, RangeInclusive};
use std::time::Duration;

use heapwright::{Alignment, ByteSize};
use toml::Spanned;

use super::format::{self, ScenarioFile};
use super::{
    Broken, Camera, GRANULARITY, Group, PagingCost, Pattern, Rota, RotaDraw, Scenario, SubmissionKind, Use,
};

const MAX_FRAMES: u32 = 100_000;
const MAX_HEAPS: u32 = 1_000_000;
const MAX_HEAP: ByteSize = ByteSize::from_gib(1024);
const MAX_BUDGET: ByteSize = ByteSize::from_gib(1 << 20);
const MAX_QUEUE: u32 = 15;
const MAX_REPEAT: u32 = 1000;
/// A quarter of an hour.
const MAX_MS: f64 = 900_000.0;

/// A place in the file.
type Span = Range<usize>;

fn broken(span: &Span, rule: impl Into<String>) -> Broken {
    Broken { span: Some(span.clone()), rule: rule.into() }
}

/// Checks that a number is in a range.
fn check<T: PartialOrd + std::fmt::Display>(
    span: &Span,
    what: &str,
    number: T,
    range: RangeInclusive<T>,
) -> Result<T, Broken> {
    if range.contains(&number) {
        return Ok(number);
    }
    let (least, most) = range.into_inner();
    Err(broken(span, format!("{what} must be between {least} and {most}, found {number}")))
}

fn milliseconds(span: &Span, what: &str, count: f64) -> Result<Duration, Broken> {
    Ok(Duration::from_secs_f64(check(span, what, count, 0.0..=MAX_MS)? / 1e3))
}

fn range_of(span: &Span, what: &str, [least, most]: [u32; 2], from: u32) -> Result<[u32; 2], Broken> {
    if from <= least && least <= most {
        return Ok([least, most]);
    }
    Err(broken(
        span,
        format!("{what} must be [least, most] with {from} <= least <= most, found [{least}, {most}]"),
    ))
}

/// Converts a file to a scenario, or returns the rule that it violates.
pub(super) fn resolve(path: &str, file: &ScenarioFile) -> Result<Scenario, Broken> {
    let span = file.name.span();
    let name = file.name.get_ref();
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)) {
        return Err(broken(
            &span,
            format!("name must consist of letters, digits, '-' and '_', found {name:?}"),
        ));
    }
    let frames = check(&file.frames.span(), "frames", *file.frames.get_ref(), 1..=MAX_FRAMES)?;
    let frames_in_flight = match &file.frames_in_flight {
        None => 2,
        Some(count) => check(&count.span(), "frames-in-flight", *count.get_ref(), 1..=16)?,
    };
    let cpu = match &file.cpu_ms {
        None => Duration::ZERO,
        Some(count) => milliseconds(&count.span(), "cpu-ms", *count.get_ref())?,
    };
    let names = Names::new(file)?;
    Ok(Scenario {
        name: name.clone(),
        path: path.to_owned(),
        description: file.description.clone(),
        frames,
        frames_in_flight: usize::try_from(frames_in_flight).expect("frames-in-flight is at most 16"),
        cpu,
        paging: paging(&file.paging)?,
        budgets: budgets(&file.budget, &span)?,
        groups: groups(&file.heaps, &span)?,
        cameras: file.camera.iter().map(camera).collect::<Result<_, _>>()?,
        rotas: file.rota.iter().map(rota).collect::<Result<_, _>>()?,
        submissions: submissions(file, frames, &names, &span)?,
    })
}

fn paging(paging: &Spanned<format::Paging>) -> Result<PagingCost, Broken> {
    let span = paging.span();
    let format::Paging { gb_per_s, latency_us } = *paging.get_ref();
    if !(gb_per_s > 0.0 && gb_per_s <= 1e6) {
        return Err(broken(&span, format!("gb-per-s must be above 0 and at most 1000000, found {gb_per_s}")));
    }
    let latency = milliseconds(&span, "latency-us / 1000", latency_us / 1e3)?;
    Ok(PagingCost { bytes_per_second: gb_per_s * 1e9, latency })
}

fn budgets(budgets: &[Spanned<format::Budget>], all: &Span) -> Result<Vec<(u32, [ByteSize; 2])>, Broken> {
    let mut resolved: Vec<(u32, [ByteSize; 2])> = Vec::new();
    for budget in budgets {
        let span = budget.span();
        let &format::Budget { from_frame, local, non_local } = budget.get_ref();
        match resolved.last() {
            None if from_frame != 0 => {
                return Err(broken(
                    &span,
                    format!("from-frame of the first budget must be 0, found {from_frame}"),
                ));
            }
            Some(&(before, _)) if from_frame <= before => {
                return Err(broken(
                    &span,
                    format!(
                        "from-frame must be above that of the previous budget, found {from_frame} after {before}"
                    ),
                ));
            }
            _ => {}
        }
        // The default is the previous budget. Without one, the non-local group has an effectively unlimited
        // budget.
        let non_local = match (non_local, resolved.last()) {
            (Some(amount), _) => amount.0,
            (None, Some((_, before))) => before[1],
            (None, None) => MAX_BUDGET,
        };
        for budget in [local.0, non_local] {
            if budget > MAX_BUDGET {
                return Err(broken(&span, format!("a budget must be at most {MAX_BUDGET}, found {budget}")));
            }
        }
        resolved.push((from_frame, [local.0, non_local]));
    }
    if resolved.is_empty() {
        return Err(broken(all, "missing a budget with from-frame 0"));
    }
    Ok(resolved)
}

fn groups(groups: &[Spanned<format::HeapGroup>], all: &Span) -> Result<Vec<Group>, Broken> {
    let mut left = MAX_HEAPS;
    let mut resolved = Vec::new();
    for group in groups {
        let span = group.span();
        let group = group.get_ref();
        let what = |key: &str| format!("heaps {:?}: {key}", group.name);
        let count = check(&span, &what("count"), group.count, 1..=MAX_HEAPS)?;
        left = left
            .checked_sub(count)
            .ok_or_else(|| broken(&span, format!("the total number of heaps must be at most {MAX_HEAPS}")))?;
        let least = size(&span, &what("size"), group.size.0)?;
        let most = group.up_to.map_or(Ok(least), |amount| size(&span, &what("up-to"), amount.0))?;
        if most < least {
            return Err(broken(
                &span,
                format!("{} must be at least size, {least}, found {most}", what("up-to")),
            ));
        }
        let lives = group.lives.map(|lives| range_of(&span, &what("lives"), lives, 1)).transpose()?;
        if group.locked && lives.is_some() {
            return Err(broken(
                &span,
                what("lives must not be set for locked heaps, which live as long as the scenario"),
            ));
        }
        resolved.push(Group {
            count,
            sizes: [least, most],
            segment: group.segment.into(),
            level: group.priority.into(),
            is_resident: group.resident || group.locked,
            is_locked: group.locked,
            lives,
            seed: group.seed,
        });
    }
    if resolved.is_empty() {
        return Err(broken(all, "missing heaps; at least one group is required"));
    }
    Ok(resolved)
}

/// Checks a size and rounds it up to the granularity.
fn size(span: &Span, what: &str, size: ByteSize) -> Result<ByteSize, Broken> {
    if size.is_zero() || size > MAX_HEAP {
        return Err(broken(span, format!("{what} must be above 0 and at most {MAX_HEAP}, found {size}")));
    }
    let granularity = Alignment::new(GRANULARITY.get()).expect("the granularity is a power of two");
    Ok(size.align_up(granularity).expect("a size of at most MAX_HEAP does not overflow"))
}

fn camera(camera: &Spanned<format::Camera>) -> Result<Camera, Broken> {
    let span = camera.span();
    let camera = camera.get_ref();
    let part =
        |key: &str, number| check(&span, &format!("camera {:?}: {key}", camera.name), number, 0.0..=1.0);
    Ok(Camera {
        speed: part("speed", camera.speed)?,
        turn: part("turn", camera.turn)?,
        back: part("back", camera.back)?,
        seed: camera.seed,
    })
}

fn rota(rota: &Spanned<format::Rota>) -> Result<Rota, Broken> {
    let span = rota.span();
    let rota = rota.get_ref();
    let what = format!("rota {:?}", rota.name);
    let turns = range_of(&span, &format!("{what}: turns"), rota.turns, 1)?;
    let draw = match (&rota.weights, &rota.order) {
        (Some(weights), None) if !weights.is_empty() => {
            for &weight in weights {
                check(&span, &format!("{what}: each of weights"), weight, 1e-6..=1e6)?;
            }
            RotaDraw::Weights(weights.clone())
        }
        (None, Some(order)) if !order.is_empty() => RotaDraw::Order(order.clone()),
        _ => {
            return Err(broken(
                &span,
                format!("{what} must have either weights or order, with at least one element"),
            ));
        }
    };
    Ok(Rota { turns, draw, seed: rota.seed })
}

impl RotaDraw {
    /// Returns the largest number that can be drawn.
    fn last(&self) -> usize {
        match self {
            Self::Weights(weights) => weights.len() - 1,
            Self::Order(order) => order
                .iter()
                .max()
                .map_or(0, |&place| usize::try_from(place).expect("usize has at least 32 bits")),
        }
    }
}

/// The names defined in the file.
struct Names<'a> {
    heaps: HashMap<&'a str, usize>,
    cameras: HashMap<&'a str, usize>,
    rotas: HashMap<&'a str, usize>,
}

impl<'a> Names<'a> {
    fn new(file: &'a ScenarioFile) -> Result<Self, Broken> {
        let heaps = file.heaps.iter().map(|group| (group.span(), group.get_ref().name.as_str()));
        let cameras = file.camera.iter().map(|camera| (camera.span(), camera.get_ref().name.as_str()));
        let rotas = file.rota.iter().map(|rota| (rota.span(), rota.get_ref().name.as_str()));
        Ok(Self {
            heaps: once_each("heaps", heaps)?,
            cameras: once_each("camera", cameras)?,
            rotas: once_each("rota", rotas)?,
        })
    }
}

/// Returns the positions of names, each of which may occur once.
fn once_each<'a>(
    kind: &str,
    names: impl Iterator<Item = (Span, &'a str)>,
) -> Result<HashMap<&'a str, usize>, Broken> {
    let mut known = HashMap::new();
    for (position, (span, name)) in names.enumerate() {
        if known.insert(name, position).is_some() {
            return Err(broken(&span, format!("duplicate name {name:?} of {kind}")));
        }
    }
    Ok(known)
}

fn find(span: &Span, kind: &str, names: &HashMap<&str, usize>, name: &str) -> Result<usize, Broken> {
    names.get(name).copied().ok_or_else(|| {
        let mut known: Vec<(usize, &str)> = names.iter().map(|(&name, &position)| (position, name)).collect();
        known.sort_unstable();
        let known: Vec<String> = known.iter().map(|(_, name)| format!("{name:?}")).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        broken(span, format!("no {kind} named {name:?}; defined names: {known}"))
    })
}

fn submissions(
    file: &ScenarioFile,
    frames: u32,
    names: &Names<'_>,
    all: &Span,
) -> Result<Vec<SubmissionKind>, Broken> {
    let mut resolved = Vec::new();
    for submission in &file.submission {
        let span = submission.span();
        let submission = submission.get_ref();
        let queue = check(&span, "queue", submission.queue, 0..=MAX_QUEUE)?;
        let uses = submission.uses.iter().map(|entry| one_use(entry, file, frames, names));
        resolved.push(SubmissionKind {
            queue: usize::try_from(queue).expect("queue is at most 15"),
            gpu: milliseconds(&span, "gpu-ms", submission.gpu_ms)?,
            repeat: check(&span, "repeat", submission.repeat, 1..=MAX_REPEAT)?,
            uses: uses.collect::<Result<_, _>>()?,
        });
    }
    if resolved.is_empty() {
        return Err(broken(all, "missing a submission; at least one is required"));
    }
    Ok(resolved)
}

fn one_use(
    entry: &Spanned<format::Use>,
    file: &ScenarioFile,
    frames: u32,
    names: &Names<'_>,
) -> Result<Use, Broken> {
    let span = entry.span();
    let entry = entry.get_ref();
    let [from, to] = entry.frames.unwrap_or([0, frames]);
    if from >= to {
        return Err(broken(
            &span,
            format!("frames must be [first, end] with first < end, found [{from}, {to}]"),
        ));
    }
    let group = |name: &str| find(&span, "heaps", &names.heaps, name);
    let some_of = |name: &str, count: u32| {
        let group = group(name)?;
        check(&span, "count", count, 1..=file.heaps[group].get_ref().count)?;
        Ok(group)
    };
    let mut patterns = Vec::new();
    if let Some(format::All { heaps, by_parts }) = &entry.all {
        patterns.push(Pattern::All { group: group(heaps)?, by_parts: *by_parts });
    }
    if let Some(format::Cyclic { heaps, count }) = &entry.cyclic {
        patterns.push(Pattern::Cyclic { group: some_of(heaps, *count)?, count: *count });
    }
    if let Some(format::Random { heaps, count, zipf, seed }) = &entry.random {
        let zipf = check(&span, "zipf", *zipf, 0.0..=8.0)?;
        patterns.push(Pattern::Random { group: some_of(heaps, *count)?, count: *count, zipf, seed: *seed });
    }
    if let Some(format::Drift { heaps, count, change, seed }) = &entry.drift {
        let change = check(&span, "change", *change, 0.0..=f64::from(*count))?;
        patterns.push(Pattern::Drift { group: some_of(heaps, *count)?, count: *count, change, seed: *seed });
    }
    if let Some(format::Window { heaps, columns, radius, camera }) = &entry.window {
        let group = group(heaps)?;
        let count = file.heaps[group].get_ref().count;
        if columns.checked_mul(*columns) != Some(count) {
            return Err(broken(
                &span,
                format!("columns must be the square root of the number of heaps, {count}, found {columns}"),
            ));
        }
        let radius = check(&span, "radius", *radius, 0.0..=1.0)?;
        let camera = find(&span, "camera", &names.cameras, camera)?;
        patterns.push(Pattern::Window { group, columns: *columns, radius, camera });
    }
    if let Some(format::InTurn { rota: name, heaps, by_parts }) = &entry.in_turn {
        let place = find(&span, "rota", &names.rotas, name)?;
        let groups = heaps.iter().map(|name| group(name)).collect::<Result<Vec<_>, _>>()?;
        let last = rota(&file.rota[place])?.draw.last();
        if last >= groups.len() {
            return Err(broken(
                &span,
                format!("rota {name:?} draws index {last}, but heaps has only {} elements", groups.len()),
            ));
        }
        patterns.push(Pattern::InTurn { rota: place, groups, by_parts: *by_parts });
    }
    let count = patterns.len();
    match (patterns.pop(), count) {
        (Some(pattern), 1) => Ok(Use { frames: from..to, pattern }),
        _ => Err(broken(
            &span,
            format!(
                "a use must have exactly one of all, cyclic, random, drift, window and in-turn, found {count}"
            ),
        )),
    }
}
