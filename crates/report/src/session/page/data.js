'use strict';
// Reads the page's data, and indexes what lives at a moment.
const data = (() => {
  const element = document.getElementById('data');
  const parsed = JSON.parse(element.textContent);
  // The text takes as much memory as everything else.
  element.remove();
  return parsed;
})();

const bytesOf = (base64) => {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let place = 0; place < text.length; place += 1) bytes[place] = text.charCodeAt(place);
  return bytes;
};
// Reads LEB128 integers. Integers above 2^53 are approximate. A loop that writes to one kind of list is several times as fast as one that
// writes to three.
const numbersOf = (base64, count) => {
  const bytes = bytesOf(base64);
  const numbers = new Float64Array(count);
  let next = 0;
  for (let place = 0; place < count; place += 1) {
    let byte = bytes[next++];
    let number = byte & 0x7f;
    for (let unit = 128; byte > 0x7f; unit *= 128) {
      byte = bytes[next++];
      number += (byte & 0x7f) * unit;
    }
    numbers[place] = number;
  }
  return numbers;
};
const as = (List, numbers) => (List === Float64Array ? numbers : new List(numbers));
const plain = (base64, count, List) => as(List, numbersOf(base64, count));
// Reads differences, which are zigzag integers.
const differences = (base64, count, List) => {
  const numbers = numbersOf(base64, count);
  let sum = 0;
  for (let place = 0; place < count; place += 1) {
    const half = numbers[place] / 2;
    sum += half === Math.floor(half) ? half : -half - .5;
    numbers[place] = sum;
  }
  return as(List, numbers);
};
const endsOf = (start, lengths) => lengths.map((length, place) => start[place] + length);

const { counts } = data;
const times = differences(data.times, counts.moments, Float64Array);
// Free bytes of the heaps outside of the largest free range of each.
const scattered = differences(data.scattered, counts.moments, Float64Array);
const blocks = {
  count: counts.blocks,
  // That of its allocation, which a moved one keeps.
  number: differences(data.blocks.number, counts.blocks, Uint32Array),
  requested: plain(data.blocks.requested, counts.blocks, Float64Array),
  size: plain(data.blocks.size, counts.blocks, Float64Array),
  // 0 for none, otherwise the heap's index and 1.
  heap: plain(data.blocks.heap, counts.blocks, Uint32Array),
  offset: plain(data.blocks.offset, counts.blocks, Float64Array),
  start: differences(data.blocks.start, counts.blocks, Uint32Array),
  kind: plain(data.blocks.kind, counts.blocks, Uint8Array),
  type: plain(data.blocks.heap_type, counts.blocks, Uint8Array),
  name: plain(data.blocks.name, counts.blocks, Uint32Array),
  names: data.blocks.names,
  // 0 for none, otherwise the index in `data.pools` and 1.
  pool: plain(data.blocks.pool, counts.blocks, Uint32Array),
  // The index in PLACEMENTS, and eight times that in REASONS.
  placement: plain(data.blocks.placement, counts.blocks, Uint8Array),
};
blocks.end = endsOf(blocks.start, plain(data.blocks.length, counts.blocks, Uint32Array));
const heaps = {
  count: counts.heaps,
  size: plain(data.heaps.size, counts.heaps, Float64Array),
  start: differences(data.heaps.start, counts.heaps, Uint32Array),
  type: plain(data.heaps.heap_type, counts.heaps, Uint8Array),
  name: plain(data.heaps.name, counts.heaps, Uint32Array),
  names: data.heaps.names,
  detail: plain(data.heaps.detail, counts.heaps, Uint32Array),
  details: data.heaps.details,
};
heaps.end = endsOf(heaps.start, plain(data.heaps.length, counts.heaps, Uint32Array));
const submissions = {
  moment: differences(data.submissions[0], counts.submissions, Uint32Array),
  queue: plain(data.submissions[1], counts.submissions, Float64Array),
  bytes: plain(data.submissions[2], counts.submissions, Float64Array),
};
const paging = {
  moment: differences(data.paging[0], counts.paging, Uint32Array),
  heap: plain(data.paging[1], counts.paging, Uint32Array),
  isEviction: plain(data.paging[2], counts.paging, Uint8Array),
};
// Returns the first index in a sorted list whose number is at least `number`, between `low` and `high`.
const lowerBound = (list, number, low = 0, high = list.length) => {
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (list[middle] < number) low = middle + 1; else high = middle;
  }
  return low;
};

