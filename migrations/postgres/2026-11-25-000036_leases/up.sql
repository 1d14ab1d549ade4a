-- Work that one process of all does at a time, and until when it is whose. It belongs to no App.
CREATE TABLE leases (
    work TEXT COLLATE "C" NOT NULL,
    holder TEXT COLLATE "C" NOT NULL,
    until INT8 NOT NULL,
    CONSTRAINT leases_work_key PRIMARY KEY (work)
);
