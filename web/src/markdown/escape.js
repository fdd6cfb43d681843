const kEntities = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Text as HTML that shows exactly this text, also inside an attribute. */
export const escape = (text) => text.replace(/[&<>"']/g, (letter) => kEntities[letter]);
