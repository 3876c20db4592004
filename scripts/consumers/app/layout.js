export default ({ children }) => (
  <html>
    <body>{children}</body>
  </html>
);
