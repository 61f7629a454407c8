-- What was made of dead letters: a body that replaces one which no queue takes, or a message that was sent. Rows are written in
-- the transaction that does it, and never changed or deleted: the newest body is the one in force, the original stays in
-- dead_letter. message_key names the row of local_message; order_no the order that the message is about. Where
-- that is a new number (new_order), the row is written before anything is taken for it.
CREATE TABLE IF NOT EXISTS dead_letter_made (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  letter_id BIGINT UNSIGNED NOT NULL,
  kind ENUM('body', 'message') CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  body LONGBLOB NULL,
  message_key VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NULL,
  order_no VARCHAR(40) CHARACTER SET ascii COLLATE ascii_bin NULL,
  new_order BOOLEAN NOT NULL DEFAULT FALSE,
  who VARCHAR(200) NOT NULL,
  made_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  PRIMARY KEY (id),
  KEY k_letter (letter_id, kind, id),
  KEY k_order_no (order_no)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