// Sums at each moment of sizes with lifetimes.
const sumsOf = ({ start, end, count }, sizeOf) => {
  const sums = new Float64Array(counts.moments + 1);
  for (let place = 0; place < count; place += 1) {
    sums[start[place]] += sizeOf(place);
    sums[end[place]] -= sizeOf(place);
  }
  for (let moment = 1; moment < sums.length; moment += 1) sums[moment] += sums[moment - 1];
  return sums.subarray(0, counts.moments);
};
const used = sumsOf(blocks, (block) => blocks.size[block]);
const reserved = sumsOf(heaps, (heap) => heaps.size[heap]);
const liveCount = sumsOf(blocks, () => 1);
const heapCount = sumsOf(heaps, () => 1);

// Bytes of the heaps that are resident at each moment, by their changes: of all heaps, or of those that `include` names.
const residentOf = (include) => {
  const changes = new Float64Array(counts.moments + 1);
  const isResident = new Uint8Array(heaps.count).fill(1);
  const evictedFrom = new Uint32Array(heaps.count);
  const evicted = (heap, from, to) => {
    changes[from] -= heaps.size[heap];
    changes[to] += heaps.size[heap];
  };
  for (let event = 0; event < counts.paging; event += 1) {
    const heap = paging.heap[event];
    if (!include(heap) || isResident[heap] === 1 - paging.isEviction[event]) continue;
    if (paging.isEviction[event]) evictedFrom[heap] = paging.moment[event];
    else evicted(heap, evictedFrom[heap], paging.moment[event]);
    isResident[heap] = 1 - paging.isEviction[event];
  }
  for (let heap = 0; heap < heaps.count; heap += 1) {
    if (!isResident[heap]) evicted(heap, evictedFrom[heap], Math.max(evictedFrom[heap], heaps.end[heap]));
  }
  const bytes = sumsOf(heaps, (heap) => (include(heap) ? heaps.size[heap] : 0));
  let sum = 0;
  for (let moment = 0; moment < counts.moments; moment += 1) {
    sum += changes[moment];
    bytes[moment] += sum;
  }
  return bytes;
};
// Without any change of residency, it is unknown.
const resident = counts.paging === 0 ? null : residentOf(() => true);
// Places in `paging` of each heap, in order.
const pagingOf = new Map();
for (let event = 0; event < counts.paging; event += 1) {
  const heap = paging.heap[event];
  if (!pagingOf.has(heap)) pagingOf.set(heap, []);
  pagingOf.get(heap).push(event);
}
const isEvicted = (heap, moment) => {
  const events = pagingOf.get(heap);
  if (!events) return false;
  const last = events.findLast((event) => paging.moment[event] <= moment);
  return last !== undefined && paging.isEviction[last] === 1;
};
// Segment groups with a budget, each with its bytes at each moment: budget, usage of the process, and what of it is the recorded heaps'.
const isNonLocal = (heap) => heaps.type[heap] === 2 || heaps.type[heap] === 3;
const segmentGroups = data.groups.map(({ includes, budget, usage, own, ...group }) => {
  // NaN before it is known.
  const over = ({ count, moments, values }) => {
    const bytes = new Float64Array(counts.moments).fill(NaN);
    const from = differences(moments, count, Uint32Array);
    plain(values, count, Float64Array).forEach((value, change) => bytes.fill(value, from[change], from[change + 1]));
    return bytes;
  };
  // Without usage, the budget is that of the heaps.
  const resident = usage.count === 0 && residentOf((heap) => includes[isNonLocal(heap) ? 1 : 0]);
  return { ...group, budget: over(budget), usage: resident || over(usage), own: resident || over(own) };
});

