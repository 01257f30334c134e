/* Defragmentation of D3D12MA's API: the program copies, and its bytes stay what they were. */
#include "d3d12ma.hpp"

using namespace ma;

namespace {

/* Buffers, each filled with bytes of its own, which the GPU copies when they move. */
struct scene {
    const environment &env;
    held<D3D12MA::Allocator> allocator;
    direct_queue queue;
    struct thing {
        held<D3D12MA::Allocation> allocation;
        UINT64 size;
        UINT value;
    };
    std::vector<std::unique_ptr<thing>> things;
    UINT next = 1;

    explicit scene(const environment &env) : env(env) {}
    bool open() { return create(env, allocator, RECOMMENDED) && queue.create(env); }
    bool open_managed() {
        D3D12MA::ALLOCATOR_DESC desc = {};
        desc.Flags = RECOMMENDED;
        desc.pDevice = env.device;
        desc.pAdapter = env.dxgi();
        return EXPECT(heapwright::d3d12ma::CreateAllocator(&desc, RESIDENCY_MANAGER_DESC{}, &allocator.self) == S_OK) && queue.create(env);
    }

    /* UPLOAD, so that the CPU fills and checks them. */
    bool add(const D3D12MA::ALLOCATION_DESC &place, UINT64 size) {
        auto made = std::make_unique<thing>();
        made->size = size;
        made->value = next++;
        const D3D12_RESOURCE_DESC desc = buffer_desc(size);
        if (!EXPECT(allocator->CreateResource(&place, &desc, D3D12_RESOURCE_STATE_GENERIC_READ, nullptr, &made->allocation.self, GUID{}, nullptr) == S_OK)) return false;
        made->allocation->SetPrivateData(made.get());
        UINT *data = nullptr;
        if (!EXPECT(made->allocation->GetResource()->Map(0, nullptr, reinterpret_cast<void **>(&data)) == S_OK)) return false;
        std::fill(data, data + size / 4, made->value);
        made->allocation->GetResource()->Unmap(0, nullptr);
        things.push_back(std::move(made));
        return true;
    }

    void check() {
        for (auto &thing : things) {
            UINT *data = nullptr;
            EXPECT(thing->allocation->GetResource()->Map(0, nullptr, reinterpret_cast<void **>(&data)) == S_OK);
            EXPECT(data[0] == thing->value && data[thing->size / 4 - 1] == thing->value && data[thing->size / 8] == thing->value);
            thing->allocation->GetResource()->Unmap(0, nullptr);
        }
    }

    /* Creates the new resources of a pass, and copies. */
    void carry_out(const D3D12MA::DEFRAGMENTATION_PASS_MOVE_INFO &pass) {
        for (UINT i = 0; i < pass.MoveCount; i++) {
            D3D12MA::DEFRAGMENTATION_MOVE &move = pass.pMoves[i];
            if (move.Operation != D3D12MA::DEFRAGMENTATION_MOVE_OPERATION_COPY) continue;
            auto *of = static_cast<thing *>(move.pSrcAllocation->GetPrivateData());
            if (!EXPECT(of && of->allocation.self == move.pSrcAllocation)) continue;
            EXPECT(move.pDstTmpAllocation->GetSize() == move.pSrcAllocation->GetSize() && !move.pDstTmpAllocation->GetResource());
            held<ID3D12Resource> target;
            const D3D12_RESOURCE_DESC desc = buffer_desc(of->size);
            const HRESULT made = i % 2 ? env.device->CreatePlacedResource(move.pDstTmpAllocation->GetHeap(), move.pDstTmpAllocation->GetOffset(),
                                             &desc, D3D12_RESOURCE_STATE_GENERIC_READ, nullptr, target.id(), target.out())
                                       : allocator->CreateAliasingResource(move.pDstTmpAllocation, 0, &desc, D3D12_RESOURCE_STATE_GENERIC_READ,
                                             nullptr, target.id(), target.out());
            if (!EXPECT(made == S_OK)) continue;
            void *from = nullptr, *to = nullptr;
            EXPECT(move.pSrcAllocation->GetResource()->Map(0, nullptr, &from) == S_OK && target->Map(0, nullptr, &to) == S_OK);
            std::memcpy(to, from, of->size);
            target->Unmap(0, nullptr);
            move.pSrcAllocation->GetResource()->Unmap(0, nullptr);
            move.pDstTmpAllocation->SetResource(target);
        }
    }
};

} // namespace

