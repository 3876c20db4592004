const proxy = { '/v1': process.env.MODEL_ORIGIN ?? '' };

export default { root: import.meta.dirname, server: { proxy }, preview: { proxy } };
