DROP TABLE IF EXISTS sqlite_stat4;
DROP TABLE sqlite_stat1;
