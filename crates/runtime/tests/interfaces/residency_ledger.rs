//! The residency ledger over random calls, compared with an independent model.

use heapwright_core::ByteSize;
use heapwright_d3d12::*;
use heapwright_runtime::residency::{PageableKind, PagedObjects};
use heapwright_runtime::{HostProfile, Instance};
use proptest::prelude::*;
use windows_core::{HRESULT, Interface};

use crate::gpu::{buffer_desc, committed, create_heap, heap_desc, memory_info, of_type};

const MIB: u64 = 1 << 20;

/// A call of a random program. Numbers are reduced modulo the number of live objects.
#[derive(Debug, Clone)]
enum Step {
    CreateHeap { mib: u64, upload: bool, not_resident: bool },
    Commit { mib: u64 },
    DescriptorHeap,
    QueryHeap,
    MakeResident(Vec<usize>),
    Enqueue { deny: bool, objects: Vec<usize> },
    Evict(Vec<usize>),
    Release(usize),
    SetBudget { local: bool, mib: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let objects = || prop::collection::vec(any::<usize>(), 0..5);
    prop_oneof![
        3 => (1..900_u64, any::<bool>(), any::<bool>())
            .prop_map(|(mib, upload, not_resident)| Step::CreateHeap { mib, upload, not_resident }),
        1 => (1..400_u64).prop_map(|mib| Step::Commit { mib }),
        1 => Just(Step::DescriptorHeap),
        1 => Just(Step::QueryHeap),
        4 => objects().prop_map(Step::MakeResident),
        4 => (any::<bool>(), objects()).prop_map(|(deny, objects)| Step::Enqueue { deny, objects }),
        6 => objects().prop_map(Step::Evict),
        1 => any::<usize>().prop_map(Step::Release),
        1 => (any::<bool>(), 0..3000_u64).prop_map(|(local, mib)| Step::SetBudget { local, mib }),
    ]
}

/// The model's record of an object.
struct Object {
    pageable: ID3D12Pageable,
    kind: PageableKind,
    /// Zero for an object without video memory.
    size: u64,
    local: bool,
    count: u32,
    name: Option<String>,
}

/// A GPU, and the expected contents of its ledger.
struct Model {
    gpu: Instance,
    objects: Vec<Object>,
    /// Local, non-local.
    usage: [u64; 2],
    capacity: [u64; 2],
    budget: [u64; 2],
    paged_in: PagedObjects,
    paged_out: PagedObjects,
    created: PagedObjects,
    released: PagedObjects,
    released_above_one: u64,
    /// Number of calls, refused calls and objects of `MakeResident`, `EnqueueMakeResident` and `Evict`.
    calls: [[u64; 3]; 3],
}

fn add(sum: &mut PagedObjects, size: u64) {
    sum.objects += 1;
    sum.bytes = sum.bytes.checked_add(ByteSize::new(size)).expect("small");
}

impl Model {
    fn open(profile: &str) -> Self {
        let profile = HostProfile::find(profile).expect("a profile of that name");
        let segments = [profile.local, profile.non_local];
        Self {
            gpu: Instance::open(profile).expect("a fresh instance"),
            objects: Vec::new(),
            usage: [0; 2],
            capacity: segments.map(|segment| segment.capacity.get()),
            budget: segments.map(|segment| segment.budget.get()),
            paged_in: PagedObjects::default(),
            paged_out: PagedObjects::default(),
            created: PagedObjects::default(),
            released: PagedObjects::default(),
            released_above_one: 0,
            calls: [[0; 3]; 3],
        }
    }

    fn is_uma(&self) -> bool {
        self.capacity[1] == 0
    }

    fn created(
        &mut self,
        made: Result<ID3D12Pageable, HRESULT>,
        kind: PageableKind,
        [size, count]: [u64; 2],
        local: bool,
    ) {
        let group = usize::from(!local);
        if count > 0 && self.usage[group] + size > self.capacity[group] {
            assert_eq!(made.expect_err("no room"), E_OUTOFMEMORY);
            return;
        }
        let pageable = made.expect("there is room");
        let count = u32::try_from(count).expect("0 or 1");
        if count > 0 {
            self.usage[group] += size;
            add(&mut self.created, size);
        }
        let name = self.objects.len().is_multiple_of(2).then(|| format!("object {}", self.objects.len()));
        if let Some(name) = &name {
            crate::gpu::name(&pageable, name);
        }
        self.objects.push(Object { pageable, kind, size, local, count, name });
    }

