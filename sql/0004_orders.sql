-- One row per order number for ever, rejected ones included: the row is the memory of what was decided.
-- live_user is the user while the order is pending or paid and NULL otherwise, so uk_live allows one live order for each
-- of a buyer's marks and any number of dead ones. STORED, not VIRTUAL: an indexed virtual column is computed again by
-- purge. Not partitioned: every unique key would have to hold the partition's column.
CREATE TABLE IF NOT EXISTS orders (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  order_no VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  activity_id BIGINT UNSIGNED NOT NULL,
  user_id BIGINT UNSIGNED NOT NULL,
  user_seq SMALLINT UNSIGNED NOT NULL,
  sku_id BIGINT UNSIGNED NOT NULL,
  quantity INT UNSIGNED NOT NULL,
  amount BIGINT NOT NULL,
  shard SMALLINT UNSIGNED NOT NULL,
  epoch INT UNSIGNED NOT NULL,
  status ENUM('pending', 'paid', 'closed', 'rejected') CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  live_user BIGINT UNSIGNED GENERATED ALWAYS AS (CASE WHEN status IN ('pending', 'paid') THEN user_id END) STORED,
  reason VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '',
  units_returned INT UNSIGNED NOT NULL DEFAULT 0,
  units_forfeited INT UNSIGNED NOT NULL DEFAULT 0,
  replaces VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NULL,
  replaced_by VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NULL,
  reserved_at DATETIME(3) NOT NULL,
  created_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  expires_at DATETIME(6) NULL,
  paid_at DATETIME(6) NULL,
  closed_at DATETIME(6) NULL,
  PRIMARY KEY (id),
  UNIQUE KEY uk_order_no (order_no),
  UNIQUE KEY uk_live (activity_id, live_user, user_seq),
  KEY k_due (status, expires_at),
  CONSTRAINT orders_quantity CHECK (quantity > 0),
  CONSTRAINT orders_amount CHECK (amount >= 0)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
