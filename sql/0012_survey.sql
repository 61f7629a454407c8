-- What the one process that surveys the whole sale saw last, a JSON object, for all others to show. One row.
CREATE TABLE IF NOT EXISTS survey (
  id TINYINT UNSIGNED NOT NULL,
  at DATETIME(6) NOT NULL,
  body MEDIUMTEXT NOT NULL,
  PRIMARY KEY (id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
