// Numbers, times and sizes as people read them; what is not known is a dash.
const UNKNOWN = "–";
const whole = new Intl.NumberFormat("en");
const near = new Intl.NumberFormat("en", {maximumSignificantDigits: 3, notation: "compact"});

export const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

export function count(value) {
  if (!isNumber(value)) return UNKNOWN;
  return Math.abs(value) < 1e7 ? whole.format(Math.round(value)) : near.format(value);
}

export function rate(value, unit = "") {
  if (!isNumber(value)) return UNKNOWN;
  const text = Math.abs(value) >= 1e4 ? near.format(value) : Math.abs(value) >= 10 ? whole.format(Math.round(value)) : String(Number(value.toPrecision(2)));
  return `${text}${unit}`;
}

// A measured quantity of any size.
export function real(value) {
  if (!isNumber(value)) return UNKNOWN;
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size >= 1e6 || size < 1e-3 ? value.toExponential(2).replace("e+", "e") : String(Number(value.toPrecision(4)));
}

export function bytes(value) {
  if (!isNumber(value)) return UNKNOWN;
  let size = value;
  for (const unit of ["B", "kB", "MB", "GB", "TB"]) {
    if (Math.abs(size) < 1000 || unit === "TB") return `${unit === "B" ? size : Number(size.toPrecision(3))} ${unit}`;
    size /= 1000;
  }
  return UNKNOWN;
}

export function seconds(value) {
  if (!isNumber(value)) return UNKNOWN;
  if (value < 1) return `${Number((value * 1000).toPrecision(3))} ms`;
  if (value < 100) return `${Number(value.toPrecision(3))} s`;
  if (value < 7200) return `${Math.round(value / 60)} min`;
  return value < 172800 ? `${Math.round(value / 3600)} h` : `${Math.round(value / 86400)} d`;
}

const clock = new Intl.DateTimeFormat(undefined, {hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23"});
export const time = (value) => isNumber(value) ? clock.format(new Date(value * 1000)) : UNKNOWN;

export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;
