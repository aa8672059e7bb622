"use strict";

const EVERY = 2000;
const SILENT = 600;
const find = (id) => document.getElementById(id);
const whole = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en-GB", { notation: "compact", maximumFractionDigits: 1 });
const exact = new Intl.NumberFormat("en-GB", { maximumSignificantDigits: 3 });
const cards = new Map();

// Only what differs is touched, so that nobody's focus, selection or speech is disturbed.
function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function duration(seconds) {
  if (seconds === null) return "–";
  const units = [["d", 86400], ["h", 3600], ["min", 60]];
  for (const [name, length] of units) {
    if (seconds >= 2 * length) return `${whole.format(seconds / length)} ${name}`;
  }
  return `${seconds < 10 ? exact.format(seconds) : whole.format(seconds)} s`;
}

const count = (number, one, many) => `${whole.format(number)} ${number === 1 ? one : many}`;

function fill(body, rows) {
  while (body.rows.length > rows.length) body.deleteRow(-1);
  rows.forEach((cells, at) => {
    const row = body.rows[at] ?? body.insertRow();
    cells.forEach((text, column) => {
      let cell = row.cells[column];
      if (!cell) {
        cell = document.createElement(column ? "td" : "th");
        if (!column) cell.scope = "row";
        cell.className = body.parentElement.tHead.rows[0].cells[column].className;
        row.append(cell);
      }
      say(cell, text);
    });
  });
}

function bars(svg, values, style, label) {
  const most = Math.max(...values, 0);
  const width = 300 / values.length;
  values.forEach((value, at) => {
    let bar = svg.children[at];
    if (!bar) {
      bar = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      bar.setAttribute("x", at * width + width * 0.1);
      bar.setAttribute("width", width * 0.8);
      bar.setAttribute("rx", 1);
      svg.append(bar);
    }
    const height = value > 0 ? Math.max(3, (value / most) * 88) : 1.5;
    bar.setAttribute("y", 90 - height);
    bar.setAttribute("height", height);
    bar.setAttribute("class", value > 0 ? style(at) : "empty");
  });
  if (svg.getAttribute("aria-label") !== label) svg.setAttribute("aria-label", label);
}

function outlook(policy) {
  if (policy.exhausted) {
    const who = count(policy.exhausted, `${policy.of} has`, `${policy.of}s have`);
    return ["bad", `${who} nothing left for the next window.`];
  }
  if (policy.exhaustion_seconds !== null) {
    return ["wait", `At this rate the first tenth runs out in ${duration(policy.exhaustion_seconds)}.`];
  }
  return ["good", "At this rate the budget never runs out."];
}

function windows(policy) {
  const { closed, released } = policy.windows;
  const { budget, coverage, homes, lost } = policy.suppressed;
  const reasons = [];
  if (budget) reasons.push(`${whole.format(budget)} for lack of budget`);
  if (coverage) reasons.push(`${whole.format(coverage)} for too few readings`);
  if (homes) reasons.push(`${whole.format(homes)} for too few homes`);
  if (lost) reasons.push(`${whole.format(lost)} for a part that was lost`);
  const all = `${count(closed, "window", "windows")} closed, ${whole.format(released)} released`;
  return reasons.length ? `${all}; withheld: ${reasons.join(", ")}.` : `${all}, none withheld.`;
}

function card(policy) {
  let part = cards.get(policy.name);
  if (!part) {
    const made = find("policy").content.cloneNode(true);
    part = Object.fromEntries([...made.querySelectorAll("[data-is]")].map((e) => [e.dataset.is, e]));
    made.querySelector(".scroll").setAttribute("aria-label", `${policy.name}: what one release says`);
    find("policies").append(made);
    cards.set(policy.name, part);
  }
  return part;
}

function about(policy) {
  const said = policy.preset ? [`Preset ${policy.preset}.`] : [];
  if (policy.beside.length) said.push(`Each ${policy.of} has one account for this and ${policy.beside.join(", ")}.`);
  return said.join(" ");
}