// Blocks by heap, those outside of heaps first, and in order of their start. Those of heap h are from firstOf[h + 1] to
// firstOf[h + 2] in `byHeap`.
const firstOf = new Uint32Array(heaps.count + 2);
const byHeap = new Uint32Array(blocks.count);
{
  for (let block = 0; block < blocks.count; block += 1) firstOf[blocks.heap[block] + 1] += 1;
  for (let heap = 1; heap < firstOf.length; heap += 1) firstOf[heap] += firstOf[heap - 1];
  const next = firstOf.slice();
  for (let block = 0; block < blocks.count; block += 1) byHeap[next[blocks.heap[block]]++] = block;
}

// A tree over `byHeap` with the latest end below each node. With it, the blocks that live at a moment are found in
// O((1 + number of them) * log n): a heap's blocks that start later are cut off, and branches that end earlier are skipped.
const leaves = 2 ** Math.ceil(Math.log2(Math.max(1, blocks.count)));
const latestEnd = new Uint32Array(2 * leaves);
byHeap.forEach((block, place) => { latestEnd[leaves + place] = blocks.end[block]; });
for (let node = leaves - 1; node > 0; node -= 1) latestEnd[node] = Math.max(latestEnd[2 * node], latestEnd[2 * node + 1]);

// Calls `visit` with each block of a heap that lives at a moment.
const liveIn = (heap, moment, visit) => {
  const low = firstOf[heap + 1];
  let high = firstOf[heap + 2];
  for (let begin = low; begin < high;) {
    const middle = (begin + high) >>> 1;
    if (blocks.start[byHeap[middle]] <= moment) begin = middle + 1; else high = middle;
  }
  const search = (node, from, to) => {
    if (from >= high || to <= low || latestEnd[node] <= moment) return;
    if (to - from === 1) {
      visit(byHeap[from]);
      return;
    }
    const middle = (from + to) / 2;
    search(2 * node, from, middle);
    search(2 * node + 1, middle, to);
  };
  if (low < high) search(1, 0, leaves);
};

// Used bytes and number of blocks of each heap after each of its changes, which are from 2 * firstOf[h + 1] on.
const changeMoment = new Uint32Array(2 * blocks.count);
const changeUsed = new Float64Array(2 * blocks.count);
{
  const byEnd = new Uint32Array(blocks.count);
  const next = new Uint32Array(counts.moments + 2);
  for (let block = 0; block < blocks.count; block += 1) next[blocks.end[block] + 1] += 1;
  for (let moment = 1; moment < next.length; moment += 1) next[moment] += next[moment - 1];
  for (let block = 0; block < blocks.count; block += 1) byEnd[next[blocks.end[block]]++] = block;
  const place = firstOf.map((first) => 2 * first);
  const usedNow = new Float64Array(heaps.count + 1);
  const change = (block, moment, bytes) => {
    const heap = blocks.heap[block];
    usedNow[heap] += bytes;
    changeMoment[place[heap]] = moment;
    changeUsed[place[heap]++] = usedNow[heap];
  };
  let ended = 0;
  for (let block = 0; block <= blocks.count; block += 1) {
    const start = block < blocks.count ? blocks.start[block] : Infinity;
    for (; ended < blocks.count && blocks.end[byEnd[ended]] <= start; ended += 1) {
      change(byEnd[ended], blocks.end[byEnd[ended]], -blocks.size[byEnd[ended]]);
    }
    if (block < blocks.count) change(block, start, blocks.size[block]);
  }
}
// Returns the used bytes of a heap at a moment; those outside of heaps for -1. O(log n).
const usedOf = (heap, moment) => {
  const low = 2 * firstOf[heap + 1];
  const next = lowerBound(changeMoment, moment + 1, low, 2 * firstOf[heap + 2]);
  return next > low ? changeUsed[next - 1] : 0;
};
