/** The sample: a shop that is small enough to read and large enough to ask. */
export const SHOP = `
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL);
CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT NOT NULL, price REAL NOT NULL CHECK (price > 0));
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER NOT NULL REFERENCES customers, day TEXT NOT NULL);
CREATE TABLE items (
  "order" INTEGER NOT NULL REFERENCES orders, product INTEGER NOT NULL REFERENCES products, quantity INTEGER NOT NULL,
  PRIMARY KEY ("order", product)
) WITHOUT ROWID;
INSERT INTO customers (name, city) VALUES ('Ada', 'London'), ('Edgar', 'San Jose'), ('Grace', 'New York'), ('Konrad', 'Berlin');
INSERT INTO products (name, price) VALUES ('Lamp', 39.5), ('Desk', 249), ('Chair', 119), ('Shelf', 79.9), ('Rug', 59);
INSERT INTO orders (customer, day) SELECT 1 + value % 4, date('2026-01-01', value || ' days') FROM generate_series(0, 199);
INSERT INTO items SELECT o.id, p.id, 1 + (o.id * p.id) % 3 FROM orders o JOIN products p ON (o.id + p.id) % 3 = 0;
CREATE VIEW sales AS
  SELECT o.id AS "order", o.day, c.name AS customer, p.name AS product, i.quantity, round(i.quantity * p.price, 2) AS total
  FROM items i JOIN orders o ON o.id = i."order" JOIN customers c ON c.id = o.customer JOIN products p ON p.id = i.product;
`;
