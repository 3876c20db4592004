import { type Json, type JsonObject, isJsonObject } from '../../json/json.ts';
import { HIDDEN } from '../../actors/vault.ts';

/** Words of a field's name or title that say what it asks for is a secret. */
const SECRET_WORDS: ReadonlySet<string> = new Set(
  'password passwords passwd pwd passphrase passcode pin otp totp token secret secrets credential credentials cvv cvc bearer apikey mfa'.split(
    ' ',
  ),
);
/** `key` alone names many things. */
const SECRET_KEY =
  /(?:^|_)(?:api|access|auth|private|secret|ssh|signing|encryption|license|licence|recovery|security)_?(?:keys?|codes?)(?:_|$)/;

/** Whether what is typed into a field of a form is a secret: by its format, or by what it is called. */
export function isHiddenField(name: string, schema: Json | undefined): boolean {
  const { format, title, type, enum: choices }: JsonObject = isJsonObject(schema) ? schema : {};
  if (type === 'boolean' || choices !== undefined) return false;
  return format === 'password' || [name, title].some((text) => typeof text === 'string' && soundsSecret(text));
}

/** The answer as model, events and recording may have it: a mark stands for each secret. */
export function maskedAnswer(content: JsonObject, schema: JsonObject): JsonObject {
  const members = Object.entries(content).map(([name, value]) => [name, isHidden(name, schema) ? HIDDEN : value]);
  return Object.fromEntries(members);
}

/** The secrets of an answer, as texts. */
export function hiddenTexts(content: JsonObject, schema: JsonObject): readonly string[] {
  return Object.entries(content).flatMap(([name, value]) =>
    isHidden(name, schema) && (typeof value === 'string' || typeof value === 'number') ? [String(value)] : [],
  );
}

function isHidden(name: string, { properties }: JsonObject): boolean {
  const own = isJsonObject(properties) && Object.hasOwn(properties, name) ? properties[name] : undefined;
  return isHiddenField(name, own);
}

function soundsSecret(text: string): boolean {
  const words = text
    .replaceAll(/(?<=\p{Ll})(?=\p{Lu})/gu, '_')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');
  return words.some((word) => SECRET_WORDS.has(word)) || SECRET_KEY.test(words.join('_'));
}
