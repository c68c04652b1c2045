-- Made after the rows: building an index once is faster than maintaining it while filling.

-- The views and examples read only columns of these.
CREATE INDEX allocations_at_peak ON allocations (device, size_bytes) WHERE live_at_peak = 1;
CREATE INDEX allocations_left ON allocations (device, size_bytes) WHERE end_moment IS NULL;
CREATE INDEX allocations_before_trace ON allocations (device, size_bytes) WHERE before_trace = 1;
-- From a line to its allocations.
CREATE INDEX allocations_by_stack ON allocations (stack, size_bytes);
CREATE INDEX stack_frames_by_frame ON stack_frames (frame, stack);
CREATE INDEX lines_by_peak ON line_rows (live_at_peak_bytes DESC, total_bytes DESC);
-- From a segment to its blocks, and to what is rare among the events, such as oom, without reading them all.
CREATE INDEX blocks_by_segment ON blocks (segment);
CREATE INDEX events_by_action ON events (action);
-- From a stack to its samples, and from a sample to its labels.
CREATE INDEX samples_by_stack ON samples (stack);
CREATE INDEX labels_by_sample ON labels (sample);
-- From an object to what it refers to and what refers to it, and to what it dominates.
CREATE INDEX refs_by_source ON refs (source);
CREATE INDEX refs_by_target ON refs (target);
-- Empty. SQLite makes no index of its own by a column that begins one, and by these, whose values most references share,
-- it would prefer its own to the ones above: every step of a walk would then read most of the table.
CREATE INDEX refs_by_kind ON refs (kind) WHERE ref IS NULL;
CREATE INDEX refs_by_strength ON refs (strength) WHERE ref IS NULL;
CREATE INDEX refs_by_retains ON refs (retains) WHERE ref IS NULL;
CREATE INDEX objects_by_dominator ON objects (dominator);
CREATE INDEX objects_by_id ON objects (id);
CREATE INDEX roots_by_object ON roots (object);
CREATE INDEX notes_by_event ON notes (event, name, value);
