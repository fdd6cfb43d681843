// Numbers as people read them.

const kUnits = ['B', 'kB', 'MB', 'GB', 'TB'];

/** 1234567 → "1.23 MB": three digits, powers of a thousand. */
export function bytes(count) {
  let unit = 0;
  let value = Math.max(0, count);
  while (value >= 999.5 && unit < kUnits.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? Math.round(value) : threeDigits(value)} ${kUnits[unit]}`;
}

function threeDigits(value) {
  return value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

export const bytesPerSecond = (rate) => `${bytes(rate)}/s`;
export const percent = (share) => `${Math.round(share * 100)} %`;
export const count = (value) => Math.round(value).toLocaleString('en');
export const rate = (perSecond) => (perSecond >= 100 ? perSecond.toFixed(0) : perSecond.toFixed(1));

/** 950 → "0.95 s", 61000 → "1 min 1 s". */
export function duration(ms) {
  if (ms < 9950) return `${(ms / 1000).toFixed(ms < 995 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
