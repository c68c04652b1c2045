-- The tables for people who ask an archive in SQL, filled by store/tables/fill.py when SQL is first wanted.
--
-- Sizes are bytes (..._bytes), times are microseconds since the device's first event (..._us). A moment counts a
-- device's events: moment 0 is the state before the trace, moment 3 the state after its third event.
-- Addresses are unsigned 64-bit numbers, and SQLite's integers are signed; so `address` is hexadecimal text, made when
-- it is asked for, and `address_int` the same bits as a signed integer, for arithmetic and for joins.
-- Texts that many rows share are cut, with … at their end, where the rows would have far more text than the file.
-- Whoever changes this file raises TABLES_VERSION in store/tables/fill.py. The comments are shown in the editor.

-- The devices of the snapshot.
CREATE TABLE devices (
    device INTEGER PRIMARY KEY,     -- number of the device, as in cuda:0
    events INTEGER NOT NULL,        -- how many events its trace has
    allocations INTEGER NOT NULL,   -- how many allocations were found
    peak_bytes INTEGER NOT NULL,    -- the most that was live at one moment
    peak_moment INTEGER NOT NULL,   -- the first moment at which the peak was live
    peak_time_us INTEGER,           -- when that was, 0 where it was before the trace; NULL without times
    live_at_start_bytes INTEGER NOT NULL,   -- live before the first event
    live_at_end_bytes INTEGER NOT NULL,     -- live after the last event
    reserved_at_end_bytes INTEGER,  -- held by segments when the snapshot was taken; NULL when the file does not record it
    ooms INTEGER NOT NULL,          -- out-of-memory events
    time_origin_us INTEGER          -- Unix time of the first event, which is at time_us 0; NULL without times
);

-- The trace: what the allocator recorded, in its order.
CREATE TABLE events (
    event INTEGER PRIMARY KEY,      -- number of the event, over all devices
    device INTEGER NOT NULL,        -- whose trace it is in
    moment INTEGER NOT NULL,        -- the state after it; the device's first event makes moment 1
    time_us INTEGER,                -- when; NULL without times
    action TEXT NOT NULL,           -- alloc, free_requested, free_completed, segment_alloc, segment_free, segment_map,
    -- segment_unmap, oom, snapshot, annotate, or what else the file names; unknown where it names nothing
    size_bytes INTEGER,             -- of the allocation (requested bytes) or segment; of an oom, what was asked for, NULL if unknown
    live_bytes INTEGER NOT NULL,    -- live on the device after it
    allocation INTEGER,             -- the allocation that it starts or ends; NULL for none
    stack INTEGER NOT NULL,         -- where it was recorded
    stream TEXT NOT NULL,           -- the stream's number, 0 is the default stream
    pool TEXT,                      -- id of the private pool as 'a:b'; NULL when the file does not record it
    address_int INTEGER NOT NULL,   -- the address as a signed integer
    address TEXT AS (printf('0x%x', address_int)) VIRTUAL  -- the address, hexadecimal
);

-- Facts that only few events have.
CREATE TABLE notes (
    event INTEGER NOT NULL,         -- number of the event
    name TEXT NOT NULL,             -- device_free (bytes, of an oom), user_metadata or compile_context
    value ANY                       -- a number for device_free, else text
);

