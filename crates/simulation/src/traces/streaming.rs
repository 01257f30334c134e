//! An open world that is streamed around a camera.

use std::collections::{BTreeMap, VecDeque};

use super::random::Random;
use super::recorder::{Block, KIB, MIB, Range, Recorder, mesh, texture};

/// Radius around the camera within which tiles are loaded, in tiles.
const RADIUS: Range = Range::apart((3, 5), (6, 7));
/// Number of assets in the library, of which tiles are made.
const ASSETS: Range = Range::common(1_500, 3_500);
/// Number of assets of a tile.
const ASSETS_PER_TILE: Range = Range::common(12, 30);
/// Largest side of a texture.
const TEXTURE_SIDE: Range = Range::common(10, 11);
/// Bytes that are loaded in a frame, in MiB.
const LOAD_PER_FRAME: Range = Range::apart((8, 16), (20, 40));
/// Frames in which the camera crosses a tile.
const FRAMES_PER_TILE: Range = Range::apart((40, 90), (15, 35));
/// Frames between two teleports.
const FRAMES_PER_VISIT: Range = Range::common(500, 1_200);
/// Particles and other small buffers of a frame.
const BUFFERS_PER_FRAME: Range = Range::common(1, 4);

const FRAMES: u64 = 3_000;

/// Number of tiles on a side of the world, whose opposite sides are joined.
const WORLD: i64 = 64;

type Tile = (i64, i64);

/// An asset of the library.
struct Asset {
    bytes: u64,
    /// Bytes of the mips that are loaded in the distance; the same as `bytes` for meshes.
    far_bytes: u64,
}

/// An asset in memory.
struct Loaded {
    block: Block,
    /// Number of loaded tiles with this asset.
    tiles: u32,
    /// Number of those that are nearby. While there are any, all mips are loaded.
    near_tiles: u32,
}

struct World {
    seed: u64,
    assets: Vec<Asset>,
    assets_per_tile: u64,
    loaded: BTreeMap<usize, Loaded>,
    /// Whether the tile is nearby, by loaded tile.
    tiles: BTreeMap<Tile, bool>,
    queue: VecDeque<(Tile, bool)>,
}

pub(super) fn record(recorder: &mut Recorder, length: u64) -> Vec<Block> {
    let side = 1 << recorder.draw(TEXTURE_SIDE);
    let assets = (0..recorder.draw(ASSETS)).map(|_| {
        if recorder.chance(350) {
            let bytes = mesh(recorder);
            return Asset { bytes, far_bytes: bytes };
        }
        let bytes = texture(recorder, (64, side));
        Asset { bytes, far_bytes: (bytes / 16).max(4 * KIB) }
    });
    let assets = assets.collect();
    let mut world = World {
        seed: recorder.between(0, u64::MAX - 1),
        assets,
        assets_per_tile: recorder.draw(ASSETS_PER_TILE),
        loaded: BTreeMap::new(),
        tiles: BTreeMap::new(),
        queue: VecDeque::new(),
    };
    let radius = i64::try_from(recorder.draw(RADIUS)).unwrap_or(1);
    let load_per_frame = recorder.draw(LOAD_PER_FRAME) * MIB;
    let frames_per_tile = recorder.draw(FRAMES_PER_TILE);

    // What is always there: the terrain, characters, render targets.
    let always = (0..40).map(|_| {
        let bytes = texture(recorder, (256, 2048));
        recorder.allocate(bytes)
    });
    let mut left: Vec<Block> = always.collect();
    let mut camera = (0, 0);
    let mut direction = (1, 0);
    let mut next_teleport = recorder.draw(FRAMES_PER_VISIT);
    let mut is_loading_screen = true;
    world.look(recorder, camera, radius);
    for frame in 0..FRAMES * length / 100 {
        if frame == next_teleport {
            next_teleport += recorder.draw(FRAMES_PER_VISIT);
            camera = (coordinate(recorder), coordinate(recorder));
            world.look(recorder, camera, radius);
            is_loading_screen = true;
        } else if frame % frames_per_tile == 0 {
            if recorder.chance(300) {
                direction = recorder.pick(&[(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1)]);
            }
            camera = ((camera.0 + direction.0).rem_euclid(WORLD), (camera.1 + direction.1).rem_euclid(WORLD));
            world.look(recorder, camera, radius);
        }
        let budget = if is_loading_screen { 8 * load_per_frame } else { load_per_frame };
        is_loading_screen &= !world.load(recorder, budget);
        for _ in 0..recorder.draw(BUFFERS_PER_FRAME) {
            let bytes = recorder.log_uniform(256, 256 * KIB);
            let block = recorder.allocate(bytes);
            recorder.retire(block);
        }
        recorder.end_frame();
    }
    recorder.wait_for_gpu();
    left.extend(world.loaded.into_values().map(|loaded| loaded.block));
    left
}

fn coordinate(recorder: &mut Recorder) -> i64 {
    i64::try_from(recorder.between(0, WORLD.unsigned_abs() - 1)).unwrap_or(0)
}

