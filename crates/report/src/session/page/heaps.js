// The heaps at the chosen moment: all of them to scale, and a map of some.

// Lifetimes and ages of blocks, in classes with a colour each.
const CLASSES = [[1e3, '< 1 ms'], [1e4, '< 10 ms'], [1e5, '< 100 ms'], [1e6, '< 1 s'], [1e7, '< 10 s'], [Infinity, 'longer']];
const classOf = (us) => CLASSES.findIndex(([end]) => us < end);
const blockColours = {
  lifetime: (block) => colours.scale[isLiveAtEnd(block) ? 5 : classOf(lifetimeOf(block))],
  age: (block, moment) => colours.scale[classOf(timeAt(moment) - timeAt(blocks.start[block]))],
  kind: (block) => colours.kinds[blocks.kind[block]],
  group: (block) => colours.groups[stackOf().of(block)],
};
// The groups of the chart; the kinds without any.
const stackOf = () => {
  const by = byId('stack-by').value || 'kind';
  return (known[by + ' colours'] ||= colouredBy(by));
};
const hasKind = KINDS.map(() => false);
blocks.kind.forEach((kind) => { hasKind[kind] = true; });
const blockLegends = {
  lifetime: () => ['lives', ...CLASSES.map(([, name], step) => [name + (step === 5 ? ' or live at the end' : ''), 'var(--scale' + step + ')'])],
  age: () => ['created', ...CLASSES.map(([, name], step) => [name + ' ago', 'var(--scale' + step + ')'])],
  kind: () => ['', ...KINDS.map((name, kind) => [name, 'var(--kind' + kind + ')']).filter((_, kind) => hasKind[kind])],
  group: () => ['', ...stackOf().names.map((name, group) => [name, 'var(--group' + group + ')'])],
};