/* Two half full blocks become one, in one pass or in several. */
static void simple(const environment &env) {
    for (UINT most : {0u, 1u}) {
        scene scene(env);
        REQUIRE(scene.open());
        held<D3D12MA::Pool> pool;
        const D3D12MA::CPOOL_DESC desc(D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS, D3D12MA::POOL_FLAG_NONE, 512 * KIB);
        REQUIRE(scene.allocator->CreatePool(&desc, &pool.self) == S_OK);
        D3D12MA::DEFRAGMENTATION_DESC run = {D3D12MA::DEFRAGMENTATION_FLAG_ALGORITHM_FAST, most * 64 * KIB, most};
        held<D3D12MA::DefragmentationContext> context;
        D3D12MA::DEFRAGMENTATION_PASS_MOVE_INFO pass = {};
        D3D12MA::DEFRAGMENTATION_STATS stats = {1, 1, 1, 1};
        /* Of nothing. */
        REQUIRE(pool->BeginDefragmentation(&run, &context.self) == S_OK);
        EXPECT(context->BeginPass(&pass) == S_OK && pass.MoveCount == 0);
        context->GetStats(&stats);
        EXPECT(stats.BytesMoved == 0 && stats.AllocationsMoved == 0 && stats.HeapsFreed == 0 && stats.BytesFreed == 0);
        context.release();

        for (unsigned i = 0; i < 16; i++) {
            REQUIRE(scene.add(D3D12MA::CALLOCATION_DESC(pool.self), 64 * KIB));
            /* It stays mapped. */
            void *data = nullptr;
            if (most) EXPECT(scene.things.back()->allocation->GetResource()->Map(0, nullptr, &data) == S_OK);
        }
        EXPECT(statistics(pool).BlockCount == 2);
        for (unsigned i = 1; i <= 8; i++) scene.things.erase(scene.things.begin() + i);
        REQUIRE(pool->BeginDefragmentation(&run, &context.self) == S_OK);
        unsigned passes = 0;
        while (context->BeginPass(&pass) == S_FALSE && passes < 100) {
            passes++;
            EXPECT(pass.MoveCount == (most ? 1 : 4));
            EXPECT(statistics(pool).AllocationCount == 8 + pass.MoveCount);
            scene.carry_out(pass);
            EXPECT(context->EndPass(&pass) == S_FALSE && pass.MoveCount == 0);
        }
        context->GetStats(&stats);
        EXPECT(passes == (most ? 4 : 1) && stats.AllocationsMoved == 4 && stats.BytesMoved == 4 * 64 * KIB);
        EXPECT(stats.HeapsFreed == 1 && stats.BytesFreed == 512 * KIB && statistics(pool).BlockCount == 1);
        context.release();
        scene.check();
    }
}

