import { useRef, useState } from 'preact/hooks';
import { importChat, openChat, remove, rename, startChat } from '../app/conversations.js';
import { focusBox } from '../app/shortcuts.js';
import { isNarrow, state } from '../app/state.js';
import { useStore } from '../app/store.js';
import { Icon, IconButton } from './Icon.jsx';

export function Sidebar() {
  const [chats, current, running] = useStore(state, (shown) => [
    shown.chats, shown.current, Object.keys(shown.running).join(' '),
  ]);
  return (
    <nav class="sidebar" aria-label="Chats">
      <div class="brand">
        <Logo />
        <strong>S-MoE</strong>
        <IconButton icon="close" label="Close the list" onClick={() => state.set({ listOpen: false })} />
      </div>
      <button type="button" class="new-chat" onClick={begin}>
        <Icon name="plus" /> New chat
      </button>
      <div class="chat-list">
        {inGroups(chats).map(([title, entries]) => (
          <section key={title}>
            <h2>{title}</h2>
            <ul>
              {entries.map((entry) => (
                <Entry
                  key={entry.id}
                  entry={entry}
                  isCurrent={entry.id === current}
                  isRunning={running.split(' ').includes(entry.id)}
                />
              ))}
            </ul>
          </section>
        ))}
        {chats.length === 0 && <p class="dim">Chats are kept in this browser only.</p>}
      </div>
      <Footer />
    </nav>
  );
}

function Logo() {
  return (
    <svg class="logo" viewBox="0 0 16 16" aria-hidden="true">
      <path class="cool" d="M2 2h3v3H2zM11 2h3v3h-3zM2 11h3v3H2zM2 6.5h3v3H2zM6.5 2h3v3h-3z" />
      <path class="warm" d="M6.5 6.5h3v3h-3zM11 11h3v3h-3z" />
      <path class="off" d="M11 6.5h3v3h-3zM6.5 11h3v3h-3z" />
    </svg>
  );
}

function begin() {
  startChat();
  if (isNarrow()) state.set({ listOpen: false });
  focusBox();
}

function show(id) {
  openChat(id);
  if (isNarrow()) state.set({ listOpen: false });
}

function Entry({ entry, isCurrent, isRunning }) {
  const [isNaming, setNaming] = useState(false);
  if (isNaming) return <li><TitleField entry={entry} onDone={() => setNaming(false)} /></li>;
  return (
    <li class={isCurrent ? 'entry current' : 'entry'}>
      <button
        type="button"
        class="entry-title"
        aria-current={isCurrent ? 'page' : undefined}
        title={entry.title}
        onClick={() => show(entry.id)}
        onDblClick={() => setNaming(true)}
      >
        {isRunning && <span class="pulse" aria-label="answering" role="img" />}
        <span class="ellipsis">{entry.title}</span>
      </button>
      <span class="entry-actions">
        <IconButton icon="edit" label={`Rename ${entry.title}`} onClick={() => setNaming(true)} />
        <IconButton icon="save" label={`Export ${entry.title}`} onClick={() => state.set({ dialog: 'export', exported: entry.id })} />
        <IconButton icon="trash" label={`Delete ${entry.title}`} onClick={() => remove(entry.id)} />
      </span>
    </li>
  );
}

function TitleField({ entry, onDone }) {
  const field = useRef();
  const isOver = useRef(false);
  const end = (keep) => {
    if (isOver.current) return; // leaving the field comes after Enter and Escape
    isOver.current = true;
    if (keep) rename(entry.id, field.current.value);
    onDone();
  };
  const onKeyDown = (event) => {
    if (event.key !== 'Enter' && event.key !== 'Escape') return;
    event.preventDefault();
    end(event.key === 'Enter');
  };
  return (
    <input
      ref={(element) => {
        if (element && !field.current) element.select();
        field.current = element ?? field.current;
      }}
      class="title-field"
      aria-label="Name of the chat"
      defaultValue={entry.title}
      maxLength={200}
      onKeyDown={onKeyDown}
      onBlur={() => end(true)}
    />
  );
}

function Footer() {
  const file = useRef();
  const take = (event) => {
    const [chosen] = event.currentTarget.files;
    event.currentTarget.value = '';
    if (chosen) importChat(chosen);
  };
  return (
    <div class="sidebar-footer">
      <input ref={file} type="file" accept=".json" hidden aria-label="Chat to import" onChange={take} />
      <button type="button" onClick={() => file.current.click()}>
        <Icon name="load" /> Import
      </button>
      <button type="button" onClick={() => state.set({ dialog: 'shortcuts' })}>
        <Icon name="keyboard" /> Keyboard
      </button>
    </div>
  );
}

/** [title, entries] by when they were last used; empty groups are left out. */
function inGroups(chats) {
  const midnight = new Date().setHours(0, 0, 0, 0);
  const day = 24 * 3600 * 1000;
  const groups = { Today: [], Yesterday: [], 'Last week': [], Earlier: [] };
  for (const entry of chats) {
    if (entry.updated >= midnight) groups.Today.push(entry);
    else if (entry.updated >= midnight - day) groups.Yesterday.push(entry);
    else if (entry.updated >= midnight - 7 * day) groups['Last week'].push(entry);
    else groups.Earlier.push(entry);
  }
  return Object.entries(groups).filter(([, entries]) => entries.length > 0);
}
