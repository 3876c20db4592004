/** Words that say nothing about which tool is meant. */
const EMPTY = new Set(
  (
    'a an and are as at be by can could do does for from get give has have how i in into is it its let me my of on or ' +
    'please shall should show some tell that the their them then there this to us use using want was what when where ' +
    'which who why will with would you your tool current all any one also just now'
  ).split(' '),
);

/** The words of a text that mean something, in lower case and without their endings. */
export function meaningfulWords(text: string): readonly string[] {
  return splitWords(text)
    .filter((word) => !EMPTY.has(word))
    .map(stem);
}

/** The pieces of a text or a name: `getWeatherNow`, `get_weather_now` and `get weather now` are the same. */
export function splitWords(text: string): readonly string[] {
  return (
    text
      .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
      .toLowerCase()
      .match(/[\p{L}\d]+/gu) ?? []
  );
}

/** A word without its grammatical ending, roughly. */
export function stem(word: string): string {
  const rules = [/ies$/, /(?:ing|ed)$/, /es$/, /s$/, /e$/];
  const ending = rules.find((rule) => rule.test(word) && word.replace(rule, '').length >= 3);
  return ending === undefined ? word : word.replace(ending, ending.source === 'ies$' ? 'y' : '');
}