/// Returns the square of the distance of two tiles in a world whose sides are joined.
fn square_distance(a: Tile, b: Tile) -> i64 {
    let square = |a: i64, b: i64| {
        let apart = (a - b).rem_euclid(WORLD);
        apart.min(WORLD - apart).pow(2)
    };
    square(a.0, b.0) + square(a.1, b.1)
}

impl World {
    /// Unloads the tiles that are more than a tile beyond the radius, and queues those within it, the closest first. A
    /// tile is nearby within half of the radius.
    fn look(&mut self, recorder: &mut Recorder, camera: Tile, radius: i64) {
        let limit = (radius + 1) * (radius + 1);
        let tiles = self.tiles.keys().copied();
        let gone: Vec<Tile> = tiles.filter(|&tile| square_distance(tile, camera) > limit).collect();
        for tile in gone {
            let was_near = self.tiles.remove(&tile).unwrap_or(false);
            for asset in self.assets_of(tile) {
                self.release(recorder, asset, was_near);
            }
        }
        let mut wanted = Vec::new();
        for (x, y) in (-radius..=radius).flat_map(|x| (-radius..=radius).map(move |y| (x, y))) {
            let square = x * x + y * y;
            if square <= radius * radius {
                let tile = ((camera.0 + x).rem_euclid(WORLD), (camera.1 + y).rem_euclid(WORLD));
                wanted.push((square, tile, 4 * square <= radius * radius));
            }
        }
        wanted.sort_unstable();
        self.queue = wanted.into_iter().map(|(_, tile, is_near)| (tile, is_near)).collect();
    }

    /// Loads queued tiles up to about `budget` bytes. Returns whether the queue is empty.
    fn load(&mut self, recorder: &mut Recorder, budget: u64) -> bool {
        let mut loaded_bytes = 0;
        while loaded_bytes < budget {
            let Some((tile, is_near)) = self.queue.pop_front() else { return true };
            let before = self.tiles.insert(tile, is_near);
            if before == Some(is_near) {
                continue;
            }
            for asset in self.assets_of(tile) {
                loaded_bytes += self.acquire(recorder, asset, is_near);
                if let Some(was_near) = before {
                    self.release(recorder, asset, was_near);
                }
            }
        }
        false
    }

    /// Counts a tile that uses an asset and returns the bytes that had to be loaded.
    fn acquire(&mut self, recorder: &mut Recorder, index: usize, is_near: bool) -> u64 {
        let Asset { bytes, far_bytes } = self.assets[index];
        let wanted_bytes = if is_near { bytes } else { far_bytes };
        let mut loaded_bytes = 0;
        let loaded = self.loaded.entry(index).or_insert_with(|| {
            loaded_bytes = wanted_bytes;
            Loaded { block: recorder.allocate(wanted_bytes), tiles: 0, near_tiles: 0 }
        });
        loaded.tiles += 1;
        loaded.near_tiles += u32::from(is_near);
        if loaded.block.bytes() < wanted_bytes {
            loaded_bytes = wanted_bytes;
            loaded.replace(recorder, wanted_bytes);
        }
        loaded_bytes
    }

    /// Counts a tile that no longer uses an asset.
    fn release(&mut self, recorder: &mut Recorder, index: usize, was_near: bool) {
        let far_bytes = self.assets[index].far_bytes;
        let Some(loaded) = self.loaded.get_mut(&index) else { return };
        loaded.tiles -= 1;
        loaded.near_tiles -= u32::from(was_near);
        if loaded.tiles == 0 {
            if let Some(loaded) = self.loaded.remove(&index) {
                recorder.retire(loaded.block);
            }
        } else if loaded.near_tiles == 0 && loaded.block.bytes() > far_bytes {
            loaded.replace(recorder, far_bytes);
        }
    }

    /// Returns the assets of a tile, which depend on nothing but the world's seed. Neighbours share some.
    fn assets_of(&self, (x, y): Tile) -> Vec<usize> {
        let number = x.unsigned_abs() << 32 | y.unsigned_abs();
        let mut random = Random::mixed(self.seed ^ number);
        let region = Random::mixed(self.seed ^ (x.unsigned_abs() / 4) << 40 ^ (y.unsigned_abs() / 4) << 8)
            .range(0, (1 << 20) + 1);
        let count = u64::try_from(self.assets.len()).unwrap_or(1);
        let assets = (0..self.assets_per_tile).map(|_| {
            // Half of the assets are common in the region, which has a tenth of the library.
            let asset = if random.range(0, 2) == 0 {
                (region + random.range(0, count / 10 + 1)) % count
            } else {
                random.range(0, count)
            };
            usize::try_from(asset).unwrap_or(0)
        });
        assets.collect()
    }
}

impl Loaded {
    /// Loads other mips. Both blocks exist until the GPU is done with the old one.
    fn replace(&mut self, recorder: &mut Recorder, bytes: u64) {
        let block = recorder.allocate(bytes);
        recorder.retire(std::mem::replace(&mut self.block, block));
    }
}