    fn heap(&mut self, mib: u64, upload: bool, not_resident: bool) {
        let heap_type = if upload { D3D12_HEAP_TYPE_UPLOAD } else { D3D12_HEAP_TYPE_DEFAULT };
        let buffers = D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS;
        let mut desc = D3D12_HEAP_DESC { Flags: buffers, ..heap_desc(heap_type, mib * MIB) };
        // The first D3D12 has no such flag.
        let not_resident = not_resident && self.gpu.device.cast::<ID3D12Device8>().is_ok();
        if not_resident {
            desc.Flags |= D3D12_HEAP_FLAG_CREATE_NOT_RESIDENT;
        }
        let made = create_heap(&self.gpu.device, &desc).map(|heap| heap.cast().expect("a pageable"));
        let local = !upload || self.is_uma();
        self.created(made, PageableKind::Heap, [mib * MIB, u64::from(!not_resident)], local);
    }

    fn commit(&mut self, mib: u64) {
        let desc = buffer_desc(mib * MIB, D3D12_RESOURCE_FLAG_NONE);
        let (flags, state) = (D3D12_HEAP_FLAG_NONE, D3D12_RESOURCE_STATE_COMMON);
        let made = committed(&self.gpu.device, of_type(D3D12_HEAP_TYPE_DEFAULT), flags, &desc, state);
        let made = made.map(|made| made.cast().expect("a pageable")).map_err(|error| error.code());
        self.created(made, PageableKind::CommittedResource, [mib * MIB, 1], true);
    }

    fn descriptor_heap(&mut self) {
        let desc = D3D12_DESCRIPTOR_HEAP_DESC { NumDescriptors: 16, ..Default::default() };
        let heap: ID3D12DescriptorHeap =
            unsafe { self.gpu.device.CreateDescriptorHeap(&desc) }.expect("created");
        self.created(Ok(heap.cast().expect("a pageable")), PageableKind::DescriptorHeap, [0, 1], true);
    }

    fn query_heap(&mut self) {
        let desc = D3D12_QUERY_HEAP_DESC { Type: D3D12_QUERY_HEAP_TYPE_TIMESTAMP, Count: 16, NodeMask: 0 };
        let mut heap: Option<ID3D12QueryHeap> = None;
        unsafe { self.gpu.device.CreateQueryHeap(&desc, &mut heap) }.expect("created");
        let heap = heap.expect("S_OK comes with a heap").cast().expect("a pageable");
        self.created(Ok(heap), PageableKind::QueryHeap, [0, 1], true);
    }

    /// Returns the indices of the objects that a step names, and the objects.
    fn named(&self, numbers: &[usize]) -> (Vec<usize>, Vec<Option<ID3D12Pageable>>) {
        let count = self.objects.len();
        let indices: Vec<usize> = numbers.iter().filter_map(|number| number.checked_rem(count)).collect();
        let objects = indices.iter().map(|&index| Some(self.objects[index].pageable.clone())).collect();
        (indices, objects)
    }

    /// Computes the expected result of `MakeResident` or, with flags, of `EnqueueMakeResident`.
    fn expect_resident(&mut self, indices: &[usize], deny: bool, call: usize) -> HRESULT {
        let (mut usage, mut charged) = (self.usage, [false; 2]);
        let mut counts: Vec<u32> = self.objects.iter().map(|object| object.count).collect();
        let mut paged_in = self.paged_in;
        self.calls[call][0] += 1;
        for &index in indices {
            let object = &self.objects[index];
            let group = usize::from(!object.local);
            if counts[index] == 0 {
                usage[group] += object.size;
                charged[group] |= object.size > 0;
                add(&mut paged_in, object.size);
            }
            counts[index] += 1;
            if usage[group] > self.capacity[group] {
                self.calls[call][1] += 1;
                return E_OUTOFMEMORY;
            }
        }
        if deny && (0..2).any(|group| charged[group] && usage[group] > self.budget[group]) {
            self.calls[call][1] += 1;
            return E_OUTOFMEMORY;
        }
        (self.usage, self.paged_in) = (usage, paged_in);
        self.calls[call][2] += indices.len() as u64;
        for (object, count) in self.objects.iter_mut().zip(counts) {
            object.count = count;
        }
        S_OK
    }

