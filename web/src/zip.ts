// Zip archives: the page reads their directory, a worker unpacks.

import type { Source } from "./files";

/** Where an archive has a file, and how. */
export interface Entry {
  offset: number;
  packed: number;
  method: number;
  crc: number;
  isEncrypted: boolean;
}

/** Bytes at most of the files that are unpacked for a model: the tab keeps them. */
const MOST_UNPACKED = 2_000_000_000;
/** Bytes that are collected before the browser takes them, which may move them out of memory. */
const PART = 32_000_000;
/** Bytes of a directory at most: those of 20,000 files with names, fields and comments as long as they can be are fewer in practice. */
const MOST_DIRECTORY = 256_000_000;
/** Bytes of a file that is unpacked together with others, and how many of them. */
const SMALL = 1_000_000;
const TOGETHER = 64;
/** Bytes of an archive that is read at once: the browser is asked once, and not for each file. */
const IN_MEMORY = 64_000_000;
const STORED = 0;
const DEFLATED = 8;

const DAMAGED = "the zip archive is damaged";
/** What fields of 32 and 16 bits say if the number is in a field of ZIP64. */
const [ELSEWHERE, ELSEWHERE_COUNT] = [0xffffffff, 0xffff];

/** A number of 64 bits. One that is not exact here is larger than any file. */
const wide = (view: DataView, at: number): number => Number(view.getBigUint64(at, true));

interface Directory {
  count: number;
  length: number;
  start: number;
}

/** Where the directory of an archive is: what its end says, or the end of ZIP64, to which a locator before the end leads. */
async function directoryOf(file: Blob): Promise<Directory> {
  const tail = new DataView(await file.slice(Math.max(0, file.size - 65_557)).arrayBuffer());
  let at = tail.byteLength - 22;
  while (at >= 0 && tail.getUint32(at, true) !== 0x06054b50) at -= 1;
  if (at < 0) throw new Error("this is not a zip archive, or it is damaged");
  const found = { count: tail.getUint16(at + 10, true), length: tail.getUint32(at + 12, true), start: tail.getUint32(at + 16, true) };
  const isWide = found.count === ELSEWHERE_COUNT || found.length === ELSEWHERE || found.start === ELSEWHERE;
  if (!isWide || at < 20 || tail.getUint32(at - 20, true) !== 0x07064b50) return found;
  const place = wide(tail, at - 12);
  const end = new DataView(await file.slice(place, place + 56).arrayBuffer());
  if (end.byteLength < 56 || end.getUint32(0, true) !== 0x06064b50) throw new Error(DAMAGED);
  return { count: wide(end, 32), length: wide(end, 40), start: wide(end, 48) };
}

/** Numbers of an entry that do not fit into their fields, in their order, from the field of ZIP64 among the extra ones. */
function widened(numbers: number[], view: DataView, from: number, to: number): number[] {
  if (!numbers.includes(ELSEWHERE)) return numbers;
  for (let at = from; at + 4 <= to; ) {
    const [kind, length] = [view.getUint16(at, true), view.getUint16(at + 2, true)];
    const end = at + 4 + length;
    if (kind === 1 && end <= to) {
      let next = at + 4;
      return numbers.map((number) => {
        if (number !== ELSEWHERE) return number;
        if (next + 8 > end) throw new Error(DAMAGED);
        next += 8;
        return wide(view, next - 8);
      });
    }
    at = end;
  }
  // Exactly so many bytes, in an archive that has no such fields.
  return numbers;
}

/** The files of an archive, below `folder`. Nothing is unpacked. */
export async function archived(file: Blob, folder: string, most: number): Promise<Source[]> {
  const { count, length, start } = await directoryOf(file);
  if (length > MOST_DIRECTORY) throw new Error(DAMAGED);
  if (count > most) throw new Error(`the archive has ${count} files, more than the ${most} that are read: unpack it, and drop the model with its external data`);
  const directory = new DataView(await file.slice(start, start + length).arrayBuffer());
  const decoder = new TextDecoder();
  const sources: Source[] = [];
  let entry = 0;
  for (let index = 0; index < count; index += 1) {
    if (entry + 46 > directory.byteLength || directory.getUint32(entry, true) !== 0x02014b50) throw new Error(DAMAGED);
    const [flags, method] = [directory.getUint16(entry + 8, true), directory.getUint16(entry + 10, true)];
    const crc = directory.getUint32(entry + 16, true);
    const [name, extra, comment] = [directory.getUint16(entry + 28, true), directory.getUint16(entry + 30, true), directory.getUint16(entry + 32, true)];
    const fields = entry + 46 + name;
    if (fields + extra > directory.byteLength) throw new Error(DAMAGED);
    const numbers = [24, 20, 42].map((at) => directory.getUint32(entry + at, true));
    const [size, packed, offset] = widened(numbers, directory, fields, fields + extra) as [number, number, number];
    const path = decoder.decode(new Uint8Array(directory.buffer, entry + 46, name));
    entry += 46 + name + extra + comment;
    if (path.endsWith("/") || path.startsWith("__MACOSX/")) continue;
    sources.push({ path: folder + path, size, file, entry: { offset, packed, method, crc, isEncrypted: (flags & 1) === 1 } });
  }
  return sources;
}

