import { render } from 'preact';
import { saveAll, openChat, refreshFromStorage, startChat } from './app/conversations.js';
import { keepLive } from './app/live.js';
import { loadModels } from './app/models.js';
import { onKeyDown } from './app/shortcuts.js';
import { state } from './app/state.js';
import { applyTheme } from './app/theme.js';
import { App } from './ui/App.jsx';
import './styles/base.css';
import './styles/layout.css';
import './styles/chat.css';
import './styles/answer.css';
import './styles/map.css';
import './styles/dialogs.css';

// A question in the address fills the box. It is never sent by itself: the link may be anybody's.
const question = new URLSearchParams(location.search).get('q');

applyTheme();
const newest = state.get().chats[0]?.id;
if (question || !newest || !openChat(newest)) startChat();
if (question) state.set({ draft: question });

addEventListener('keydown', onKeyDown);
addEventListener('pagehide', saveAll);
addEventListener('storage', refreshFromStorage);
render(<App />, document.getElementById('app'));
loadModels();
keepLive();
