// The one function of Node that the npm package calls.
declare module "node:fs/promises" {
  export function readFile(path: URL | string): Promise<Uint8Array<ArrayBuffer>>;
}
