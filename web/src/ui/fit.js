/** Makes a text area as high as its text, up to the limit that its style sets. */
export function fitHeight(area) {
  area.style.height = 'auto';
  area.style.height = `${area.scrollHeight + area.offsetHeight - area.clientHeight}px`;
}
