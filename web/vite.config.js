import { defineConfig } from 'vite';
import { viteSingleFile } from 'vite-plugin-singlefile';

// `npm run build` ends in one file; build/pack.js then compresses it. The proxy lets `npx vite`
// show the page with a server that runs beside it.
const server = process.env.SMOE_SERVER ?? 'http://127.0.0.1:7235';

export default defineConfig({
  plugins: [viteSingleFile({ removeViteModuleLoader: true })],
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact', legalComments: 'none' },
  build: { outDir: 'build/out', emptyOutDir: true, target: 'es2022', reportCompressedSize: false },
  server: { proxy: { '/v1': server, '/live': server, '/props': server } },
});