const makeHeaps = (pickHeap, pickBlock) => {
  const overview = byId('overview');
  const canvas = overview.querySelector('canvas');
  const maps = byId('maps');
  const more = byId('more-maps');
  const CELL = 14;
  const GAP = 2;
  const MOST_CELLS = 20000;
  const MAPS = 12;
  const ROW = 22;
  const PICKED_ROWS = 6;
  let moment = 0;
  let pickedHeap = -1;
  let pickedBlock = -1;
  let shownMaps = MAPS;
  let live = [];
  let cells = [];
  const elements = [];

  // Returns the colours of a heap's blocks and their share of the used bytes. Too many blocks have one colour.
  const MOST_COLOURED = 300000;
  const partsOf = (heap) => {
    if (liveCount[moment] > MOST_COLOURED) return [[colours.used, 1]];
    const colourOf = blockColours[byId('colours').value];
    const bytes = new Map();
    let sum = 0;
    liveIn(heap, moment, (block) => {
      const colour = colourOf(block, moment);
      bytes.set(colour, (bytes.get(colour) || 0) + blocks.size[block]);
      sum += blocks.size[block];
    });
    return [...bytes].map(([colour, part]) => [colour, part / sum]).sort(([left], [right]) => (left < right ? -1 : 1));
  };
  const drawOverview = () => {
    const width = overview.clientWidth;
    let total = 0;
    let largest = 1;
    for (const heap of live) {
      total += heaps.size[heap];
      largest = Math.max(largest, heaps.size[heap]);
    }
    // Ten rows at most, unless the heaps are many or the largest one needs more.
    const row = Math.max(largest, total / 10);
    cells = [];
    let left = 0;
    let top = 0;
    for (const heap of live.slice(0, MOST_CELLS)) {
      const wide = Math.min(width, Math.max(3, heaps.size[heap] / row * width - GAP));
      if (left > 0 && left + wide > width + .5) {
        left = 0;
        top += CELL + GAP;
      }
      cells.push({ heap, left, top, wide });
      left += wide + GAP;
    }
    const context = prepare(canvas, width, live.length === 0 ? 1 : top + CELL);
    const free = hatched(context);
    for (const { heap, left, top, wide } of cells) {
      const share = Math.min(1, usedOf(heap, moment) / Math.max(1, heaps.size[heap]));
      context.globalAlpha = isEvicted(heap, moment) ? .3 : 1;
      context.fillStyle = free;
      context.fillRect(left, top, wide, CELL);
      let from = left;
      for (const [colour, part] of partsOf(heap)) {
        context.fillStyle = colour;
        context.fillRect(from, top, share * part * wide, CELL);
        from += share * part * wide;
      }
      if (heap !== pickedHeap) continue;
      context.globalAlpha = 1;
      context.strokeStyle = colours.text;
      context.lineWidth = 2;
      context.strokeRect(left + 1, top + 1, Math.max(1, wide - 2), CELL - 2);
    }
    context.globalAlpha = 1;
    const notes = [];
    if (live.length > 0) notes.push('All heaps at this moment, drawn to scale: the full width is ' + formatSize(row) + '. Hatched parts are free; within a heap, colours show proportions, not positions.');
    if (live.length > MOST_CELLS) notes.push('The last ' + formatCount(live.length - MOST_CELLS) + ' heaps are not drawn.');
    if (counts.paging > 0) notes.push('Pale heaps are evicted.');
    byId('scale').textContent = notes.join(' ');
    return total;
  };
  const cellAt = (event) => {
    const box = canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    return cells.find(({ left, top, wide }) => y >= top && y < top + CELL + GAP && x >= left - 1 && x <= left + wide + 1);
  };
  const describeHeap = (element, heap) => {
    const lines = [formatExactly(heaps.size[heap]) + (heaps.type[heap] ? ', ' + HEAP_TYPES[heaps.type[heap]] : '')];
    lines.push(formatSize(usedOf(heap, moment)) + ' used (' + formatPercent(usedOf(heap, moment) / Math.max(1, heaps.size[heap])) + ')');
    if (heaps.details[heaps.detail[heap]]) lines.push(heaps.details[heaps.detail[heap]]);
    if (counts.moments > 1) lines.push('created after ' + formatTime(timeAt(heaps.start[heap])) + (heaps.end[heap] >= counts.moments ? ', live at the end' : ', destroyed after ' + formatTime(timeAt(heaps.end[heap]))));
    if (isEvicted(heap, moment)) lines.push('evicted');
    element.replaceChildren(make('b', heapName(heap)), '\n' + lines.join('\n'));
  };
  canvas.addEventListener('pointermove', (event) => {
    const cell = cellAt(event);
    if (cell) showTip(event, (element) => describeHeap(element, cell.heap)); else hideTip();
  });
  canvas.addEventListener('pointerleave', hideTip);
  canvas.addEventListener('click', (event) => {
    const cell = cellAt(event);
    if (cell) pickHeap(cell.heap);
  });
  overview.addEventListener('keydown', (event) => {
    const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!move || live.length === 0) return;
    event.preventDefault();
    const place = live.indexOf(pickedHeap);
    pickHeap(live[place < 0 ? 0 : Math.max(0, Math.min(live.length - 1, place + move))]);
  });

  // A map: elements of a heap, which are used again for other heaps.
  const makeMap = () => {
    const article = make('article', undefined, { className: 'heap' });
    const title = make('h3');
    const button = make('button', '', { type: 'button' });
    const facts = make('span', '', { className: 'facts' });
    const details = make('p', '', { className: 'picked', hidden: true });
    const picture = make('canvas');
    picture.setAttribute('role', 'img');
    title.append(button);
    article.append(title, facts, picture, details);
    const map = { article, button, facts, details, picture, heap: -1, rows: 1, list: [] };
    button.addEventListener('click', () => pickHeap(map.heap === pickedHeap ? -1 : map.heap));
    const blockAt = (event) => {
      const box = picture.getBoundingClientRect();
      const row = Math.max(0, Math.min(map.rows - 1, Math.floor((event.clientY - box.top) / (ROW + GAP))));
      const perPixel = heaps.size[map.heap] / map.rows / box.width;
      const offset = (row + (event.clientX - box.left) / box.width) / map.rows * heaps.size[map.heap];
      const holds = (block, slack) => blocks.offset[block] - slack <= offset && offset < blocks.offset[block] + blocks.size[block] + slack;
      // Narrow blocks are also found two pixels beside them.
      return map.list.find((block) => holds(block, 0)) ?? map.list.find((block) => blocks.size[block] < 4 * perPixel && holds(block, 2 * perPixel));
    };
    picture.addEventListener('pointermove', (event) => {
      const block = blockAt(event);
      if (block !== undefined) showTip(event, (element) => describeBlock(element, block)); else hideTip();
    });
    picture.addEventListener('pointerleave', hideTip);
    picture.addEventListener('click', (event) => {
      const block = blockAt(event);
      if (block !== undefined) pickBlock(block); else pickHeap(map.heap);
    });
    return map;
  };

  const drawMap = (map, heap) => {
    map.heap = heap;
    map.rows = heap === pickedHeap ? PICKED_ROWS : 1;
    map.list = [];
    liveIn(heap, moment, (block) => map.list.push(block));
    const bytes = heaps.size[heap];
    const inUse = usedOf(heap, moment);
    map.article.classList.toggle('is-picked', heap === pickedHeap);
    map.button.textContent = heapName(heap);
    map.button.title = heap === pickedHeap ? 'Make the map smaller' : 'Enlarge the map';
    map.button.setAttribute('aria-expanded', heap === pickedHeap);
    map.facts.textContent = [formatSize(bytes), HEAP_TYPES[heaps.type[heap]], heaps.details[heaps.detail[heap]], formatSize(inUse) + ' used (' + formatPercent(inUse / Math.max(1, bytes)) + ')',
      plural(map.list.length, 'allocation'), isEvicted(heap, moment) ? 'evicted' : ''].filter(Boolean).join(' · ');
    map.picture.setAttribute('aria-label', 'Map of ' + heapName(heap) + ': ' + map.facts.textContent);
    const width = map.article.clientWidth - 2;
    const context = prepare(map.picture, width, map.rows * (ROW + GAP) - GAP);
    const free = hatched(context);
    context.globalAlpha = isEvicted(heap, moment) ? .3 : 1;
    // Calls paint with each rectangle of a range, row by row.
    const rectangles = (offset, size, paint) => {
      const start = offset / bytes * map.rows;
      const end = Math.min(map.rows, (offset + size) / bytes * map.rows);
      for (let row = Math.floor(start); row < end; row += 1) {
        const left = Math.max(0, start - row) * width;
        const right = Math.min(1, end - row) * width;
        paint(Math.min(left, width - 1), row * (ROW + GAP), Math.max(1, right - left));
      }
    };
    context.fillStyle = free;
    rectangles(0, bytes, (left, top, wide) => context.fillRect(left, top, wide, ROW));
    const colourOf = blockColours[byId('colours').value];
    for (const block of map.list) {
      const colour = colourOf(block, moment);
      rectangles(blocks.offset[block], blocks.size[block], (left, top, wide) => {
        context.fillStyle = colour;
        context.fillRect(left, top, wide, ROW);
        if (wide < 3) return;
        context.fillStyle = colours.edge;
        context.fillRect(left + wide - 1, top, 1, ROW);
      });
    }
    if (map.list.includes(pickedBlock)) {
      context.globalAlpha = 1;
      context.strokeStyle = colours.text;
      context.lineWidth = 2;
      rectangles(blocks.offset[pickedBlock], blocks.size[pickedBlock], (left, top, wide) => context.strokeRect(left + 1, top + 1, Math.max(1, wide - 2), ROW - 2));
      describeBlock(map.details, pickedBlock);
    }
    map.details.hidden = !map.list.includes(pickedBlock);
  };

  const orders = {
    size: (heap) => -heaps.size[heap],
    free: (heap) => usedOf(heap, moment) - heaps.size[heap],
    number: (heap) => heap,
  };
  const drawMaps = () => {
    const order = orders[byId('heap-order').value];
    const keys = new Map(live.map((heap) => [heap, heap === pickedHeap ? -Infinity : order(heap)]));
    const shown = [...live].sort((left, right) => keys.get(left) - keys.get(right) || left - right).slice(0, shownMaps);
    while (elements.length < shown.length) {
      elements.push(makeMap());
      maps.append(elements.at(-1).article);
    }
    elements.forEach((map, place) => { map.article.hidden = place >= shown.length; });
    shown.forEach((heap, place) => drawMap(elements[place], heap));
    const rest = live.length - shown.length;
    more.hidden = rest === 0;
    more.textContent = 'Show the maps of ' + formatCount(Math.min(MAPS, rest)) + ' more of ' + plural(rest, 'heap');
  };
  const draw = () => {
    live = [];
    for (let heap = 0; heap < heaps.count; heap += 1) if (heaps.start[heap] <= moment && moment < heaps.end[heap]) live.push(heap);
    const total = drawOverview();
    const inHeaps = used[moment] - usedOf(-1, moment);
    const facts = [plural(live.length, 'heap'), formatSize(total)];
    if (live.length > 0) facts.push(formatSize(inHeaps) + ' used (' + formatPercent(inHeaps / Math.max(1, total)) + ')', formatSize(scattered[moment]) + ' free in fragments');
    if (usedOf(-1, moment) > 0) facts.push(formatSize(usedOf(-1, moment)) + ' outside of heaps');
    byId('heap-facts').textContent = facts.join(' · ');
    drawMaps();
  };
  const drawLegend = () => {
    const [heading, ...entries] = blockLegends[byId('colours').value]();
    byId('block-colours').replaceChildren(...(heading ? [make('li', heading)] : []), ...entries.map(([name, colour]) => legendEntry(name, colour)), legendEntry('free', '', 'free'));
  };
  more.addEventListener('click', () => {
    shownMaps += MAPS;
    drawMaps();
  });
  byId('heap-order').addEventListener('change', drawMaps);
  byId('colours').addEventListener('change', () => {
    drawLegend();
    draw();
  });
  // The kinds are worth a colour only if they are known.
  byId('colours').value = blocks.kind.some((kind) => kind !== 0) ? 'kind' : 'lifetime';
  drawLegend();
  return {
    draw,
    recolour: () => {
      drawLegend();
      draw();
    },
    show: (next, heap, block) => {
      [moment, pickedHeap, pickedBlock] = [next, heap, block];
      draw();
    },
  };
};
