import { type Inspector, createInspector } from './create-inspector.ts';

let own: Promise<Inspector> | undefined;
let told = false;

/**
 * The inspector of this process, for agents made with `inspect: true`: started once, shared by all. It holds the
 * process only while a run that it shows is live. Its address goes to standard error, once.
 */
export async function ownInspector({ silent }: { readonly silent: boolean }): Promise<Inspector> {
  own ??= createInspector();
  const inspector = await own;
  if (!silent && !told) {
    told = true;
    console.error(`Inspector: ${inspector.url}`);
  }
  return inspector;
}