    fn expect_evicted(&mut self, indices: &[usize]) -> HRESULT {
        let mut counts: Vec<u32> = self.objects.iter().map(|object| object.count).collect();
        self.calls[2][0] += 1;
        for &index in indices {
            let Some(left) = counts[index].checked_sub(1) else {
                self.calls[2][1] += 1;
                return E_INVALIDARG;
            };
            counts[index] = left;
        }
        self.calls[2][2] += indices.len() as u64;
        for (object, count) in self.objects.iter_mut().zip(counts) {
            if object.count > 0 && count == 0 {
                self.usage[usize::from(!object.local)] -= object.size;
                add(&mut self.paged_out, object.size);
            }
            object.count = count;
        }
        S_OK
    }

    fn enqueue(&mut self, deny: bool, numbers: &[usize]) {
        let Ok(device) = self.gpu.device.cast::<ID3D12Device3>() else { return };
        let (indices, objects) = self.named(numbers);
        let expected = self.expect_resident(&indices, deny, 1);
        let flags = if deny { D3D12_RESIDENCY_FLAG_DENY_OVERBUDGET } else { D3D12_RESIDENCY_FLAG_NONE };
        unsafe {
            let fence: ID3D12Fence = device.CreateFence(0, D3D12_FENCE_FLAG_NONE).expect("created");
            let count = u32::try_from(objects.len()).expect("few");
            let enqueue = device.vtable().EnqueueMakeResident;
            let result = enqueue(device.as_raw(), flags, count, objects.as_ptr().cast(), fence.as_raw(), 1);
            assert_eq!(result, expected);
            if expected.is_ok() {
                assert_eq!(fence.SetEventOnCompletion(1, HANDLE::default()), S_OK, "a null event blocks");
            }
        }
    }

    fn release(&mut self, number: usize) {
        let Some(index) = number.checked_rem(self.objects.len()) else { return };
        let object = self.objects.swap_remove(index);
        if object.count > 0 {
            self.usage[usize::from(!object.local)] -= object.size;
            add(&mut self.released, object.size);
            self.released_above_one += u64::from(object.count > 1);
        }
    }

    fn perform(&mut self, step: &Step) {
        match step {
            Step::CreateHeap { mib, upload, not_resident } => self.heap(*mib, *upload, *not_resident),
            Step::Commit { mib } => self.commit(*mib),
            Step::DescriptorHeap => self.descriptor_heap(),
            Step::QueryHeap => self.query_heap(),
            Step::MakeResident(numbers) => {
                let (indices, objects) = self.named(numbers);
                let expected = self.expect_resident(&indices, false, 0);
                assert_eq!(unsafe { self.gpu.device.MakeResident(&objects) }, expected);
            }
            Step::Enqueue { deny, objects } => self.enqueue(*deny, objects),
            Step::Evict(numbers) => {
                let (indices, objects) = self.named(numbers);
                let expected = self.expect_evicted(&indices);
                assert_eq!(unsafe { self.gpu.device.Evict(&objects) }, expected);
            }
            Step::Release(number) => self.release(*number),
            Step::SetBudget { local, mib } => {
                use heapwright_runtime::SegmentGroup;
                self.budget[usize::from(!local)] = mib * MIB;
                let group = if *local { SegmentGroup::Local } else { SegmentGroup::NonLocal };
                self.gpu.set_budget(group, ByteSize::from_mib(*mib));
            }
        }
    }

