'use strict';
// Draws the maps of the heaps and the list of allocations from the page's data. Text of the report is inserted with
// textContent and never as markup.
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const byId = (id) => document.getElementById(id);
  const make = (tag, text, properties) => {
    const element = document.createElement(tag);
    if (text !== undefined) element.textContent = text;
    return Object.assign(element, properties);
  };

  // Formatting of numbers.
  const count = (number) => number.toLocaleString('en-US');
  const size = (bytes) => {
    if (bytes < 1024) return bytes + ' B';
    let unit = -1;
    while (unit < 0 || (Number(bytes.toFixed(2)) >= 1024 && unit < 5)) {
      bytes /= 1024;
      unit += 1;
    }
    return bytes.toFixed(2) + ' ' + ['KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'][unit];
  };
  const exactly = (bytes) => (bytes < 1024 ? size(bytes) : size(bytes) + ' (' + count(bytes) + ' bytes)');
  const hex = (number) => '0x' + number.toString(16);

  // Allocations of all heaps, containers before nested allocations, followed by committed and imported resources.
  const all = [];
  const heaps = data.heaps.map(([bytes, address, list], index) => {
    const heap = { index, bytes, address, from: 0, to: bytes, element: byId('heap-' + index), list: [], waste: 0, used: 0, free: 0, largest: 0 };
    const add = (list, start, depth, container) => list.map(([offset, bytes, kind, name, user, waste, within]) => {
      const item = { id: all.length, heap, offset: start + offset, bytes, kind, name, user, waste, depth, container, within: null };
      all.push(item);
      if (within) {
        item.within = add(within, item.offset, depth + 1, item);
      } else {
        heap.used += bytes;
        heap.waste += waste;
      }
      return item;
    });
    heap.list = add(list, 0, 0, null);
    let end = 0;
    for (const next of [...heap.list, { offset: bytes, bytes: 0 }]) {
      heap.largest = Math.max(heap.largest, next.offset - end);
      heap.free += next.offset - end;
      end = next.offset + next.bytes;
    }
    return heap;
  });
  for (const where of ['committed', 'imported']) {
    data[where].forEach(([bytes, kind, name, user, waste, address], place) => {
      all.push({ id: all.length, heap: null, where, place, offset: 0, bytes, kind, name, user, waste, address, depth: 0, container: null, within: null });
    });
  }

  // State of the tools.
  const hiddenKinds = new Set();
  let words = '';
  let picked = null;
  const isShown = (item) => !hiddenKinds.has(item.kind)
    && (words === '' || item.name.toLowerCase().includes(words) || item.user.toLowerCase().includes(words));

  const address = (item) => {
    const start = item.heap ? item.heap.address : item.address;
    return start ? '0x' + (BigInt(start) + BigInt(item.offset)).toString(16) : '';
  };
  const place = (item) => (item.heap ? 'heap ' + item.heap.index + ' at ' + hex(item.offset) : item.where + ' ' + item.place);
  const describe = (element, item) => {
    const lines = [data.kinds[item.kind] + ', ' + exactly(item.bytes), place(item)];
    if (address(item)) lines.push('GPU virtual address ' + address(item));
    if (item.waste) lines.push(exactly(item.waste) + ' beyond the requested size');
    if (item.within) lines.push('contains ' + count(item.within.length) + (item.within.length === 1 ? ' allocation' : ' allocations'));
    if (item.container) lines.push('within ' + (item.container.name || 'the ' + data.kinds[item.container.kind] + ' at ' + hex(item.container.offset)));
    if (item.user) lines.push('user data: ' + item.user);
    element.replaceChildren(make('b', item.name || 'no name'), '\n' + lines.join('\n'));
  };

  // Maps.
  const ROW = 22;
  const GAP = 3;
  let colors = {};
  const readColors = () => {
    const style = getComputedStyle(document.documentElement);
    const color = (name) => style.getPropertyValue('--' + name).trim();
    colors = { kinds: data.kinds.map((_, kind) => color('kind' + kind)), free: color('free'), hatch: color('hatch'), edge: color('edge'), text: color('text') };
  };
  const hatched = (context, scale) => {
    const tile = document.createElement('canvas');
    const side = Math.round(8 * scale);
    tile.width = tile.height = side;
    const lines = tile.getContext('2d');
    lines.fillStyle = colors.free;
    lines.fillRect(0, 0, side, side);
    lines.strokeStyle = colors.hatch;
    lines.lineWidth = scale;
    for (const shift of [-side, 0, side]) {
      lines.beginPath();
      lines.moveTo(shift - 1, side + 1);
      lines.lineTo(shift + side + 1, -1);
      lines.stroke();
    }
    return context.createPattern(tile, 'repeat');
  };
  // Returns the number of rows of a map with the width of the page, so that each allocation has some pixels.
  const wantedRows = (heap) => {
    let items = heap.list.length;
    for (const item of heap.list) items += item.within ? item.within.length / 2 : 0;
    return Math.max(1, Math.min(32, Math.ceil(items / 60)));
  };
  // Maps are either to scale, with a total length of rows proportional to the heap's size, or as wide as the page.
  const MOST_ROWS = 8;
  const largest = heaps.reduce((most, heap) => Math.max(most, heap.bytes), 1);
  const rowsOfLargest = Math.min(MOST_ROWS, heaps.reduce((most, heap) => Math.max(most, wantedRows(heap) * largest / heap.bytes), 1));
  let isToScale = true;
  const lengthOf = (heap) => heap.bytes / largest * rowsOfLargest;
  const rowsOf = (heap) => (isToScale ? Math.max(1, Math.ceil(lengthOf(heap))) : wantedRows(heap));
  const fit = (heap) => {
    const map = heap.element.querySelector('.map');
    map.style.width = (isToScale ? lengthOf(heap) / rowsOf(heap) : 1) * 100 + '%';
    // The height is reserved to prevent layout shifts.
    map.style.minHeight = rowsOf(heap) * (ROW + GAP) - GAP + 'px';
  };
  const draw = (heap) => {
    const map = heap.element.querySelector('.map');
    // Collapsed maps have no width and are drawn when expanded.
    if (map.clientWidth === 0) return;
    if (!heap.canvas) {
      heap.canvas = document.createElement('canvas');
      heap.canvas.setAttribute('role', 'img');
      heap.canvas.setAttribute('aria-label', 'Map of heap ' + heap.index + ': ' + count(heap.list.length) + ' allocations, ' + size(heap.used) + ' of ' + size(heap.bytes) + ' used');
      heap.back = make('button', '', { type: 'button', hidden: true });
      heap.back.addEventListener('click', () => zoom(heap, 0, heap.bytes));
      map.replaceChildren(heap.canvas, heap.back);
      listen(heap);
    }
    const scale = window.devicePixelRatio || 1;
    const rows = heap.rows = rowsOf(heap);
    const height = rows * (ROW + GAP) - GAP;
    const width = Math.max(1, Math.round(map.clientWidth * scale));
    heap.canvas.style.height = height + 'px';
    heap.canvas.width = width;
    heap.canvas.height = Math.round(height * scale);
    const context = heap.canvas.getContext('2d');
    // Calls paint with each rectangle of a range, row by row.
    const rectangles = (offset, bytes, inset, paint) => {
      const start = (offset - heap.from) / (heap.to - heap.from) * rows;
      const end = (offset + bytes - heap.from) / (heap.to - heap.from) * rows;
      for (let row = Math.max(0, Math.floor(start)); row < end && row < rows; row += 1) {
        const left = Math.round((Math.max(start, row) - row) * width);
        const right = Math.round((Math.min(end, row + 1) - row) * width);
        const top = Math.round((row * (ROW + GAP) + inset) * scale);
        const bottom = Math.round((row * (ROW + GAP) + ROW - inset) * scale);
        // Rectangles are at least one pixel wide.
        const shownLeft = Math.min(left, width - 1);
        paint(shownLeft, top, Math.max(1, right - shownLeft), bottom - top);
      }
    };
    context.fillStyle = hatched(context, scale);
    rectangles(0, heap.bytes, 0, (...rectangle) => context.fillRect(...rectangle));
    const paint = (item) => {
      const inset = Math.min(3 * item.depth, ROW / 2 - 3);
      context.globalAlpha = isShown(item) ? (item.within ? .45 : 1) : .12;
      rectangles(item.offset, item.bytes, inset, (left, top, wide, high) => {
        context.fillStyle = colors.kinds[item.kind];
        context.fillRect(left, top, wide, high);
        if (wide > 3 * scale) {
          context.globalAlpha = 1;
          context.fillStyle = colors.edge;
          context.fillRect(left + wide - Math.round(scale), top, Math.round(scale), high);
          context.globalAlpha = isShown(item) ? (item.within ? .45 : 1) : .12;
        }
      });
      if (item.within) item.within.forEach(paint);
    };
    heap.list.forEach(paint);
    context.globalAlpha = 1;
    if (picked && picked.heap === heap) {
      context.strokeStyle = colors.text;
      context.lineWidth = 2 * scale;
      rectangles(picked.offset, picked.bytes, 0, (left, top, wide, high) => {
        context.strokeRect(left + scale, top + scale, Math.max(1, wide - 2 * scale), high - 2 * scale);
      });
    }
    heap.drawn = true;
  };

  // Returns the index of the first item that ends after an offset, by binary search.
  const after = (list, offset) => {
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle].offset + list[middle].bytes > offset) high = middle; else low = middle + 1;
    }
    return low;
  };
  // Returns the allocation or the free range at the pointer.
  const at = (heap, event) => {
    const box = heap.canvas.getBoundingClientRect();
    const row = Math.min(heap.rows - 1, Math.max(0, Math.floor((event.clientY - box.top) / (ROW + GAP))));
    const perPixel = (heap.to - heap.from) / heap.rows / box.width;
    const offset = heap.from + (row + (event.clientX - box.left) / box.width) / heap.rows * (heap.to - heap.from);
    let list = heap.list;
    let found = null;
    for (;;) {
      const next = after(list, offset);
      // Narrow items are also found one pixel beside them.
      const near = [next, next - 1].map((index) => list[index]).find((item) => item
        && item.offset - perPixel <= offset && item.offset + item.bytes + perPixel >= offset
        && (item.offset <= offset && item.offset + item.bytes > offset || item.bytes < 2 * perPixel));
      if (!near) {
        if (found) return { item: found, pointer: offset };
        const start = next > 0 ? list[next - 1].offset + list[next - 1].bytes : 0;
        const end = next < list.length ? list[next].offset : heap.bytes;
        return { free: end - start, offset: start, pointer: offset };
      }
      found = near;
      if (!near.within) return { item: near, pointer: offset };
      list = near.within;
    }
  };

  const tip = byId('tip');
  const showTip = (event, found) => {
    if (found.item) describe(tip, found.item);
    else tip.textContent = 'free, ' + exactly(found.free) + '\nat ' + hex(found.offset);
    tip.hidden = false;
    const left = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
    const below = event.clientY + 18;
    const top = below + tip.offsetHeight > window.innerHeight ? event.clientY - tip.offsetHeight - 12 : below;
    tip.style.left = Math.max(4, left) + 'px';
    tip.style.top = Math.max(4, top) + 'px';
  };
  const listen = (heap) => {
    heap.canvas.addEventListener('pointermove', (event) => showTip(event, at(heap, event)));
    heap.canvas.addEventListener('pointerleave', () => { tip.hidden = true; });
    heap.canvas.addEventListener('click', (event) => {
      const found = at(heap, event);
      if (found.item) pick(found.item, false);
    });
    // Zooms to an eighth of the visible range, around the pointer.
    heap.canvas.addEventListener('dblclick', (event) => {
      const { pointer } = at(heap, event);
      const span = Math.max((heap.to - heap.from) / 8, Math.min(heap.bytes, 64));
      zoom(heap, Math.max(0, Math.min(heap.bytes - span, pointer - span / 2)), span);
    });
  };
  const zoom = (heap, from, span) => {
    heap.from = Math.floor(from);
    heap.to = Math.min(heap.bytes, Math.ceil(from + span));
    heap.back.hidden = span >= heap.bytes;
    heap.back.textContent = 'Showing ' + hex(heap.from) + ' to ' + hex(heap.to) + '. Show the whole heap';
    draw(heap);
  };

  // Full heaps are in a collapsed element.
  const unfold = (heap) => {
    const folded = heap.element.closest('details');
    if (folded) folded.open = true;
  };

  // Selects an allocation, after a click on a map or in the list, or for the page's address.
  const pick = (item, scrolls) => {
    const before = picked;
    picked = item;
    history.replaceState(null, '', '#a' + item.id);
    for (const heap of new Set([before && before.heap, item.heap])) {
      if (!heap) continue;
      const details = heap.element.querySelector('.picked');
      details.hidden = heap !== item.heap;
      if (heap === item.heap) {
        describe(details, item);
        unfold(heap);
      }
      // Reset the zoom if the selected allocation is not visible.
      const isOutside = item.offset >= heap.to || item.offset + item.bytes <= heap.from;
      if (heap === item.heap && isOutside) [heap.from, heap.to, heap.back.hidden] = [0, heap.bytes, true];
      draw(heap);
    }
    for (const row of list.querySelectorAll('tr[data-id]')) row.classList.toggle('picked-row', Number(row.dataset.id) === item.id);
    const target = item.heap ? item.heap.element : byId(item.where + '-' + item.place);
    if (scrolls && target) target.scrollIntoView({ block: 'center' });
  };
  const pickAddress = () => {
    const found = /^#a(\d+)$/.exec(location.hash);
    if (found && all[found[1]]) pick(all[found[1]], true);
    // A link of the overview selects a map.
    const heap = /^#heap-(\d+)$/.exec(location.hash);
    if (heap && heaps[heap[1]]) {
      unfold(heaps[heap[1]]);
      heaps[heap[1]].element.scrollIntoView({ block: 'center' });
    }
  };

  // The list.
  const PAGE = 200;
  const orders = {
    'size': (left, right) => right.bytes - left.bytes,
    'waste': (left, right) => right.waste - left.waste,
    'name': (left, right) => (left.name < right.name ? -1 : left.name > right.name ? 1 : 0),
    'place': () => 0,
  };
  let order = 'size';
  let shown = [];
  const list = byId('list');
  const rowOf = (item) => {
    const row = make('tr', undefined, { className: picked === item ? 'picked-row' : '' });
    row.dataset.id = item.id;
    const link = make('a', item.name || 'no name', { href: '#a' + item.id });
    const name = make('td');
    name.append(link);
    const kind = make('td');
    const swatch = make('span', undefined, { className: 'swatch' });
    swatch.style.background = 'var(--kind' + item.kind + ')';
    kind.append(swatch, data.kinds[item.kind]);
    const where = make('td');
    const target = item.heap ? 'heap-' + item.heap.index : item.where + '-' + item.place;
    where.append(make('a', place(item), { href: '#' + target }));
    row.append(name, kind, make('td', size(item.bytes), { className: 'n', title: count(item.bytes) + ' bytes' }),
      make('td', item.waste ? size(item.waste) : '', { className: 'n' }), where, make('td', item.user));
    return row;
  };
  const more = (body, button) => {
    const next = shown.slice(body.children.length, body.children.length + PAGE);
    body.append(...next.map(rowOf));
    const rest = shown.length - body.children.length;
    button.hidden = rest === 0;
    button.textContent = 'Show ' + count(Math.min(PAGE, rest)) + ' more of ' + count(rest);
  };
  const fillList = () => {
    shown = all.filter((item) => !item.within && isShown(item)).sort((left, right) => orders[order](left, right) || left.id - right.id);
    const table = make('table');
    const head = make('tr');
    for (const [text, className] of [['name', ''], ['kind', ''], ['size', 'n'], ['waste', 'n'], ['location', ''], ['user data', '']]) {
      head.append(make('th', text, { scope: 'col', className }));
    }
    const heading = make('thead');
    heading.append(head);
    const body = make('tbody');
    table.append(heading, body);
    const button = make('button', '', { type: 'button' });
    button.addEventListener('click', () => more(body, button));
    more(body, button);
    const scroll = make('div', undefined, { className: 'scroll' });
    scroll.append(table);
    list.replaceChildren(scroll, button);
    result.textContent = count(shown.length) + ' of ' + count(all.filter((item) => !item.within).length) + ' allocations, '
      + size(shown.reduce((sum, item) => sum + item.bytes, 0));
  };
  list.addEventListener('click', (event) => {
    const link = event.target.closest('a[href^="#a"]');
    const row = link && link.closest('tr[data-id]');
    if (!row) return;
    event.preventDefault();
    pick(all[row.dataset.id], true);
  });

  // The tools above the maps.
  const tools = byId('tools');
  const search = make('input', undefined, { type: 'search', placeholder: 'Search names and user data', ariaLabel: 'Search names and user data' });
  const chooser = (label, choices, choose) => {
    const select = make('select');
    for (const [value, text] of choices) select.append(make('option', text, { value }));
    select.addEventListener('change', () => choose(select.value));
    const wrapped = make('label', label + ' ');
    wrapped.append(select);
    return wrapped;
  };
  const heapOrders = {
    index: (heap) => heap.index,
    size: (heap) => -heap.bytes,
    used: (heap) => -heap.used,
    unused: (heap) => heap.used - heap.bytes,
    waste: (heap) => -heap.waste,
    fragmented: (heap) => (heap.free ? heap.largest / heap.free : 1),
  };
  const sortHeaps = (order) => {
    for (const group of document.querySelectorAll('.group, .full')) {
      const articles = [...group.querySelectorAll(':scope > .heap')];
      const key = (article) => heapOrders[order](heaps[article.dataset.heap]);
      articles.sort((left, right) => key(left) - key(right) || left.dataset.heap - right.dataset.heap);
      // Full heaps remain after the others.
      const full = group.querySelector(':scope > .full');
      for (const article of articles) group.insertBefore(article, full);
    }
  };
  const result = make('output', undefined, { ariaLive: 'polite' });
  const legend = make('ul', undefined, { className: 'legend' });
  data.kinds.forEach((label, kind) => {
    const items = all.filter((item) => item.kind === kind);
    if (items.length === 0) return;
    const box = make('input', undefined, { type: 'checkbox', checked: true });
    box.addEventListener('change', () => {
      if (box.checked) hiddenKinds.delete(kind); else hiddenKinds.add(kind);
      refresh();
    });
    const swatch = make('span', undefined, { className: 'swatch' });
    swatch.style.background = 'var(--kind' + kind + ')';
    const wrapped = make('label');
    wrapped.append(box, ' ', swatch, label + ' (' + count(items.length) + ')');
    const entry = make('li');
    entry.append(wrapped);
    legend.append(entry);
  });
  const free = make('li');
  free.append(make('span', undefined, { className: 'swatch free' }), 'free');
  const hint = make('li', 'Click a map to show details of an allocation; double-click to zoom in.', { className: 'note' });
  legend.append(free, hint);
  tools.append(
    search,
    chooser('Sort heaps by', [['index', 'number'], ['size', 'size'], ['used', 'used bytes'], ['unused', 'free bytes'], ['waste', 'waste'], ['fragmented', 'fragmentation']], sortHeaps),
    chooser('Map width', [['scale', 'to scale'], ['page', 'full width']], (value) => {
      isToScale = value === 'scale';
      heaps.forEach(fit);
      redraw();
    }),
    chooser('Sort allocations by', [['size', 'size'], ['waste', 'waste'], ['name', 'name'], ['place', 'location']], (value) => { order = value; fillList(); }),
    result,
    legend,
  );
  tools.hidden = false;

  // Maps are drawn when they become visible, and redrawn after changes.
  const visible = new Set();
  const refresh = () => {
    for (const heap of heaps) heap.drawn = false;
    visible.forEach(draw);
    fillList();
  };
  let waiting = 0;
  search.addEventListener('input', () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      words = search.value.trim().toLowerCase();
      refresh();
    }, 120);
  });
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const heap = heaps[entry.target.dataset.heap];
      if (!entry.isIntersecting) {
        visible.delete(heap);
        continue;
      }
      visible.add(heap);
      if (!heap.drawn) draw(heap);
    }
  }, { rootMargin: '300px' });
  const redraw = () => {
    readColors();
    for (const heap of heaps) heap.drawn = false;
    visible.forEach(draw);
  };
  readColors();
  for (const heap of heaps) {
    fit(heap);
    observer.observe(heap.element);
  }
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  let resizing = 0;
  window.addEventListener('resize', () => {
    cancelAnimationFrame(resizing);
    resizing = requestAnimationFrame(redraw);
  });
  window.addEventListener('hashchange', pickAddress);
  fillList();
  pickAddress();
})();
