// What the user dropped: models, and the files next to them, from files, folders and zip archives. Nothing is read before it
// is needed, except the directories of archives.

import { archived, type Entry } from "./zip";

/** A file that the page may read: one of the user, or an entry of an archive. It has no functions, so that a worker gets it. */
export interface Source {
  /** The path from what was dropped, with slashes. */
  path: string;
  /** Bytes, unpacked. */
  size: number;
  /** The file, or the archive that has it. */
  file: Blob;
  entry?: Entry;
}

/** A model with the files of its folder, by their paths from there. */
export interface ModelFiles {
  name: string;
  model: Source;
  data: Map<string, Source>;
}

const MODEL = /\.(onnx|onnxtxt|ort|pb|textproto|pbtxt|prototxt|json)$/i;
/** Files of a folder, or of an archive, at most. */
const MOST_FILES = 20_000;

/** The models among some files. */
export function models(sources: Source[]): Source[] {
  const found = sources.filter((source) => MODEL.test(source.path));
  const onnx = found.filter((source) => /\.onnx(txt)?$/i.test(source.path));
  // Other files of these extensions are models only if nothing else is; a single file is one whatever it is called.
  return onnx.length > 0 ? onnx : found.length > 0 ? found : sources.length === 1 ? sources : [];
}

/** A model with what is next to it. */
export function beside(model: Source, sources: Source[]): ModelFiles {
  const folder = model.path.slice(0, model.path.lastIndexOf("/") + 1);
  const data = new Map<string, Source>();
  for (const source of sources) {
    if (source !== model && source.size > 0 && source.path.startsWith(folder)) data.set(source.path.slice(folder.length), source);
  }
  return { name: model.path.slice(folder.length), model, data };
}

function ofFile(file: File, path: string): Source {
  return { path, size: file.size, file };
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
  const found = /\.zip$/i.test(path) ? await archived(file, path.replace(/\.zip$/i, "/"), MOST_FILES) : [ofFile(file, path)];
  for (const source of found) sources.push(source);
  if (sources.length > MOST_FILES) throw new Error(`there are more than ${MOST_FILES} files: drop the model and its external data only`);
}
