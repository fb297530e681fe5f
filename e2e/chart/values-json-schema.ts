import { z } from 'zod';
import { valuesSchema } from './values-schema.ts';

/** values.schema.json: draft 7, which every Helm 3 and 4 reads. A value that it does not name is refused. */
export function valuesJsonSchema(): object {
  const schema = z.toJSONSchema(valuesSchema, { target: 'draft-7', io: 'input' }) as { properties: object };
  // Helm itself puts `global` there when the chart is part of another.
  return {
    ...schema,
    title: 'Values of the chart wherry',
    properties: {
      ...schema.properties,
      global: { type: 'object', description: 'Values that a parent chart shares. This chart does not read them.' },
    },
  };
}
