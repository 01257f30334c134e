//! Valid and invalid calls in any order, with several runs at once.

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::Strategy;

use super::scene::{Scene, texture_desc, usage};
use crate::gpu::*;

#[derive(Debug, Clone)]
enum Call {
    CreateBuffer(u64),
    CreateTexture(u32),
    /// A buffer in a pool.
    CreatePooled(u64),
    /// A buffer in an UPLOAD heap; if `within`, possibly a part of another buffer, which no run may move.
    CreateUpload {
        size: u64,
        within: bool,
    },
    Drop(Index),
    /// Drops the allocations whose number modulo four is this.
    DropMany(u64),
    FreeAfter(Index),
    Signal,
    Rename(Index),
    Begin {
        of_pool: bool,
    },
    Step {
        run: Index,
        moves: u32,
        kib: u64,
    },
    /// Creates the resource of a move and copies.
    Copy(Index),
    CopyOfAnother(Index, Index),
    Complete(Index),
    CompleteAnother(Index, Index),
    Abandon(Index),
    EndRun(Index),
    ReleaseEmpty,
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let size = || prop_oneof![6 => 1_u64..5000, 3 => 1_u64..100_000, 1 => 100_000_u64..1_500_000];
    let call = prop_oneof![
        14 => size().prop_map(Call::CreateBuffer),
        3 => (0_u32..5).prop_map(|log2| Call::CreateTexture(32 << log2)),
        6 => size().prop_map(Call::CreatePooled),
        6 => (1_u64..30_000, any::<bool>()).prop_map(|(size, within)| Call::CreateUpload { size, within }),
        6 => any::<Index>().prop_map(Call::Drop),
        2 => (0_u64..4).prop_map(Call::DropMany),
        1 => any::<Index>().prop_map(Call::FreeAfter),
        1 => Just(Call::Signal),
        1 => any::<Index>().prop_map(Call::Rename),
        2 => any::<bool>().prop_map(|of_pool| Call::Begin { of_pool }),
        16 => (any::<Index>(), 1_u32..20, 1_u64..2000)
            .prop_map(|(run, moves, kib)| Call::Step { run, moves, kib }),
        16 => any::<Index>().prop_map(Call::Copy),
        1 => (any::<Index>(), any::<Index>()).prop_map(|(of, another)| Call::CopyOfAnother(of, another)),
        14 => any::<Index>().prop_map(Call::Complete),
        1 => (any::<Index>(), any::<Index>()).prop_map(|(of, another)| Call::CompleteAnother(of, another)),
        1 => any::<Index>().prop_map(Call::Abandon),
        1 => any::<Index>().prop_map(Call::EndRun),
        1 => Just(Call::ReleaseEmpty),
    ];
    prop::collection::vec(call, 0..140)
}

struct Owner {
    scene: Scene,
    pool: Pool,
    runs: Vec<Defragmentation>,
    /// The open moves, each with whether its resource has been copied.
    moves: Vec<(Move, bool)>,
    fence: ID3D12Fence,
    signalled: u64,
    /// Keys of the UPLOAD buffers, whose content the CPU writes.
    uploads: Vec<u64>,
}

fn bytes_of(key: u64, size: usize) -> Vec<u8> {
    key.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes().into_iter().cycle().take(size).collect()
}

impl Owner {
    fn new(profile: &str, flags: ResourceAllocatorFlags) -> Self {
        let scene = Scene::with(profile, flagged(flags));
        // Time stands still, so that no thread which releases by time holds the allocator when its last handle is
        // dropped.
        scene.allocator.on_time(Duration::ZERO);
        let pool = PoolDesc { min_heap_count: 1, ..pool_of(mib(2)) };
        let pool = new_pool(&scene.allocator, pool);
        let fence = fence_of(&scene.instance.device);
        let (runs, moves, signalled, uploads) = (Vec::new(), Vec::new(), 0, Vec::new());
        Self { scene, pool, runs, moves, fence, signalled, uploads }
    }

    fn key_at(&self, index: Index) -> Option<u64> {
        let count = self.scene.things.len();
        (count > 0).then(|| *self.scene.things.keys().nth(index.index(count)).expect("below the count"))
    }

    fn move_at(&self, index: Index) -> Option<usize> {
        (!self.moves.is_empty()).then(|| index.index(self.moves.len()))
    }

