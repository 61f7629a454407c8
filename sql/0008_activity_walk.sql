-- What the last whole walk of each activity was: from when on the next one is due, and what it found. Written only by the
-- session that holds the activity's walk lock.
CREATE TABLE IF NOT EXISTS activity_walk (
  activity_id BIGINT UNSIGNED NOT NULL,
  walks BIGINT UNSIGNED NOT NULL DEFAULT 0,
  walker VARCHAR(80) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  began_at DATETIME(6) NOT NULL,
  took_ms BIGINT UNSIGNED NOT NULL,
  reservations BIGINT UNSIGNED NOT NULL,
  recovered BIGINT UNSIGNED NOT NULL,
  deferred BIGINT UNSIGNED NOT NULL,
  mended BIGINT UNSIGNED NOT NULL,
  need_person BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (activity_id)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
