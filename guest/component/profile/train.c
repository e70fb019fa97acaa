/* Runs a file of statements, one a line, on a database in memory and on files with a rollback journal
** and with a log, and after each file many small statements, as clients send them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "sqlite3.h"

static int go_on(void *unused) { (void)unused; return 0; }

static void check(sqlite3 *db, int rc, const char *sql) {
  if (rc == SQLITE_OK || rc == SQLITE_DONE) return;
  fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
  exit(1);
}

/* Reads every value, as whoever renders rows does. */
static void run(sqlite3 *db, const char *sql, int number) {
  sqlite3_stmt *statement;
  int rc = sqlite3_prepare_v2(db, sql, -1, &statement, 0);
  check(db, rc, sql);
  if (sqlite3_bind_parameter_count(statement) > 0) sqlite3_bind_int(statement, 1, number);
  while ((rc = sqlite3_step(statement)) == SQLITE_ROW)
    for (int i = 0; i < sqlite3_column_count(statement); i++)
      switch (sqlite3_column_type(statement, i)) {
        case SQLITE_INTEGER: sqlite3_column_int64(statement, i); break;
        case SQLITE_FLOAT: sqlite3_column_double(statement, i); break;
        case SQLITE_TEXT: sqlite3_column_text(statement, i); sqlite3_column_bytes(statement, i); break;
        case SQLITE_BLOB: sqlite3_column_blob(statement, i); sqlite3_column_bytes(statement, i); break;
      }
  check(db, rc, sql);
  check(db, sqlite3_finalize(statement), sql);
}

static void train(const char *name, const char *journal, const char *script) {
  static char line[1 << 16];
  sqlite3 *db;
  check(0, sqlite3_open(name, &db), name);
  sqlite3_progress_handler(db, 1000, go_on, 0);
  sqlite3_db_config(db, SQLITE_DBCONFIG_STMT_SCANSTATUS, 0, 0);
  run(db, journal, 0);
  FILE *file = fopen(script, "r");
  if (!file) { perror(script); exit(1); }
  while (fgets(line, sizeof line, file))
    if (strncmp(line, "--", 2)) run(db, line, 0);
  fclose(file);
  for (int i = 0; i < 2000; i++) {
    run(db, "SELECT * FROM customer WHERE id = ?1", 1 + i * 7 % 8000);
    run(db, "SELECT b.at, p.title FROM purchase b JOIN product p ON p.id=b.product WHERE b.customer = ?1", i);
    if (i % 5 == 0) run(db, "INSERT INTO log(what, new) VALUES ('seen', ?1)", i);
    if (i % 5 == 1) run(db, "UPDATE product SET stock = stock + 1 WHERE id = ?1", 1 + i);
    if (i % 20 == 2) run(db, "DELETE FROM log WHERE id = ?1", i);
  }
  check(db, sqlite3_close(db), name);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  train(":memory:", "PRAGMA journal_mode=MEMORY", argv[1]);
  train("rollback.db", "PRAGMA journal_mode=DELETE", argv[1]);
  train("log.db", "PRAGMA journal_mode=WAL", argv[1]);
  return 0;
}
