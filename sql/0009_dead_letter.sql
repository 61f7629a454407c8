-- What was taken out of the queue order.dead, to be worked on by people (`orderctl dlq`). letter_key is the SHA-256 of message
-- id and body, so that a delivery that comes again after a crash finds its row; a letter that dies anew is the same row
-- (`times`) and open again. died_at is the last death, or, where the letter does not say, when it was taken. Nothing is ever
-- deleted by age.
CREATE TABLE IF NOT EXISTS dead_letter (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  letter_key BINARY(32) NOT NULL,
  message_id VARBINARY(255) NOT NULL,
  content_type VARBINARY(255) NOT NULL,
  body LONGBLOB NOT NULL,
  headers MEDIUMTEXT NOT NULL,
  reason VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  detail VARCHAR(400) NOT NULL,
  queue VARCHAR(255) NOT NULL,
  attempts BIGINT UNSIGNED NOT NULL,
  activity_id BIGINT UNSIGNED NULL,
  order_no VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NULL,
  state ENUM('open', 'replayed', 'resolved', 'discarded') CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'open',
  times INT UNSIGNED NOT NULL DEFAULT 1,
  died_at DATETIME(3) NOT NULL,
  death_told BOOLEAN NOT NULL,
  taken_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  PRIMARY KEY (id),
  UNIQUE KEY uk_letter_key (letter_key),
  KEY k_state (state, reason),
  KEY k_activity (activity_id),
  KEY k_order_no (order_no)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
