export * as ui from 'signalbox/ui';
export * as store from 'signalbox/store';
export * as coverage from 'signalbox/testing/coverage';
