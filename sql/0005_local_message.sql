-- The local message table: what must be sent or done after a transaction, written in that transaction. Producers in any
-- language may insert rows here (docs/local-message.md). Times are UTC whatever the session's time zone is.
-- due_at is when anyone may take the row next: a claim moves it to the end of its lease, a failure to the end of its
-- back-off, success to the time it was sent; so k_due serves the claim, the oldest age and the clean-up. first_due_at is
-- what it was before the first attempt: since when a row that cannot be sent has been waiting.
CREATE TABLE IF NOT EXISTS local_message (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  message_key VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  topic VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  payload MEDIUMBLOB NOT NULL,
  headers MEDIUMTEXT NULL,
  state ENUM('pending', 'sent', 'quarantined') CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'pending',
  attempts INT UNSIGNED NOT NULL DEFAULT 0,
  due_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  lease_owner VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin NULL,
  lease_until DATETIME(6) NULL,
  last_error VARCHAR(400) NULL,
  created_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  sent_at DATETIME(6) NULL,
  first_due_at DATETIME(6) NULL,
  PRIMARY KEY (id),
  UNIQUE KEY uk_message_key (message_key),
  KEY k_due (state, due_at)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
