/* VirtualBlock of D3D12MA's API. */
#include "d3d12ma.hpp"

using namespace ma;
using D3D12MA::VirtualAllocation;

static HRESULT allocate(D3D12MA::VirtualBlock *block, UINT64 size, UINT64 alignment, VirtualAllocation &out, UINT64 *offset = nullptr,
    D3D12MA::VIRTUAL_ALLOCATION_FLAGS flags = D3D12MA::VIRTUAL_ALLOCATION_FLAG_NONE, void *data = nullptr) {
    const D3D12MA::CVIRTUAL_ALLOCATION_DESC desc(size, alignment, flags, data);
    return block->Allocate(&desc, &out, offset);
}

static bool create_block(UINT64 size, held<D3D12MA::VirtualBlock> &out, D3D12MA::VIRTUAL_BLOCK_FLAGS flags = D3D12MA::VIRTUAL_BLOCK_FLAG_NONE) {
    const D3D12MA::CVIRTUAL_BLOCK_DESC desc(size, flags);
    return EXPECT(D3D12MA::CreateVirtualBlock(&desc, &out.self) == S_OK && out);
}

/* Ranges of a block of 16 MiB: info, statistics, strings and everything that is refused. */
static void basics() {
    held<D3D12MA::VirtualBlock> block;
    REQUIRE(create_block(16 * MIB, block));
    EXPECT(block->IsEmpty());
    VirtualAllocation first = {}, second = {}, third = {}, refused = {7};
    UINT64 offsets[3] = {}, refused_offset = 7;
    int data = 0;
    REQUIRE(allocate(block, 8 * MIB, 1, first, &offsets[0], D3D12MA::VIRTUAL_ALLOCATION_FLAG_NONE, &data) == S_OK);
    EXPECT(first.AllocHandle != 0 && !block->IsEmpty());
    D3D12MA::VIRTUAL_ALLOCATION_INFO info = {};
    block->GetAllocationInfo(first, &info);
    EXPECT(info.Offset == offsets[0] && info.Size == 8 * MIB && info.pPrivateData == &data);
    block->SetAllocationPrivateData(first, nullptr);
    block->GetAllocationInfo(first, &info);
    EXPECT(!info.pPrivateData);
    REQUIRE(allocate(block, 4 * MIB, 0, second, &offsets[1]) == S_OK);
    EXPECT(offsets[1] >= offsets[0] + 8 * MIB || offsets[1] + 4 * MIB <= offsets[0]);
    EXPECT(allocate(block, 8 * MIB, 1, refused, &refused_offset) == E_OUTOFMEMORY);
    EXPECT(refused.AllocHandle == 0 && refused_offset == UINT64_MAX);
    REQUIRE(allocate(block, 4 * MIB, 1, third, &offsets[2]) == S_OK);

    D3D12MA::Statistics stats;
    block->GetStatistics(&stats);
    EXPECT(stats.BlockCount == 1 && stats.AllocationCount == 3 && stats.BlockBytes == 16 * MIB && stats.AllocationBytes == 16 * MIB);
    block->FreeAllocation(second);
    D3D12MA::DetailedStatistics detailed;
    block->CalculateStatistics(&detailed);
    EXPECT(detailed.Stats.AllocationCount == 2 && detailed.UnusedRangeCount == 1 && detailed.UnusedRangeSizeMin == 4 * MIB);
    EXPECT(detailed.AllocationSizeMin == 4 * MIB && detailed.AllocationSizeMax == 8 * MIB && detailed.UnusedRangeSizeMax == 4 * MIB);
    block->SetAllocationPrivateData(first, reinterpret_cast<void *>(UINT_PTR(1)));
    block->SetAllocationPrivateData(third, reinterpret_cast<void *>(UINT_PTR(2)));
    WCHAR *text = nullptr;
    block->BuildStatsString(&text);
    REQUIRE(text);
    const std::string json = narrow(text);
    for (const char *expected : {"\"TotalBytes\": 16777216", "\"UnusedBytes\": 4194304", "\"Allocations\": 2", "\"UnusedRanges\": 1",
             "\"CustomData\": 1", "\"CustomData\": 2", "\"Type\": \"FREE\""})
        EXPECT(json.find(expected) != std::string::npos);
    block->FreeStatsString(text);
    block->FreeStatsString(nullptr);
    block->BuildStatsString(nullptr);

    /* Misuse. */
    block->FreeAllocation(VirtualAllocation{0});
    block->FreeAllocation(second);
    block->FreeAllocation(VirtualAllocation{UINT64_MAX});
    block->GetAllocationInfo(second, &info);
    EXPECT(info.Size == 0 && info.Offset == UINT64_MAX);
    block->GetAllocationInfo(first, nullptr);
    block->SetAllocationPrivateData(second, &data);
    block->GetStatistics(nullptr);
    block->CalculateStatistics(nullptr);
    EXPECT(allocate(block, 0, 1, refused) == E_INVALIDARG && allocate(block, 16, 3, refused) == E_INVALIDARG);
    EXPECT(block->Allocate(nullptr, &refused, nullptr) == E_INVALIDARG);
    const D3D12MA::CVIRTUAL_ALLOCATION_DESC desc(1, 1);
    EXPECT(block->Allocate(&desc, nullptr, nullptr) == E_INVALIDARG);
    EXPECT(allocate(block, 1, 1, refused, nullptr, D3D12MA::VIRTUAL_ALLOCATION_FLAG_UPPER_ADDRESS) == E_INVALIDARG);
    EXPECT(allocate(block, 1, 1, refused, nullptr, D3D12MA::VIRTUAL_ALLOCATION_FLAGS(0x40)) == E_INVALIDARG);
    block->Clear();
    EXPECT(block->IsEmpty());
    block->GetAllocationInfo(first, &info);
    EXPECT(info.Size == 0);
    REQUIRE(allocate(block, 16 * MIB, 16 * MIB, first, &offsets[0]) == S_OK && offsets[0] == 0);
    EXPECT(block.release() == 0);
    D3D12MA::CVIRTUAL_BLOCK_DESC wrong(0);
    held<D3D12MA::VirtualBlock> none;
    EXPECT(D3D12MA::CreateVirtualBlock(&wrong, &none.self) == E_INVALIDARG && !none);
    EXPECT(D3D12MA::CreateVirtualBlock(nullptr, &none.self) == E_INVALIDARG);
    EXPECT(D3D12MA::CreateVirtualBlock(&wrong, nullptr) == E_INVALIDARG);
    wrong = D3D12MA::CVIRTUAL_BLOCK_DESC(MIB, D3D12MA::VIRTUAL_BLOCK_FLAGS(2));
    EXPECT(D3D12MA::CreateVirtualBlock(&wrong, &none.self) == E_INVALIDARG);
}

