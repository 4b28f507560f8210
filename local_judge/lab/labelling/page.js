"use strict";
// Everything from reports and pages is set as textContent.
const token = new URLSearchParams(location.search).get("token") || "";
const at = (id) => document.getElementById(id);
const keys = { 1: "supported", 2: "partial", 3: "unsupported", 4: "contradicted", 0: "unclear" };
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

async function show(wanted) {
  number = Math.min(Math.max(wanted, 0), labels.length - 1);
  const item = await ask(`/item?number=${number}`);
  at("claim").textContent = shown(item.claim);
  at("title").textContent = shown(item.title) || "Page";
  at("url").textContent = shown(item.url);
  at("note").value = item.note;
  seen = -1;
  fillText(item);
  update();
  nextMark();
}

async function label(chosen) {
  try {
    await ask("/label", { number, label: chosen, note: at("note").value });
    labels[number] = chosen;
    at("status").textContent = `Claim ${number + 1}: ${chosen}. Stored.`;
    if (number + 1 < labels.length) await show(number + 1);
    else update();
  } catch (error) {
    at("status").textContent = `Not stored: ${error.message}`;
  }
}

document.addEventListener("keydown", (event) => {
  if (event.target === at("note") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key in keys) label(keys[event.key]);
  else if (event.key === "ArrowRight") show(number + 1);
  else if (event.key === "ArrowLeft") show(number - 1);
  else if (event.key === "m") nextMark();
  else return;
  event.preventDefault();
});
for (const button of document.querySelectorAll("[data-label]"))
  button.addEventListener("click", () => label(button.dataset.label));
at("previous").addEventListener("click", () => show(number - 1));
at("next").addEventListener("click", () => show(number + 1));
at("mark").addEventListener("click", nextMark);

ask("/labels").then((data) => {
  labels = data.labels;
  at("annotator").textContent = `Annotator: ${shown(data.annotator)}`;
  const first = labels.indexOf(null);
  return show(first < 0 ? 0 : first);
}).catch((error) => { at("status").textContent = error.message; });
