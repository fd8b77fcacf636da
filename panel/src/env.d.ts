declare module "*?lean" {
  const schema: { $defs: Record<string, { oneOf?: { properties?: { type?: { const?: string } } }[] }> } & Record<string, unknown>;
  export default schema;
}
