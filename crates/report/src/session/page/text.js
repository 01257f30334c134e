// Formatting of numbers, and elements. Text of the session is inserted with textContent and never as markup.
const byId = (id) => document.getElementById(id);
const make = (tag, text, properties) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  return Object.assign(element, properties);
};
const formatCount = (number) => number.toLocaleString('en-US');
const plural = (number, noun) => formatCount(number) + ' ' + noun + (number === 1 ? '' : 's');
// A size with three digits: `256 B`, `1.50 KiB`, `60.6 MiB`, `522 MiB`.
const formatSize = (bytes) => {
  if (bytes < 1000) return bytes + ' B';
  let unit = -1;
  while (bytes >= 999.5 && unit < 5) {
    bytes /= 1024;
    unit += 1;
  }
  if (unit < 0) unit = 0;
  return bytes.toFixed(bytes < 9.995 ? 2 : bytes < 99.95 ? 1 : 0) + ' ' + ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'][unit];
};
// A number of an axis, without zeros behind the point.
const formatTick = (bytes) => (formatSize(bytes).includes('.') ? formatSize(bytes).replace(/\.?0+ /, ' ') : formatSize(bytes));
const formatExactly = (bytes) => (bytes < 1000 ? formatSize(bytes) : formatSize(bytes) + ' (' + formatCount(bytes) + ' bytes)');
const formatPercent = (share) => (100 * share).toFixed(1) + ' %';
const formatHex = (number) => '0x' + number.toString(16);
// A duration from microseconds: with three digits, or from two minutes on, in two units.
const formatTime = (us) => {
  const seconds = Math.round(us / 1e6);
  if (seconds >= 120) {
    const minutes = Math.floor(seconds / 60);
    const [most, name, rest, below] = minutes < 120 ? [minutes, 'min', seconds % 60, 's'] : [Math.floor(minutes / 60), 'h', minutes % 60, 'min'];
    return formatCount(most) + ' ' + name + (rest ? ' ' + rest + ' ' + below : '');
  }
  for (const [unit, name] of [[1e6, 's'], [1e3, 'ms']]) {
    if (us >= unit) return (us / unit).toFixed(us / unit < 9.995 ? 2 : us / unit < 99.95 ? 1 : 0) + ' ' + name;
  }
  return Math.round(us) + ' µs';
};
const KINDS = ['kind unknown', 'buffer', 'texture', 'render target or depth-stencil', 'multisampled texture', 'backing buffer'];
const HEAP_TYPES = ['', 'DEFAULT', 'UPLOAD', 'READBACK', 'CUSTOM', 'GPU_UPLOAD'];
const PLACEMENTS = ['', 'a part of a larger buffer', 'placed in a shared heap', 'placed in a heap of its own', 'committed', 'imported'];
const REASONS = ['', 'the usual placement', 'a flag of the allocation requires it', 'a flag of the allocator requires it',
  'the allocator’s heaps lack heap flags that were requested', 'it is too large for shared heaps', 'the usual placements found no memory',
  'the limit of the heap type refused the usual placements', 'the allocator’s share of the budget refused the usual placements',
  'the budget refused the usual placements'];
// Allocations and heaps are numbered from 1, in the order of their creation.
const blockName = (block) => blocks.names[blocks.name[block]] || 'allocation ' + blocks.number[block];
const heapName = (heap) => heaps.names[heaps.name[heap]] || 'heap ' + (heap + 1);
const placeOf = (block) => (blocks.heap[block] === 0 ? 'outside of heaps' : heapName(blocks.heap[block] - 1) + ' at ' + formatHex(blocks.offset[block]));
const reasonOf = (block) => [PLACEMENTS[blocks.placement[block] % 8], REASONS[blocks.placement[block] >> 3]].filter(Boolean).join(': ');
const isLiveAtEnd = (block) => blocks.end[block] >= counts.moments;
const timeAt = (moment) => times[Math.min(moment, counts.moments - 1)] - times[0];
const lifetimeOf = (block) => timeAt(blocks.end[block]) - timeAt(blocks.start[block]);
const formatLifetime = (block) => (isLiveAtEnd(block) ? 'live at the end' : formatTime(lifetimeOf(block)));

const describeBlock = (element, block) => {
  const lines = [formatExactly(blocks.size[block]) + ', ' + KINDS[blocks.kind[block]] + (blocks.type[block] ? ', ' + HEAP_TYPES[blocks.type[block]] : '')];
  const waste = blocks.size[block] - blocks.requested[block];
  if (waste > 0) lines.push(formatExactly(waste) + ' more than requested');
  lines.push(placeOf(block));
  if (reasonOf(block)) lines.push(reasonOf(block));
  lines.push('created after ' + formatTime(timeAt(blocks.start[block])) + ', event ' + formatCount(blocks.start[block] + 1));
  lines.push(isLiveAtEnd(block) ? 'live at the end'
    : 'freed or moved after ' + formatTime(timeAt(blocks.end[block])) + ', lived ' + formatTime(lifetimeOf(block)));
  element.replaceChildren(make('b', blockName(block)), '\n' + lines.join('\n'));
};

const tip = byId('tip');
const showTip = (event, fill) => {
  fill(tip);
  tip.hidden = false;
  const left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
  const below = event.clientY + 18;
  const top = below + tip.offsetHeight > window.innerHeight ? event.clientY - tip.offsetHeight - 12 : below;
  tip.style.left = Math.max(4, left) + 'px';
  tip.style.top = Math.max(4, top) + 'px';
};
const hideTip = () => { tip.hidden = true; };

// Colours of the style sheet.
let colours = {};
const readColours = () => {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue('--' + name).trim();
  const names = ['bg', 'panel', 'line', 'text', 'soft', 'link', 'used', 'reserved', 'resident', 'budget', 'free', 'hatch', 'edge', 'fragmentation', 'submission', 'evict', 'others'];
  colours = Object.fromEntries(names.map((name) => [name, colour(name)]));
  colours.scale = [0, 1, 2, 3, 4, 5].map((step) => colour('scale' + step));
  colours.kinds = KINDS.map((_, kind) => colour('kind' + kind));
  colours.groups = [0, 1, 2, 3, 4, 5, 6].map((group) => colour('group' + group));
};
// Gives a canvas the size of its box in device pixels. Returns its context, width and height in CSS pixels.
const prepare = (canvas, width, height) => {
  const scale = window.devicePixelRatio || 1;
  canvas.style.width = width + 'px';
  canvas.style.height = height + 'px';
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  const context = canvas.getContext('2d');
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return context;
};
const hatched = (context) => {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 8;
  const lines = tile.getContext('2d');
  lines.fillStyle = colours.free;
  lines.fillRect(0, 0, 8, 8);
  lines.strokeStyle = colours.hatch;
  for (const shift of [-8, 0, 8]) {
    lines.beginPath();
    lines.moveTo(shift - 1, 9);
    lines.lineTo(shift + 9, -1);
    lines.stroke();
  }
  return context.createPattern(tile, 'repeat');
};
const legendEntry = (text, colour, className) => {
  const entry = make('li');
  const swatch = make('span', undefined, { className: 'swatch ' + (className || '') });
  if (colour) swatch.style.background = colour;
  entry.append(swatch, text);
  return entry;
};
