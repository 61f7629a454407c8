/* One order of one unit, and a sale of two: what Redis keeps (the scripts of src/domain/stock, each of which is atomic)
 * and what MySQL keeps (a transaction is atomic at its COMMIT). Included by decision.pml and payment.pml. */

#define CAP 2

mtype = { none, pending, paid, closed, rejected };          /* orders.status; none: there is no row */
mtype = { unseen, returned, refused, sold };                /* the word in `gone` */
mtype = { absent, waiting, sent };                          /* a row of the local message table */

/* Redis */
byte left = CAP, held_units, sold_units;
bool held;             /* the reservation is in the ledger */
mtype gone = unseen;

/* MySQL */
mtype row = none;
byte available = CAP;
mtype stock_return = absent, stock_settle = absent, order_dead = absent;

/* How often something goes wrong in a run: a process dies, a reply is lost. */
byte mishaps = MISHAPS;

#define LIVE (row == pending || row == paid)

/* Invariants 1, 2, 5 and 6 of DESIGN section 1, for this order; after every step. */
inline holds()
{
    assert(left + held_units + sold_units == CAP);               /* the shard balances */
    assert(available + (LIVE -> 1 : 0) == CAP);                  /* and so does MySQL */
    assert(!(LIVE && (gone == returned || gone == refused)))     /* what is sold is not on sale */
}

/* deduct.lua */
inline script_deduct()
{
    d_step {
        if
        :: !held && gone == unseen -> left--; held_units++; held = true
        :: else -> skip /* held: the same answer; gone: refused */
        fi;
        holds()
    }
}

/* return.lua: it tests the ledger first, and leaving the ledger is what happens only once. */
inline script_return()
{
    d_step {
        if
#ifdef FAULT_RETURN_TWICE
        :: held || gone == returned ->
#else
        :: held ->
#endif
            held_units = (held -> held_units - 1 : held_units);
            left++; held = false; gone = returned
        :: else ->
            gone = (gone == unseen -> refused : gone) /* a late deduct comes too late */
        fi;
        holds()
    }
}

#ifdef PAYMENTS
/* settle.lua */
inline script_settle()
{
    d_step {
        if
        :: held -> held_units--; sold_units++; held = false; gone = sold
        :: else -> skip
        fi;
        holds()
    }
}
#endif

/* A row of the local message table is done when its effect is; who dies in between leaves it due. Since each effect is
 * atomic, a second relay at the same row is no more than the same effect once more. */
proctype relay()
{
end:
    do
    :: stock_return == waiting ->
        script_return();
        if
        :: stock_return = sent
        :: d_step { mishaps > 0 -> mishaps-- }
        fi
#ifdef PAYMENTS
    :: stock_settle == waiting ->
        script_settle();
        if
        :: stock_settle = sent
        :: d_step { mishaps > 0 -> mishaps-- }
        fi
#endif
    od
}
