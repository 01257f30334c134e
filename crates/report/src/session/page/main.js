// Connects the charts, the heaps and the list.
// Whether the budget of a segment group was kept.
const budgetFact = ({ name, verdict }) => {
  const others = verdict.most_others_bytes > 0 ? ' · at most ' + formatSize(verdict.most_others_bytes) + ' in use by others' : '';
  return verdict.is_kept ? ['budget of ' + name, 'kept', 'at least ' + formatSize(verdict.least_left_bytes) + ' left' + others]
    : ['budget of ' + name, 'exceeded', 'by up to ' + formatSize(verdict.exceeded_bytes) + others + ' · first at ', verdict.first_exceeded_event - 1];
};

// Returns the first moment with the largest number.
const peakOf = (numbers) => {
  let peak = 0;
  for (let moment = 0; moment < numbers.length; moment += 1) if (numbers[moment] > numbers[peak]) peak = moment;
  return peak;
};

// Shows the facts of the session. What a fact is about can be shown.
const tiles = (peak, show) => {
  const [peakReserved, mostLive, mostHeaps] = [reserved, liveCount, heapCount].map((numbers) => numbers[peakOf(numbers)]);
  const atEvent = (moment) => ['event ' + formatCount(moment + 1), () => show.moment(moment)];
  const last = counts.moments - 1;
  const facts = [
    ['peak used', formatSize(used[peak]), 'at ', atEvent(peak)],
    ['peak reserved', formatSize(peakReserved), heaps.count && used[peak] ? (peakReserved / used[peak]).toFixed(2) + ' of peak used' : 'no heaps'],
    ['allocations', formatCount(counts.allocations), 'at most ' + formatCount(mostLive) + ' at once'],
    ['heaps', formatCount(counts.heaps), 'at most ' + formatCount(mostHeaps) + ' at once'],
    ['duration', formatTime(timeAt(counts.moments - 1)), plural(counts.moments, 'event')],
  ];
  if (counts.submissions) facts.push(['submissions', formatCount(counts.submissions), '']);
  if (counts.paging) {
    const evictions = paging.isEviction.reduce((sum, is) => sum + is, 0);
    facts.push(['evictions', formatCount(evictions), formatCount(counts.paging - evictions) + ' made resident']);
  }
  for (const group of segmentGroups) {
    const [name, value, text, moment] = budgetFact(group);
    facts.push([name, value, text, moment === undefined ? undefined : atEvent(moment)]);
  }
  if (last > 0) facts.push(['live at the end', formatSize(used[last]), '', [plural(liveCount[last], 'allocation'), show.left]]);
  const grown = mostGrown();
  if (grown) facts.push(['grew most between thirds', '+' + formatSize(grown.bytes), '', [grown.label, () => show.changes(grown)]]);
  // A report has facts of its own.
  if (!byId('facts')) for (const [name, value, text, action] of facts) {
    const tile = make('div');
    const note = make('dd', text, { className: 'note' });
    if (action) {
      const button = make('button', action[0], { className: 'link', type: 'button', title: 'Show this' });
      button.addEventListener('click', action[1]);
      note.append(button);
    }
    tile.append(make('dt', name), make('dd', value), note);
    byId('tiles').append(tile);
  }
};

// A page that follows its session is loaded again when the session has grown, and keeps what was chosen.
const CHOICES = ['stack-by', 'axis', 'group-by', 'group-show', 'heap-order', 'colours', 'list-order'];
const isFollowing = document.documentElement.dataset.follow !== undefined;
const follow = (state, choose) => {
  const last = counts.moments - 1;
  const kept = JSON.parse(sessionStorage.getItem(location.pathname) || 'null');
  for (const [id, value] of Object.entries((kept && kept.values) || {})) {
    // What the session has had, it may no longer have.
    if (![...byId(id).options].some((option) => option.value === value)) continue;
    byId(id).value = value;
    byId(id).dispatchEvent(new Event('change'));
  }
  // Who looks at the end stays there.
  choose(!kept || kept.isAtEnd ? last : Math.min(kept.moment, last));
  new EventSource('events').addEventListener('message', () => {
    const values = Object.fromEntries(CHOICES.map((id) => [id, byId(id).value]));
    sessionStorage.setItem(location.pathname, JSON.stringify({ values, moment: state.moment, isAtEnd: state.moment === last }));
    location.reload();
  });
};

