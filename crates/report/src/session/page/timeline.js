// The charts over time, on which a moment is chosen.

// Smallest and largest numbers of each STEP moments, so that a chart of a million moments is drawn quickly.
const STEP = 256;
const seriesOf = (numbers) => {
  const steps = Math.ceil(numbers.length / STEP);
  const least = new Float64Array(steps).fill(Infinity);
  const most = new Float64Array(steps).fill(-Infinity);
  for (let moment = 0; moment < numbers.length; moment += 1) {
    const step = (moment / STEP) | 0;
    if (numbers[moment] < least[step]) least[step] = numbers[moment];
    if (numbers[moment] > most[step]) most[step] = numbers[moment];
  }
  return { numbers, least, most };
};
// Returns the smallest and the largest number from `from` to before `to`.
const extent = ({ numbers, least, most }, from, to) => {
  let low = Infinity;
  let high = -Infinity;
  for (let moment = from; moment < to;) {
    if (moment % STEP === 0 && moment + STEP <= to) {
      const step = moment / STEP;
      if (least[step] < low) low = least[step];
      if (most[step] > high) high = most[step];
      moment += STEP;
    } else {
      if (numbers[moment] < low) low = numbers[moment];
      if (numbers[moment] > high) high = numbers[moment];
      moment += 1;
    }
  }
  return [low, high];
};

