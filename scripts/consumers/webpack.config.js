export default {
  mode: 'production',
  target: 'node22',
  entry: './main.js',
  experiments: { outputModule: true },
  output: { path: `${import.meta.dirname}/out/webpack`, filename: 'main.mjs', module: true },
};
