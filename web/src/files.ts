// What the user dropped: models, and the files next to them, from files, folders and zip archives. Nothing is read before it
// is needed, except the directories of archives.

/** A file that the page may read. */
export interface Source {
  /** The path from what was dropped, with slashes. */
  path: string;
  size: number;
  blob(): Promise<Blob>;
}

/** A model with the files of its folder, by their paths from there. */
export interface ModelFiles {
  name: string;
  model: Source;
  data: Map<string, Source>;
}

const MODEL = /\.(onnx|onnxtxt|ort|pb|textproto|pbtxt|prototxt|json)$/i;
/** Files of a folder at most. */
const MOST_FILES = 20_000;

/** The models among some files. */
export function models(sources: Source[]): ModelFiles[] {
  const found = sources.filter((source) => MODEL.test(source.path));
  const onnx = found.filter((source) => /\.onnx(txt)?$/i.test(source.path));
  // Other files of these extensions are models only if nothing else is; a single file is one whatever it is called.
  const chosen = onnx.length > 0 ? onnx : found.length > 0 ? found : sources.length === 1 ? sources : [];
  return chosen.map((model) => {
    const folder = model.path.slice(0, model.path.lastIndexOf("/") + 1);
    const data = new Map<string, Source>();
    for (const source of sources) {
      if (source !== model && source.path.startsWith(folder)) data.set(source.path.slice(folder.length), source);
    }
    return { name: model.path.slice(folder.length), model, data };
  });
}

function ofFile(file: File, path: string): Source {
  return { path, size: file.size, blob: () => Promise.resolve(file) };
}

/** The files of an input element, with archives opened. */
export async function chosen(files: Iterable<File>): Promise<Source[]> {
  const sources: Source[] = [];
  for (const file of files) await add(sources, file, file.webkitRelativePath || file.name);
  return sources;
}

/** The files that were dropped, with folders and archives opened. */
export async function dropped(transfer: DataTransfer): Promise<Source[]> {
  // Entries are gone after the first wait.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.() ?? undefined);
  const files = [...transfer.files];
  const sources: Source[] = [];
  if (entries.every((entry) => entry === undefined)) return chosen(files);
  for (const entry of entries) if (entry) await walk(sources, entry, "");
  return sources;
}

async function walk(sources: Source[], entry: FileSystemEntry, folder: string): Promise<void> {
  if (sources.length > MOST_FILES) throw new Error(`a folder with more than ${MOST_FILES} files is not read`);
  const path = folder + entry.name;
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    await add(sources, file, path);
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    const batch = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (batch.length === 0) break;
    for (const inner of batch) await walk(sources, inner, `${path}/`);
  }
}

async function add(sources: Source[], file: File, path: string): Promise<void> {
  if (/\.zip$/i.test(path)) sources.push(...(await archived(file, path.replace(/\.zip$/i, "/"))));
  else sources.push(ofFile(file, path));
}

/** The files of a zip archive. Their contents are unpacked when they are read. */
export async function archived(file: Blob, folder: string): Promise<Source[]> {
  const tail = new DataView(await file.slice(Math.max(0, file.size - 65_557)).arrayBuffer());
  let at = tail.byteLength - 22;
  while (at >= 0 && tail.getUint32(at, true) !== 0x06054b50) at -= 1;
  if (at < 0) throw new Error("this is not a zip archive, or it is damaged");
  const [count, length, start] = [tail.getUint16(at + 10, true), tail.getUint32(at + 12, true), tail.getUint32(at + 16, true)];
  if (start === 0xffffffff || count === 0xffff) throw new Error("archives beyond 4 GB are not read: unpack it, and drop the folder");
  const directory = new DataView(await file.slice(start, start + length).arrayBuffer());
  const sources: Source[] = [];
  let entry = 0;
  for (let index = 0; index < count; index += 1) {
    if (entry + 46 > directory.byteLength || directory.getUint32(entry, true) !== 0x02014b50) throw new Error("the zip archive is damaged");
    const [flags, method] = [directory.getUint16(entry + 8, true), directory.getUint16(entry + 10, true)];
    const [packed, size] = [directory.getUint32(entry + 20, true), directory.getUint32(entry + 24, true)];
    const [name, extra, comment] = [directory.getUint16(entry + 28, true), directory.getUint16(entry + 30, true), directory.getUint16(entry + 32, true)];
    const offset = directory.getUint32(entry + 42, true);
    const path = new TextDecoder().decode(new Uint8Array(directory.buffer, entry + 46, name));
    entry += 46 + name + extra + comment;
    if (path.endsWith("/") || path.startsWith("__MACOSX/")) continue;
    sources.push({ path: folder + path, size, blob: () => unpacked(file, { offset, packed, size, method, isEncrypted: (flags & 1) === 1 }) });
  }
  return sources;
}

interface Packed {
  offset: number;
  packed: number;
  size: number;
  method: number;
  isEncrypted: boolean;
}

async function unpacked(file: Blob, { offset, packed, size, method, isEncrypted }: Packed): Promise<Blob> {
  if (isEncrypted) throw new Error("the zip archive is encrypted");
  const head = new DataView(await file.slice(offset, offset + 30).arrayBuffer());
  if (head.byteLength < 30 || head.getUint32(0, true) !== 0x04034b50) throw new Error("the zip archive is damaged");
  const start = offset + 30 + head.getUint16(26, true) + head.getUint16(28, true);
  const contents = file.slice(start, start + packed);
  if (method === 0) return contents;
  if (method !== 8) throw new Error("the zip archive is compressed in a way that browsers cannot read");
  const stream = contents.stream().pipeThrough(new DecompressionStream("deflate-raw"));
  // More bytes than the directory says are a bomb or damage.
  const reader = stream.getReader();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > size) throw new Error("the zip archive is damaged");
    parts.push(value as Uint8Array<ArrayBuffer>);
  }
  if (length !== size) throw new Error("the zip archive is damaged");
  return new Blob(parts);
}
