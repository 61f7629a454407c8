-- Units on their way from one shard of an activity to another. A row is written before anything moves; its id is what both
-- shards remember of it, so that each half happens once however often it is tried. planned: to be done, or half done; done:
-- both halves; void: nothing moved, since too few units were left, or since the shards were made anew under a later epoch.
CREATE TABLE IF NOT EXISTS stock_transfer (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  activity_id BIGINT UNSIGNED NOT NULL,
  epoch INT UNSIGNED NOT NULL,
  from_shard SMALLINT UNSIGNED NOT NULL,
  to_shard SMALLINT UNSIGNED NOT NULL,
  units INT UNSIGNED NOT NULL,
  state ENUM('planned', 'done', 'void') CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'planned',
  planned_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
  ended_at DATETIME(6) NULL,
  PRIMARY KEY (id),
  KEY k_activity (activity_id, state, id),
  CHECK (units > 0 AND from_shard <> to_shard)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin
