/** A project is known by its folder: its last part names it, and as much before that as tells it from the others. */
export function projectNames(projects: Iterable<string>): ReadonlyMap<string, string> {
  const all = [...new Set(projects)];
  const carriers = new Map<string, number>();
  for (const project of all) for (const name of endsOf(project)) carriers.set(name, (carriers.get(name) ?? 0) + 1);
  return new Map(all.map((each) => [each, endsOf(each).find((name) => carriers.get(name) === 1) ?? each]));
}

/** The last part of a path, the last two, and so on. */
function endsOf(project: string): string[] {
  const parts = project.split(/[\\/]/).filter(Boolean);
  return parts.map((_, index) => parts.slice(-index - 1).join("/"));
}
