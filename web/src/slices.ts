// Work of the page that can take long, in slices between which it reacts.

/** Milliseconds of a slice. */
const SLICE = 40;

/** Does work that yields at short intervals. */
export async function sliced<T>(work: Generator<void, T>): Promise<T> {
  let end = performance.now() + SLICE;
  for (;;) {
    const next = work.next();
    if (next.done) return next.value;
    if (performance.now() < end) continue;
    await new Promise((done) => setTimeout(done));
    end = performance.now() + SLICE;
  }
}