function showPolicy(policy) {
  const part = card(policy);
  say(part.name, policy.name);
  say(part.words, policy.words);
  say(part.about, about(policy));
  part.about.hidden = !part.about.textContent;
  const rows = policy.answers.map((a) => [
    a.query, a.epsilon === null ? "" : exact.format(a.epsilon), `${exact.format(a.expected_error)} ${policy.unit}`,
    `${exact.format(a.error_90)} ${policy.unit}`, `${exact.format(a.bits)} bits`, whole.format(a.released),
  ]);
  if (policy.joint) {
    const { epsilon, bits } = policy.joint;
    rows.push(["all together", exact.format(epsilon), "", "", `${exact.format(bits)} bits`, ""]);
  }
  fill(part.answers, rows);
  const hour = policy.spent_by_each.reduce((sum, minute) => sum + minute, 0);
  const most = Math.max(...policy.spent_by_each);
  const spent = `by each ${policy.of} on average: ${exact.format(hour)} epsilon in an hour, at most ${exact.format(most)} a minute`;
  say(part["spent-words"], spent);
  bars(part.spent, policy.spent_by_each, () => "", `Privacy spent per minute ${spent}`);
  const left = `${count(policy.meters, policy.of, `${policy.of}s`)}, ${whole.format(policy.low)} with a tenth or less`;
  say(part["left-words"], left);
  const tenths = policy.tenths.map((n, i) => `${i * 10} to ${i * 10 + 10} %: ${whole.format(n)}`);
  say(part.whose, `${policy.of}s by tenths of their budget`);
  const whose = policy.of === "group" ? "Groups" : "Meters";
  bars(part.left, policy.tenths, (at) => (at ? "" : "low"), `${whose} by budget left: ${tenths.join(", ")}`);
  const [word, sentence] = outlook(policy);
  part.outlook.dataset.word = word;
  say(part.outlook, sentence);
  say(part.windows, windows(policy));
}

function table(id, nothing, rows) {
  const element = find(id);
  element.parentElement.hidden = !rows.length;
  find(nothing).hidden = rows.length > 0;
  fill(element.tBodies[0], rows);
}

const moment = (seconds) => seconds === null ? "–"
  : new Date(seconds * 1000).toISOString().slice(0, 16).replace("T", " ");

const WITHHELD = { homes: "too few homes", budget: "no budget" };

function membership(members) {
  if (!members) return "Who is in which group has not been read yet.";
  const said = [`${count(members.members, "membership takes", "memberships take")} effect.`];
  if (members.later) said.push(`${whole.format(members.later)} begin later than asked.`);
  const not = [];
  if (members.refused) not.push(`${whole.format(members.refused)} never will, as homes reserve too little`);
  if (members.too_soon) not.push(`${count(members.too_soon, "record was", "records were")} written too late`);
  if (members.damaged) not.push(`${count(members.damaged, "record", "records")} without a list of groups`);
  if (not.length) said.push(`Refused: ${not.join(", ")}.`);
  return said.join(" ");
}

function waiting(policy) {
  const until = policy.decided_until === null ? "nothing is decided yet" : `decided until ${moment(policy.decided_until)} UTC`;
  const said = `${policy.name}: ${count(policy.known, "group", "groups")}, ${until}.`;
  if (!policy.panes_waiting) return ["good", said];
  const who = `${policy.waits_for.length === 1 ? "partition" : "partitions"} ${policy.waits_for.join(", ")}`;
  return ["wait", `${said} ${count(policy.panes_waiting, "pane waits", "panes wait")} for ${who} of the input.`];
}

function showGroups(groups) {
  find("groups-part").hidden = groups === null;
  if (groups === null) return;
  say(find("home-promise"), groups.promise);
  say(find("members"), membership(groups.members));
  const waits = find("waits");
  while (waits.children.length > groups.policies.length) waits.lastChild.remove();
  groups.policies.forEach((policy, at) => {
    const line = waits.children[at] ?? waits.appendChild(document.createElement("p"));
    const [word, sentence] = waiting(policy);
    line.className = "outlook";
    line.dataset.word = word;
    say(line, sentence);
  });
  const refused = Object.entries(groups.refused).map(([why, n]) => `${whole.format(n)} ${why.replaceAll("_", " ")}`);
  say(find("refused"), refused.length ? `Partial sums refused: ${refused.join(", ")}.` : "No partial sum came late, or was refused.");
  table("groups", "no-groups", groups.listed.map((g) => [
    groups.policies.length > 1 ? `${g.group}, ${g.policy}` : g.group,
    whole.format(g.homes), moment(g.decided_until), WITHHELD[g.withheld] ?? "–",
  ]));
  say(find("groups-caption"), groups.more ? `Those that are farthest behind; ${whole.format(groups.more)} more` : "Times are UTC");
}

