import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isMisspelt } from '../../src/tools/lookup.ts';

describe('a name is a misspelling of another', () => {
  test.each([
    ['get_weather', 'get_wether'],
    ['get_weather', 'get_weahter'],
    ['get_weather', 'get_weatherr'],
    ['get_weather', 'getWeather'],
    ['get_weather', 'get-weather'],
    ['get_weather', 'Get_Wether'],
    ['read_file', 'readfile'],
    ['read_file', 'read_fle'],
    ['search', 'serch'],
    ['search', 'serach'],
    ['list_files', 'list_file'],
    ['step_2', 'stp_2'],
  ])('%s: %s', (known, wanted) => {
    expect(isMisspelt(known, wanted)).toBe(true);
  });

  test.each([
    ['get_user', 'set_user', 'another verb'],
    ['crm_get_user', 'crm_set_user', 'another verb inside'],
    ['import_data', 'export_data', 'the opposite'],
    ['lock_door', 'unlock_door', 'the opposite'],
    ['push', 'pull', 'half of a short word'],
    ['increase', 'decrease', 'the opposite'],
    ['report_1', 'report_2', 'another number'],
    ['v12', 'v21', 'another number'],
    ['add', 'ad', 'too short to tell'],
    ['pin', 'pan', 'too short to tell'],
    ['rm', 'ls', 'too short to tell'],
    ['delete_note', 'delete_not_now', 'another word'],
    ['get_weather_now', 'get_wether_nw_', 'a word too short to tell'],
    ['send_message', 'sand_massage_x', 'one word more'],
    ['search_archive_online', 'serch_archve_onlne', 'three letters'],
    ['weather', '', 'nothing'],
    ['_', '', 'nothing'],
    ['_', '__', 'no letters'],
    ['weather', 'w'.repeat(100_000), 'a flood'],
  ])('%s, but not %s: %s', (known, wanted) => {
    expect(isMisspelt(known, wanted)).toBe(false);
  });

  test('or of nothing else: it never throws, and does not care which of the two is registered', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 20 }), fc.string({ maxLength: 20 }), (a, b) => {
        expect(isMisspelt(a, b)).toBe(isMisspelt(b, a));
      }),
      { seed: 11 },
    );
  });
});
