-- Who did what to a dead letter, when and why: written in the transaction that does it, never changed or deleted.
CREATE TABLE IF NOT EXISTS dead_letter_action (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  letter_id BIGINT UNSIGNED NOT NULL,
  action VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  who VARCHAR(200) NOT NULL,
  note VARCHAR(400) NOT NULL DEFAULT '',
  done_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  PRIMARY KEY (id),
  KEY k_letter (letter_id, id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
