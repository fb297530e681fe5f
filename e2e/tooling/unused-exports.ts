import path from 'node:path';
import ts from 'typescript';

interface ModuleFacts {
  exported: string[];
  /** What it takes of other modules: names, or all of it (`import * as`, `import()`). */
  imports: { specifier: string; names: string[] | 'all' }[];
  identifiers: Set<string>;
}

/**
 * Finds exports that no other file imports.
 * @param sources texts of TypeScript and JavaScript files, by their paths from the root; those of tests are among them
 * @param packages the folder of each part's sources, by the part's package name
 * @returns `file: name` of each, sorted. What is imported as a whole is used where its name occurs in the importing
 * file.
 */
export function unusedExports(sources: ReadonlyMap<string, string>, packages: ReadonlyMap<string, string>): string[] {
  const modules = new Map([...sources].map(([file, text]) => [file, factsOf(file, text)]));
  const used = new Set<string>();
  for (const [file, { imports, identifiers }] of modules) {
    for (const { specifier, names } of imports) {
      const from = resolveSpecifier(file, specifier, packages);
      const taken = names === 'all' ? modules.get(from)?.exported.filter((name) => identifiers.has(name)) : names;
      for (const name of taken ?? []) used.add(`${from}: ${name}`);
    }
  }
  const all = [...modules].flatMap(([file, { exported }]) => exported.map((name) => `${file}: ${name}`));
  return all.filter((name) => !used.has(name)).sort();
}

function resolveSpecifier(file: string, specifier: string, packages: ReadonlyMap<string, string>): string {
  if (specifier.startsWith('.')) return path.posix.join(path.posix.dirname(file), specifier);
  const [, name = '', inside = ''] = /^(@[^/]+\/[^/]+)\/(.+)$/.exec(specifier) ?? [];
  return path.posix.join(packages.get(name) ?? 'node_modules', inside);
}

function factsOf(file: string, text: string): ModuleFacts {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  const facts: ModuleFacts = { exported: [], imports: [], identifiers: new Set() };
  for (const statement of source.statements) readStatement(statement, facts);
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node)) facts.identifiers.add(node.text);
    const specifier = dynamicSpecifier(node);
    if (specifier !== undefined) facts.imports.push({ specifier, names: 'all' });
    ts.forEachChild(node, visit);
  };
  visit(source);
  return facts;
}

/** Of `import('…')`, as an expression or a type. */
function dynamicSpecifier(node: ts.Node): string | undefined {
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) return textOf(node.argument.literal);
  if (!ts.isCallExpression(node) || node.expression.kind !== ts.SyntaxKind.ImportKeyword) return undefined;
  return textOf(node.arguments[0]);
}

function textOf(node: ts.Node | undefined): string | undefined {
  return node !== undefined && ts.isStringLiteral(node) ? node.text : undefined;
}

function readStatement(statement: ts.Statement, facts: ModuleFacts): void {
  if (ts.isImportDeclaration(statement)) {
    const specifier = textOf(statement.moduleSpecifier) ?? '';
    facts.imports.push({ specifier, names: importedNames(statement.importClause) });
  } else if (ts.isExportDeclaration(statement)) {
    const names =
      statement.exportClause && ts.isNamedExports(statement.exportClause) ? statement.exportClause.elements : [];
    const specifier = textOf(statement.moduleSpecifier);
    if (specifier !== undefined)
      facts.imports.push({ specifier, names: names.map((one) => (one.propertyName ?? one.name).text) });
    facts.exported.push(...names.map((one) => one.name.text));
  } else if (ts.isExportAssignment(statement)) {
    facts.exported.push('default');
  } else {
    facts.exported.push(...exportedNames(statement));
  }
}

function importedNames(clause: ts.ImportClause | undefined): string[] | 'all' {
  const bindings = clause?.namedBindings;
  if (bindings !== undefined && ts.isNamespaceImport(bindings)) return 'all';
  const named = bindings?.elements.map((one) => (one.propertyName ?? one.name).text) ?? [];
  return clause?.name === undefined ? named : ['default', ...named];
}

/** The names that a declaration with `export` before it exports. */
function exportedNames(statement: ts.Statement): string[] {
  const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : [];
  const has = (kind: ts.SyntaxKind): boolean => modifiers.some((modifier) => modifier.kind === kind);
  if (!has(ts.SyntaxKind.ExportKeyword)) return [];
  if (has(ts.SyntaxKind.DefaultKeyword)) return ['default'];
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.flatMap(({ name }) => boundNames(name));
  const { name } = statement as ts.DeclarationStatement;
  return name !== undefined && ts.isIdentifier(name) ? [name.text] : [];
}

function boundNames(name: ts.BindingName): string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((one) => (ts.isBindingElement(one) ? boundNames(one.name) : []));
}
