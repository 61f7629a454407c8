-- The orders of an activity are counted from this index alone, without a look at the rows; what is inserted and moved in it
-- is as much as before. May be run again: it ends at the same index.
ALTER TABLE orders DROP KEY k_due, ADD KEY k_due (status, expires_at, activity_id, quantity)
