"use strict";
// The report reads without this script. It adds: stepping through an attack, search, and a switch between dark and light.

const byId = (id) => document.getElementById(id);

function rememberedTheme() {
  try {
    return localStorage.getItem("carnet-theme");
  } catch {
    return null; // a folder opened from disk may have no storage
  }
}

function rememberTheme(theme) {
  try {
    localStorage.setItem("carnet-theme", theme);
  } catch {
    // the choice then lasts as long as the page
  }
}

function themes() {
  const root = document.documentElement;
  const button = byId("theme");
  const systemIsDark = () => matchMedia("(prefers-color-scheme: dark)").matches;
  const current = () => root.dataset.theme || (systemIsDark() ? "dark" : "light");
  const label = () => {
    button.textContent = current() === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${button.textContent.toLowerCase()} colours`);
  };
  const remembered = rememberedTheme();
  if (remembered === "dark" || remembered === "light") root.dataset.theme = remembered;
  button.hidden = false;
  label();
  button.addEventListener("click", () => {
    root.dataset.theme = current() === "dark" ? "light" : "dark";
    rememberTheme(root.dataset.theme);
    label();
  });
}

function search() {
  const field = byId("search");
  const list = byId("results");
  const most = 30;
  const entries = window.carnetSearch.map((entry) => ({
    ...entry,
    name_: entry.name.toLowerCase(),
    all: `${entry.kind} ${entry.name} ${entry.where} ${entry.text}`.toLowerCase(),
  }));
  const rank = (entry, words) => (words.some((word) => entry.name_ === word) ? 0 : words.some((word) => entry.name_.includes(word)) ? 1 : 2);
  const item = (entry) => {
    const link = document.createElement("a");
    link.href = entry.url;
    link.append(`${entry.name} `);
    const about = document.createElement("span");
    about.className = "about";
    about.textContent = `${entry.kind} · ${entry.where}: ${entry.text}`;
    link.append(about);
    const line = document.createElement("li");
    line.append(link);
    return line;
  };
  const show = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = entries.filter((entry) => words.every((word) => entry.all.includes(word)));
    found.sort((one, other) => rank(one, words) - rank(other, words));
    list.replaceChildren(...found.slice(0, most).map(item));
    if (words.length && !found.length) list.append(Object.assign(document.createElement("li"), { textContent: "nothing found" }));
    list.hidden = !words.length;
  };
  field.addEventListener("input", show);
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && event.target !== field) {
      event.preventDefault();
      field.focus();
    } else if (event.key === "Escape") {
      field.value = "";
      show();
    } else if (event.key === "Enter" && event.target === field) {
      list.querySelector("a")?.click();
    }
  });
  list.addEventListener("click", (event) => {
    if (event.target.closest("a")) {
      field.value = "";
      show();
    }
  });
}

function opened() {
  // what a link leads to may be folded away
  const target = location.hash && byId(decodeURIComponent(location.hash.slice(1)));
  for (let box = target && target.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
  if (target) target.scrollIntoView({ block: "start" });
}

function stepper() {
  const bar = document.querySelector(".stepper");
  if (!bar) return;
  const steps = [...document.querySelectorAll(".steps > li")];
  const rows = [...document.querySelectorAll(".sequence tbody tr")];
  let at = 0;
  const go = (to, announce = true) => {
    at = Math.max(0, Math.min(steps.length - 1, to));
    steps.forEach((step, place) => (step.hidden = place !== at));
    rows.forEach((row, place) => {
      row.classList.toggle("future", place > at);
      if (place === at) row.setAttribute("aria-current", "step");
      else row.removeAttribute("aria-current");
    });
    document.body.classList.toggle("at-end", at === steps.length - 1);
    byId("position").textContent = `event ${at + 1} of ${steps.length}`;
    if (announce) byId("announcement").textContent = `${at + 1} of ${steps.length}: ${steps[at].dataset.sentence}`;
    const frame = rows[at].closest(".scroll");
    const top = rows[at].offsetTop;
    frame.scrollTop = Math.max(0, top - frame.clientHeight / 2);
    history.replaceState(null, "", `#step-${at + 1}`);
  };
  const linked = () => Number((location.hash.match(/^#step-(\d+)$/) || [0, 1])[1]) - 1;
  const moves = { first: () => 0, back: () => at - 1, forward: () => at + 1, last: () => steps.length - 1 };
  const keys = { ArrowLeft: "back", ArrowRight: "forward", Home: "first", End: "last" };
  bar.hidden = false;
  document.body.classList.add("stepping");
  steps.forEach((step) => step.removeAttribute("id")); // or the browser would scroll past the diagram to the text
  bar.addEventListener("click", (event) => {
    const button = event.target.closest("[data-go]");
    if (button) go(moves[button.dataset.go]());
  });
  document.addEventListener("keydown", (event) => {
    const plain = !(event.altKey || event.ctrlKey || event.metaKey || event.shiftKey);
    if (plain && keys[event.key] && !event.target.closest("input, pre")) {
      event.preventDefault();
      go(moves[keys[event.key]]());
    }
  });
  window.addEventListener("hashchange", () => go(linked()));
  const deep = location.hash.startsWith("#step-");
  go(linked(), false);
  if (deep) bar.parentElement.querySelector(".attack").scrollIntoView({ block: "start" });
}

/** Let a state graph be zoomed, and walked through with the arrow keys from state to state. */
function graph(box) {
  const svg = box.querySelector("svg");
  const bar = box.previousElementSibling;
  const states = [...svg.querySelectorAll(".state")];
  const lines = [...svg.querySelectorAll("line")];
  const whole = { width: svg.width.baseVal.value, height: svg.height.baseVal.value };
  const place = (state) => state.querySelector("rect");
  const at = (state, side) => Number(place(state).getAttribute(side));
  let scale = 1;
  const zoom = (to) => {
    const fit = Math.min(box.clientWidth / whole.width, box.clientHeight / whole.height, 1);
    scale = Math.max(Math.min(fit, 0.25), Math.min(4, to === "in" ? scale * 1.25 : to === "out" ? scale / 1.25 : fit));
    svg.setAttribute("width", whole.width * scale);
    svg.setAttribute("height", whole.height * scale);
    svg.querySelector(".state[tabindex='0']").scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  const stand = (state) => {
    states.forEach((each) => each.setAttribute("tabindex", each === state ? "0" : "-1"));
    const number = state.dataset.state;
    lines.forEach((line) => line.classList.toggle("near", line.dataset.from === number || line.dataset.to === number));
  };
  const go = (state, key) => {
    const [here, there] = key === "ArrowRight" ? ["from", "to"] : ["to", "from"];
    const along = lines.filter((line) => line.dataset[here] === state.dataset.state).map((line) => states[line.dataset[there]]);
    const down = key === "ArrowDown" ? 1 : -1;
    const beside = states.filter((each) => at(each, "x") === at(state, "x") && (at(each, "y") - at(state, "y")) * down > 0);
    const far = (each) => Math.abs(at(each, "y") - at(state, "y"));
    const next = (key === "ArrowLeft" || key === "ArrowRight" ? along : beside).sort((one, other) => far(one) - far(other))[0];
    if (next) next.focus();
  };
  const sizes = { "+": "in", "=": "in", "-": "out", 0: "fit" };
  bar.hidden = false;
  bar.addEventListener("click", (event) => {
    const button = event.target.closest("[data-zoom]");
    if (button) zoom(button.dataset.zoom);
  });
  box.addEventListener("focusin", (event) => {
    const state = event.target.closest(".state");
    if (!state) return;
    stand(state);
    state.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
  box.addEventListener("keydown", (event) => {
    const state = event.target.closest(".state");
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (sizes[event.key]) zoom(sizes[event.key]);
    else if (state && event.key.startsWith("Arrow")) go(state, event.key);
    else return;
    event.preventDefault();
  });
  stand(states[0]);
  box.scrollTop = at(states[0], "y") - box.clientHeight / 2;
}

themes();
if (byId("search")) search();
document.querySelectorAll(".graph").forEach(graph);
if (document.querySelector(".stepper")) stepper();
else {
  window.addEventListener("hashchange", opened);
  opened();
}
