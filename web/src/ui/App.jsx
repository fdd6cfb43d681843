import { useStore } from '../app/store.js';
import { state } from '../app/state.js';
import { LivePanel } from '../map/LivePanel.jsx';
import { MapStrip } from '../map/MapStrip.jsx';
import { Composer } from './Composer.jsx';
import { Conversation } from './Conversation.jsx';
import { ExportDialog } from './ExportDialog.jsx';
import { KeyDialog } from './KeyDialog.jsx';
import { Notice } from './Notice.jsx';
import { SettingsDialog } from './SettingsDialog.jsx';
import { ShortcutsDialog } from './ShortcutsDialog.jsx';
import { Sidebar } from './Sidebar.jsx';
import { TopBar } from './TopBar.jsx';

export function App() {
  const [listOpen, mapOpen, mapWide, dialog] = useStore(state, (shown) => [
    shown.listOpen, shown.mapOpen, shown.mapWide, shown.dialog,
  ]);
  const classes = ['app', listOpen && 'with-list', mapOpen && 'with-map', mapWide && 'map-wide'];
  return (
    <div class={classes.filter(Boolean).join(' ')}>
      {listOpen && <Sidebar />}
      <main class="chat">
        <TopBar />
        <MapStrip />
        <Conversation />
        <Composer />
      </main>
      {mapOpen && <LivePanel />}
      {(listOpen || mapOpen) && <Curtain />}
      {dialog === 'settings' && <SettingsDialog />}
      {dialog === 'shortcuts' && <ShortcutsDialog />}
      {dialog === 'key' && <KeyDialog />}
      {dialog === 'export' && <ExportDialog />}
      <Notice />
      <Spoken />
    </div>
  );
}

/** What lies under a panel on a narrow screen; a tap on it closes the panel. */
function Curtain() {
  return <div class="curtain" onClick={() => state.set({ listOpen: false, mapOpen: false })} />;
}

/** Answers grow too fast to be read out while they do; this says when one begins and what it is. */
function Spoken() {
  const spoken = useStore(state, ({ spoken: text }) => text);
  return (
    <div class="visually-hidden" role="status" aria-live="polite">
      {spoken}
    </div>
  );
}