function showState({ word, sentence }) {
  const state = find("state");
  state.dataset.word = word;
  say(state, sentence);
  document.body.classList.toggle("gone", word === "gone");
  document.title = `meteragent: ${word}`;
}

function show(status) {
  showState(status.state);
  say(find("version"), `${status.version}, records read by ${status.decoder}`);
  say(find("up"), `· up for ${duration(status.up_seconds)}`);
  say(find("records"), short.format(status.records_per_second));
  say(find("releases"), short.format(status.releases_per_second));
  const { median, most } = status.delay_seconds;
  say(find("delay"), duration(median));
  say(find("delay-most"), most === null ? "after a window’s end" : `95 % within ${duration(most)}`);
  const lags = status.partitions.map((p) => p.lag).filter((lag) => lag !== null);
  say(find("lag"), lags.length ? short.format(lags.reduce((sum, lag) => sum + lag, 0)) : "–");
  const of = status.policies.length ? status.policies[0].of : "meter";
  const own = status.policies.filter((policy) => policy.of === of);
  const sum = (name) => own.reduce((total, policy) => total + policy[name], 0);
  say(find("who"), of === "group" ? "Groups" : "Meters");
  say(find("meters"), short.format(sum("meters")));
  say(find("exhausted"), `${whole.format(sum("exhausted"))} without budget`);
  status.policies.forEach(showPolicy);
  showGroups(status.groups);
  table("partitions", "no-partitions", status.partitions.map((p) => [
    String(p.partition), p.state, p.lag === null ? "–" : whole.format(p.lag),
    duration(p.behind_seconds), p.processed === null ? "–" : whole.format(p.processed),
  ]));
  const rejects = Object.entries(status.rejects).map(([why, n]) => `${whole.format(n)} ${why.replaceAll("_", " ")}`);
  say(find("rejects"), rejects.length ? `Records rejected: ${rejects.join(", ")}.` : "No record was rejected.");
  const late = status.late_last_hour;
  say(find("late"), late
    ? `${whole.format(late)} readings came late within the last hour, after their windows had closed`
      + (status.mostly_late ? ": more than came in time. If they are always this late, set delay in the policy." : ".")
    : "No reading came late within the last hour.");
  const shared = status.shared_last_hour;
  find("shared").hidden = !shared;
  say(find("shared"), `${whole.format(shared)} readings shared a slot with another one within the last hour, and were dropped`
    + (status.mostly_shared ? ": as many as were kept. Is interval too long?" : "."));
  find("silent").hidden = status.silent_seconds < SILENT;
  say(find("silent"), `No reading has arrived for ${duration(Math.floor(status.silent_seconds / 60) * 60)}.`);
  const held = status.partitions.filter((p) => p.blocked_seconds > 60);
  find("blocked").hidden = held.length === 0;
  say(find("blocked"), held.map((p) => `Partition ${p.partition} waits for a transaction that a producer `
    + `has left open for ${duration(p.blocked_seconds)}.`).join(" "));
  const wanting = status.partitions.filter((p) => p.schema_wait_seconds > 1);
  find("awaited").hidden = wanting.length === 0;
  say(find("awaited"), wanting.map((p) => `Partition ${p.partition} waits for a schema that the registry `
    + `has not given, for ${duration(p.schema_wait_seconds)}.`).join(" "));
  table("errors", "no-errors", status.errors.map((e) => [
    new Date(e.at * 1000).toLocaleTimeString("en-GB"), e.where, e.error, e.place,
  ]));
}

let answered = new Date();

async function refresh() {
  try {
    const response = await fetch("status.json", { signal: AbortSignal.timeout(EVERY * 4) });
    if (!response.ok) throw new Error(String(response.status));
    show(await response.json());
    answered = new Date();
  } catch {
    const last = answered.toLocaleTimeString("en-GB");
    showState({ word: "gone", sentence: `The agent has not answered since ${last}.` });
  }
  setTimeout(refresh, EVERY);
}

refresh();
