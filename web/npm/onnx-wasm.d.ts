/** What the loader of the bundler makes of the module: its address or its bytes, for `init({ url })` or `init({ bytes })`. */
// A type for both would be wrong for one of them.
declare const loaded: any;
export default loaded;
