import { useState } from 'preact/hooks';
import { copyText } from './copy.js';
import { IconButton } from './Icon.jsx';

export function CopyButton({ text }) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    if (!(await copyText(text))) return;
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return <IconButton icon={isDone ? 'check' : 'copy'} label={isDone ? 'Copied' : 'Copy'} onClick={copy} />;
}
