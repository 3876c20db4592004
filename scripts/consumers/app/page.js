export default () => <p>An agent answers at /agent.</p>;