    fn call(&mut self, call: Call) {
        match call {
            Call::CreateBuffer(size) => drop(self.scene.create(&buffer_of(size))),
            Call::CreateTexture(side) => {
                let desc = texture_desc(DXGI_FORMAT_R8G8B8A8_UNORM, side, 64, 1);
                self.scene.create(&desc);
            }
            Call::CreatePooled(size) => {
                self.scene.try_create(&in_pool(&self.pool), &buffer_of(size)).expect("there is room");
            }
            Call::CreateUpload { size, within } => self.create_upload(size, within),
            Call::Drop(index) => {
                if let Some(key) = self.key_at(index) {
                    self.scene.gpu.run();
                    self.scene.things.remove(&key);
                }
            }
            Call::DropMany(rest) => {
                self.scene.gpu.run();
                self.scene.things.retain(|key, _| key % 4 != rest);
            }
            Call::FreeAfter(index) => {
                if let Some(key) = self.key_at(index) {
                    self.scene.gpu.run();
                    let thing = self.scene.things.remove(&key).expect("it lives");
                    let value = FenceValue::new(self.signalled + 1);
                    self.scene.allocator.free_after(thing, &self.fence, value).expect("its own");
                }
            }
            Call::Signal => {
                self.signalled += 1;
                signal(&self.fence, self.signalled);
                self.scene.allocator.collect();
            }
            Call::Rename(index) => {
                if let Some(key) = self.key_at(index) {
                    let thing = self.scene.things.get_mut(&key).expect("it lives");
                    thing.set_debug_name(&format!("{key}")).expect("named");
                }
            }
            Call::Begin { of_pool } => {
                let pool = of_pool.then_some(&self.pool);
                let run = self.scene.allocator.defragment(DefragmentationDesc { pool }).expect("sound");
                self.runs.push(run);
                if self.runs.len() > 3 {
                    self.runs.remove(0);
                }
            }
            Call::Step { run, moves, kib } => {
                if self.runs.is_empty() {
                    self.call(Call::Begin { of_pool: false });
                }
                let run = run.index(self.runs.len());
                let (bytes, time) = (ByteSize::from_kib(kib), Duration::from_secs(3600));
                let step = self.runs[run].step(DefragmentationBudget { moves, bytes, time });
                assert!(step.moves.len() <= moves as usize);
                let sum = step.moves.iter().fold(0, |sum, planned| sum + planned.size().get());
                assert!(sum <= bytes.get() || step.moves.len() == 1, "{sum} bytes of {bytes}");
                // Without a number are targets of open moves, and buffers that others are parts of, which are never
                // offered.
                let is_open = !self.moves.is_empty();
                for planned in step.moves {
                    assert!(is_open || planned.user_data() != 0, "{planned:?}");
                    self.moves.push((planned, false));
                }
            }
            Call::Copy(index) => self.copy(index),
            Call::CopyOfAnother(index, another) => {
                let (Some(at), Some(key)) = (self.move_at(index), self.key_at(another)) else { return };
                let (planned, thing) = (&mut self.moves[at].0, &self.scene.things[&key]);
                if planned.allocation() != thing.id() {
                    planned.create_resource(thing, InitialState::default(), None, &[]).unwrap_err();
                }
            }
            Call::Complete(index) => {
                let Some(at) = self.move_at(index) else { return };
                let (planned, is_copied) = self.moves.swap_remove(at);
                let Some(thing) = self.scene.things.get_mut(&planned.user_data()) else { return };
                let (before, is_it) = (thing.id(), thing.id() == planned.allocation());
                let note = (thing.user_data(), thing.debug_name().map(str::to_owned));
                let completed = planned.complete(thing);
                assert_eq!(completed.is_ok(), is_it && is_copied, "{completed:?}");
                assert_eq!(thing.id() != before, completed.is_ok());
                assert_eq!((thing.user_data(), thing.debug_name().map(str::to_owned)), note);
            }
            Call::CompleteAnother(index, another) => {
                let (Some(at), Some(key)) = (self.move_at(index), self.key_at(another)) else { return };
                let thing = self.scene.things.get_mut(&key).expect("it lives");
                if self.moves[at].0.allocation() != thing.id() {
                    let (planned, _) = self.moves.swap_remove(at);
                    planned.complete(thing).unwrap_err();
                }
            }
            Call::Abandon(index) => {
                if let Some(at) = self.move_at(index) {
                    drop(self.moves.swap_remove(at));
                }
            }
            Call::EndRun(index) => {
                if !self.runs.is_empty() {
                    self.runs.swap_remove(index.index(self.runs.len()));
                }
            }
            Call::ReleaseEmpty => drop(self.scene.allocator.release_empty_heaps()),
        }
    }