const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;

/** The contents of files. Entries of archives are unpacked, each once, which can take long: this is for a worker. */
export async function contents(sources: Iterable<Source>): Promise<Map<Source, Blob>> {
  const all = new Set(sources);
  let sum = 0;
  for (const { entry, size } of all) if (entry && entry.method !== STORED) sum += size;
  if (sum > MOST_UNPACKED) {
    throw new Error(`the archive has ${gigabytes(sum)} unpacked, and a tab unpacks at most ${gigabytes(MOST_UNPACKED)}: unpack it, and drop the folder, which is read where it is needed`);
  }
  const found = new Map<Source, Blob>();
  const archives = new Map<Blob, Promise<Uint8Array<ArrayBuffer>>>();
  const memory = (file: Blob): Promise<Uint8Array<ArrayBuffer> | undefined> => {
    if (file.size > IN_MEMORY) return Promise.resolve(undefined);
    const read = archives.get(file) ?? file.arrayBuffer().then((buffer) => new Uint8Array(buffer));
    archives.set(file, read);
    return read;
  };
  const take = async (source: Source): Promise<void> => {
    try {
      found.set(source, source.entry ? await unpacked(source.file, await memory(source.file), source.entry, source.size) : source.file);
    } catch (error) {
      throw new Error(`${source.path}: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  // Small ones together: for each the browser is waited for several times.
  const small = [...all].filter(({ size }) => size <= SMALL);
  for (let at = 0; at < small.length; at += TOGETHER) await Promise.all(small.slice(at, at + TOGETHER).map(take));
  for (const source of all) if (!found.has(source)) await take(source);
  return found;
}

/** The head of a gzip file. */
const GZIP = new Uint8Array([0x1f, 0x8b, DEFLATED, 0, 0, 0, 0, 0, 0, 255]);

/** The checksum of archives, CRC-32. */
async function checksum(contents: Blob): Promise<number> {
  const table = Uint32Array.from({ length: 256 }, (_, byte) => {
    let value = byte;
    for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
    return value;
  });
  let crc = -1;
  for (let at = 0; at < contents.size; at += PART) {
    const bytes = new Uint8Array(await contents.slice(at, at + PART).arrayBuffer());
    for (const byte of bytes) crc = (crc >>> 8) ^ (table[(crc ^ byte) & 255] as number);
  }
  return ~crc >>> 0;
}

async function unpacked(file: Blob, memory: Uint8Array<ArrayBuffer> | undefined, { offset, packed, method, crc, isEncrypted }: Entry, size: number): Promise<Blob> {
  if (isEncrypted) throw new Error("the zip archive is encrypted");
  const read = (from: number, to: number): Blob | Uint8Array<ArrayBuffer> => memory?.subarray(from, to) ?? file.slice(from, to);
  const head = new DataView(await new Response(read(offset, offset + 30)).arrayBuffer());
  if (head.byteLength < 30 || head.getUint32(0, true) !== 0x04034b50) throw new Error(DAMAGED);
  const start = offset + 30 + head.getUint16(26, true) + head.getUint16(28, true);
  if (!(start + packed <= file.size) || (method === STORED && packed !== size)) throw new Error(DAMAGED);
  if (method === STORED) {
    const stored = file.slice(start, start + packed);
    // What is larger is read where it is needed.
    if (packed <= MOST_UNPACKED && (await checksum(stored)) !== crc) throw new Error(DAMAGED);
    return stored;
  }
  if (method !== DEFLATED) throw new Error("the zip archive is compressed in a way that browsers cannot read: unpack it, and drop the folder");
  // With the head and the end of a gzip file, the browser compares the checksum.
  const end = new DataView(new ArrayBuffer(8));
  end.setUint32(0, crc, true);
  end.setUint32(4, size, true);
  const contents = new Blob([GZIP, read(start, start + packed), end]).stream();
  const reader = contents.pipeThrough(new DecompressionStream("gzip")).getReader();
  const blobs: Blob[] = [];
  let parts: Uint8Array<ArrayBuffer>[] = [];
  let [length, kept] = [0, 0];
  for (;;) {
    const { done, value } = await reader.read().catch(() => {
      throw new Error(DAMAGED);
    });
    if (done) break;
    length += value.length;
    // More bytes than the directory says are a bomb or damage.
    if (length > size) {
      // The checksum of what was read so far is wrong, which the stream reports as well.
      reader.cancel().catch(() => undefined);
      throw new Error(DAMAGED);
    }
    parts.push(value as Uint8Array<ArrayBuffer>);
    if (length - kept >= PART) {
      blobs.push(new Blob(parts));
      [parts, kept] = [[], length];
    }
  }
  if (length !== size) throw new Error(DAMAGED);
  return new Blob([...blobs, ...parts]);
}
