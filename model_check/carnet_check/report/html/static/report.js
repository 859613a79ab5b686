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

/** Scroll each state graph so that its first state is seen. */
function graphs() {
  for (const box of document.querySelectorAll(".graph")) {
    const first = box.querySelector("circle");
    if (first) box.scrollTop = Number(first.getAttribute("cy")) - box.clientHeight / 2;
  }
}

themes();
if (byId("search")) search();
graphs();
if (document.querySelector(".stepper")) stepper();
else {
  window.addEventListener("hashchange", opened);
  opened();
}
