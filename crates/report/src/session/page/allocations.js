// The list of allocations: the largest, the longest-lived, and those that live at the chosen moment.
const makeAllocations = (pickBlock) => {
  const body = byId('list');
  const more = byId('more-rows');
  const PAGE = 25;
  const orders = {
    largest: (block) => blocks.size[block],
    longest: (block) => (isLiveAtEnd(block) ? timeAt(counts.moments) + 1 : timeAt(blocks.end[block])) - timeAt(blocks.start[block]),
    left: (block) => -blocks.start[block],
    live: (block) => blocks.size[block],
  };
  const include = {
    left: isLiveAtEnd,
    live: (block) => blocks.start[block] <= moment && moment < blocks.end[block],
  };
  let moment = 0;
  let limit = PAGE;
  let words = '';
  let pickedBlock = -1;

  // Returns the blocks with the largest keys, in order. Few are sorted: those above the least of the best so far.
  const largestOf = (found, key) => {
    const best = [];
    let least = -Infinity;
    const keep = () => {
      best.sort((left, right) => key(right) - key(left) || left - right);
      best.length = Math.min(best.length, limit);
    };
    for (const block of found) {
      if (key(block) <= least) continue;
      best.push(block);
      if (best.length < 4 * limit) continue;
      keep();
      least = key(best[limit - 1]);
    }
    keep();
    return best;
  };
  const rowOf = (block) => {
    const row = make('tr', undefined, { className: block === pickedBlock ? 'picked-row' : '' });
    const name = make('td');
    const button = make('button', blockName(block), { type: 'button', className: 'link', title: 'Show the moment after its creation' });
    button.addEventListener('click', () => pickBlock(block, true));
    name.append(button);
    const kind = [blocks.kind[block] ? KINDS[blocks.kind[block]] : '', HEAP_TYPES[blocks.type[block]]].filter(Boolean).join(', ');
    row.append(name, make('td', formatSize(blocks.size[block]), { className: 'n', title: formatCount(blocks.size[block]) + ' bytes' }), make('td', kind),
      make('td', formatTime(timeAt(blocks.start[block])), { className: 'n', title: 'event ' + formatCount(blocks.start[block] + 1) }),
      make('td', formatLifetime(block), { className: 'n' }), make('td', placeOf(block), { title: reasonOf(block) }));
    return row;
  };
  const draw = () => {
    const order = byId('list-order').value;
    const isShown = (block) => (!include[order] || include[order](block))
      && (words === '' || blockName(block).toLowerCase().includes(words));
    const found = [];
    let bytes = 0;
    for (let block = 0; block < blocks.count; block += 1) {
      if (!isShown(block)) continue;
      found.push(block);
      bytes += blocks.size[block];
    }
    const shown = largestOf(found, orders[order]);
    body.replaceChildren(...shown.map(rowOf));
    byId('list-facts').textContent = formatCount(found.length) + ' of ' + formatCount(blocks.count) + (include[order] ? ' · ' + formatSize(bytes) : '');
    const rest = found.length - shown.length;
    more.hidden = rest === 0;
    more.textContent = 'Show ' + formatCount(Math.min(4 * PAGE, rest)) + ' more of ' + formatCount(rest);
  };
  const restart = () => {
    limit = PAGE;
    draw();
  };
  more.addEventListener('click', () => {
    limit += 4 * PAGE;
    draw();
  });
  byId('list-order').addEventListener('change', restart);
  let waiting = 0;
  const later = (action) => {
    clearTimeout(waiting);
    waiting = setTimeout(action, 150);
  };
  byId('search').addEventListener('input', () => later(() => {
    words = byId('search').value.trim().toLowerCase();
    restart();
  }));
  return {
    draw,
    // Shows the list in an order.
    open: (order) => {
      byId('list-order').value = order;
      byId('search').value = words = '';
      restart();
      byId('allocations').scrollIntoView({ block: 'start' });
    },
    search: (text) => {
      byId('search').value = text;
      words = text.toLowerCase();
      restart();
      byId('allocations').scrollIntoView({ block: 'start' });
    },
    show: (next, block) => {
      const isChanged = pickedBlock !== block || byId('list-order').value === 'live';
      [moment, pickedBlock] = [next, block];
      if (isChanged) later(draw);
    },
  };
};
