-- What SQLite is trained on: one statement a line, the everyday of a database that an agent works with.
-- No benchmark is among it, so that what those measure is not what was trained.
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT UNIQUE, country TEXT, joined TEXT, balance REAL DEFAULT 0) STRICT
CREATE TABLE product (id INTEGER PRIMARY KEY, sku TEXT NOT NULL UNIQUE, title TEXT, price REAL CHECK (price >= 0), stock INT, attributes TEXT)
CREATE TABLE purchase (id INTEGER PRIMARY KEY, customer INT NOT NULL REFERENCES customer(id), product INT NOT NULL REFERENCES product(id), quantity INT, at TEXT)
CREATE TABLE tag (product INT, word TEXT, PRIMARY KEY (product, word)) WITHOUT ROWID
CREATE TABLE log (id INTEGER PRIMARY KEY AUTOINCREMENT, what TEXT, old ANY, new ANY)
CREATE TRIGGER price_changed AFTER UPDATE OF price ON product WHEN old.price <> new.price BEGIN INSERT INTO log(what, old, new) VALUES ('price of '||new.id, old.price, new.price); END
CREATE VIEW spending AS SELECT c.id, c.name, count(*) AS purchases, sum(p.price*b.quantity) AS total FROM purchase b JOIN customer c ON c.id=b.customer JOIN product p ON p.id=b.product GROUP BY c.id
BEGIN
INSERT INTO customer(name, email, country, joined) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<8000) SELECT printf('Customer %05d', i*7%8009), 'c'||i||'@example.com', substr('DEFRUKUSJPBRIN', 1+i%7*2, 2), date('2020-01-01', '+'||(i%1500)||' days') FROM n
INSERT INTO product(sku, title, price, stock, attributes) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<3000) SELECT printf('SKU-%04X', i), CASE i%5 WHEN 0 THEN 'Red ' WHEN 1 THEN 'Blue ' ELSE 'Plain ' END||CASE i%3 WHEN 0 THEN 'chair' WHEN 1 THEN 'table with drawer' ELSE 'wörking lamp' END||' no. '||i, round(5+i*13%997/7.0, 2), i*31%120, json_object('weight', i%40/4.0, 'colours', json_array('red','blue',i), 'made', json_object('in', 'plant '||(i%9), 'year', 2000+i%25)) FROM n
INSERT INTO purchase(customer, product, quantity, at) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<40000) SELECT 1+i*7907%8000, 1+i*i%3000, 1+i%4, datetime('2024-01-01', '+'||(i*37)||' seconds') FROM n
INSERT INTO tag SELECT id, 'w'||(id%17) FROM product UNION SELECT id, 'v'||(id%5) FROM product UNION ALL SELECT id, 'long word '||id FROM product
COMMIT
CREATE INDEX purchase_customer ON purchase(customer, at)
CREATE INDEX purchase_product ON purchase(product)
CREATE INDEX product_title ON product(title COLLATE NOCASE)
CREATE INDEX customer_country ON customer(country) WHERE balance >= 0
ANALYZE
SELECT name, purchases, total FROM spending ORDER BY total DESC LIMIT 20
SELECT country, count(*), avg(balance), min(joined), max(joined) FROM customer GROUP BY country HAVING count(*) > 10 ORDER BY 2 DESC
SELECT p.title, sum(b.quantity) q FROM product p LEFT JOIN purchase b ON b.product=p.id WHERE p.price BETWEEN 20 AND 90 GROUP BY p.id ORDER BY q DESC, p.title LIMIT 50 OFFSET 100
SELECT strftime('%Y-%m', at) m, count(*), sum(quantity) FROM purchase GROUP BY m ORDER BY m
SELECT * FROM purchase WHERE customer IN (SELECT id FROM customer WHERE country='JP' AND id < 2000) ORDER BY at DESC LIMIT 300
SELECT * FROM product WHERE title LIKE '%lamp%' AND stock > 100 LIMIT 200
SELECT * FROM product WHERE title LIKE 'red ch%'
SELECT count(*) FROM customer WHERE email GLOB 'c1*9@*'
SELECT count(*) FROM customer WHERE email LIKE 'c%7@example.com' OR name LIKE '%0042%'
SELECT id, sku, price, (SELECT count(*) FROM tag WHERE tag.product=product.id) tags FROM product WHERE id%7=3
SELECT c.name FROM customer c WHERE NOT EXISTS (SELECT 1 FROM purchase b WHERE b.customer=c.id) ORDER BY c.name LIMIT 40
SELECT DISTINCT substr(title, 1, 9), country FROM purchase b JOIN product p ON p.id=b.product JOIN customer c ON c.id=b.customer
SELECT name FROM customer WHERE country='DE' INTERSECT SELECT name FROM customer WHERE joined > '2022-01-01' EXCEPT SELECT name FROM customer WHERE id > 7000 ORDER BY 1
SELECT title, price FROM product ORDER BY price DESC, title COLLATE NOCASE LIMIT 30
SELECT sku, title FROM product ORDER BY title DESC
SELECT customer, at, quantity FROM purchase ORDER BY quantity, at DESC LIMIT 2000
SELECT customer, at, sum(quantity) OVER (PARTITION BY customer ORDER BY at) running FROM purchase WHERE customer < 1500
SELECT id, price, rank() OVER (ORDER BY price DESC), ntile(10) OVER (ORDER BY price), lag(price, 1, 0) OVER (ORDER BY id) FROM product
SELECT id, avg(price) OVER (ORDER BY id ROWS BETWEEN 5 PRECEDING AND 5 FOLLOWING), first_value(title) OVER (PARTITION BY stock ORDER BY price) FROM product
SELECT count(*), sum(price*stock), total(price), group_concat(sku, ' ') FROM product WHERE stock % 3 = 1
SELECT id, json_extract(attributes, '$.made.year'), attributes->>'$.weight' FROM product WHERE json_extract(attributes, '$.made.in') = 'plant 4'
SELECT p.id, j.key, j.value FROM product p, json_each(p.attributes, '$.colours') j WHERE p.id < 900
SELECT j.fullkey, j.atom FROM product p, json_tree(p.attributes) j WHERE p.id < 200
UPDATE product SET attributes = json_set(attributes, '$.sale', 1, '$.made.year', 2025) WHERE id % 11 = 0
SELECT json_group_array(json_object('id', id, 'name', name, 'since', joined)) FROM customer WHERE id < 1000
SELECT json_valid(attributes), json_type(attributes, '$.colours'), json_array_length(attributes, '$.colours'), json_remove(attributes, '$.weight') FROM product WHERE id < 600
SELECT upper(name), lower(email), length(name), trim(name, 'C '), instr(email, '@'), replace(email, 'example', 'test'), substr(name, -5), hex(name), quote(email) FROM customer WHERE id < 2500
SELECT printf('%-20s|%8.2f|%05d', title, price, id), format('%x %e', id, price), title||' '||sku, CAST(price AS INT), CAST(sku AS BLOB), typeof(price), coalesce(NULL, title), iif(stock>50, 'many', 'few') FROM product
SELECT abs(-stock), round(price, 1), stock/7, stock%7, price*1.19, stock<<2, stock&15, ~stock, max(stock, 50), min(price, 20.5), unicode(title), char(65+id%26) FROM product
SELECT date(at, '+1 month', 'start of month'), julianday(at)-julianday('2024-01-01'), strftime('%H:%M', at), unixepoch(at) FROM purchase WHERE id < 4000
SELECT sqrt(price), ln(price+1), pow(price, 0.5), sin(id), floor(price), median(price) FROM product GROUP BY id%50
WITH RECURSIVE tree(id, depth, path) AS (SELECT 1, 0, '1' UNION ALL SELECT p.id, depth+1, path||'/'||p.id FROM tree JOIN product p ON p.id IN (tree.id*2, tree.id*2+1) WHERE depth < 10) SELECT max(depth), count(*), max(length(path)) FROM tree
WITH RECURSIVE d(i, n) AS (SELECT 1, 1 UNION SELECT i+1, n*31%2003 FROM d WHERE i < 60000) SELECT count(DISTINCT n), sum(i) FROM d
WITH RECURSIVE queue(a, b) AS (SELECT 500, 1 UNION ALL SELECT a-1, b*3%101 FROM queue WHERE a > 0 ORDER BY 2 DESC) SELECT avg(b) FROM queue
WITH best AS MATERIALIZED (SELECT product, sum(quantity) q FROM purchase GROUP BY product ORDER BY q DESC LIMIT 100) SELECT p.title, best.q FROM best JOIN product p ON p.id=best.product
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<30000) SELECT sum(p.price) FROM n JOIN product p ON p.id = 1 + n.i*7919%3000
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<20000) SELECT count(c.name) FROM n JOIN customer c ON c.email = 'c'||(1+i*41%8000)||'@example.com'
SELECT a.id, b.id FROM product a JOIN product b ON a.price=b.price AND a.id<b.id WHERE a.stock=b.stock
SELECT count(*) FROM customer a, customer b WHERE a.country=b.country AND a.joined=b.joined AND a.id<b.id
UPDATE customer SET balance = balance + (SELECT total(p.price) FROM purchase b JOIN product p ON p.id=b.product WHERE b.customer=customer.id) WHERE country IN ('FR','UK')
UPDATE product SET price = round(price*1.05, 2), stock = stock-1 WHERE stock > 90
UPDATE product SET title = title||' (new)' WHERE id % 4 = 1
UPDATE customer SET country = 'CH' FROM (SELECT customer, count(*) n FROM purchase GROUP BY customer) x WHERE x.customer=customer.id AND x.n > 6
INSERT INTO product(sku, title, price, stock) VALUES ('SKU-0001', 'again', 1, 1), ('SKU-0002', 'again', 2, 2) ON CONFLICT(sku) DO UPDATE SET stock = stock+excluded.stock RETURNING id, stock
INSERT OR IGNORE INTO tag SELECT product, 'bought' FROM purchase
INSERT OR REPLACE INTO product(id, sku, title, price, stock) SELECT id, sku, title, price, stock FROM product WHERE id % 50 = 0 AND id NOT IN (SELECT product FROM purchase)
DELETE FROM tag WHERE word LIKE 'long%' AND product % 3 = 0
DELETE FROM log WHERE id % 2 = 0
DELETE FROM purchase WHERE at < '2024-01-04' RETURNING id
SAVEPOINT s
DELETE FROM purchase WHERE id % 5 = 0
UPDATE customer SET name = 'nobody' WHERE id < 3000
ROLLBACK TO s
RELEASE s
CREATE VIRTUAL TABLE found USING fts5(title, body, tokenize='porter unicode61')
INSERT INTO found(rowid, title, body) SELECT id, title, 'Weighs '||coalesce(attributes->>'weight', '?')||' kg, made in '||coalesce(attributes->>'$.made.in', 'an unknown plant')||'. Sold to customers who like '||title||' and the colour '||substr('blackwhitegreen', 1+id%3*5, 5) FROM product
SELECT rowid, highlight(found, 0, '[', ']'), bm25(found) FROM found WHERE found MATCH 'lamp AND plant' ORDER BY rank LIMIT 30
SELECT count(*) FROM found WHERE found MATCH '"made in" NOT chair OR title: tab*'
SELECT snippet(found, 1, '<', '>', '…', 8) FROM found WHERE found MATCH 'green NEAR(plant 4)' LIMIT 40
UPDATE found SET body = body||' reduced' WHERE rowid % 9 = 0
DELETE FROM found WHERE rowid % 13 = 0
INSERT INTO found(found) VALUES ('optimize')
CREATE VIRTUAL TABLE trigrams USING fts5(title, tokenize='trigram')
INSERT INTO trigrams SELECT title FROM product WHERE id < 1200
SELECT count(*) FROM trigrams WHERE title LIKE '%draw%'
CREATE VIRTUAL TABLE area USING rtree(id, x0, x1, y0, y1)
INSERT INTO area SELECT id, id%100, id%100+1, id/100, id/100+2 FROM customer WHERE id < 4000
SELECT count(*) FROM area WHERE x0 > 20 AND x1 < 60 AND y0 BETWEEN 3 AND 30
CREATE TABLE document (id INTEGER PRIMARY KEY, body TEXT, raw BLOB)
INSERT INTO document WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<200) SELECT i, replace(hex(zeroblob(2000+i*10)), '0', 'text '), randomblob(3000) FROM n
SELECT id, length(body), length(raw), substr(body, 3000, 20) FROM document WHERE instr(body, 'tt') = 0
SELECT sum(length(body)) FROM document
UPDATE document SET body = body||'.' WHERE id % 3 = 0
CREATE TABLE wide AS SELECT c.*, p.*, b.quantity FROM purchase b JOIN customer c ON c.id=b.customer JOIN product p ON p.id=b.product LIMIT 6000
SELECT * FROM wide WHERE quantity=3 LIMIT 1500
ALTER TABLE wide ADD COLUMN note TEXT DEFAULT 'none'
ALTER TABLE wide RENAME COLUMN note TO remark
ALTER TABLE wide DROP COLUMN remark
SELECT m.name, group_concat(x.name||' '||x.type, ', ') FROM sqlite_schema m, pragma_table_xinfo(m.name) x WHERE m.type='table' GROUP BY 1
SELECT m.name, i.name, i."unique", k.name FROM sqlite_schema m, pragma_index_list(m.name) i, pragma_index_xinfo(i.name) k
EXPLAIN QUERY PLAN SELECT * FROM spending WHERE id = 7
EXPLAIN SELECT c.name FROM customer c JOIN purchase b ON b.customer=c.id
PRAGMA foreign_key_check
PRAGMA integrity_check
DROP TABLE wide
REINDEX
VACUUM
