/** Bytes that someone gave, as bytes of our own. */
export async function memoryBytes(source: ArrayBuffer | Uint8Array | Blob): Promise<Uint8Array<ArrayBuffer>> {
  if (source instanceof Blob) return new Uint8Array(await source.arrayBuffer());
  return new Uint8Array(source instanceof Uint8Array ? source : source.slice(0));
}
