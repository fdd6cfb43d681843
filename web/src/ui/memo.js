import { Component, createElement } from 'preact';

/** A component that is drawn again only when a property is another value. */
export function memo(view) {
  return class extends Component {
    static displayName = view.name;

    shouldComponentUpdate(next) {
      const names = new Set([...Object.keys(next), ...Object.keys(this.props)]);
      for (const name of names) if (!same(next[name], this.props[name])) return true;
      return false;
    }

    render() {
      return createElement(view, this.props);
    }
  };
}

// `siblings` is made anew each time: {index, count} are compared one by one.
function same(a, b) {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || !a || !b) return false;
  return a.count !== undefined && a.count === b.count && a.index === b.index;
}