const makeTimeline = (choose, compare) => {
  const box = byId('timeline');
  const charts = byId('charts');
  const cursor = byId('cursor');
  const LEFT = 68;
  const RIGHT = 10;
  const AXIS = 20;
  const memory = [
    { name: 'reserved in heaps', series: seriesOf(reserved), colour: 'reserved' },
    { name: 'used by allocations', series: seriesOf(used), colour: 'used' },
  ];
  if (resident) memory.push({ name: 'resident', series: seriesOf(resident), colour: 'resident' });
  if (scattered.some((bytes) => bytes > 0)) memory.push({ name: 'free, in fragments', series: seriesOf(scattered), colour: 'fragmentation' });
  const hasEvents = counts.submissions + counts.paging > 0;
  const GAP = 16;
  const strips = { memory: 170 };
  segmentGroups.forEach((_, group) => { strips['group' + group] = 48; });
  if (hasEvents) strips.events = 34;
  const tops = {};
  let bottom = 6 - GAP;
  for (const [name, tall] of Object.entries(strips)) {
    tops[name] = bottom + GAP;
    bottom += GAP + tall;
  }
  const height = bottom + AXIS;
  const groups = segmentGroups.map(({ name, budget, usage, own }) => ({ name, budget: seriesOf(budget), usage: seriesOf(usage), own: seriesOf(own) }));

  let byTime = false;
  let moment = 0;
  let mark = -1;
  let view = null;
  let width = 0;
  const last = counts.moments - 1;
  // On the axis of events, the state after event n is from n - 1 to n, and its middle stands for it.
  const whole = () => (byTime ? [times[0], Math.max(times[last], times[0] + 1)] : [0, counts.moments]);
  const valueOf = (at) => (byTime ? times[at] : at + .5);
  const plotWidth = () => Math.max(1, width - LEFT - RIGHT);
  const xOf = (value) => LEFT + (value - view[0]) / (view[1] - view[0]) * plotWidth();
  const valueAt = (x) => view[0] + (x - LEFT) / plotWidth() * (view[1] - view[0]);
  // Returns the first moment at or after a value of the axis.
  const firstFrom = (value) => (byTime ? lowerBound(times, value) : Math.min(counts.moments, Math.max(0, Math.ceil(value))));
  const momentAt = (x) => {
    const value = valueAt(x);
    const found = byTime ? lowerBound(times, value + 1e-6) - 1 : Math.floor(value);
    return Math.max(0, Math.min(last, found));
  };

  // Returns the steps of an axis, in units of 1, 2 or 5 times a power of the base's unit.
  const niceStep = (range, count) => {
    const rough = range / count;
    const power = 10 ** Math.floor(Math.log10(rough));
    return power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  };
  // Returns the steps of an axis of time, in microseconds: above half a minute, parts and multiples of hours.
  const LONG_STEPS = [1, 2, 5, 10, 20, 30, 60, 120, 180, 360, 720, 1440].map((minutes) => minutes * 6e7);
  const niceTime = (range, count) => (range / count > 3e7 && LONG_STEPS.find((step) => step >= range / count)) || niceStep(range, count);
  const niceBytes = (range, count) => 2 ** Math.ceil(Math.log2(range / count));

  // The used bytes of each group of the chart, the largest group first.
  let stack = null;
  const setStack = () => {
    stack = null;
    if (byId('stack-by').value !== '') {
      const { names, of } = stackOf();
      const sums = names.map(() => new Float64Array(counts.moments + 1));
      for (let block = 0; block < blocks.count; block += 1) {
        const group = sums[of(block)];
        group[blocks.start[block]] += blocks.size[block];
        group[blocks.end[block]] -= blocks.size[block];
      }
      for (const group of sums) for (let at = 1; at < group.length; at += 1) group[at] += group[at - 1];
      stack = { names, sums };
    }
    drawLegend();
    draw();
  };
  // Each pixel shows the moment of its range at which the most is used.
  const drawStack = (context, y, floor, pixels, firsts) => {
    for (let pixel = 0; pixel < pixels; pixel += 1) {
      let at = Math.max(0, firsts[pixel] - 1);
      const end = Math.max(firsts[pixel + 1], 1);
      for (let other = at + 1; other < end; other += 1) if (used[other] > used[at]) at = other;
      let bytes = 0;
      stack.sums.forEach((group, index) => {
        const below = y(bytes);
        bytes += group[at];
        const top = y(bytes);
        context.fillStyle = colours.groups[index];
        context.fillRect(LEFT + pixel, top, 1.02, below - top);
      });
    }
  };

  const draw = () => {
    width = box.clientWidth;
    if (!view) view = whole();
    const context = prepare(charts, width, height);
    const right = width - RIGHT;
    context.font = '11px system-ui, sans-serif';
    context.textBaseline = 'middle';
    // Moments of each pixel: from `firsts[x]` to before `firsts[x + 1]`.
    const pixels = Math.floor(plotWidth());
    const firsts = new Uint32Array(pixels + 1);
    for (let pixel = 0; pixel <= pixels; pixel += 1) firsts[pixel] = firstFrom(view[0] + pixel / pixels * (view[1] - view[0]));
    // The number before a pixel lasts until its first moment.
    const extentOf = (series, pixel) => extent(series, Math.max(0, firsts[pixel] - 1), Math.max(firsts[pixel + 1], 1));
    const extents = (series) => Array.from({ length: pixels }, (_, pixel) => extentOf(series, pixel));
    const lines = memory.map((line) => ({ ...line, extents: extents(line.series) }));
    const mostOf = (list, least) => list.reduce((most, [, high]) => Math.max(most, high), least);
    const most = 1.04 * lines.reduce((most, line) => mostOf(line.extents, most), 1);
    const grid = (top, tall, largest, step, label) => {
      context.strokeStyle = colours.line;
      context.lineWidth = 1;
      context.fillStyle = colours.soft;
      context.textAlign = 'right';
      for (let value = 0; value <= largest; value += step) {
        const y = Math.round(top + tall - value / largest * tall) + .5;
        context.beginPath();
        context.moveTo(LEFT, y);
        context.lineTo(right, y);
        context.stroke();
        context.fillText(label(value), LEFT - 6, y);
      }
    };
    const yOf = (top, tall, largest) => (value) => top + tall - Math.min(1, value / largest) * tall;
    const area = (list, y, floor, colour) => {
      context.fillStyle = colour;
      list.forEach(([, high], pixel) => {
        const top = y(high);
        context.fillRect(LEFT + pixel, top, 1.02, floor - top);
      });
    };
    const line = (list, y, colour, dashes) => {
      context.strokeStyle = colour;
      context.lineWidth = 1.5;
      context.setLineDash(dashes || []);
      context.beginPath();
      list.forEach(([low, high], pixel) => {
        // The budget is not known yet.
        if (high < low) return;
        context.lineTo(LEFT + pixel, y(high));
        if (high !== low) context.lineTo(LEFT + pixel + .5, y(low));
      });
      context.stroke();
      context.setLineDash([]);
    };

    // Memory.
    const yMemory = yOf(tops.memory, strips.memory, most);
    const floor = tops.memory + strips.memory;
    area(lines[0].extents, yMemory, floor, hatched(context));
    if (stack) drawStack(context, yMemory, floor, pixels, firsts); else area(lines[1].extents, yMemory, floor, colours.used);
    grid(tops.memory, strips.memory, most, niceBytes(most, 5), formatTick);
    line(lines[0].extents, yMemory, colours.reserved);
    for (const { extents: list, colour } of lines.slice(2)) line(list, yMemory, colours[colour]);

    // Segment groups, each on a scale of its own: usage, the part of the recorded heaps, and the budget.
    groups.forEach(({ name, budget, usage, own }, group) => {
      const [top, tall] = [tops['group' + group], strips['group' + group]];
      const [budgets, used, owned] = [budget, usage, own].map(extents);
      // A budget far above the usage would flatten it, and is named instead.
      const inUse = mostOf(owned, mostOf(used, 1));
      const least = budgets.reduce((lowest, [low]) => Math.min(lowest, low), Infinity);
      const isBeyond = least > 4 * inUse && least < Infinity;
      const largest = 1.04 * (isBeyond ? inUse : mostOf(budgets.filter(([, high]) => high <= 4 * inUse), inUse));
      const y = yOf(top, tall, largest);
      area(used, y, top + tall, colours.others);
      area(owned, y, top + tall, colours.used);
      grid(top, tall, largest, niceBytes(largest, 2), formatTick);
      line(used, y, colours.reserved);
      if (!isBeyond) line(budgets, y, colours.budget, [6, 4]);
      context.textAlign = 'left';
      context.fillStyle = isBeyond ? colours.budget : colours.soft;
      context.fillText(name + (isBeyond ? ': the budget, at least ' + formatSize(least) + ', is above this chart' : ''), LEFT, top - 8);
    });

    // Submissions, as bytes that must be resident, and changes of residency.
    if (hasEvents) {
      const tall = strips.events;
      const base = tops.events + tall;
      let largest = 1;
      for (const bytes of submissions.bytes) largest = Math.max(largest, bytes);
      const columns = (list, include, colour, bytesOf, scale) => {
        context.fillStyle = colour;
        for (let pixel = 0; pixel < pixels; pixel += 1) {
          let most = 0;
          const end = lowerBound(list, firsts[pixel + 1]);
          for (let event = lowerBound(list, firsts[pixel]); event < end; event += 1) if (include(event)) most = Math.max(most, bytesOf(event));
          if (most > 0) context.fillRect(LEFT + pixel, base - Math.max(1, most / scale * tall), 1.02, Math.max(1, most / scale * tall));
        }
      };
      columns(submissions.moment, () => true, colours.submission, (event) => submissions.bytes[event] || 1, largest);
      let page = 1;
      for (const heap of paging.heap) page = Math.max(page, heaps.size[heap]);
      const sizeOf = (event) => heaps.size[paging.heap[event]];
      columns(paging.moment, (event) => paging.isEviction[event] === 0, colours.resident, sizeOf, page);
      columns(paging.moment, (event) => paging.isEviction[event] === 1, colours.evict, sizeOf, page);
      context.fillStyle = colours.soft;
      context.textAlign = 'right';
      context.fillText(counts.paging ? 'paging' : 'submitted', LEFT - 6, base - tall / 2);
    }

    // The axis.
    context.fillStyle = colours.soft;
    context.textAlign = 'center';
    const range = view[1] - view[0];
    const step = Math.max(byTime ? 1e-3 : 1, (byTime ? niceTime : niceStep)(range, Math.max(2, plotWidth() / 85)));
    const origin = byTime ? times[0] : -.5;
    for (let value = Math.ceil((view[0] - origin) / step) * step; value <= view[1] - origin; value += step) {
      const x = xOf(value + origin);
      const text = byTime && value > 0 ? formatTime(value) : formatCount(Math.round(value));
      const half = context.measureText(text).width / 2;
      if (x - half < LEFT - 30 || x + half > width) continue;
      context.fillText(text, x, bottom + 11);
      context.fillRect(Math.round(x), bottom, 1, 4);
    }
    drawCursor();
  };

  const drawCursor = () => {
    const context = prepare(cursor, width, height);
    const marked = xOf(valueOf(mark));
    if (mark >= 0 && marked >= LEFT - 1 && marked <= width - RIGHT + 1) {
      context.strokeStyle = colours.link;
      context.lineWidth = 1.5;
      context.setLineDash([4, 3]);
      context.beginPath();
      context.moveTo(marked, 0);
      context.lineTo(marked, bottom);
      context.stroke();
      context.setLineDash([]);
    }
    const x = xOf(valueOf(moment));
    if (x < LEFT - 1 || x > width - RIGHT + 1) return;
    context.fillStyle = colours.text;
    context.fillRect(Math.round(x) - .5, 0, 1.5, bottom);
    context.beginPath();
    context.arc(x, 5, 4.5, 0, 7);
    context.fill();
  };

  // Shows a range of the axis, within that of the session.
  const show = (from, to) => {
    const [low, high] = whole();
    const least = byTime ? Math.min(1, high - low) : Math.min(16, high - low);
    const span = Math.max(least, Math.min(high - low, to - from));
    const start = Math.max(low, Math.min(high - span, from));
    view = [start, start + span];
    draw();
  };
  // Zooms by a factor, around a value of the axis.
  const zoom = (factor, around) => {
    const share = (around - view[0]) / (view[1] - view[0]);
    const span = (view[1] - view[0]) * factor;
    show(around - share * span, around - share * span + span);
  };
  const zoomAtCursor = (factor) => {
    const value = valueOf(moment);
    zoom(factor, value >= view[0] && value <= view[1] ? value : (view[0] + view[1]) / 2);
  };
  const set = (next, marked) => {
    [moment, mark] = [next, marked];
    const value = valueOf(moment);
    const span = view[1] - view[0];
    if (value < view[0] || value > view[1]) show(value - span / 2, value + span / 2); else drawCursor();
    box.setAttribute('aria-valuenow', moment + 1);
    box.setAttribute('aria-valuetext', 'event ' + formatCount(moment + 1) + ', ' + formatSize(used[moment]) + ' used of ' + formatSize(reserved[moment]));
  };
  box.setAttribute('aria-valuemin', 1);
  box.setAttribute('aria-valuemax', counts.moments);

  // Pointer: a click chooses a moment, and a drag compares its two ends.
  const xIn = (event) => event.clientX - box.getBoundingClientRect().left;
  let pressed = 0;
  box.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    box.setPointerCapture(event.pointerId);
    pressed = xIn(event);
    choose(momentAt(pressed));
  });
  box.addEventListener('pointermove', (event) => {
    const at = momentAt(xIn(event));
    if (box.hasPointerCapture(event.pointerId)) {
      hideTip();
      if (Math.abs(xIn(event) - pressed) > 4) compare(momentAt(pressed), at); else choose(at);
      return;
    }
    showTip(event, (element) => {
      const isKnown = ({ series }) => !Number.isNaN(series.numbers[at]);
      const lines = memory.filter(isKnown).map(({ name, series }) => name + ': ' + formatSize(series.numbers[at]));
      if (stack) lines.push(...stack.names.map((name, group) => name + ': ' + formatSize(stack.sums[group][at])).filter((_, group) => stack.sums[group][at] > 0));
      for (const { name, usage, budget } of segmentGroups) {
        if (!Number.isNaN(budget[at] + usage[at])) lines.push(name + ': ' + formatSize(usage[at]) + ' in use, budget ' + formatSize(budget[at]));
      }
      element.replaceChildren(make('b', 'event ' + formatCount(at + 1) + ', ' + formatTime(timeAt(at))), '\n' + lines.join('\n'));
    });
  });
  box.addEventListener('pointerleave', hideTip);
  box.addEventListener('wheel', (event) => {
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      zoom(1.2 ** Math.sign(event.deltaY), valueAt(xIn(event)));
    } else if (event.shiftKey) {
      event.preventDefault();
      const move = (view[1] - view[0]) * .1 * Math.sign(event.deltaY || event.deltaX);
      show(view[0] + move, view[1] + move);
    }
  }, { passive: false });
  // Keyboard.
  const jump = (sign) => momentAt(xOf(valueOf(moment)) + sign * plotWidth() / 100);
  // At least one event, also where a hundredth of the chart is less.
  const far = (sign) => (sign > 0 ? Math.max(jump(1), moment + 1) : Math.min(jump(-1), moment - 1));
  const keys = {
    ArrowRight: (event) => (event.shiftKey ? far(1) : moment + 1),
    ArrowLeft: (event) => (event.shiftKey ? far(-1) : moment - 1),
    ArrowUp: () => moment + 1,
    ArrowDown: () => moment - 1,
    PageUp: () => far(1),
    PageDown: () => far(-1),
    Home: () => 0,
    End: () => last,
  };
  box.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = keys[event.key];
    if (key) choose(Math.max(0, Math.min(last, key(event))));
    else if (event.key === '+' || event.key === '=') zoomAtCursor(.5);
    else if (event.key === '-') zoomAtCursor(2);
    else if (event.key === '0') show(...whole());
    else return;
    event.preventDefault();
  });
  byId('zoom-in').addEventListener('click', () => zoomAtCursor(.5));
  byId('zoom-out').addEventListener('click', () => zoomAtCursor(2));
  byId('zoom-all').addEventListener('click', () => show(...whole()));
  byId('axis').addEventListener('change', () => {
    byTime = byId('axis').value === 'time';
    view = whole();
    draw();
  });
  box.style.height = height + 'px';
  // What there is more than one of tells most.
  const kinds = ['kind', 'type', 'pool'].find((by) => colouredBy(by).names.length > 1);
  byId('stack-by').value = kinds || '';
  const drawLegend = () => {
    const names = memory.filter(({ name }) => !stack || name !== 'used by allocations').map(({ name, colour }) => legendEntry(name, 'var(--' + colour + ')'));
    if (stack) names.push(...stack.names.map((name, group) => legendEntry(name, 'var(--group' + group + ')')));
    if (segmentGroups.length > 0) {
      names.push(legendEntry('budget of a segment group', 'var(--budget)'));
      if (segmentGroups.some(({ verdict }) => verdict.most_others_bytes > 0)) names.push(legendEntry('in use by others', 'var(--others)'));
    }
    if (counts.submissions) names.push(legendEntry('bytes that a submission uses', 'var(--submission)'));
    if (counts.paging) names.push(legendEntry('evicted', 'var(--evict)'));
    byId('series').replaceChildren(...names);
  };
  view = whole();
  return { draw, set, setStack };
};