/* Moves that are ignored, allocations that are destroyed, and passes that are not ended. */
static void operations(const environment &env) {
    scene scene(env);
    REQUIRE(scene.open());
    held<D3D12MA::Pool> pool;
    const D3D12MA::CPOOL_DESC desc(D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS, D3D12MA::POOL_FLAG_NONE, MIB);
    REQUIRE(scene.allocator->CreatePool(&desc, &pool.self) == S_OK);
    std::mt19937 random(7);
    for (unsigned i = 0; i < 100; i++) REQUIRE(scene.add(D3D12MA::CALLOCATION_DESC(pool.self), (1 + random() % 3) * 64 * KIB));
    for (size_t i = scene.things.size(); i-- > 0;) {
        if (random() % 10 < 7) scene.things.erase(scene.things.begin() + long(i));
    }
    const D3D12MA::DEFRAGMENTATION_DESC run = {D3D12MA::DEFRAGMENTATION_FLAG_ALGORITHM_BALANCED, 0, 8};
    held<D3D12MA::DefragmentationContext> context;
    D3D12MA::DEFRAGMENTATION_PASS_MOVE_INFO pass = {};
    /* Everything is ignored. */
    REQUIRE(pool->BeginDefragmentation(&run, &context.self) == S_OK);
    HRESULT result = S_FALSE;
    for (unsigned passes = 0; result == S_FALSE && passes < 100; passes++) {
        result = context->BeginPass(&pass);
        for (UINT i = 0; i < pass.MoveCount; i++) pass.pMoves[i].Operation = D3D12MA::DEFRAGMENTATION_MOVE_OPERATION_IGNORE;
        if (result == S_FALSE) result = context->EndPass(&pass);
    }
    EXPECT(result == S_OK);
    context.release();
    /* A pass that is not ended, and one that is followed by another. */
    REQUIRE(pool->BeginDefragmentation(&run, &context.self) == S_OK && context->BeginPass(&pass) == S_FALSE);
    context->BeginPass(&pass);
    context.release();
    EXPECT(statistics(pool).AllocationCount == scene.things.size());
    /* Some are copied, some destroyed, some ignored, and some released by the program without a word. */
    REQUIRE(pool->BeginDefragmentation(&run, &context.self) == S_OK);
    unsigned moved = 0;
    for (unsigned passes = 0; passes < 100; passes++) {
        if (context->BeginPass(&pass) != S_FALSE) break;
        for (UINT i = 0; i < pass.MoveCount; i++) {
            D3D12MA::DEFRAGMENTATION_MOVE &move = pass.pMoves[i];
            auto *gone = static_cast<scene::thing *>(move.pSrcAllocation->GetPrivateData());
            const unsigned choice = random() % 8;
            if (choice == 0) move.Operation = D3D12MA::DEFRAGMENTATION_MOVE_OPERATION_IGNORE;
            if (choice == 1) {
                move.Operation = D3D12MA::DEFRAGMENTATION_MOVE_OPERATION_DESTROY;
                gone->allocation.self = nullptr;
            }
            if (choice == 2) {
                gone->allocation.release();
                move.Operation = D3D12MA::DEFRAGMENTATION_MOVE_OPERATION_IGNORE;
            }
            moved += choice > 2;
        }
        scene.carry_out(pass);
        scene.things.erase(std::remove_if(scene.things.begin(), scene.things.end(), [](auto &thing) { return !thing->allocation; }), scene.things.end());
        if (context->EndPass(&pass) == S_OK) break;
    }
    D3D12MA::DEFRAGMENTATION_STATS stats = {};
    context->GetStats(&stats);
    EXPECT(stats.AllocationsMoved == moved);
    context->GetStats(nullptr);
    EXPECT(context->BeginPass(nullptr) == E_INVALIDARG && context->EndPass(nullptr) == E_INVALIDARG);
    D3D12MA::DEFRAGMENTATION_MOVE foreign = {};
    pass = {1, &foreign};
    EXPECT(context->EndPass(&pass) == E_INVALIDARG);
    context.release();
    scene.check();
    EXPECT(totals(scene.allocator).Total.Stats.AllocationCount == scene.things.size());
}

