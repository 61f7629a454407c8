/* Every Lua script: X(SCRIPT, name). Its source is src/domain/stock/<name>.lua, embedded at build and installed for
 * other web tiers; its head comment is its contract. The build reads these rows too: one a line.
 * No guard: included once per use. */
X(DEDUCT, deduct)
X(RETURN, return)
X(PREHEAT, preheat)
X(AUDIT, audit)
X(LOOK, look)
X(SETTLE, settle)
X(ADOPT, adopt)
X(RECLAIM, reclaim)
X(RESTOCK, restock)
X(LEND, lend)
X(BORROW, borrow)
X(EXTEND, extend)
X(PAUSE, pause)
X(REBUILD, rebuild)
X(REMOVE, remove)
X(ANNOUNCE, announce)
