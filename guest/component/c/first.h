/* Included before every C file. sqlite-vec adds up long lists of numbers: it may do so in any order, and
** so by four at a time. SQLite may not, whose sums compensate for what rounding loses. */
#ifndef SQLITE_DEFAULT_FOREIGN_KEYS /* which SQLite's build alone defines */
#pragma clang fp reassociate(on)
#endif
