-- The last line against overselling, and the hot row of a sale: every transaction touches it last. takes_orders goes
-- off, under this row's lock, when the activity is settled, so that no order slips in behind the settlement.
CREATE TABLE IF NOT EXISTS activity_stock (
  activity_id BIGINT UNSIGNED NOT NULL,
  total BIGINT NOT NULL,
  available BIGINT NOT NULL,
  takes_orders BOOLEAN NOT NULL DEFAULT TRUE,
  PRIMARY KEY (activity_id),
  CONSTRAINT activity_stock_range CHECK (available >= 0 AND available <= total)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