/* Random ranges, by each strategy, against a list of what is in use. */
static void algorithms() {
    const D3D12MA::VIRTUAL_ALLOCATION_FLAGS strategies[] = {D3D12MA::VIRTUAL_ALLOCATION_FLAG_NONE,
        D3D12MA::VIRTUAL_ALLOCATION_FLAG_STRATEGY_MIN_MEMORY, D3D12MA::VIRTUAL_ALLOCATION_FLAG_STRATEGY_MIN_TIME,
        D3D12MA::VIRTUAL_ALLOCATION_FLAG_STRATEGY_MIN_OFFSET};
    for (bool is_linear : {false, true}) {
        for (auto strategy : strategies) {
            held<D3D12MA::VirtualBlock> block;
            REQUIRE(create_block(10000, block, is_linear ? D3D12MA::VIRTUAL_BLOCK_FLAG_ALGORITHM_LINEAR : D3D12MA::VIRTUAL_BLOCK_FLAG_NONE));
            struct range {
                VirtualAllocation handle;
                UINT64 offset, size;
            };
            std::vector<range> live;
            std::mt19937 random(42);
            UINT64 sum = 0;
            for (unsigned step = 0; step < 1000; step++) {
                if (random() % 3 && !live.empty()) {
                    std::swap(live[is_linear ? 0 : random() % live.size()], live[0]);
                    sum -= live[0].size;
                    block->FreeAllocation(live[0].handle);
                    live.erase(live.begin());
                }
                for (unsigned count = random() % 4; count > 0; count--) {
                    const UINT64 size = 1 + random() % 400, alignment = UINT64(1) << (random() % 8);
                    range made = {{}, 0, size};
                    if (allocate(block, size, alignment, made.handle, &made.offset, strategy, &live) != S_OK) continue;
                    EXPECT(made.offset % alignment == 0 && made.offset + size <= 10000);
                    for (const range &other : live) EXPECT(made.offset >= other.offset + other.size || made.offset + size <= other.offset);
                    live.push_back(made);
                    sum += size;
                }
                D3D12MA::DetailedStatistics stats;
                block->CalculateStatistics(&stats);
                EXPECT(stats.Stats.AllocationCount == live.size() && stats.Stats.AllocationBytes == sum);
            }
        }
    }
    /* The lowest offset. */
    held<D3D12MA::VirtualBlock> block;
    REQUIRE(create_block(1000, block));
    VirtualAllocation made[5] = {}, low = {};
    UINT64 offset = 0;
    for (auto &one : made) REQUIRE(allocate(block, 200, 1, one) == S_OK);
    block->FreeAllocation(made[3]);
    block->FreeAllocation(made[1]);
    D3D12MA::VIRTUAL_ALLOCATION_INFO info[2];
    REQUIRE(allocate(block, 100, 1, low, &offset, D3D12MA::VIRTUAL_ALLOCATION_FLAG_STRATEGY_MIN_OFFSET) == S_OK);
    block->GetAllocationInfo(made[0], &info[0]);
    block->GetAllocationInfo(low, &info[1]);
    EXPECT(info[1].Offset == offset && offset == 200);
    block->Clear();
    /* Both ends. */
    held<D3D12MA::VirtualBlock> linear;
    REQUIRE(create_block(1000, linear, D3D12MA::VIRTUAL_BLOCK_FLAG_ALGORITHM_LINEAR));
    REQUIRE(allocate(linear, 100, 1, made[0], &offset) == S_OK && offset == 0);
    REQUIRE(allocate(linear, 100, 1, made[1], &offset, D3D12MA::VIRTUAL_ALLOCATION_FLAG_UPPER_ADDRESS) == S_OK && offset == 900);
}

void test_ma_virtual_blocks(const environment &) {
    basics();
    algorithms();
}
