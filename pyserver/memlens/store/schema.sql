-- Text of an archive: what is fetched by number when somebody clicks or hovers. Numbers are in the column files.

CREATE TABLE strings (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL
);

-- The distinct frames; stacks refer to them by id.
CREATE TABLE frames (
    id INTEGER PRIMARY KEY,
    file TEXT NOT NULL,
    line INTEGER NOT NULL,          -- 0 when the file does not tell it
    function TEXT NOT NULL,
    kind INTEGER NOT NULL           -- 0 user, 1 library, 2 native
);

-- What each source line allocated, itself or through what it called; over all devices.
-- "At peak" is at each device's own peak.
CREATE TABLE source_lines (
    file TEXT NOT NULL,
    line INTEGER NOT NULL,
    function TEXT NOT NULL,
    kind INTEGER NOT NULL,
    total_bytes INTEGER NOT NULL,
    count INTEGER NOT NULL,
    live_at_peak_bytes INTEGER NOT NULL,
    live_at_peak_count INTEGER NOT NULL,
    live_at_end_bytes INTEGER NOT NULL,
    largest_bytes INTEGER NOT NULL,
    self_total_bytes INTEGER NOT NULL,
    self_count INTEGER NOT NULL,
    PRIMARY KEY (file, line)
) WITHOUT ROWID;

-- The torch.nn modules that stacks ran in, by the numbers in the column stack_module; 0 is "in none".
CREATE TABLE modules (
    id INTEGER PRIMARY KEY,
    parent INTEGER NOT NULL,
    name TEXT NOT NULL,
    path TEXT NOT NULL              -- model.py:42 / model.py:17 / nn.Linear
);

-- What frames of generated code tell of their FX nodes.
CREATE TABLE fx_nodes (
    frame INTEGER PRIMARY KEY,
    op TEXT NOT NULL,
    name TEXT NOT NULL,
    target TEXT NOT NULL,
    info TEXT NOT NULL
);

-- Of a profile: what each source line has of each value (numbered as the manifest lists them), itself or through what
-- it called, each sample once. What is charged to a line itself is told by the stacks; see memlens.model.attribution.
CREATE TABLE line_values (
    file TEXT NOT NULL,
    line INTEGER NOT NULL,
    value INTEGER NOT NULL,
    total INTEGER NOT NULL,
    PRIMARY KEY (file, line, value)
) WITHOUT ROWID;