/* The default pools, a few moves at a time, while the program goes on. */
static void incremental(const environment &env) {
    scene scene(env);
    REQUIRE(scene.open());
    std::mt19937 random(3);
    const auto place = in(D3D12_HEAP_TYPE_UPLOAD);
    for (unsigned i = 0; i < 150; i++) REQUIRE(scene.add(place, (1 + random() % 8) * 64 * KIB));
    for (size_t i = scene.things.size(); i-- > 0;) {
        if (random() % 10 < 7) scene.things.erase(scene.things.begin() + long(i));
    }
    const UINT64 before = totals(scene.allocator).Total.Stats.BlockBytes;
    const D3D12MA::DEFRAGMENTATION_DESC run = {D3D12MA::DEFRAGMENTATION_FLAG_ALGORITHM_FULL, MIB, 5};
    held<D3D12MA::DefragmentationContext> context;
    scene.allocator->BeginDefragmentation(&run, &context.self);
    REQUIRE(context);
    D3D12MA::DEFRAGMENTATION_PASS_MOVE_INFO pass = {};
    for (unsigned passes = 0; passes < 1000 && context->BeginPass(&pass) == S_FALSE; passes++) {
        EXPECT(pass.MoveCount <= 5);
        if (passes < 10) REQUIRE(scene.add(place, 64 * KIB));
        scene.carry_out(pass);
        if (context->EndPass(&pass) == S_OK) break;
    }
    D3D12MA::DEFRAGMENTATION_STATS stats = {};
    context->GetStats(&stats);
    EXPECT(stats.AllocationsMoved > 0 && stats.BytesMoved > 0 && stats.HeapsFreed > 0 && stats.BytesFreed > 0);
    EXPECT(totals(scene.allocator).Total.Stats.BlockBytes < before);
    scene.check();
    /* The context outlives the allocator. */
    scene.things.clear();
    scene.allocator.release();
    EXPECT(context->BeginPass(&pass) == S_OK);
    held<D3D12MA::DefragmentationContext> none;
    context.release();
}

static void transition(ID3D12GraphicsCommandList *list, ID3D12Resource *resource, D3D12_RESOURCE_STATES from, D3D12_RESOURCE_STATES to) {
    D3D12_RESOURCE_BARRIER barrier = {};
    barrier.Transition = {resource, D3D12_RESOURCE_BARRIER_ALL_SUBRESOURCES, from, to};
    list->ResourceBarrier(1, &barrier);
}