    fn check(&self) {
        let report = self.gpu.residency();
        let calls = [report.make_resident, report.enqueue_make_resident, report.evict]
            .map(|calls| [calls.calls, calls.refused, calls.objects]);
        assert_eq!(calls, self.calls);
        assert_eq!(report.paged_in, self.paged_in);
        assert_eq!(report.paged_out, self.paged_out);
        assert_eq!(report.created_resident, self.created);
        assert_eq!(report.released_resident, self.released);
        let resident: Vec<&Object> = self.objects.iter().filter(|object| object.count > 0).collect();
        let mut now = PagedObjects::default();
        resident.iter().for_each(|object| add(&mut now, object.size));
        assert_eq!(report.resident, now);
        let with = |count| self.objects.iter().filter(|object| object.count == count).count() as u64;
        assert_eq!([report.alive_with_zero, report.alive_with_one], [with(0), with(1)]);
        // The balance of objects and of bytes.
        let sum = |a: PagedObjects, b: PagedObjects| [a.objects + b.objects, a.bytes.get() + b.bytes.get()];
        let left = sum(report.created_resident, report.paged_in);
        let right = sum(report.paged_out, report.released_resident);
        assert_eq!(left, [right[0] + report.resident.objects, right[1] + report.resident.bytes.get()]);
        let groups = [DXGI_MEMORY_SEGMENT_GROUP_LOCAL, DXGI_MEMORY_SEGMENT_GROUP_NON_LOCAL];
        let usage = groups.map(|group| memory_info(&self.gpu.adapter, group).CurrentUsage);
        assert_eq!(usage, self.usage);
        assert_eq!(report.resident.bytes.get(), usage[0] + usage[1]);
        // Objects with a residency count above one, by name.
        let mut above: Vec<_> = self.objects.iter().filter(|object| object.count > 1).collect();
        assert_eq!(report.above_one.len(), above.len());
        for counted in &report.above_one {
            let is_it = |object: &&Object| {
                (object.kind, &object.name, object.size, object.count)
                    == (counted.kind, &counted.name, counted.size.get(), counted.count)
            };
            let at = above.iter().position(is_it).unwrap_or_else(|| panic!("{counted} is none of ours"));
            above.swap_remove(at);
        }
        assert_eq!(report.released_above_one_count, self.released_above_one);
        let balances = report.above_one.is_empty() && self.released_above_one == 0 && self.calls[2][1] == 0;
        assert_eq!(report.check_balance().is_ok(), balances);
    }
}

fn run(profile: &str, steps: &[Step]) {
    let mut model = Model::open(profile);
    for step in steps {
        model.perform(step);
        model.check();
    }
    while !model.objects.is_empty() {
        model.release(0);
    }
    model.check();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn counts_bytes_and_calls_are_what_they_must_be(
        profile in prop::sample::select(vec!["discrete-2gib", "first-generation", "uma", "heap-tier-1"]),
        steps in prop::collection::vec(step(), 1..80),
    ) {
        run(profile, &steps);
    }
}

#[test]
fn an_imbalance_names_its_objects() {
    let mut model = Model::open("discrete");
    model.heap(3, false, false);
    model.query_heap();
    let make_twice = Step::MakeResident(vec![0, 0, 1]);
    model.perform(&make_twice);
    let imbalance = model.gpu.residency().check_balance().expect_err("three times one and two times another");
    assert_eq!(
        imbalance.to_string(),
        "MakeResident and Evict calls are not balanced: heap 'object 0' (3.00 MiB) with residency count 3, \
         an unnamed query heap (0 B) with residency count 2"
    );
    model.perform(&Step::Evict(vec![0, 0, 1]));
    model.gpu.residency().check_balance().expect("evicted as often");
    model.perform(&make_twice);
    model.release(0);
    let imbalance = model.gpu.residency().check_balance().expect_err("one is gone with a count of three");
    assert_eq!(imbalance.released_above_one.len(), 1);
    assert!(
        imbalance.to_string().contains("heap 'object 0' (3.00 MiB) with residency count 3 when released")
    );
}

#[test]
fn a_refused_evict_is_an_imbalance() {
    let mut model = Model::open("discrete");
    model.heap(1, false, false);
    model.perform(&Step::Evict(vec![0]));
    model.gpu.residency().check_balance().expect("so far so good");
    model.perform(&Step::Evict(vec![0]));
    let imbalance = model.gpu.residency().check_balance().expect_err("evicted once too often");
    assert_eq!(imbalance.refused_evicts, 1);
    assert!(imbalance.to_string().ends_with("1 refused Evict calls"), "{imbalance}");
}

#[test]
fn released_imbalances_are_counted_beyond_those_that_are_listed() {
    use heapwright_runtime::residency::ResidencyReport;
    let mut model = Model::open("discrete");
    for _ in 0..ResidencyReport::RELEASED_ABOVE_ONE_LISTED + 3 {
        model.query_heap();
        model.perform(&Step::MakeResident(vec![0]));
        model.release(0);
    }
    model.check();
    let report = model.gpu.residency();
    assert_eq!(report.released_above_one.len(), ResidencyReport::RELEASED_ABOVE_ONE_LISTED);
    let imbalance = report.check_balance().expect_err("all of them").to_string();
    assert!(imbalance.ends_with("3 more objects released with a residency count above one"), "{imbalance}");
}

#[test]
fn a_name_that_is_removed_is_not_in_messages() {
    let mut model = Model::open("discrete");
    model.heap(1, false, false);
    model.perform(&Step::MakeResident(vec![0]));
    let imbalance =
        |model: &Model| model.gpu.residency().check_balance().expect_err("once too often").to_string();
    assert!(imbalance(&model).contains("'object 0'"));
    let object = &model.objects[0].pageable;
    assert_eq!(unsafe { object.SetName(PCWSTR(std::ptr::null())) }, S_OK);
    assert!(imbalance(&model).contains("an unnamed heap"), "{}", imbalance(&model));
}
