-- What was decided about a payment, once for ever: whoever sends the same payment_ref again gets the answer that stands
-- here. applied_to is the order while the payment pays it and NULL otherwise, so uk_applied lets no order be paid twice
-- whatever the code does. order_no has no foreign key: orders are archived before payments are.
CREATE TABLE IF NOT EXISTS payment (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  payment_ref VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  order_no VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  amount BIGINT NOT NULL,
  paid_at DATETIME(3) NOT NULL,
  outcome ENUM('applied', 'refund_due', 'amount_mismatch') CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  reason VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  applied_to VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin
    GENERATED ALWAYS AS (CASE WHEN outcome = 'applied' THEN order_no END) STORED,
  decided_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  PRIMARY KEY (id),
  UNIQUE KEY uk_payment_ref (payment_ref),
  UNIQUE KEY uk_applied (applied_to),
  KEY k_order_no (order_no),
  CONSTRAINT payment_amount CHECK (amount >= 0)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
