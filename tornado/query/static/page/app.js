// The page: its frame, and which view is shown. The address says which, so that it can be kept and sent.
import {render} from "./vendor/preact.js";
import {useEffect, useRef, useState} from "./vendor/hooks.js";
import {html} from "./html.js";
import {state, useStore} from "./store.js";
import {hasToken, keep, listen, takeToken} from "./service.js";
import {Badge, Fault} from "./parts.js";
import {time} from "./words.js";
import {Now} from "./view_now.js";
import {Residual} from "./view_residual.js";
import {Questions} from "./view_questions.js";
import {Repair} from "./view_repair.js";
import {Memory} from "./view_memory.js";
import {Workers} from "./view_workers.js";

const VIEWS = {
  now: {title: "Now", view: Now},
  residual: {title: "Residual", view: Residual},
  questions: {title: "Questions", view: Questions},
  repair: {title: "Repair", view: Repair},
  memory: {title: "Memory and store", view: Memory},
  workers: {title: "Workers", view: Workers},
};
const THEMES = ["auto", "light", "dark"];

const themeKept = () => {
  try {
    return localStorage.getItem("theme") || "auto";
  } catch {
    return "auto"; // a file may have no storage
  }
};

const placeOf = () => {
  const [name, ...rest] = location.hash.slice(1).split("/");
  return {name: name in VIEWS ? name : "now", of: rest.length ? decodeURIComponent(rest.join("/")) : null};
};

function App() {
  const store = useStore();
  const [place, go] = useState(placeOf());
  const main = useRef(null);
  useEffect(() => {
    const moved = () => {
      go(placeOf());
      scrollTo(0, 0);
    };
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  useEffect(() => {
    document.title = `${VIEWS[place.name].title} · tornado-loops`;
  }, [place.name]);
  const View = VIEWS[place.name].view;
  return html`
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); main.current.focus(); }}>Skip to content</a>
    <header class="top">
      <h1><${Mark} /> tornado-loops</h1>
      <${Link} link=${store.link} now=${store.now} />
      <${Theme} />
      <nav aria-label="Views"><ul>${Object.entries(VIEWS).map(([name, one]) => html`
        <li><a href="#${name}" aria-current=${name === place.name ? "page" : undefined}>${one.title}</a></li>`)}</ul></nav>
    </header>
    ${store.isOld ? html`<p class="banner" role="status">The service was upgraded. <button class="small" onClick=${() => location.reload()}>Load its page</button></p>` : null}
    <main id="main" ref=${main} tabindex="-1" class=${store.link.is === "lost" ? "stale" : ""}>${store.link.is === "refused" ? html`<${LetIn} problem=${store.link.problem} />` : html`<${View} of=${place.of} key=${place.name} />`}</main>
    ${store.fixed ? null : html`<footer><a href="docs">HTTP interface</a> ${hasToken() ? null : html`<a href="metrics">Metrics</a>`} <${Keep} /></footer>`}`;
}

const Mark = () => html`<svg viewBox="0 0 32 32" width="26" height="26" aria-hidden="true"><g fill="none" stroke="currentColor" stroke-width="2.8" stroke-linecap="round"><path d="M5 8c7-4 15-4 22 0" /><path d="M8 15c5-3.200 11-3.200 16 0" /><path d="M12 21.500c2.600-1.800 5.400-1.800 8 0" /><path d="M16 27.500v.01" /></g></svg>`;

// A service with tokens asks for one; it is kept for as long as the window is open.
function LetIn({problem}) {
  const field = useRef(null);
  useEffect(() => field.current.focus(), []);
  const use = (event) => {
    event.preventDefault();
    if (field.current.value.trim()) takeToken(field.current.value.trim());
  };
  return html`<section class="panel"><header><h2>${problem.status === 401 ? "This service asks for a token" : "This token may not see the page"}</h2></header>
    ${hasToken() ? html`<${Fault} error=${problem} />` : null}
    <form class="let-in" onSubmit=${use}><label>Token <input ref=${field} type="password" autocomplete="current-password" /></label><button>Use it</button></form>
    <p class="note">It stays in this window until that is closed.</p></section>`;
}

function Keep() {
  const [error, fail] = useState(null);
  return html`<button class="small" onClick=${() => keep("v1/observations/report", `tornado-report-${new Date().toISOString().slice(0, 19).replaceAll(":", "")}.html`).then(() => fail(null), fail)}>Report as a file</button><${Fault} error=${error} />`;
}

// Whether what is shown is of now; told to screen readers when it changes.
function Link({link, now}) {
  const [, tick] = useState(0);
  useEffect(() => {
    if (link.is !== "lost") return undefined;
    const timer = setInterval(() => tick((times) => times + 1), 1000);
    return () => clearInterval(timer);
  }, [link.is]);
  if (link.is === "fixed") return html`<div class="link" data-link="fixed"><span class="note">Report of ${state.fixed.url} at ${new Date(now.time * 1000).toLocaleDateString()} ${time(now.time)}</span></div>`;
  const away = Math.round((Date.now() - (link.since || Date.now())) / 1000);
  const next = Math.max(0, Math.ceil(((link.next || Date.now()) - Date.now()) / 1000));
  return html`<div class="link" data-link=${link.is}>
    <span role="status">${link.is === "live" ? html`<${Badge} kind="good">live<//>`
      : link.is === "lost" ? html`<${Badge} kind="bad">connection lost<//>` : link.is === "refused" ? html`<${Badge} kind="warn">not let in<//>` : html`<${Badge} kind="work">connecting<//>`}</span>
    ${link.is === "lost" ? html`<span class="note">numbers are ${away} s old · ${next ? `again in ${next} s` : "trying again"}</span>
      <button class="small" onClick=${listen}>Try now</button>` : null}
  </div>`;
}

function Theme() {
  const [theme, choose] = useState(themeKept());
  useEffect(() => {
    document.documentElement.dataset.theme = theme;
    try {
      localStorage.setItem("theme", theme);
    } catch {
      // it holds for as long as the page is open
    }
    dispatchEvent(new Event("themechange"));
  }, [theme]);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  return html`<button class="small theme" onClick=${() => choose(next)} aria-label="Colours: ${theme}; change to ${next}">${{auto: "◑ auto", light: "○ light", dark: "● dark"}[theme]}</button>`;
}

document.documentElement.dataset.theme = themeKept();
const page = document.getElementById("page");
page.textContent = "";
render(html`<${App} />`, page);
if (!state.fixed) listen();
