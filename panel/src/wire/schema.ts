import * as z from "zod/mini";

/** The part of JSON Schema that the protocol's schemas use. */
export interface JsonSchema {
  $ref?: string;
  type?: string | string[];
  const?: string | number | boolean | null;
  oneOf?: JsonSchema[];
  anyOf?: JsonSchema[];
  properties?: Record<string, JsonSchema>;
  required?: string[];
  additionalProperties?: JsonSchema;
  items?: JsonSchema;
  default?: unknown;
  minimum?: number;
}

const KNOWN = new Set("$ref type const oneOf anyOf properties required additionalProperties items default minimum".split(" "));
const FOR_PEOPLE = new Set("description title format".split(" "));

// The page's policy forbids `eval`, which Zod would use to be faster.
z.config({ jitless: true });

/**
 * Makes Zod schemas of JSON Schemas. `z.fromJSONSchema` does the same and a test holds the two together; it would bring
 * all of Zod into the bundle, 120 kB, where this needs a tenth.
 */
export class SchemaReader {
  private readonly made = new Map<string, z.ZodMiniType>();

  constructor(private readonly definitions: Record<string, JsonSchema>) {}

  /** Throws for a keyword that it does not know: then something would go unchecked. */
  read(schema: JsonSchema): z.ZodMiniType {
    const odd = Object.keys(schema).find((key) => !KNOWN.has(key) && !FOR_PEOPLE.has(key));
    if (odd !== undefined) throw new Error(`The schemas use the keyword \`${odd}\`, which is not read.`);
    const made = this.whole(schema);
    return schema.default === undefined ? made : z._default(made, () => schema.default as never);
  }

  private whole(schema: JsonSchema): z.ZodMiniType {
    if (schema.$ref !== undefined) return this.named(schema.$ref.replace("#/$defs/", ""));
    if (schema.const !== undefined) return z.literal(schema.const);
    const options = schema.oneOf ?? schema.anyOf;
    if (options !== undefined) return z.union(options.map((option) => this.read(option)));
    if (Array.isArray(schema.type)) return z.union(schema.type.map((type) => this.typed(type, schema)));
    return schema.type === undefined ? z.any() : this.typed(schema.type, schema);
  }

  private named(name: string): z.ZodMiniType {
    let made = this.made.get(name);
    if (made === undefined) {
      const definition = this.definitions[name];
      if (definition === undefined) throw new Error(`The schemas name \`${name}\`, which is not there.`);
      made = this.read(definition);
      this.made.set(name, made);
    }
    return made;
  }

  private typed(type: string, schema: JsonSchema): z.ZodMiniType {
    switch (type) {
      case "string":
        return z.string();
      case "boolean":
        return z.boolean();
      case "null":
        return z.null();
      case "integer":
        return schema.minimum === undefined ? z.int() : z.int().check(z.gte(schema.minimum));
      case "number":
        return schema.minimum === undefined ? z.number() : z.number().check(z.gte(schema.minimum));
      case "array":
        return z.array(schema.items === undefined ? z.any() : this.read(schema.items));
      case "object":
        return this.object(schema);
      default:
        throw new Error(`The schemas use the type \`${type}\`, which is not read.`);
    }
  }

  private object({ properties, required = [], additionalProperties }: JsonSchema): z.ZodMiniType {
    if (properties === undefined && additionalProperties !== undefined) {
      return z.record(z.string(), this.read(additionalProperties));
    }
    const shape: Record<string, z.ZodMiniType> = {};
    for (const [name, schema] of Object.entries(properties ?? {})) {
      const made = this.read(schema);
      shape[name] = required.includes(name) || schema.default !== undefined ? made : z.optional(made);
    }
    return z.looseObject(shape);
  }
}
