import { builderEnvironment, installerEnvironment } from '@wherry/builder/config.ts';
import { managerEnvironment } from '@wherry/manager/config.ts';
import { operatorEnvironment } from '@wherry/operator/config.ts';
import { routerEnvironment } from '@wherry/router/config.ts';
import { runtimeEnvironment } from '@wherry/runtime/config.ts';
import { embeddedEnvironment } from '../config.ts';
import { columnOf, readReferenceTable } from './testing/reference-table.ts';

/** What has to be set has no default. */
const {
  WHERRY_FUNCTION_URL: _url,
  WHERRY_RUNTIME_IMAGE: _image,
  ...operatorDefaults
} = operatorEnvironment.parse({ WHERRY_FUNCTION_URL: 'http://localhost', WHERRY_RUNTIME_IMAGE: 'runtime' });
const { WHERRY_FUNCTION_URL: _base, ...managerDefaults } = managerEnvironment.parse({
  WHERRY_FUNCTION_URL: 'http://localhost',
});

describe('docs/reference/config.md', () => {
  const programs = [
    {
      heading: 'The service',
      variables: Object.keys(embeddedEnvironment.shape),
      defaults: embeddedEnvironment.parse({}) as object,
    },
    {
      heading: 'The router',
      variables: Object.keys(routerEnvironment.shape),
      defaults: routerEnvironment.parse({}) as object,
    },
    {
      heading: 'The operator',
      variables: Object.keys(operatorEnvironment.shape),
      defaults: operatorDefaults as object,
    },
    { heading: 'The manager', variables: Object.keys(managerEnvironment.shape), defaults: managerDefaults as object },
    {
      heading: 'The builder',
      variables: Object.keys(builderEnvironment.shape),
      defaults: builderEnvironment.parse({}) as object,
    },
    {
      heading: 'The installer',
      variables: Object.keys(installerEnvironment.shape),
      defaults: installerEnvironment.parse({}) as object,
    },
    {
      heading: 'An instance',
      variables: Object.keys(runtimeEnvironment.shape),
      defaults: runtimeEnvironment.parse({}) as object,
    },
  ];

  it.each(programs)('$heading: lists every variable that the program reads, and no other', ({ heading, variables }) => {
    expect(columnOf(readReferenceTable('config.md', heading), 'Variable')).toEqual(variables.sort());
  });

  it.each(programs)('$heading: lists the defaults that are active', ({ heading, defaults }) => {
    const documented = Object.fromEntries(
      readReferenceTable('config.md', heading).map((row) => [row['Variable'], row['Default']]),
    );
    const constant = Object.entries(defaults).filter(([, value]) =>
      ['string', 'number', 'boolean'].includes(typeof value),
    );
    expect(constant.length).toBeGreaterThan(0);
    expect(documented).toMatchObject(Object.fromEntries(constant.map(([name, value]) => [name, String(value)])));
  });
});
