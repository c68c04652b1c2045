// What files are called where their whole path would be too much.

let names: ReadonlyMap<string, string> = new Map();

/** The page's snapshot is known: `found` are the names of the files whose last part is that of another file, too. */
export function learnFileNames(found: Readonly<Record<string, string>>): void {
  names = new Map(Object.entries(found));
}

/** The last part of a path of any system. */
export function baseName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1) || path;
}

/** The shortest end of a path that distinguishes it from the snapshot's other files. */
export function fileName(path: string): string {
  return names.get(path) ?? baseName(path);
}

/** A file, and the line in it where that is known: 0 stands for none. */
export function atLine(file: string, line: number): string {
  return line > 0 ? `${file}:${line}` : file;
}
