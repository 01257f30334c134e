// Groups of allocations by a property: at the chosen moment, compared with a marked one, and at the end.

// The beginning of a name: `texture 12 of level 3` and `texture_7` are of `texture`.
const beginningOf = (name) => (name.match(/^[^\s\d._:/\\#()[\]-]+/) || [name && A_NUMBER])[0];
const NO_NAME = 'without a name';
const A_NUMBER = 'a number';
// Returns the labels of the groups and the group of each block.
const grouped = (labelsOf, numberOf) => {
  const labels = [];
  const groupOf = new Map();
  const groups = Uint32Array.from(labelsOf, (label) => {
    if (!groupOf.has(label)) groupOf.set(label, labels.push(label) - 1);
    return groupOf.get(label);
  });
  return { labels, of: (block) => groups[numberOf(block)] };
};
const GROUPINGS = {
  kind: () => grouped(KINDS, (block) => blocks.kind[block]),
  type: () => grouped(HEAP_TYPES.map((name) => name || 'heap type unknown'), (block) => blocks.type[block]),
  pool: () => grouped(['no pool', ...data.pools.map((name) => name || 'pool without a name')], (block) => blocks.pool[block]),
  beginning: () => grouped(blocks.names.map((name) => beginningOf(name) || NO_NAME), (block) => blocks.name[block]),
  name: () => grouped(blocks.names.map((name) => name || NO_NAME), (block) => blocks.name[block]),
};
const known = {};
const groupingBy = (by) => (known[by] ||= GROUPINGS[by]());

// Colours for the groups with the most bytes over all moments; the others have one colour together.
const MOST_COLOURS = 6;
const colouredBy = (by) => {
  const { labels, of } = groupingBy(by);
  const weights = new Float64Array(labels.length);
  for (let block = 0; block < blocks.count; block += 1) weights[of(block)] += blocks.size[block] * (blocks.end[block] - blocks.start[block]);
  const order = [...weights.keys()].filter((group) => weights[group] > 0).sort((left, right) => weights[right] - weights[left]);
  const shown = order.length > MOST_COLOURS + 1 ? order.slice(0, MOST_COLOURS) : order;
  const rest = order.length - shown.length;
  const place = new Uint8Array(labels.length).fill(MOST_COLOURS);
  shown.forEach((group, index) => { place[group] = index; });
  const names = shown.map((group) => labels[group]);
  if (rest > 0) names.push('others (' + formatCount(rest) + ')');
  return { names, of: (block) => place[of(block)] };
};

// What tells most; with numbers or equal names, the kinds do.
const usualGrouping = () => (groupingBy('beginning').labels.length > 2 ? 'beginning' : blocks.kind.some((kind) => kind !== 0) ? 'kind' : 'type');

// The group that grew most from the middle of the first third to the middle of the last one.
const mostGrown = () => {
  if (counts.moments < 6) return null;
  const [from, to] = [1, 5].map((sixths) => Math.floor(counts.moments * sixths / 6));
  const { labels, of } = groupingBy(usualGrouping());
  const growth = new Float64Array(labels.length);
  for (let block = 0; block < blocks.count; block += 1) {
    const lives = (at) => (blocks.start[block] <= at && at < blocks.end[block] ? blocks.size[block] : 0);
    growth[of(block)] += lives(to) - lives(from);
  }
  const group = growth.reduce((most, bytes, at) => (bytes > growth[most] ? at : most), 0);
  return growth[group] > 0 ? { label: labels[group], bytes: growth[group], from, to } : null;
};

const makeGroups = (search) => {
  const head = byId('group-head');
  const body = byId('group-list');
  const more = byId('more-groups');
  const PAGE = 12;
  let limit = PAGE;
  let moment = 0;
  let mark = -1;
  const lives = (block, at) => blocks.start[block] <= at && at < blocks.end[block];
  const add = (sums, group, block) => {
    sums.bytes[group] += blocks.size[block];
    sums.count[group] += 1;
    sums.first[group] = Math.min(sums.first[group], blocks.start[block]);
  };
  const emptySums = (count) => ({ bytes: new Float64Array(count), count: new Uint32Array(count), first: new Uint32Array(count).fill(counts.moments) });
  const signed = (bytes) => (bytes > 0 ? '+' : bytes < 0 ? '−' : '') + formatSize(Math.abs(bytes));
  const some = (sums, group) => (sums.count[group] ? formatCount(sums.count[group]) + ' · ' + formatSize(sums.bytes[group]) : '');

  // Bytes at a moment, with the oldest allocation of each group.
  const atMoment = ({ labels, of }, at) => {
    const headings = ['bytes', 'share', 'allocations', 'oldest'].slice(0, counts.moments > 1 ? 4 : 3);
    const sums = emptySums(labels.length);
    let total = 0;
    for (let block = 0; block < blocks.count; block += 1) {
      if (!lives(block, at)) continue;
      add(sums, of(block), block);
      total += blocks.size[block];
    }
    const rows = labels.map((label, group) => ({
      label,
      order: sums.bytes[group],
      cells: [formatSize(sums.bytes[group]), formatPercent(sums.bytes[group] / Math.max(1, total)), formatCount(sums.count[group]),
        formatTime(timeAt(at) - timeAt(sums.first[group]))].slice(0, headings.length),
    })).filter(({ order }) => order > 0);
    return { headings, rows, fact: formatSize(total) };
  };
  // What is new, gone and grown since the marked moment. An allocation that was moved is neither new nor gone.
  const changes = ({ labels, of }) => {
    const [before, now, added, gone] = Array.from({ length: 4 }, () => emptySums(labels.length));
    const moved = new Map();
    const [from, to] = [Math.min(mark, moment), Math.max(mark, moment)];
    for (let block = 0; block < blocks.count; block += 1) {
      const [was, is] = [lives(block, from), lives(block, to)];
      if (was) add(before, of(block), block);
      if (is) add(now, of(block), block);
      if (was && !is) moved.set(blocks.number[block], block);
    }
    for (let block = 0; block < blocks.count; block += 1) {
      if (lives(block, from) || !lives(block, to)) continue;
      const old = moved.get(blocks.number[block]);
      if (old !== undefined && blocks.end[old] <= blocks.start[block] && blocks.requested[old] === blocks.requested[block]) moved.delete(blocks.number[block]);
      else add(added, of(block), block);
    }
    for (const block of moved.values()) add(gone, of(block), block);
    let total = 0;
    const rows = labels.map((label, group) => {
      const change = now.bytes[group] - before.bytes[group];
      total += change;
      return {
        label,
        order: Math.abs(change) || (added.count[group] + gone.count[group] > 0 ? 1e-9 : 0),
        cells: [formatSize(before.bytes[group]), formatSize(now.bytes[group]), signed(change), some(added, group), some(gone, group)],
      };
    }).filter(({ order }) => order > 0);
    return { headings: ['before', 'after', 'change', 'new', 'gone'], rows, fact: signed(total) + ' from event ' + formatCount(from + 1) + ' to ' + formatCount(to + 1) };
  };

  const draw = () => {
    const by = byId('group-by').value;
    const show = byId('group-show').value;
    const groups = groupingBy(by);
    let table = null;
    if (show === 'end') table = atMoment(groups, counts.moments - 1);
    else if (show === 'moment') table = atMoment(groups, moment);
    else if (mark >= 0 && mark !== moment) table = changes(groups);
    byId('group-note').hidden = table !== null;
    if (!table) table = { headings: [], rows: [], fact: '' };
    const { headings, rows, fact } = table;
    rows.sort((left, right) => right.order - left.order);
    const heading = (text, className) => make('th', text, { scope: 'col', className: className || '' });
    const titles = headings.map((text) => heading(text, 'n'));
    head.replaceChildren(...(headings.length ? [heading({ kind: 'kind', type: 'heap type', pool: 'pool', beginning: 'name prefix', name: 'name' }[by]), ...titles] : []));
    body.replaceChildren(...rows.slice(0, limit).map(({ label, cells }) => {
      const row = make('tr');
      const name = make('td');
      if ((by === 'name' || (by === 'beginning' && label !== A_NUMBER)) && label !== NO_NAME) {
        const button = make('button', label, { type: 'button', className: 'link', title: 'Search the allocations for this name' });
        button.addEventListener('click', () => search(label));
        name.append(button);
      } else {
        name.textContent = label;
      }
      row.append(name, ...cells.map((cell) => make('td', cell, { className: 'n' })));
      return row;
    }));
    byId('group-facts').textContent = fact;
    more.hidden = rows.length <= limit;
    more.textContent = 'Show ' + formatCount(Math.min(8 * PAGE, rows.length - limit)) + ' more of ' + formatCount(rows.length - limit);
  };
  byId('group-by').value = usualGrouping();
  for (const id of ['group-by', 'group-show']) byId(id).addEventListener('change', () => {
    limit = PAGE;
    draw();
  });
  more.addEventListener('click', () => {
    limit += 8 * PAGE;
    draw();
  });
  let waiting = 0;
  return {
    draw,
    compare: (by) => {
      byId('group-by').value = by;
      byId('group-show').value = 'changes';
      byId('groups').scrollIntoView({ block: 'start' });
    },
    show: (next, marked) => {
      if (marked !== mark && marked >= 0) byId('group-show').value = 'changes';
      [moment, mark] = [next, marked];
      clearTimeout(waiting);
      waiting = setTimeout(draw, 100);
    },
  };
};
