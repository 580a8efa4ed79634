// SPDX-License-Identifier: MIT
//
// The page that `zt report` writes: its style, its frame and its script, which takes everything from one block of JSON.
#ifndef ZTENSOR_EXAMPLES_ZT_REPORT_PAGE_HPP
#define ZTENSOR_EXAMPLES_ZT_REPORT_PAGE_HPP

namespace zt {

constexpr const char* report_style = R"css(
:root { color-scheme: light dark; --back: #fff; --text: #1b1f24; --soft: #59636e; --line: #d8dee4; --mark: #0b61c4; --band: #f3f5f7; }
@media (prefers-color-scheme: dark) { :root { --back: #14171a; --text: #e8eaed; --soft: #9aa4ae; --line: #333a41; --mark: #6cb0ff; --band: #1d2226; } }
body { margin: 0 auto; max-width: 1200px; padding: 1.5rem; background: var(--back); color: var(--text); font: 15px/1.45 system-ui, sans-serif; }
h1 { font-size: 1.4rem; margin: 0 0 .2rem; overflow-wrap: anywhere; } h2 { font-size: 1.05rem; margin: 1.6rem 0 .5rem; }
.soft { color: var(--soft); } dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: .5rem 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; } pre { background: var(--band); padding: .6rem; overflow: auto; margin: 0; }
#find { font: inherit; width: min(100%, 30rem); padding: .35rem .5rem; color: inherit; background: var(--back); border: 1px solid var(--line); border-radius: 4px; }
.grid { display: grid; grid-template-columns: minmax(10rem, 4fr) 1fr 2fr 1.4fr 1.3fr 1.4fr 1.4fr 1fr; }
.head { overflow-y: hidden; scrollbar-gutter: stable; }
.head button { all: unset; cursor: pointer; color: var(--soft); padding: .3rem .4rem; } .head button.number { text-align: right; } .head button:focus-visible { outline: 2px solid var(--mark); }
.number { text-align: right; font-variant-numeric: tabular-nums; }
#rows { height: 26rem; overflow: auto; scrollbar-gutter: stable; border-top: 1px solid var(--line); border-bottom: 1px solid var(--line); position: relative; }
.row { position: absolute; left: 0; right: 0; height: 28px; cursor: pointer; } .row > * { padding: .2rem .4rem; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.row:hover, .row.chosen { background: var(--band); } .row.chosen { box-shadow: inset 3px 0 var(--mark); }
#layout svg { width: 100%; height: auto; background: #fff; } li { overflow-wrap: anywhere; }
)css";

constexpr const char* report_frame = R"html(
<header><h1 id="title"></h1><div class="soft" id="kind"></div></header>
<h2>Summary</h2><dl id="summary"></dl>
<h2>Tensors</h2>
<p><input id="find" type="search" placeholder="Find by name, type or format" aria-label="Find tensors"> <span class="soft" id="count"></span></p>
<div class="grid head" id="head"></div><div id="rows" tabindex="0" role="grid" aria-label="Tensors"></div>
<section id="detail" hidden><h2 id="name"></h2><dl id="facts"></dl><div id="bars"></div><div id="own"></div></section>
<section id="drawing" hidden><h2>Layout</h2><div id="layout"></div></section>
<section id="findings" hidden><h2>Findings</h2><ul id="lint"></ul></section>
<section id="attributes" hidden><h2>Attributes of the file</h2><pre id="of_file"></pre></section>
)html";

constexpr const char* report_script = R"js(
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const at = id => document.getElementById(id);
const make = (tag, text, className) => { const e = document.createElement(tag); e.textContent = text; if (className) e.className = className; return e; };
const bytes = n => { const u = ['B', 'KiB', 'MiB', 'GiB', 'TiB']; let i = 0; for (; n >= 1024 && i + 1 < u.length; ++i) n /= 1024; return (i ? n.toFixed(1) : n) + ' ' + u[i]; };
const count = n => n.toLocaleString('en');
const short = n => typeof n === 'number' ? String(+n.toPrecision(5)) : n === null || n === undefined ? '–' : n;
const facts = (list, pairs) => { list.textContent = ''; for (const [k, v] of pairs) { if (v !== null && v !== undefined && v !== '') { list.append(make('dt', k), make('dd', v)); } } };
document.title = data.title; at('title').textContent = data.title; at('kind').textContent = data.kind;
facts(at('summary'), data.summary);
const columns = [['Name', t => t.name], ['Type', t => t.type], ['Shape', t => t.shape.join(' × ')], ['Parameters', t => t.parameters, count], ['Stored', t => t.stored, bytes], ['Min', t => t.min, short], ['Max', t => t.max, short], ['Zeros', t => t.zeros, z => z === null || z === undefined ? '–' : (100 * z).toFixed(z < 0.1 && z > 0 ? 2 : 0) + ' %']];
let shown = data.tensors.slice(), order = null, chosen = null;
const rowHeight = 28, rows = at('rows'), inner = document.createElement('div');
inner.style.position = 'relative'; rows.append(inner);
function draw() {
    inner.style.height = shown.length * rowHeight + 'px';
    inner.textContent = '';
    const first = Math.max(0, Math.floor(rows.scrollTop / rowHeight) - 5), last = Math.min(shown.length, first + Math.ceil(rows.clientHeight / rowHeight) + 10);
    for (let i = first; i < last; ++i) {
        const t = shown[i], row = make('div', '', 'row grid' + (t === chosen ? ' chosen' : ''));
        row.style.top = i * rowHeight + 'px';
        for (const [, value, print] of columns) {
            const v = value(t), cell = make('span', print ? print(v) : v, print ? 'number' : '');
            cell.title = cell.textContent; row.append(cell);
        }
        row.onclick = () => choose(t);
        inner.append(row);
    }
    at('count').textContent = count(shown.length) + ' of ' + count(data.tensors.length);
}
function arrange() {
    const words = at('find').value.toLowerCase().split(/\s+/).filter(Boolean);
    shown = data.tensors.filter(t => words.every(w => (t.name + ' ' + t.type + ' ' + t.format).toLowerCase().includes(w)));
    if (order) {
        const value = columns[order.column][1], rank = v => v === null || v === undefined || typeof v === 'string' && order.numbers ? -Infinity : v;
        shown.sort((a, b) => { const x = rank(value(a)), y = rank(value(b)); return (x < y ? -1 : x > y ? 1 : 0) * order.sign; });
    }
    rows.scrollTop = 0; draw();
}
columns.forEach(([name, , print], i) => {
    const button = make('button', name, print ? 'number' : '');
    button.onclick = () => { order = { column: i, numbers: !!print, sign: order && order.column === i ? -order.sign : print ? -1 : 1 };
        [...at('head').children].forEach((b, j) => b.textContent = columns[j][0] + (j === i ? (order.sign > 0 ? ' ▲' : ' ▼') : '')); arrange(); };
    at('head').append(button);
});
function choose(t) {
    chosen = t; at('detail').hidden = false; at('name').textContent = t.name;
    facts(at('facts'), [['Format', t.format], ['Type', t.type], ['Shape', '[' + t.shape.join(', ') + ']'], ['Parameters', count(t.parameters)], ['Stored', bytes(t.stored)], ['Decoded', t.decoded === null ? '' : bytes(t.decoded)], ['Encoding', t.encoding], ['Digest', t.digest], ['Offset', count(t.offset)],
        ['Minimum', t.min], ['Maximum', t.max], ['Mean', t.mean], ['Deviation', t.deviation], ['NaN', t.nan ? count(t.nan) : ''], ['Infinite', t.infinite ? count(t.infinite) : ''], ['Numbers', t.why]].map(([k, v]) => [k, typeof v === 'number' ? short(v) : v]));
    at('bars').textContent = ''; at('own').textContent = '';
    if (t.bars) {
        const highest = Math.max(...t.bars), space = 'http://www.w3.org/2000/svg', svg = document.createElementNS(space, 'svg');
        svg.setAttribute('viewBox', '0 0 320 90'); svg.setAttribute('width', '480'); svg.setAttribute('role', 'img');
        svg.setAttribute('aria-label', 'Histogram from ' + short(t.min) + ' to ' + short(t.max));
        t.bars.forEach((n, i) => { const bar = document.createElementNS(space, 'rect'), h = highest ? 70 * n / highest : 0;
            for (const [k, v] of [['x', i * 20 + 1], ['y', 72 - h], ['width', 18], ['height', h], ['fill', 'var(--mark)']]) bar.setAttribute(k, v);
            const tip = document.createElementNS(space, 'title'); tip.textContent = count(n); bar.append(tip); svg.append(bar); });
        [[short(t.min), 0, 'start'], [short(t.max), 320, 'end']].forEach(([text, x, anchor]) => { const label = document.createElementNS(space, 'text');
            for (const [k, v] of [['x', x], ['y', 86], ['text-anchor', anchor], ['font-size', 10], ['fill', 'currentColor']]) label.setAttribute(k, v);
            label.textContent = text; svg.append(label); });
        at('bars').append(svg);
    }
    if (t.attributes) { at('own').append(make('pre', JSON.stringify(t.attributes, null, 1))); }
    draw();
}
rows.onkeydown = event => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !shown.length) return;
    event.preventDefault();
    const next = Math.min(shown.length - 1, Math.max(0, shown.indexOf(chosen) + step)), top = next * rowHeight;
    rows.scrollTop = Math.min(top, Math.max(rows.scrollTop, top + rowHeight - rows.clientHeight));
    choose(shown[next]);
};
at('find').oninput = arrange; rows.onscroll = draw; window.onresize = draw;
if (data.layout) { at('drawing').hidden = false; at('layout').innerHTML = data.layout; }
if (data.lint.length) { at('findings').hidden = false; for (const each of data.lint) at('lint').append(make('li', each)); }
if (data.attributes) { at('attributes').hidden = false; at('of_file').textContent = JSON.stringify(data.attributes, null, 1); }
draw();
)js";

} // namespace zt

#endif
