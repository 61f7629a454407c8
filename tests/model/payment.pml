/* Payment, cancellation and time-out of one order that is pending: who comes first wins, once. See README.md. */

#define MISHAPS  2
#define PAYMENTS 2 /* payment_refs */

#include "stock.pml"

mtype = { undecided, applied, refund_due }; /* payment.outcome */
mtype = { pay, cancel, expire };

mtype outcome[PAYMENTS] = undecided;
bool due;                  /* by the database's clock */
bool final;                /* paid or closed was committed */
byte order_paid[PAYMENTS]; /* messages in the queues */
byte order_cancel, order_unpaid;
bool rearmed;              /* the row timer:<order_no>: sent when it is due */
byte row_lock;             /* whose; 0: nobody's */

inline row_becomes(status)
{
    assert(!final); /* terminal is final */
    row = status;
    final = true
}

/* The lane's process dies, or its connection: locks go, and the broker delivers again. */
inline die()
{
    d_step {
        mishaps > 0 -> mishaps--;
        row_lock = (row_lock == _pid -> 0 : row_lock);
        if
        :: wish == pay -> order_paid[ref]++
        :: wish == cancel -> order_cancel++
        :: wish == expire -> order_unpaid++
        fi;
        wish = 0; ref = 0; seen = 0; known = 0
    }
}

#define OR_DIE :: die(); goto end_idle

/* src/domain/order/order_change.c: lock and read, judge by tbl/order_transition.h, write, commit. */
proctype lane()
{
    mtype wish, seen, known;
    byte ref;

end_idle:
    if
    :: d_step { order_paid[0] > 0 -> order_paid[0]--; wish = pay; ref = 0 }
    :: d_step { order_paid[1] > 0 -> order_paid[1]--; wish = pay; ref = 1 }
    :: d_step { order_cancel > 0 -> order_cancel--; wish = cancel }
    :: d_step { order_unpaid > 0 -> order_unpaid--; wish = expire }
    fi;
again:
    atomic {
#ifndef FAULT_NO_LOCK
        row_lock == 0 -> row_lock = _pid;
#endif
        seen = row;
        known = (wish == pay -> outcome[ref] : undecided)
#ifdef FAULT_PAYMENT_FORGOTTEN
        ; known = undecided
#endif
    };
#ifdef FAULT_RETURN_BEFORE_COMMIT
    if
    :: wish == expire && seen == pending && due -> script_return()
    :: else -> skip
    fi;
#endif
    if
    :: skip
    OR_DIE
    fi;
    d_step {
        if
        :: wish == pay && known != undecided -> skip /* decided before: the same answer */
        :: wish == pay && known == undecided && seen == pending ->
            row_becomes(paid);
            outcome[ref] = applied; stock_settle = waiting
        :: wish == pay && known == undecided && seen != pending ->
            assert(outcome[ref] == undecided); /* what was decided about a payment is decided once */
            outcome[ref] = refund_due
        :: wish == cancel && seen == pending ->
            row_becomes(closed);
            available++; stock_return = waiting
        :: wish == expire && seen == pending && due ->
            row_becomes(closed);
            available++; stock_return = waiting
        :: wish == expire && seen == pending && !due -> rearmed = true
#ifdef FAULT_CANCEL_OF_PAID
        :: wish == cancel && seen == paid ->
            final = false; row_becomes(closed);
            available++; stock_return = waiting
#else
        :: wish == cancel && seen == paid -> skip /* paid is final for timers and cancels */
#endif
        :: wish == expire && seen == paid -> skip
        :: wish != pay && seen == closed -> skip
        fi;
        row_lock = (row_lock == _pid -> 0 : row_lock);
        holds()
    };
    if
    :: d_step { wish = 0; ref = 0; seen = 0; known = 0 }; goto end_idle /* acknowledged */
    :: d_step { mishaps > 0 -> mishaps-- }; goto again /* the reply to COMMIT is lost */
    OR_DIE
    fi
}

/* A payment whose message may come twice, another one, and the buyer's change of mind. */
active proctype buyer()
{
    if
    :: order_paid[0]++
    :: order_paid[0] = 2
    :: d_step { order_paid[0]++; order_paid[1]++ }
    :: skip
    fi;
    if
    :: order_cancel++
    :: skip
    fi
}

/* The timer may be lost, or come too early (clocks differ). The sweep finds what it missed. */
active proctype timer()
{
    if
    :: order_unpaid++
    :: skip
    fi;
    due = true;
    if
    :: rearmed -> order_unpaid++
    :: !rearmed -> skip
    fi;
end:
    do
    :: d_step { row == pending && order_unpaid == 0 && row_lock == 0 -> order_unpaid++ } /* the sweep */
    od
}

/* src/flow/walk: what a row says and the ledger does not is done again. */
active proctype walk()
{
end:
    do
    :: held && row == closed -> script_return()
    :: held && row == paid -> script_settle()
    od
}

init
{
    d_step {
        left--; held_units++; held = true;
        row = pending; available--
    };
    atomic { run lane(); run lane(); run relay() }
}

/* When nothing can happen any more. */
active proctype at_rest()
{
    timeout;
    assert(order_paid[0] == 0 && order_paid[1] == 0 && order_cancel == 0 && order_unpaid == 0 && row_lock == 0);
    assert(stock_return != waiting && stock_settle != waiting);
    assert(row == paid || row == closed);
    assert((outcome[0] == applied) + (outcome[1] == applied) == (row == paid));
    if
    :: row == paid -> assert(!held && gone == sold && left == CAP - 1)
    :: else -> assert(!held && gone == returned && left == CAP)
    fi
}
