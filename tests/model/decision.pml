/* The terminal decision: retries, dead letter, tombstone, and the stock given back once. See README.md. */

#define MISHAPS    2
#define RETRIES    1 /* of retry.delays: three make no other states */
#define RECOVERIES 1 /* nor do three of these */

#include "stock.pml"

byte work[RETRIES + 1]; /* order.create: how many copies there are that were tried so often */
bool lettered;          /* it is in order.dead */
bool decided;           /* a terminal row was committed */
byte recoveries;

/* A web tier: the deduct and the publish, in either order; the publish may never happen, or happen twice. At the end the
 * deduct whose answer was lost is repeated, perhaps very late. */
active proctype web_tier()
{
    if
    :: script_deduct(); work[0]++
    :: script_deduct(); work[0] = work[0] + 2
    :: script_deduct() /* it died: nobody but the walk knows */
    :: work[0]++; script_deduct()
    fi;
    script_deduct()
}

/* src/domain/order/order_rejection.c: one transaction, whose first statement is the tombstone's INSERT. */
inline transaction_reject()
{
    atomic {
        if
#ifdef FAULT_INSERT_IGNORE
        :: true ->
            row = (row == none -> rejected : row);
#else
        :: row == none ->
            row = rejected;
#endif
            decided = (row == rejected);
            stock_return = (stock_return == absent -> waiting : stock_return);
            order_dead = (order_dead == absent -> waiting : order_dead)
        :: row != none -> skip /* 1062: somebody has decided, and it is void */
        fi;
        holds()
    }
}

/* The lane's process dies, or its connection: the broker delivers again what was not acknowledged. */
#define OR_DIE :: d_step { mishaps > 0 -> mishaps--; work[attempt]++; attempt = 0; passed_on = false }; goto end_idle

/* Invariant 4: what it was about is in MySQL, or in another queue. */
inline acknowledge()
{
    d_step {
        assert(row != none || passed_on);
        attempt = 0; passed_on = false
    }
}

/* src/flow/create: take, persist, settle, decide. */
proctype lane()
{
    byte attempt;
    bool passed_on;

end_idle:
    if
    :: d_step { work[0] > 0 -> work[0]--; attempt = 0 }
    :: d_step { work[1] > 0 -> work[1]--; attempt = 1 }
    fi;
#ifdef FAULT_ACK_FIRST
    acknowledge();
#endif
persist:
    if
    :: row != none -> goto done /* the same order again */
    :: d_step {
           row == none ->
           assert(!decided); /* terminal is final */
           row = pending; available--;
           holds()
       };
       if
       :: goto done
       :: d_step { mishaps > 0 -> mishaps-- }; goto persist /* the reply to COMMIT is lost: the same once more */
       fi
    :: row == none -> skip /* it fails by a fault of its own, for the moment or for good */
    fi;
    if
    :: attempt < RETRIES ->
#ifdef FAULT_RETRY_ACKED_FIRST
        acknowledge();
#endif
        d_step { work[attempt + 1]++; passed_on = true }; /* confirmed: until the acknowledgement there are two of it */
        goto done
    :: else -> skip
    fi;
decide:
#ifdef FAULT_RETURN_BEFORE_COMMIT
    script_return();
#endif
#ifdef FAULT_LETTER_BEFORE_COMMIT
    lettered = true;
#endif
    if
    :: transaction_reject();
       if
       :: goto persist /* looks what is there now: its own tombstone, or what somebody else decided */
       :: d_step { mishaps > 0 -> mishaps-- }; goto decide /* the reply to COMMIT is lost: the keys answer */
       fi
    OR_DIE
    fi;
done:
    if
    :: acknowledge(); goto end_idle
    OR_DIE
    fi
}

/* src/flow/relay, for the letter: at least once. */
active proctype relay_of_letters()
{
end:
    do
    :: order_dead == waiting ->
        if
        :: d_step { lettered = true; order_dead = sent }
        :: d_step { mishaps > 0 -> mishaps--; lettered = true }
        fi
    od
}

/* src/flow/walk: reads the ledger, then the rows, and acts on what it saw, which may be over by then. That it waits until
 * an order is old enough is left out: whenever it comes, no harm may be done. */
#ifndef FAULT_NO_WALK
active proctype walk()
{
end:
    do
    :: d_step { held && row == none && recoveries < RECOVERIES -> recoveries++ };
        work[0]++ /* the message, rebuilt from the reservation */
    :: held && row == none && recoveries == RECOVERIES ->
        transaction_reject() /* unrecoverable */
    :: held && row == rejected ->
        script_return() /* what the row says */
    od
}
#endif

init
{
    atomic { run lane(); run lane(); run relay() }
}

/* When nothing can happen any more. */
active proctype at_rest()
{
    timeout;
    assert(work[0] == 0 && work[1] == 0);
    assert(stock_return != waiting && order_dead != waiting);
    assert(row == pending || row == rejected); /* the deduct took a unit, so there is an order or a decision */
    if
    :: row == pending -> assert(held && left == CAP - 1 && !lettered)
    :: else -> assert(!held && left == CAP && lettered)
    fi
}
