/** chart.js: curves of runs on one drawing, and what they are at the step that is pointed at. */

import { el } from './dom.js';

/** @typedef {{x: number, y: number}} Point */
/** @typedef {{label: string, from_zero?: boolean, width: number}} Shown width: in pixels, so that letters keep their size */
/** @typedef {{name: string, colour: number, line: Point[], dots: Point[]}} Curve line: of every step; dots: of what is judged now and then */

const SVG = 'http://www.w3.org/2000/svg', LEFT = 46, RIGHT = 10, TOP = 12, BELOW = 24, MOST = 400;

/** @param {string} name @param {Record<string, string | number>} has @param {...(Node | string)} children */
export function svg(name, has, ...children) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(has)) made.setAttribute(key, String(value));
    made.append(...children);
    return made;
}

/** Round numbers over a range, four or so. @param {number} low @param {number} high */
function ticks(low, high) {
    const rough = (high - low || Math.abs(high) || 1) / 4, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map(m => m * power).find(s => s >= rough) || 10 * power, out = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) out.push(i * step);
    return { step, at: out };
}

/** @param {number} value @param {number} step between ticks: so many digits are told */
function rounded(value, step) {
    if (value !== 0 && step < 1e-4) return value.toExponential(1);
    let digits = 0;
    while (digits < 5 && Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) > 1e-6) digits++;
    return value.toFixed(digits);
}

/** Means of neighbours, where there are more than can be seen. @param {Point[]} points @returns {Point[]} */
function thinned(points) {
    const each = Math.ceil(points.length / MOST), out = [];
    if (each < 2) return points;
    for (let i = 0; i < points.length; i += each) {
        const some = points.slice(i, i + each);
        out.push({ x: some[some.length - 1].x, y: some.reduce((sum, p) => sum + p.y, 0) / some.length });
    }
    return out;
}

/** The last at or before a step. @param {Point[]} points @param {number} x */
function at(points, x) {
    let found = null;
    for (const p of points) if (p.x <= x) found = p;
    return found;
}

/** @param {Curve[]} curves @param {Shown} of */
function frame(curves, of) {
    const all = curves.flatMap(c => [...c.line, ...c.dots]), last = Math.max(1, ...all.map(p => p.x));
    let low = of.from_zero ? 0 : Math.min(...all.map(p => p.y)), high = Math.max(...all.map(p => p.y));
    if (high - low < Math.abs(high) * 1e-6) [low, high] = [low - Math.abs(low) * .1 - 1e-6, high + Math.abs(high) * .1 + 1e-6];
    const margin = (high - low) * .04;
    low -= of.from_zero ? 0 : margin;
    high += margin;
    const wide = Math.max(260, of.width), tall = Math.round(Math.max(190, Math.min(280, wide * .42)));
    return { last, low, high, wide, tall, x: (/** @type {number} */ v) => LEFT + (wide - LEFT - RIGHT) * v / last,
             y: (/** @type {number} */ v) => TOP + (tall - TOP - BELOW) * (high - v) / (high - low) };
}

/** @param {Curve[]} curves @param {ReturnType<typeof frame>} f @param {string} label */
function draw(curves, f, label) {
    const made = svg('svg', { viewBox: `0 0 ${f.wide} ${f.tall}`, role: 'img', 'aria-label': label }), rows = ticks(f.low, f.high), columns = ticks(0, f.last);
    for (const v of rows.at)
        made.append(svg('line', { class: 'rule', x1: LEFT, x2: f.wide - RIGHT, y1: f.y(v), y2: f.y(v) }),
                    svg('text', { x: LEFT - 8, y: f.y(v) + 4, 'text-anchor': 'end' }, rounded(v, rows.step)));
    for (const v of columns.at.filter(v => Number.isInteger(v)))
        made.append(svg('text', { x: f.x(v), y: f.tall - 6, 'text-anchor': v === 0 ? 'start' : f.x(v) > f.wide - 40 ? 'end' : 'middle' }, v === 0 ? 'step 0' : String(v)));
    const path = (/** @type {Point[]} */ points) => points.map(p => `${f.x(p.x).toFixed(1)},${f.y(p.y).toFixed(1)}`).join(' ');
    for (const c of curves) {
        if (c.line.length) made.append(svg('polyline', { class: `curve c${c.colour}`, points: path(thinned(c.line)) }));
        if (c.dots.length > 2 || !c.line.length) made.append(svg('polyline', { class: `curve judged c${c.colour}`, points: path(c.dots) }));
        made.append(...c.dots.map(p => svg('circle', { class: `dot c${c.colour}`, cx: f.x(p.x), cy: f.y(p.y), r: 4 })));
    }
    return made;
}

/**
 * The drawing, and below it what is pointed at: by mouse, finger or arrow keys.
 * @param {Curve[]} curves @param {Shown} of
 * @param {{step: number | null}} pointed is kept from drawing to drawing; null: the last
 * @returns {HTMLElement}
 */
export function chart(curves, of, pointed) {
    const shown = curves.filter(c => c.line.length + c.dots.length);
    if (!shown.length) return el('p', { class: 'faint', text: 'Nothing to draw yet.' });
    const f = frame(shown, of), drawing = draw(shown, f, `${of.label} by step, of ${shown.map(c => c.name).join(', ')}`);
    const mark = svg('line', { class: 'mark', y1: TOP, y2: f.tall - BELOW }), told = el('p', { class: 'at', role: 'status' });
    drawing.append(mark);
    const tell = () => {
        const step = Math.min(f.last, pointed.step ?? f.last), x = pointed.step === null ? -9 : f.x(step);
        mark.setAttribute('x1', String(x));
        mark.setAttribute('x2', String(x));
        told.replaceChildren(el('span', { text: `step ${step}` }), ...shown.map(c => {
            const line = at(c.line, step), dot = at(c.dots, step);
            const said = [line ? line.y.toPrecision(4) : '', dot ? `held out ${dot.y.toPrecision(4)}` : ''].filter(Boolean).join(', ');
            return el('span', {}, el('span', { class: `swatch s${c.colour}` }), c.name, ' ', el('b', { text: said || '\u2013' }));
        }));
    };
    const point = (/** @type {number | null} */ to) => {
        pointed.step = to === null ? null : Math.max(0, Math.min(f.last, Math.round(to)));
        tell();
    };
    drawing.addEventListener('pointermove', e => {
        const box = drawing.getBoundingClientRect();
        point(((e.clientX - box.left) / box.width * f.wide - LEFT) / (f.wide - LEFT - RIGHT) * f.last);
    });
    drawing.addEventListener('pointerleave', () => point(null));
    tell();
    return el('div', { class: 'chart', tabindex: '0', role: 'group', 'aria-label': `${of.label}: arrow keys go from step to step`, onkeydown: (/** @type {KeyboardEvent} */ e) => {
        if (e.key !== 'ArrowLeft' && e.key !== 'ArrowRight') return;
        point((pointed.step ?? f.last) + (e.key === 'ArrowRight' ? 1 : -1) * Math.max(1, Math.round(f.last / 50)));
        e.preventDefault();
    } }, drawing, told);
}