-- Pieces of memory with their whole lives. The numbers are those of the picture.
CREATE TABLE allocations (
    allocation INTEGER PRIMARY KEY, -- number of the allocation
    device INTEGER NOT NULL,        -- where it lies
    size_bytes INTEGER NOT NULL,    -- requested bytes
    rounded_bytes INTEGER,          -- the allocator's block; NULL when the file does not record it
    start_moment INTEGER NOT NULL,  -- the first moment at which it is live; 0 when it was live before the trace
    end_moment INTEGER,             -- the first moment at which it is not; NULL when it was never freed
    start_time_us INTEGER,          -- when it was made; NULL without times or before the trace
    end_time_us INTEGER,            -- when it was freed; NULL while it is live
    lifetime_us INTEGER AS (end_time_us - start_time_us) VIRTUAL,  -- how long it lived; NULL if not known
    live_at_peak INTEGER NOT NULL,  -- 1 when it was live at its device's peak, else 0
    before_trace INTEGER NOT NULL,  -- 1 when it was allocated before recording, else 0, also where there is no trace
    pending_free INTEGER NOT NULL,  -- 1 when its free was requested and not completed, else 0
    state TEXT AS (iif(end_moment IS NOT NULL, 'freed', iif(pending_free, 'pending_free', 'live'))) VIRTUAL,
    -- state: freed, live, or pending_free
    category TEXT,                  -- parameter, optimizer_state, gradient, activation, temporary, input, autograd_detail
    -- or unknown, as the profiler names them; 'x (inferred)' when not in the file; NULL for none
    inferred_module TEXT,           -- the module that it belongs to, where that is inferred; NULL for none
    stack INTEGER NOT NULL,         -- the stack that made it; 0 when the file has none
    freed_stack INTEGER,            -- where it was freed, which counts for no line; NULL when the file does not record it
    stream TEXT NOT NULL,           -- the stream's number, 0 is the default stream
    address_int INTEGER NOT NULL,   -- the address as a signed integer
    address TEXT AS (printf('0x%x', address_int)) VIRTUAL  -- the address, hexadecimal
);

-- The distinct stacks, with what they allocated. Figures that the file does not record are NULL, here and for lines.
CREATE TABLE stacks (
    stack INTEGER PRIMARY KEY,      -- number of the stack; 0 is the empty one
    frame INTEGER,                  -- the frame to show first: the innermost of the user's own code, if there is one
    innermost_frame INTEGER,        -- the innermost frame, whoever's code, but for allocation functions, functions
    -- without a name and, beside Python, native code of a trace
    depth INTEGER NOT NULL,         -- how many frames it has
    total_bytes INTEGER,   -- all that it allocated
    count INTEGER,         -- in so many allocations
    live_at_peak_bytes INTEGER,    -- of that, live at each device's peak
    live_at_peak_count INTEGER,    -- in so many allocations
    live_at_end_bytes INTEGER,     -- of that, live after the last event
    largest_bytes INTEGER, -- its largest allocation's size
    largest_allocation INTEGER      -- and number
);

-- Which frames a stack is made of.
CREATE TABLE stack_frames (
    stack INTEGER NOT NULL,         -- number of the stack
    level INTEGER NOT NULL,         -- 0 is the innermost frame
    frame INTEGER NOT NULL,         -- the frame that stands there
    PRIMARY KEY (stack, level)
) WITHOUT ROWID;

-- The texts that frames have, each once; frames and lines, which people ask for, are views below.
CREATE TABLE frame_texts (
    string INTEGER PRIMARY KEY,
    text TEXT NOT NULL
);

CREATE TABLE frame_rows (
    frame INTEGER PRIMARY KEY,
    file_string INTEGER NOT NULL,
    line INTEGER NOT NULL,
    function_string INTEGER NOT NULL,
    kind TEXT NOT NULL,
    source TEXT NOT NULL
);

CREATE TABLE line_rows (
    file_string INTEGER NOT NULL,
    line INTEGER NOT NULL,
    function_string INTEGER NOT NULL,
    kind TEXT NOT NULL,
    source TEXT NOT NULL,
    live_at_peak_bytes INTEGER,
    live_at_peak_count INTEGER,
    total_bytes INTEGER,
    count INTEGER,
    live_at_end_bytes INTEGER,
    largest_bytes INTEGER,
    self_total_bytes INTEGER,
    self_count INTEGER,
    PRIMARY KEY (file_string, line)
) WITHOUT ROWID;

-- The distinct frames: places in source files.
CREATE VIEW frames AS
SELECT
    r.frame,                -- frame INTEGER: number of the frame
    (SELECT text FROM frame_texts WHERE string = r.file_string) AS file,
    -- file TEXT: as on the machine that ran the job; empty for native code
    r.line,                 -- line INTEGER: 0 when the file does not record it
    (SELECT text FROM frame_texts WHERE string = r.function_string) AS function,
    -- function TEXT: the function's name
    r.kind,                 -- kind TEXT: user, library or native
    r.source                -- source TEXT: recorded; forward or fx stands beside the stack and called nothing
FROM frame_rows AS r;

