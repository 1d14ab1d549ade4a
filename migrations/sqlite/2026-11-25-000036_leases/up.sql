-- Work that one process of all does at a time, and until when it is whose. It belongs to no App.
CREATE TABLE leases (
    work TEXT NOT NULL,
    holder TEXT NOT NULL,
    until INTEGER NOT NULL,
    CONSTRAINT leases_work_key PRIMARY KEY (work)
) STRICT;
