/** The layouts of our own machines, made when the page was built: by layout key. Rejects when they cannot be read. */
export async function ownLayouts(): Promise<unknown> {
  const response = await fetch('assets/layouts.json');
  return await response.json();
}