    fn create_upload(&mut self, size: u64, within: bool) {
        let key = self.scene.next_key();
        let place = place(HeapType::Upload, if within { WITHIN } else { NONE });
        let place = ResourceAllocationDesc { user_data: key, ..place };
        let mut made = buffer(&self.scene.allocator, &place, size);
        let bytes = bytes_of(key, usize::try_from(size).expect("small"));
        made.map().expect("mappable").write(0, &bytes).expect("inside");
        self.scene.things.insert(key, made);
        self.uploads.push(key);
    }

    fn copy(&mut self, index: Index) {
        let Some(at) = self.move_at(index) else { return };
        let (planned, is_copied) = &mut self.moves[at];
        let Some(thing) = self.scene.things.get(&planned.user_data()) else { return };
        if thing.id() != planned.allocation() {
            planned.create_resource(thing, InitialState::default(), None, &[]).unwrap_err();
            return;
        }
        let is_upload = thing.heap_type() == HeapType::Upload;
        let target = planned.create_resource(thing, InitialState::default(), None, &[]).expect("created");
        if is_upload {
            let bytes = mapped(target);
            bytes.copy_from_slice(&bytes_of(thing.user_data(), bytes.len()));
            unsafe { target.Unmap(0, None) };
        } else {
            self.scene.gpu.copy(target, thing.resource());
            self.scene.gpu.run();
        }
        *is_copied = true;
    }

    fn check(&self) {
        self.scene.allocator.audit().expect("consistent after each call");
        self.scene.check_places(self.moves.iter().map(|(planned, _)| planned));
    }

    fn check_contents(&mut self) {
        for (&key, thing) in &mut self.scene.things {
            if thing.heap_type() == HeapType::Upload {
                let mapping = thing.map().expect("mappable");
                let mut bytes = vec![0; usize::try_from(mapping.len().get()).expect("small")];
                mapping.read(0, &mut bytes).expect("inside");
                assert!(bytes == bytes_of(key, bytes.len()), "{key} has lost its content");
            } else {
                self.scene.gpu.expect(thing.resource(), key);
            }
        }
        self.scene.gpu.finish();
    }
}

/// Which objects are dropped first at the end.
#[derive(Debug, Clone, Copy)]
enum End {
    Things,
    Moves,
    Allocator,
}

fn run(calls: Vec<Call>, uma: bool, listed: bool, end: End) {
    let flags = if listed { ResourceAllocatorFlags::NEVER_LEAK } else { NO_FLAGS };
    let mut owner = Owner::new(if uma { "uma" } else { "discrete" }, flags);
    for call in calls {
        owner.call(call);
        owner.check();
    }
    owner.check_contents();
    owner.signalled += 1;
    signal(&owner.fence, owner.signalled);
    owner.scene.allocator.collect();
    let Owner { mut scene, pool, runs, moves, .. } = owner;
    match end {
        End::Things => {
            scene.things.clear();
            scene.allocator.audit().expect("consistent");
            scene.end((runs, moves, pool));
        }
        End::Moves => {
            drop(moves);
            scene.allocator.audit().expect("consistent");
            scene.end((runs, pool));
        }
        End::Allocator => {
            let Scene { instance, allocator, gpu, mut things, .. } = scene;
            drop((allocator, runs));
            drop(pool);
            // What is begun can be completed, and nothing else can begin.
            for (mut planned, is_copied) in moves {
                let Some(thing) = things.get_mut(&planned.user_data()) else { continue };
                planned.create_resource(thing, InitialState::default(), None, &[]).unwrap_err();
                let is_it = thing.id() == planned.allocation();
                assert_eq!(planned.complete(thing).is_ok(), is_it && is_copied);
            }
            drop((things, gpu));
            assert_eq!(usage(&instance), ByteSize::ZERO, "memory was leaked");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn no_order_of_calls_loses_content_or_memory(
        calls in calls(),
        uma in any::<bool>(),
        listed in any::<bool>(),
        end in prop_oneof![Just(End::Things), Just(End::Moves), Just(End::Allocator)],
    ) {
        run(calls, uma, listed, end);
    }
}
