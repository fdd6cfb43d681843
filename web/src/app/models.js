// Which models there are, and how long their context is.
import { getJson } from '../api/client.js';
import { prefer, state } from './state.js';

/** Asks the server; what is wrong is shown where the models would be. */
export async function loadModels() {
  try {
    const { data } = await getJson('/v1/models');
    const models = (data ?? []).map((entry) => String(entry.id));
    const { model } = state.get();
    state.set({ models, serverError: '' });
    if (!models.includes(model)) prefer({ model: models[0] ?? '' });
  } catch (error) {
    state.set({ serverError: error.message, ...(error.status === 401 && { dialog: 'key' }) });
    return;
  }
  try {
    const props = await getJson('/props');
    const size = props.default_generation_settings?.n_ctx ?? props.n_ctx;
    if (Number.isFinite(size)) state.set({ contextSize: size });
  } catch {
    // The feed tells it too.
  }
}