/* Textures and large buffers of the default pools, which the GPU copies, in their states; others are created meanwhile. */
static void textures_and_buffers(const environment &env) {
    scene scene(env);
    REQUIRE(scene.open());
    const auto place = in(D3D12_HEAP_TYPE_DEFAULT);
    const auto written = D3D12_RESOURCE_STATE_COPY_DEST, read = D3D12_RESOURCE_STATE_COPY_SOURCE;
    const auto used = D3D12_RESOURCE_STATE_VERTEX_AND_CONSTANT_BUFFER, drawn = D3D12_RESOURCE_STATE_PIXEL_SHADER_RESOURCE;
    std::mt19937 random(11);
    auto create = [&](bool is_texture, D3D12_RESOURCE_STATES state) {
        scene.things.push_back(std::make_unique<scene::thing>());
        scene::thing &made = *scene.things.back();
        made.size = is_texture ? 0 : MIB + random() % (2 * MIB) / 256 * 256;
        made.value = scene.next++;
        const UINT side = 128u << (random() % 3);
        const D3D12_RESOURCE_DESC desc = is_texture ? texture_desc(side, side) : buffer_desc(made.size);
        if (!EXPECT(scene.allocator->CreateResource(&place, &desc, state, nullptr, &made.allocation.self, GUID{}, nullptr) == S_OK)) return;
        made.allocation->SetPrivateData(&made);
    };
    for (unsigned i = 0; i < 120; i++) create(true, written);
    for (unsigned i = 0; i < 60; i++) create(false, written);
    for (unsigned i = 0; i < 126; i++) scene.things.erase(scene.things.begin() + long(random() % scene.things.size()));
    /* The description of a resource describes another one, with its flags. */
    allocations staging;
    auto copy_of = [&](scene::thing &of, D3D12_HEAP_TYPE type) -> D3D12MA::Allocation * {
        D3D12_RESOURCE_DESC desc = {};
        if (!EXPECT(RETURNED(desc, of.allocation->GetResource(), GetDesc, 10))) return nullptr;
        staging.push_back(std::make_unique<held<D3D12MA::Allocation>>());
        const auto committed = in(type, D3D12MA::ALLOCATION_FLAG_COMMITTED);
        EXPECT(scene.allocator->CreateResource(&committed, &desc, state_in(type), nullptr, &staging.back()->self, GUID{}, nullptr) == S_OK);
        return staging.back()->self;
    };
    for (auto &thing : scene.things) {
        if (thing->size) {
            D3D12MA::Allocation *upload = copy_of(*thing, D3D12_HEAP_TYPE_UPLOAD);
            UINT *data = nullptr;
            REQUIRE(upload && upload->GetResource()->Map(0, nullptr, reinterpret_cast<void **>(&data)) == S_OK);
            std::fill(data, data + thing->size / 4, thing->value);
            upload->GetResource()->Unmap(0, nullptr);
            scene.queue.recorded->CopyResource(thing->allocation->GetResource(), upload->GetResource());
        }
        transition(scene.queue.recorded, thing->allocation->GetResource(), written, thing->size ? used : drawn);
    }
    scene.queue.execute();
    staging.clear();

    held<D3D12MA::DefragmentationContext> context;
    const D3D12MA::DEFRAGMENTATION_DESC run = {D3D12MA::DEFRAGMENTATION_FLAGS(0), 0, 16};
    scene.allocator->BeginDefragmentation(&run, &context.self);
    REQUIRE(context);
    D3D12MA::DEFRAGMENTATION_PASS_MOVE_INFO pass = {};
    HRESULT result = S_FALSE;
    for (unsigned passes = 0; passes < 1000 && (result = context->BeginPass(&pass)) == S_FALSE; passes++) {
        for (UINT i = 0; i < pass.MoveCount; i++) {
            D3D12MA::Allocation *from = pass.pMoves[i].pSrcAllocation, *to = pass.pMoves[i].pDstTmpAllocation;
            const auto state = static_cast<scene::thing *>(from->GetPrivateData())->size ? used : drawn;
            D3D12_RESOURCE_DESC desc = {};
            REQUIRE(RETURNED(desc, from->GetResource(), GetDesc, 10));
            held<ID3D12Resource> target;
            REQUIRE(env.device->CreatePlacedResource(to->GetHeap(), to->GetOffset(), &desc, written, nullptr, target.id(), target.out()) == S_OK);
            to->SetResource(target);
            transition(scene.queue.recorded, from->GetResource(), state, read);
            scene.queue.recorded->CopyResource(target, from->GetResource());
            transition(scene.queue.recorded, target, written, state);
        }
        if (passes < 4) create(false, used);
        scene.queue.execute();
        if ((result = context->EndPass(&pass)) == S_OK) break;
    }
    EXPECT(result == S_OK);
    D3D12MA::DEFRAGMENTATION_STATS stats = {};
    context->GetStats(&stats);
    EXPECT(stats.AllocationsMoved > 0 && stats.BytesMoved > 0 && stats.HeapsFreed > 0 && stats.BytesFreed > 0);
    while (!scene.things.empty() && scene.things.back()->value > 180) scene.things.pop_back();
    for (auto &thing : scene.things) {
        if (!thing->size) continue;
        D3D12MA::Allocation *readback = copy_of(*thing, D3D12_HEAP_TYPE_READBACK);
        REQUIRE(readback);
        transition(scene.queue.recorded, thing->allocation->GetResource(), used, read);
        scene.queue.recorded->CopyResource(readback->GetResource(), thing->allocation->GetResource());
        scene.queue.execute();
        UINT *data = nullptr;
        REQUIRE(readback->GetResource()->Map(0, nullptr, reinterpret_cast<void **>(&data)) == S_OK);
        EXPECT(std::all_of(data, data + thing->size / 4, [&](UINT value) { return value == thing->value; }));
        readback->GetResource()->Unmap(0, nullptr);
    }
}

/* With residency, the memory of a target is an IResidencyHeap, for the list of the commands that copy; so is that of the allocation
   afterwards. */
