"use strict";

// Everything that is shown was worked out before: this picks, and draws.
const shown = JSON.parse(document.getElementById("numbers").textContent);
const find = (id) => document.getElementById(id);
const series = ["", "second", "third"];
let draw = 0;

function make(tag, text, name) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (name) element.className = name;
  return element;
}

function say(id, text) {
  const element = find(id);
  if (element.textContent !== text) element.textContent = text;
}

function at(axis) { return Number(find(axis).value); }

function point() {
  const number = shown.axes.reduce((sum, axis) => sum * axis.texts.length + at(axis.name), 0);
  return shown.points[number];
}

function watts(value) {
  return value >= 1000 ? `${(value / 1000).toFixed(1)} kW` : `${value} W`;
}

function line(values, height, name) {
  const width = 1440 / values.length;
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  const steps = values.map((value, i) => `${i ? "L" : "M"}${i * width} ${height(value)}H${(i + 1) * width}`);
  path.setAttribute("d", steps.join(""));
  path.setAttribute("class", name);
  return path;
}

function band(values, within, height) {
  const width = 1440 / values.length;
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  const boxes = values.map((value, i) => {
    const [top, bottom] = [height(value + within), height(Math.max(0, value - within))];
    return `M${i * width} ${top}H${(i + 1) * width}V${bottom}H${i * width}Z`;
  });
  path.setAttribute("d", boxes.join(""));
  path.setAttribute("class", "band");
  return path;
}

function picture(law) {
  const drawn = law.drawn[draw];
  const most = Math.max(...shown.day, ...drawn.flat(), ...law.true[0].map((v) => v + law.answers[0].within));
  const height = (value) => 300 - (296 * value) / most;
  const parts = [band(law.true[0], law.answers[0].within, height), line(shown.day, height, "day")];
  drawn.forEach((values, i) => parts.push(line(values, height, `drawn ${series[i] ?? "third"}`)));
  find("picture").replaceChildren(...parts);
  say("highest", watts(most));
  const keys = law.answers.map((a, i) => make("span", `${a.query}, as published`, `key drawn ${series[i] ?? "third"}`));
  find("legend").replaceChildren(...keys);
  const said = law.answers.map((a, i) => `${a.query}: ${drawn[i].map((v) => `${v} W`).join(", ")}`).join("; ");
  find("picture").setAttribute("aria-label", `A made-up day, and what is published of it. ${said}`);
}

function loads(law) {
  const rows = shown.loads.map((load, i) => {
    const row = make("tr");
    const head = make("th", load.name);
    head.scope = "row";
    head.append(make("small", load.meaning));
    row.append(head);
    for (const [right, text] of law.loads[i]) {
      const cell = make("td", text);
      const bar = make("meter-bar");
      const fill = make("i", undefined, right > 0.75 ? "plain" : "");
      fill.style.setProperty("width", `${(right - 0.5) * 200}%`);
      bar.append(fill);
      bar.setAttribute("aria-hidden", "true");
      cell.append(bar);
      row.append(cell);
    }
    return row;
  });
  find("loads").replaceChildren(...rows);
}

function answers(law) {
  const homes = at("homes");
  say("homes-head", homes ? `Mean of ${shown.homes[homes]} homes` : "One home");
  say("group-head", homes ? `The same as a group` : "A group");
  const rows = law.answers.map((answer) => {
    const row = make("tr");
    const head = make("th", answer.query);
    head.scope = "row";
    const cells = [answer.error, answer.error_90, answer.month ?? "–", answer.homes[homes],
      homes ? answer.group[homes] : "–"];
    row.append(head, ...cells.map((text) => make("td", text, "number")));
    return row;
  });
  find("answers").replaceChildren(...rows);
}

function verdict(law) {
  const [answer] = law.answers;
  const [load] = shown.loads;
  const [[, once], [, daily]] = law.loads[0];
  const homes = at("homes");
  const mean = homes ? ` The mean of ${shown.homes[homes]} homes is within ${answer.homes[homes]}, and released ` +
    `as a group within ${answer.group[homes]}.` : "";
  return `Each ${answer.query} of ${find("window-is").textContent} is off by ${answer.error} on average.${mean} ` +
    `Which of two ${load.name}s was on can be told in ${once} of cases, and in ${daily} of a daily habit; by guessing in 50 %.`
    .replaceAll(" %", "\u00a0%").replaceAll(" W ", "\u00a0W ");
}

function show() {
  for (const axis of [...shown.axes, { name: "homes", texts: shown.homes }]) {
    const text = axis.texts[at(axis.name)];
    say(`${axis.name}-is`, text);
    find(axis.name).setAttribute("aria-valuetext", text);
  }
  const here = point();
  find("results").hidden = "refused" in here;
  if ("refused" in here) {
    say("verdict", `These do not go together: ${here.refused}.`);
    return;
  }
  const law = shown.laws[here.law];
  say("verdict", verdict(law));
  picture(law);
  loads(law);
  answers(law);
  say("words", here.words);
  here.bounds.forEach((bound, i) => say(`bound-${i}`, bound));
  find("warnings").replaceChildren(...here.warnings.map((i) => make("li", shown.warnings[i])));
  say("toml", here.toml);
  say("copied", "");
}

async function copy() {
  try {
    await navigator.clipboard.writeText(find("toml").textContent);
    say("copied", "Copied.");
  } catch {
    getSelection().selectAllChildren(find("toml"));
    say("copied", "Selected: copy it with the keyboard.");
  }
}

function begin() {
  const starts = [...shown.start, 0];
  [...shown.axes, { name: "homes", texts: shown.homes }].forEach((axis, i) => {
    const slider = find(axis.name);
    Object.assign(slider, { min: 0, max: axis.texts.length - 1, step: 1, value: starts[i] });
    slider.addEventListener("input", show);
  });
  find("controls").addEventListener("submit", (event) => event.preventDefault());
  find("again").addEventListener("click", () => {
    draw = (draw + 1) % shown.laws[0].drawn.length;
    show();
  });
  find("copy").addEventListener("click", copy);
  show();
}

begin();