-- What each source line allocated, itself or through what it called, over all devices.
CREATE VIEW lines AS
SELECT
    (SELECT text FROM frame_texts WHERE string = r.file_string) AS file,
    -- file TEXT: as on the machine that ran the job
    r.line,                 -- line INTEGER: line of the file
    (SELECT text FROM frame_texts WHERE string = r.function_string) AS function,
    -- function TEXT: the function that it stands in
    r.kind,                 -- kind TEXT: user, library or native
    r.source,               -- source TEXT: recorded; forward or fx if no recorded stack has the line
    r.live_at_peak_bytes,   -- live_at_peak_bytes INTEGER: live at each device's peak
    r.live_at_peak_count,   -- live_at_peak_count INTEGER: in so many allocations
    r.total_bytes,          -- total_bytes INTEGER: all that was allocated
    r.count,                -- count INTEGER: in so many allocations
    r.live_at_end_bytes,    -- live_at_end_bytes INTEGER: live after the last event
    r.largest_bytes,        -- largest_bytes INTEGER: the largest allocation's size
    r.self_total_bytes,     -- self_total_bytes INTEGER: by stacks whose innermost frame with a line it is
    r.self_count            -- self_count INTEGER: in so many allocations
FROM line_rows AS r;

-- The memory that the allocator held when the snapshot was taken.
CREATE TABLE segments (
    segment INTEGER PRIMARY KEY,    -- number of the segment
    device INTEGER NOT NULL,        -- where it lies
    type TEXT NOT NULL,             -- small or large; empty when the file does not record it
    total_bytes INTEGER,            -- its size; NULL, as the next three, when the file does not record it
    allocated_bytes INTEGER,        -- in blocks that are allocated
    active_bytes INTEGER,           -- in blocks that are allocated or wait to be freed
    requested_bytes INTEGER,        -- of the allocated, what was asked for before rounding
    expandable INTEGER NOT NULL,    -- 1 for an expandable segment, else 0
    stream TEXT NOT NULL,           -- the stream's number, 0 is the default stream
    pool TEXT,                      -- id of the private pool as 'a:b'; NULL when the file does not record it
    stack INTEGER NOT NULL,         -- where it was made
    address_int INTEGER NOT NULL,   -- the address as a signed integer
    address TEXT AS (printf('0x%x', address_int)) VIRTUAL  -- the address, hexadecimal
);

-- What the segments were divided into when the snapshot was taken.
CREATE TABLE blocks (
    block INTEGER PRIMARY KEY,      -- number of the block
    segment INTEGER,                -- the segment that it is a part of
    device INTEGER,                 -- where it lies
    state TEXT NOT NULL,            -- active_allocated, active_pending_free (or active_awaiting_free) or inactive
    size_bytes INTEGER NOT NULL,    -- its size
    requested_bytes INTEGER NOT NULL,       -- what was asked for before rounding
    stack INTEGER NOT NULL,         -- where it was allocated
    address_int INTEGER NOT NULL,   -- the address as a signed integer
    address TEXT AS (printf('0x%x', address_int)) VIRTUAL  -- the address, hexadecimal
);

-- Marks of the program's own: steps, optimizer calls, profiler ranges.
CREATE TABLE annotations (
    annotation INTEGER PRIMARY KEY, -- number of the mark
    device INTEGER NOT NULL,        -- which device it was recorded for
    time_us INTEGER NOT NULL,       -- when, on the device's time; Unix time when the device has none
    moment INTEGER,                 -- the device's moment then; NULL without times
    stage TEXT NOT NULL,            -- START or END
    name TEXT NOT NULL              -- what it says
);

-- The values that a profile's samples have; empty for traces, as the next three are.
CREATE TABLE value_types (
    value INTEGER PRIMARY KEY,      -- number of the value
    name TEXT NOT NULL,             -- the profile's own term, as inuse_space
    unit TEXT NOT NULL,             -- bytes, count, nanoseconds or what else the profile says
    meaning TEXT NOT NULL,          -- live, peak, total, end, temporary or other
    title TEXT NOT NULL,            -- what it is called here
    total INTEGER NOT NULL          -- all samples of the profile together
);

-- What a profile counted together: allocations of one stack, and of one size or label where it separates them.
CREATE TABLE samples (
    sample INTEGER PRIMARY KEY,     -- number of the sample
    stack INTEGER NOT NULL,         -- where it was allocated
    size_bytes INTEGER              -- the size of each of its blocks; NULL when the profile does not record it
);