static void managed(const environment &env) {
    scene scene(env);
    REQUIRE(scene.open_managed());
    held<D3D12MA::Pool> pool;
    const D3D12MA::CPOOL_DESC desc(D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS, D3D12MA::POOL_FLAG_NONE, 512 * KIB);
    REQUIRE(scene.allocator->CreatePool(&desc, &pool.self) == S_OK);
    for (unsigned i = 0; i < 16; i++) REQUIRE(scene.add(D3D12MA::CALLOCATION_DESC(pool.self), 64 * KIB));
    for (unsigned i = 1; i <= 8; i++) scene.things.erase(scene.things.begin() + i);
    const D3D12MA::DEFRAGMENTATION_DESC run = {D3D12MA::DEFRAGMENTATION_FLAG_ALGORITHM_FULL, 0, 0};
    held<D3D12MA::DefragmentationContext> context;
    D3D12MA::DEFRAGMENTATION_PASS_MOVE_INFO pass = {};
    REQUIRE(pool->BeginDefragmentation(&run, &context.self) == S_OK && context->BeginPass(&pass) == S_FALSE && pass.MoveCount == 4);
    held<IResidencyHeap> source, target, now;
    D3D12MA::Allocation *moved = pass.pMoves[0].pSrcAllocation;
    EXPECT(moved->QueryInterface(IID_IResidencyHeap, source.out()) == S_OK && source);
    EXPECT(pass.pMoves[0].pDstTmpAllocation->QueryInterface(IID_IResidencyHeap, target.out()) == S_OK && target && target.self != source.self);
    REQUIRE(target && target->GetInfo().Status == RESIDENCY_HEAP_STATUS_RESIDENT);
    scene.carry_out(pass);
    EXPECT(context->EndPass(&pass) == S_FALSE);
    EXPECT(moved->QueryInterface(IID_IResidencyHeap, now.out()) == S_OK && now.self == target.self);
    scene.check();
}

/* A pass for which the program's callbacks have no memory plans nothing, so that EndPass does not complete a part of it. */
static void no_host_memory(const environment &env) {
    std::atomic<int> left{1 << 20};
    D3D12MA::ALLOCATION_CALLBACKS callbacks = {};
    callbacks.pAllocate = [](size_t size, size_t, void *left) -> void * {
        return --*static_cast<std::atomic<int> *>(left) < 0 ? nullptr : std::malloc(size);
    };
    callbacks.pFree = [](void *memory, void *) { std::free(memory); };
    callbacks.pPrivateData = &left;
    held<D3D12MA::Allocator> allocator;
    REQUIRE(create(env, allocator, RECOMMENDED, 0, &callbacks));
    held<D3D12MA::Pool> pool;
    const D3D12MA::CPOOL_DESC desc(D3D12_HEAP_TYPE_UPLOAD, D3D12_HEAP_FLAG_ALLOW_ONLY_BUFFERS, D3D12MA::POOL_FLAG_NONE, 512 * KIB);
    REQUIRE(allocator->CreatePool(&desc, &pool.self) == S_OK);
    allocations made, others;
    for (unsigned i = 0; i < 60; i++) REQUIRE(add_buffer(made, allocator, D3D12MA::CALLOCATION_DESC(pool.self), 64 * KIB));
    for (unsigned i = 0; i < 30; i++) made.erase(made.begin() + i);
    held<D3D12MA::DefragmentationContext> context;
    const D3D12MA::DEFRAGMENTATION_DESC run = {D3D12MA::DEFRAGMENTATION_FLAG_ALGORITHM_FULL, 0, 0};
    REQUIRE(pool->BeginDefragmentation(&run, &context.self) == S_OK);
    left = 0;
    while (add_buffer(others, allocator, in(D3D12_HEAP_TYPE_READBACK), 64 * KIB)) {}
    REQUIRE(others.size() > 2);
    /* There is memory for the objects of two moves. */
    others.resize(others.size() - 2);
    D3D12MA::DEFRAGMENTATION_PASS_MOVE_INFO pass = {};
    EXPECT(context->BeginPass(&pass) == E_OUTOFMEMORY && pass.MoveCount == 0 && !pass.pMoves);
    EXPECT(context->EndPass(&pass) == S_OK && statistics(pool).AllocationCount == made.size());
    for (auto &one : made) EXPECT((*one)->GetResource());
}

void test_ma_defragmentation(const environment &env) {
    no_host_memory(env);
    managed(env);
    textures_and_buffers(env);
    simple(env);
    operations(env);
    incremental(env);
}
