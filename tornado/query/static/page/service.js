// The service: questions to it, and the stream of what it tells. A connection that is lost is made again, ever more seldom.
import {state, observed, changed} from "./store.js";

const LOST_AFTER_MS = 35_000; // the service says something every 15 s
const PAUSES_MS = [1_000, 2_000, 4_000, 8_000, 15_000];
const build = document.querySelector("meta[name=build]").content;
const root = state.fixed ? null : new URL(".", document.baseURI);
let source = null;
let attempt = 0;
let tries = 0;
let timer = null;
let silence = null;
let channel = null; // to the other windows that share a stream
let waits = new AbortController(); // for the lock
let leads = null; // gives the lock back; null in who has none
let told = {}; // by who has it: the newest of each event, for windows that come later
let isSilent = false; // who has it

export class Problem extends Error {
  constructor(status, content) {
    super(content.detail || content.title || `the service answered ${status}`);
    this.status = status;
    this.code = content.code;
    this.hint = content.hint;
  }
}

let token = sessionStorage.getItem("token");

export const hasToken = () => token !== null;

// Takes a token for as long as this window is open, and tries with it.
export function takeToken(given) {
  token = given;
  sessionStorage.setItem("token", given);
  tries = 0;
  listen();
}

async function answerTo(path, {method = "GET", body, signal} = {}) {
  const headers = {accept: "application/json, */*;q=0.5"};
  if (body !== undefined) headers["content-type"] = "application/json";
  if (token !== null) headers.authorization = `Bearer ${token}`;
  let answer;
  try {
    answer = await fetch(new URL(path, root), {method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal, cache: "no-store"});
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, {detail: "The service cannot be reached.", hint: "Is it running? The page tries again by itself."});
  }
  if (answer.ok) return answer;
  const text = await answer.text();
  let content;
  try {
    content = JSON.parse(text);
  } catch {
    content = {detail: text.slice(0, 200)};
  }
  throw new Problem(answer.status, content);
}

export async function ask(path, how) {
  const text = await (await answerTo(path, how)).text();
  return text ? JSON.parse(text) : {};
}

// Has the browser keep an answer as a file.
export async function keep(path, name) {
  const answer = await answerTo(path);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await answer.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

// Windows of one browser that show the same token share a stream: a browser keeps six connections to a service for all of them. Who has the
// lock has the stream, and tells the others what it hears; the lock goes on with its window. A page that nobody sees takes no part. Where there
// are no locks (plain http to another machine), each window has a stream of its own.
export async function listen() {
  const mine = leave();
  if (document.hidden) return;
  state.link = {is: tries ? "lost" : "connecting", since: state.link.since ?? Date.now()};
  if (!navigator.locks) return open(mine);
  const name = await shared();
  if (mine !== attempt) return;
  channel = new BroadcastChannel(name);
  channel.onmessage = ({data: {asks, all, news}}) => {
    if (leads) return asks && channel.postMessage({all: told});
    const events = news ?? (state.link.is === "live" ? null : all);
    if (events) take(events);
  };
  // One that has it and says nothing (its window hangs) loses it.
  navigator.locks.request(name, isSilent ? {steal: true} : {signal: waits.signal}, () => mine === attempt && new Promise((done) => {
    leads = done;
    open(mine);
  })).catch(() => mine === attempt && listen()); // it was taken away
  isSilent = false;
  channel.postMessage({asks: true});
  heard();
}

// What all windows that may share have in common, and no other, as a name that has no token in it.
async function shared() {
  const common = new TextEncoder().encode(JSON.stringify([root.href, build, token]));
  return String(new Uint8Array(await crypto.subtle.digest("SHA-256", common)));
}

// An EventSource sends no header, so where there is a token it gets a ticket, which stands for it once.
async function open(mine) {
  const address = new URL("v1/observations/events", root);
  if (token !== null) {
    try {
      address.searchParams.set("ticket", (await ask("v1/tickets", {method: "POST"})).ticket);
    } catch (problem) {
      return failed(problem, mine);
    }
    if (mine !== attempt) return;
  }
  source = new EventSource(address);
  for (const name of Object.keys(TAKES)) {
    source.addEventListener(name, ({data}) => {
      told[name] = data;
      channel?.postMessage({news: {[name]: data}});
      take({[name]: data});
    });
  }
  // It does not say why, so somebody asks who is told.
  source.onerror = () => {
    source.close();
    ask("v1/observations").then(() => failed(null, mine), (problem) => failed(problem, mine));
  };
}

const TAKES = {
  hello({build: other}) {
    tries = 0;
    if (state.link.is !== "live") state.begins++;
    state.link = {is: "live"};
    if (other !== build) upgraded();
    changed({atOnce: true});
  },
  now: observed,
  branches({branches}) {
    state.branches = branches;
    for (const hears of branchListeners) hears(branches);
    changed();
  },
};

function take(events) {
  heard();
  for (const [name, data] of Object.entries(events)) TAKES[name](JSON.parse(data));
}

// Ends the stream, and whatever was about to begin it again; returns the number of the next attempt.
function leave() {
  clearTimeout(silence);
  clearTimeout(timer);
  source?.close();
  channel?.close();
  waits.abort();
  leads?.();
  [channel, waits, leads, told] = [null, new AbortController(), null, {}];
  return ++attempt;
}

const branchListeners = new Set();

// Calls with what is told of running branches, whenever it is; returns what ends that.
export function onBranches(hears) {
  branchListeners.add(hears);
  return () => branchListeners.delete(hears);
}

function heard() {
  clearTimeout(silence);
  silence = setTimeout((of) => {
    isSilent = !leads;
    failed(null, of);
  }, LOST_AFTER_MS, attempt);
}

function failed(problem, of) {
  if (of !== attempt) return; // it was left meanwhile
  leave();
  if (problem && (problem.status === 401 || problem.status === 403)) {
    state.link = {is: "refused", problem};
  } else {
    const pause = PAUSES_MS[Math.min(tries++, PAUSES_MS.length - 1)];
    state.link = {is: "lost", since: state.link.is === "lost" ? state.link.since : Date.now(), next: Date.now() + pause};
    timer = setTimeout(listen, pause);
  }
  changed({atOnce: true});
}

// A service of another version has another page: it is loaded, once, unless somebody is writing.
function upgraded() {
  const tried = sessionStorage.getItem("reloaded");
  const writing = document.querySelector("form[data-touched]");
  if (tried !== build && !writing) {
    sessionStorage.setItem("reloaded", build);
    location.reload();
  } else {
    state.isOld = true;
  }
}

// Whoever comes back to the page does not wait for the pause to end.
addEventListener("online", () => state.link.is === "lost" && listen());
document.addEventListener("visibilitychange", () => {
  if (state.fixed || state.link.is === "refused") return;
  if (document.hidden) {
    leave();
    if (state.link.is === "live") state.link = {is: "connecting"}; // for when it is seen again: nothing was lost
  } else {
    listen();
  }
  changed({atOnce: true});
});
