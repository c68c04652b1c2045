// Lint rules for everything TypeScript and for the scripts; layout is prettier's business.
import js from '@eslint/js';
import tseslint from 'typescript-eslint';

const typed = ['extension/**/*.ts', 'webview/**/*.{ts,tsx}', 'tests/**/*.{ts,tsx}'];

/** What must not cross a wall: each folder names what it may not import (see CONTRIBUTING.md). */
const walls = (patterns) => ({ 'no-restricted-imports': ['error', { patterns }] });

/** What shows texts in VS Code's own windows, where `[text](command:…)` is a link that runs a command. */
const SHOWS = [
  ...[
    'showInformationMessage',
    'showWarningMessage',
    'showErrorMessage',
    'setStatusBarMessage',
    'withProgress',
  ],
  ...[
    'showQuickPick',
    'createQuickPick',
    'showInputBox',
    'createInputBox',
    'showSaveDialog',
    'showOpenDialog',
  ],
  ...['showWorkspaceFolderPick', 'createStatusBarItem', 'createTreeView', 'registerTreeDataProvider'],
];

/** What writes a file around the server's one function, which loses nothing. */
const WRITES = [
  {
    selector: "MemberExpression[object.property.name='fs'][property.name=/^(writeFile|rename|copy|delete)$/]",
    message: "Write what people keep by 'memlens/save' (commands/save.ts), which overwrites no snapshot.",
  },
  {
    selector:
      'ImportSpecifier[imported.name=/^(writeFile|appendFile|rename|copyFile|cp|rm|unlink|createWriteStream)(Sync)?$/]',
    message: "Write what people keep by 'memlens/save' (commands/save.ts), which overwrites no snapshot.",
  },
];

export default tseslint.config(
  {
    ignores: [
      'dist/',
      '.venv/',
      '.vscode-test/',
      '.cache/',
      '**/node_modules/',
      '**/*.gen.ts',
      'tests/e2e/.*',
      'tests/newcomer/',
    ],
  },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  {
    files: typed,
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: {
        project: ['extension/tsconfig.json', 'webview/tsconfig.json', 'tests/tsconfig.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      eqeqeq: 'error',
      'no-console': 'error',
      'no-duplicate-imports': 'error',
      // A callback of which nothing is taken back may be one call.
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreVoidReturningFunctions: true }],
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      // Numbers read well in templates, and sizes and times are everywhere here.
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
    },
  },
  {
    files: ['webview/**/*.{ts,tsx}'],
    rules: walls([
      { group: ['vscode', 'node:*', 'vscode-languageclient*'], message: 'The webview runs in a browser.' },
      { group: ['**/extension/src/**'], message: 'Only extension/shared is for both sides.' },
    ]),
  },
  // what all models share, from the bottom up: none runs code of the folders above it
  ...['base', 'canvas', 'widgets'].map((folder, at, lowest) => ({
    files: [`webview/src/${folder}/**/*.{ts,tsx}`],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              group: ['../*/**', '!../../**', ...lowest.slice(0, at).map((below) => `!../${below}/**`)],
              message: `webview/src/${folder} is below that.`,
            },
          ],
        },
      ],
    },
  })),
  {
    files: ['webview/src/**/*.{ts,tsx}'],
    ignores: ['webview/src/api.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        { name: 'acquireVsCodeApi', message: 'Only webview/src/api.ts talks to the host.' },
      ],
      'no-restricted-properties': [
        'error',
        ...['innerHTML', 'outerHTML', 'insertAdjacentHTML'].map((property) => ({
          property,
          message: 'Names come from the snapshot: draw them as text (textContent).',
        })),
      ],
    },
  },
  {
    files: ['extension/shared/**/*.ts'],
    rules: walls([
      {
        group: ['vscode', 'node:*', '**/src/**'],
        message: 'Shared code runs on both sides and imports neither.',
      },
    ]),
  },
  {
    files: ['extension/src/**/*.ts'],
    rules: walls([
      { group: ['**/webview/**'], message: 'The webview is another program: share by extension/shared.' },
    ]),
  },
  {
    files: ['extension/src/**/*.ts'],
    ignores: ['extension/src/base/window.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        {
          selector: `MemberExpression[object.object.name='vscode'][object.property.name='window'][property.name=/^(${SHOWS.join('|')})$/]`,
          message: 'Names come from files of strangers: show them by base/window.ts, which makes them plain.',
        },
        {
          selector: "ImportSpecifier[imported.name='window'], VariableDeclarator[init.name='vscode']",
          message: 'Use vscode.window, so that the rule about texts sees it.',
        },
        ...WRITES,
      ],
    },
  },
  {
    // A bench prints its figures. node:test's describe and it return promises that the runner awaits.
    files: ['tests/**/*.{ts,tsx}'],
    rules: {
      'no-console': 'off',
      '@typescript-eslint/no-floating-promises': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
    },
  },
  {
    files: ['**/*.mjs'],
    languageOptions: {
      globals: Object.fromEntries(
        [
          ...[
            'AbortController',
            'AbortSignal',
            'Buffer',
            'URL',
            'URLSearchParams',
            'console',
            'fetch',
            'performance',
          ],
          ...['process', 'setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'structuredClone'],
        ].map((name) => [name, 'readonly']),
      ),
    },
    rules: { eqeqeq: 'error' },
  },
  {
    files: ['**/*.cjs'],
    languageOptions: {
      sourceType: 'commonjs',
      globals: { process: 'readonly', setInterval: 'readonly' },
    },
  },
  {
    // Functions handed to Playwright's evaluate run in the page.
    files: ['tests/e2e/**/*.mjs'],
    languageOptions: {
      globals: {
        document: 'readonly',
        window: 'readonly',
        getComputedStyle: 'readonly',
        HTMLElement: 'readonly',
      },
    },
  },
);
