// Debian 12's node lacks what every browser has.
import { webcrypto } from 'node:crypto';

globalThis.crypto ??= webcrypto;
