// What the pages do beside htmx: keys, folding, and places that are folded or not loaded yet.
"use strict";

const KEYS_OFF = "passhat-keys-off";

function all(selector) {
  return [...document.querySelectorAll(selector)];
}

function follow(selector) {
  const link = document.querySelector(selector);
  if (link) link.click();
}

// --- places ---

function showPlace() {
  const id = decodeURIComponent(location.hash.slice(1));
  if (!id) return;
  const place = document.getElementById(id);
  if (place) {
    for (let at = place; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    place.scrollIntoView({ block: "center" });
    return;
  }
  const event = /^e(\d+)$/.exec(id);
  const query = new URLSearchParams(location.search);
  if (event && document.querySelector("ol.events") && query.get("at") !== event[1]) {
    query.delete("first");
    query.set("at", event[1]);
    location.replace(`${location.pathname}?${query}#${id}`);
  }
}

function nextBlamed() {
  const blamed = all(".line.blamed");
  if (!blamed.length) return;
  const here = blamed.findIndex((line) => `#${line.id}` === location.hash);
  const next = blamed[(here + 1) % blamed.length];
  if (location.hash === `#${next.id}`) showPlace();
  location.hash = next.id;
}

// --- folding ---

function foldAll() {
  const calls = all("details.call");
  const open = calls.some((call) => !call.open);
  for (const call of calls) call.open = open;
  for (const button of all("[data-fold]")) button.textContent = open ? "Fold all calls" : "Open all calls";
}

// --- keys ---

function keysOn() {
  try {
    return localStorage.getItem(KEYS_OFF) === null;
  } catch {
    return true;
  }
}

function setKeys(on) {
  try {
    if (on) localStorage.removeItem(KEYS_OFF);
    else localStorage.setItem(KEYS_OFF, "yes");
  } catch {
    // Without storage the keys stay as they are.
  }
}

function toLabel() {
  const field = document.querySelector("#label input:not([type=hidden])");
  if (!field) return;
  for (let at = field; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  field.focus();
}

const DOES = {
  j: () => follow("a[rel=next]"),
  n: () => follow("a[rel=next]"),
  k: () => follow("a[rel=prev]"),
  p: () => follow("a[rel=prev]"),
  c: nextBlamed,
  o: foldAll,
  s: () => follow("a[data-beside]"),
  l: toLabel,
  u: () => follow("a[data-up]"),
  "/": () => document.getElementById("find").select(),
  "?": () => document.getElementById("keys").showModal(),
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target.closest("input, textarea, select, dialog, [contenteditable]")) return;
  const action = DOES[event.key];
  if (!action || (!keysOn() && event.key !== "?")) return;
  event.preventDefault();
  action();
}

// --- the beginning ---

document.addEventListener("keydown", onKey);
document.addEventListener("click", (event) => {
  if (event.target.closest("[data-keys]")) document.getElementById("keys").showModal();
  if (event.target.closest("[data-fold]")) foldAll();
});
addEventListener("hashchange", showPlace);
document.addEventListener("DOMContentLoaded", () => {
  const box = document.getElementById("keys-on");
  box.checked = keysOn();
  box.addEventListener("change", () => setKeys(box.checked));
  showPlace();
});
