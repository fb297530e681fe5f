import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import supertest from 'supertest';
import type { z } from 'zod';
import { KEY, rawRequest, startTestManager } from '../testing/test-manager.ts';
import { ALL_ENDPOINTS } from './all-endpoints.ts';
import { BODY_EXAMPLES } from './body-examples.ts';
import { openapiDocument } from './openapi-document.ts';

const reference = path.join(import.meta.dirname, '../../../docs/reference');

interface Operation {
  operationId: string;
  parameters: { name: string; in: string }[];
  responses: Record<string, { links?: Record<string, { operationId: string; parameters: Record<string, string> }> }>;
  security?: unknown[];
  requestBody?: { required?: boolean };
}

interface Document {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, { properties: object }> };
}
const document = openapiDocument() as unknown as Document;

describe('the OpenAPI document', () => {
  it('is served to callers with a key, as it is committed', async () => {
    const manager = await startTestManager();
    const served = await supertest(manager.server).get('/api/openapi.json').set('X-API-Key', KEY).expect(200);
    const committed: unknown = JSON.parse(readFileSync(path.join(reference, 'openapi.json'), 'utf8'));
    expect(served.body).toEqual(committed);
    await supertest(manager.server).get('/api/openapi.json').expect(401);
    await manager.stop();
  });

  it('has the name of the installation in its title, by the setting server.name', async () => {
    const manager = await startTestManager();
    const api = supertest.agent(manager.server).set('X-API-Key', KEY);
    const title = async () => ((await api.get('/api/openapi.json')).body as { info: { title: string } }).info.title;
    expect(await title()).toBe('Wherry management API');
    await api
      .put('/api/settings')
      .send({ settings: { 'server.name': 'Staging' } })
      .expect(200);
    expect(await title()).toBe('Staging management API');
    await manager.stop();
  });

  it('describes every endpoint that is mounted, and each of its operations is mounted', async () => {
    const manager = await startTestManager();
    const described = Object.entries(document.paths).flatMap(([template, operations]) =>
      Object.keys(operations).map((method) => ({ template, method })),
    );
    expect(described).toHaveLength(ALL_ENDPOINTS.length);
    for (const { template, method } of described) {
      const target = { method: method.toUpperCase(), path: template.replace(/\{\w+\}/g, 'x') };
      const answer = await rawRequest(manager, target);
      const body = answer.body.toString();
      expect([target, answer.status === 405, body.includes('There is nothing at this path')]).toEqual([
        target,
        false,
        false,
      ]);
    }
    await manager.stop();
  });

  it('has an example of each JSON body, which its endpoint takes', () => {
    const bodies = ALL_ENDPOINTS.flatMap(({ operationId, body }) =>
      body === undefined || body.kind === 'stream' ? [] : [{ operationId, schema: body.schema as z.ZodType }],
    );
    expect(bodies.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(BODY_EXAMPLES).sort());
    for (const { operationId, schema } of bodies)
      expect([operationId, schema.safeParse(BODY_EXAMPLES[operationId]).error]).toEqual([operationId, undefined]);
  });

  it('refers only to what it holds', () => {
    const text = JSON.stringify(document);
    const references = [...text.matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, pointer]) => pointer!.split('/'));
    expect(references.length).toBeGreaterThan(50);
    for (const pointer of references) {
      const found = pointer.reduce<unknown>(
        (node, step) => (node as Record<string, unknown> | undefined)?.[step],
        document,
      );
      expect([pointer.join('/'), typeof found]).toEqual([pointer.join('/'), 'object']);
    }
  });

  it('is valid, and has what the linter of OpenAPI documents recommends', async () => {
    // The look-up of a source or secret by its name: no id is by-name, and the service prefers the literal segment.
    // Sign-in with OpenID Connect is a chain of redirects.
    const rules = { 'no-ambiguous-paths': 'off', 'operation-2xx-response': 'off' } as const;
    const config = await createConfig({ extends: ['recommended'], rules });
    const problems = await lintFromString({ source: JSON.stringify(document), config });
    expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual([]);
  });

  it('links each operation that makes something to the operations of what it made', () => {
    const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));
    const creators = Object.values(document.paths).flatMap(({ post }) => (post?.responses['201'] ? [post] : []));
    expect(creators.map(({ operationId }) => operationId)).toEqual(
      expect.arrayContaining(['createFunction', 'createSource', 'createFile', 'createKey', 'createUser', 'setUp']),
    );
    for (const { operationId, responses } of creators) {
      const links = Object.values(responses['201']?.links ?? {});
      expect([operationId, links.length >= 3]).toEqual([operationId, true]);
      for (const link of links) {
        const target = operations.find((operation) => operation.operationId === link.operationId);
        const names = target?.parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name);
        expect([link.operationId, Object.keys(link.parameters)]).toEqual([link.operationId, names]);
      }
    }
  });

  it('requires a body, except where the service does not', () => {
    const optional = Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).flatMap(({ operationId, requestBody }) =>
        requestBody?.required === false ? operationId : [],
      ),
    );
    expect(optional.sort()).toEqual(['createFile', 'putFile', 'rotateKey']);
  });

  it('links what is elsewhere, too: the logs of a function, and the user that the setup page makes', () => {
    const linked = (path: string): string[] => Object.keys(document.paths[path]?.post?.responses['201']?.links ?? {});
    expect(linked('/api/functions')).toEqual(expect.arrayContaining(['getFunction', 'deleteLogs']));
    expect(linked('/web/setup')).toEqual(['getUser', 'updateUser', 'deleteUser']);
  });

  it('names the fields that requests and answers have', () => {
    expect(Object.keys(document.components.schemas)).toEqual(
      expect.arrayContaining(['ApiKey', 'CodeSource', 'Error', 'Function', 'FunctionDefinition', 'KeyGroup']),
    );
    expect(Object.keys(document.components.schemas.FunctionDefinition!.properties)).toEqual(
      expect.arrayContaining(['name', 'handler', 'route', 'methods', 'keys', 'cors', 'status']),
    );
  });
});