-- The samples' values, those that are not 0.
CREATE TABLE sample_values (
    sample INTEGER NOT NULL,        -- number of the sample
    value INTEGER NOT NULL,         -- number of the value
    amount INTEGER NOT NULL,        -- in the value's unit
    PRIMARY KEY (sample, value)
) WITHOUT ROWID;

-- The samples' labels.
CREATE TABLE labels (
    sample INTEGER NOT NULL,        -- number of the sample
    name TEXT NOT NULL,             -- the label, as thread
    text ANY,                       -- what it says: a text or a number
    unit TEXT                       -- of a number; NULL without one
);

-- The types of a heap dump's objects.
CREATE TABLE types (
    type_id INTEGER PRIMARY KEY,    -- number of the type, as in objects: several types may have one name
    type TEXT NOT NULL,             -- the type's name, without its module
    kind TEXT NOT NULL,             -- what it is to the runtime: class, closure, string
    count INTEGER NOT NULL,         -- how many objects are of it
    shallow_bytes INTEGER NOT NULL, -- their own bytes
    retained_bytes INTEGER NOT NULL,        -- what they retain, each byte counted once
    native_bytes INTEGER,           -- memory outside of the heap that they own; NULL if the dump says so of no object
    native_retained_bytes INTEGER,  -- what they retain of that, each byte counted once; NULL likewise
    package TEXT,                   -- its package or namespace; NULL for none
    module TEXT,                    -- its assembly, module or class loader, as far as it has one; NULL for none
    class INTEGER,                  -- the object that is the class; NULL if there is none
    superclass INTEGER              -- the object that is the class which that extends; NULL if none or not known
);

-- A heap dump's objects.
CREATE TABLE objects (
    object INTEGER PRIMARY KEY,     -- number of the object in the file
    id INTEGER NOT NULL,            -- the file's own id or the address, as a signed integer
    type_id INTEGER NOT NULL,       -- number of its type in types
    type TEXT NOT NULL,             -- its type's name
    name TEXT NOT NULL,             -- its own name or a string's text, cut after 256 bytes; whole in strings
    shallow_bytes INTEGER NOT NULL, -- its own bytes
    retained_bytes INTEGER NOT NULL,        -- what would be freed with it
    retained_count INTEGER NOT NULL,        -- how many objects would be freed with it, itself included
    dominator INTEGER,              -- the object that all paths to it pass through last; NULL where there is none
    distance INTEGER,               -- the least number of references from a root; NULL where no root reaches it
    file TEXT,                      -- where it is defined, else allocated, else its class defined; NULL if not known
    line INTEGER,                   -- line of the file
    name_string INTEGER NOT NULL,   -- the string that its name is, 0 for none
    allocated_us INTEGER,           -- until when it was allocated, since a recording began; NULL if not known
    native_bytes INTEGER,           -- memory outside of the heap that it owns; NULL if the dump says so of no object
    native_retained_bytes INTEGER,  -- what of such memory would be freed with it; NULL likewise
    heap TEXT,                      -- the heap that it is in, as app or zygote; NULL if not known
    package TEXT AS (package_of_type(type_id)) VIRTUAL,  -- its type's package or namespace; NULL for none
    module TEXT AS (module_of_type(type_id)) VIRTUAL  -- its type's assembly, module or class loader; NULL for none
);

-- References between a heap dump's objects, in the order of their sources.
CREATE TABLE refs (
    ref INTEGER PRIMARY KEY,        -- number of the reference
    source INTEGER NOT NULL,        -- the object that refers
    target INTEGER NOT NULL,        -- the object that is referred to
    kind TEXT NOT NULL,             -- field, element, property or what else the format has
    strength TEXT NOT NULL,         -- strong, or how it is weak
    retains INTEGER NOT NULL,       -- 1 when it keeps its target alive and counts for dominators, else 0
    name TEXT NOT NULL,             -- the field's name, cut after 256 bytes, or an index
    key TEXT                        -- the text of an entry's key in a dictionary, which has no name; else NULL
);

-- What keeps a heap dump's objects alive from outside.
CREATE TABLE roots (
    object INTEGER NOT NULL,        -- the object that is held
    kind TEXT NOT NULL,             -- what holds it
    detail TEXT NOT NULL,           -- which one: a thread, a module; empty if not known
    file TEXT,                      -- where a frame that holds it stands; NULL if no frame holds it
    line INTEGER                    -- line of the file
);