const start = () => {
  readColours();
  const peak = peakOf(used);
  const state = { moment: peak, mark: -1, heap: -1, block: -1 };
  let waiting = 0;
  const update = () => {
    timeline.set(state.moment, state.mark);
    const { moment } = state;
    byId('moment').textContent = 'event ' + formatCount(moment + 1) + ' of ' + formatCount(counts.moments) + ' · ' + formatTime(timeAt(moment))
      + ' · ' + formatSize(used[moment]) + ' used of ' + formatSize(reserved[moment]) + ' · ' + plural(liveCount[moment], 'allocation');
    // The heaps are drawn once in a frame, however often the moment changes.
    if (waiting) return;
    waiting = requestAnimationFrame(() => {
      waiting = 0;
      heapView.show(state.moment, state.heap, state.block);
      list.show(state.moment, state.block);
      groups.show(state.moment, state.mark);
    });
  };
  const choose = (moment) => {
    if (moment === state.moment) return;
    state.moment = moment;
    update();
  };
  const pickHeap = (heap) => {
    [state.heap, state.block] = [heap, -1];
    update();
  };
  const pickBlock = (block, goesThere) => {
    state.block = block;
    state.heap = blocks.heap[block] - 1;
    if (goesThere && !(blocks.start[block] <= state.moment && state.moment < blocks.end[block])) state.moment = blocks.start[block];
    update();
    if (goesThere) byId('heaps').scrollIntoView({ block: 'start' });
  };
  const compare = (from, to) => {
    if (from === state.mark && to === state.moment) return;
    [state.mark, state.moment] = [from, to];
    update();
  };
  const timeline = makeTimeline(choose, compare);
  const heapView = makeHeaps(pickHeap, pickBlock);
  const list = makeAllocations(pickBlock);
  const groups = makeGroups(list.search);
  const mark = () => {
    state.mark = state.mark === state.moment ? -1 : state.moment;
    update();
  };
  tiles(peak, {
    moment: choose,
    left: () => list.open('left'),
    changes: ({ from, to }) => {
      compare(from, to);
      groups.compare(usualGrouping());
    },
  });
  byId('mark').addEventListener('click', mark);
  byId('stack-by').addEventListener('change', () => {
    timeline.setStack();
    if (byId('colours').value === 'group') heapView.recolour();
  });
  byId('peak').addEventListener('click', () => choose(peak));
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target.closest && event.target.closest('input, select');
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key.toLowerCase() === 'p') choose(peak);
    if (event.key.toLowerCase() === 'm') mark();
  });
  const redraw = () => {
    readColours();
    timeline.draw();
    heapView.draw();
  };
  timeline.setStack();
  update();
  list.draw();
  groups.draw();
  // A single moment has no history.
  if (counts.moments === 1) {
    byId('time').hidden = true;
    document.body.classList.add('single');
    for (const option of document.querySelectorAll('#group-show option:not(:first-child), #list-order option:not(:first-child), #colours option:is([value=lifetime], [value=age])')) option.remove();
  }
  if (isFollowing) follow(state, choose);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  let resizing = 0;
  window.addEventListener('resize', () => {
    cancelAnimationFrame(resizing);
    resizing = requestAnimationFrame(redraw);
  });
};

if (counts.moments === 0) {
  for (const section of document.querySelectorAll('section')) section.hidden = true;
  byId('tiles').replaceWith(make('p', 'The session contains no events.'));
  if (isFollowing) new EventSource('events').addEventListener('message', () => location.reload());
} else {
  start();
}
// Time since the page was opened, in milliseconds, after everything was drawn.
requestAnimationFrame(() => requestAnimationFrame(() => { document.documentElement.dataset.ready = Math.round(performance.now()); }));
