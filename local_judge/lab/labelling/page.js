"use strict";
// Everything from reports and pages is set as textContent.
const token = new URLSearchParams(location.search).get("token") || "";
const at = (id) => document.getElementById(id);
const keys = { 1: "supported", 2: "partial", 3: "unsupported", 4: "contradicted", 0: "unclear" };
const waiting = [];
let labels = [], number = 0, marks = [], seen = -1;

// Characters that reorder or hide text are shown by their code.
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
const shown = (text) => text.replace(hidden, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);

async function ask(path, body) {
  const options = { headers: { "X-Token": token } };
  if (body !== undefined) Object.assign(options, { method: "POST", body: JSON.stringify(body) });
  const answer = await fetch(path, options);
  const data = await answer.json();
  if (!answer.ok) throw new Error(data.error);
  return data;
}

function fillText(item) {
  const text = at("text");
  text.replaceChildren();
  // Offsets count code points, as in Python.
  const points = Array.from(item.text);
  let end = 0;
  marks = [];
  for (const [start, stop] of item.marks) {
    text.append(shown(points.slice(end, start).join("")));
    const mark = document.createElement("mark");
    mark.textContent = shown(points.slice(start, stop).join(""));
    marks.push(mark);
    text.append(mark);
    end = stop;
  }
  text.append(shown(points.slice(end).join("")));
}

function nextMark() {
  if (marks.length) marks[(seen = (seen + 1) % marks.length)].scrollIntoView({ block: "center" });
}

function update() {
  const done = labels.filter((one) => one !== null).length;
  at("progress").max = labels.length;
  at("progress").value = done;
  at("position").textContent = `Claim ${number + 1} of ${labels.length}, ${done} labelled`;
  for (const button of document.querySelectorAll("[data-label]"))
    button.setAttribute("aria-pressed", String(button.dataset.label === labels[number]));
}

// Navigation waits in order while a label is stored or a claim is fetched. An error drops what waits: its message stays.
async function inTurn(work) {
  if (waiting.push(work) > 1) return;
  while (waiting.length) {
    try {
      await waiting[0]();
      waiting.shift();
    } catch (error) {
      waiting.length = 0;
      const gone = error instanceof TypeError;  // fetch, without an answer
      at("status").textContent = gone
        ? "No answer: the command has ended. Start it again and open the address that it prints."
        : `Not stored: ${error.message}`;
    }
  }
}

async function show(wanted) {
  const wish = Math.min(Math.max(wanted, 0), labels.length - 1);
  const item = await ask(`/item?number=${wish}`);
  number = wish;
  at("claim").textContent = shown(item.claim);
  at("title").textContent = shown(item.title) || "Page";
  at("url").textContent = shown(item.url);
  at("note").value = item.note;
  seen = -1;
  fillText(item);
  update();
  nextMark();
}

const go = (step) => inTurn(async () => {
  await show(number + step);
  at("status").textContent = "";
});

// A label is for the claim that is shown when it is pressed. It never waits: another claim may be shown by then.
function label(chosen) {
  if (waiting.length) return;
  inTurn(async () => {
    await ask("/label", { number, label: chosen, note: at("note").value });
    labels[number] = chosen;
    const word = document.querySelector(`[data-label=${chosen}]`).lastChild.textContent.trim();
    const done = labels.every((one) => one !== null) ? " All claims are labelled: end the command with Ctrl-C." : "";
    at("status").textContent = `Claim ${number + 1}: ${word}. Stored.${done}`;
    update();
    if (number + 1 < labels.length) await show(number + 1);
  });
}

document.addEventListener("keydown", (event) => {
  if (event.target === at("note") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key in keys) {
    if (!event.repeat) label(keys[event.key]);  // a key that is held down labels one claim
  } else if (event.key === "ArrowRight") go(1);
  else if (event.key === "ArrowLeft") go(-1);
  else if (event.key === "m") inTurn(nextMark);
  else return;
  event.preventDefault();
});
for (const button of document.querySelectorAll("[data-label]"))
  button.addEventListener("click", (event) => {
    if (event.detail < 2) label(button.dataset.label);  // a double click labels one claim
  });
at("previous").addEventListener("click", () => go(-1));
at("next").addEventListener("click", () => go(1));
at("mark").addEventListener("click", () => inTurn(nextMark));

inTurn(async () => {
  const data = await ask("/labels");
  labels = data.labels;
  at("annotator").textContent = `Annotator: ${shown(data.annotator)}`;
  const first = labels.indexOf(null);
  await show(first < 0 ? 0 : first);
});