-- A heap dump's threads; empty where it has none, as the next two are.
CREATE TABLE threads (
    thread INTEGER PRIMARY KEY,     -- number of the thread
    object INTEGER,                 -- the thread's object; NULL if the file does not have it
    name TEXT NOT NULL,             -- its name; empty if not known
    state TEXT NOT NULL,            -- what it was doing, as waiting; empty if not known
    out_of_memory INTEGER NOT NULL  -- 1 for a thread that ran out of memory, else 0
);

-- The frames of threads' stacks.
CREATE TABLE thread_frames (
    thread INTEGER NOT NULL,        -- number of the thread
    depth INTEGER NOT NULL,         -- 0 for the innermost frame
    function TEXT NOT NULL,         -- the function; empty if not known
    file TEXT,                      -- its file; NULL if not known
    line INTEGER,                   -- line of the file
    PRIMARY KEY (thread, depth)
) WITHOUT ROWID;

-- What the variables of threads' frames refer to.
CREATE TABLE variables (
    thread INTEGER NOT NULL,        -- number of the thread
    depth INTEGER,                  -- the frame; NULL if the thread holds the object in no frame
    name TEXT NOT NULL,             -- the variable; empty if the file does not name it
    kind TEXT NOT NULL,             -- the kind of root, as local variable
    object INTEGER NOT NULL         -- what it refers to
);

-- A heap dump's texts: names, and what strings contain.
CREATE TABLE strings (
    string INTEGER PRIMARY KEY,     -- number of the text
    text TEXT NOT NULL              -- the text
);

-- What each sample has, with the value's name and the line to look at.
CREATE VIEW "values" AS
SELECT v.sample, t.name, v.amount, t.unit, s.stack, s.size_bytes, f.file, f.line, f.function
FROM sample_values AS v JOIN value_types AS t ON t.value = v.value JOIN samples AS s ON s.sample = v.sample
LEFT JOIN stacks AS k ON k.stack = s.stack LEFT JOIN frames AS f ON f.frame = k.frame;

-- What was live at each device's peak, with the line to look at.
CREATE VIEW live_at_peak AS
SELECT a.allocation, a.device, a.size_bytes, a.rounded_bytes, f.file, f.line, f.function, a.category, a.stack, a.stream,
       a.start_moment, a.end_moment, a.start_time_us, a.end_time_us, a.before_trace, a.address
FROM allocations AS a JOIN stacks AS s ON s.stack = a.stack LEFT JOIN frames AS f ON f.frame = s.frame
WHERE a.live_at_peak = 1;

-- Source lines with what their stacks' frames to show first are charged with, those with the most at the peak first.
-- What a line allocated through what it calls, of which main has all, is in lines.
CREATE VIEW by_line AS
SELECT (SELECT text FROM frame_texts WHERE string = f.file_string) AS file, f.line,
       (SELECT text FROM frame_texts WHERE string = f.function_string) AS function, f.kind,
       sum(s.live_at_peak_bytes) AS live_at_peak_bytes,
       sum(s.live_at_peak_count) AS live_at_peak_count, sum(s.total_bytes) AS total_bytes, sum(s.count) AS count,
       sum(s.live_at_end_bytes) AS live_at_end_bytes, max(s.largest_bytes) AS largest_bytes, l.self_total_bytes,
       l.self_count
FROM stacks AS s JOIN frame_rows AS f USING (frame)
LEFT JOIN line_rows AS l ON l.file_string = f.file_string AND l.line = f.line
GROUP BY f.file_string, f.line ORDER BY sum(s.live_at_peak_bytes) DESC, sum(s.total_bytes) DESC;

-- What was made during the trace and is live at its end: growth, if it should not be there.
CREATE VIEW survivors AS
SELECT a.allocation, a.device, a.size_bytes, a.rounded_bytes, f.file, f.line, f.function, a.category, a.stack, a.stream,
       a.start_moment, a.start_time_us, a.pending_free, a.address
FROM allocations AS a JOIN stacks AS s ON s.stack = a.stack LEFT JOIN frames AS f ON f.frame = s.frame
WHERE a.end_moment IS NULL AND a.before_trace = 0;
