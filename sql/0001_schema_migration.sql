-- Which of these files were applied: written by `orderctl migrate up`, read by the daemon at start.
CREATE TABLE IF NOT EXISTS schema_migration (
  version INT UNSIGNED NOT NULL,
  name VARCHAR(100) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  checksum CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  applied_at DATETIME(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  PRIMARY KEY (version)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
