-- Queries that the editor offers, each below its title.

-- # What filled the memory at the peak, by line of my code
SELECT file, line, function, live_at_peak_bytes, live_at_peak_count, total_bytes
FROM by_line
WHERE kind = 'user'
LIMIT 100;

-- # The same with what each line calls
SELECT file, line, function, live_at_peak_bytes, live_at_peak_count, total_bytes
FROM lines
WHERE kind = 'user'
ORDER BY live_at_peak_bytes DESC
LIMIT 100;

-- # The largest allocations at the peak
SELECT allocation, size_bytes, file, line, function, start_time_us, before_trace
FROM live_at_peak
ORDER BY size_bytes DESC
LIMIT 100;

-- # Out-of-memory events: what was asked for, and how much was live
SELECT device, moment, time_us, size_bytes AS asked_bytes, live_bytes, notes.value AS device_free_bytes
FROM events LEFT JOIN notes ON notes.event = events.event AND notes.name = 'device_free'
WHERE action = 'oom';

-- # What was live at the first out-of-memory event, by line
WITH first_oom AS (
  SELECT device, moment FROM events WHERE action = 'oom' ORDER BY event LIMIT 1
)
SELECT live.file, live.line, live.function, sum(live.size_bytes) AS live_bytes, count(*) AS allocations,
       max(live.size_bytes) AS largest_bytes
FROM first_oom JOIN live_at(first_oom.device, first_oom.moment) AS live
GROUP BY live.file, live.line
ORDER BY live_bytes DESC;

-- # What was made and never freed, by line
SELECT file, line, function, sum(size_bytes) AS live_bytes, count(*) AS allocations,
       min(start_time_us) AS first_us, max(start_time_us) AS last_us
FROM survivors
GROUP BY file, line
ORDER BY live_bytes DESC;

-- # Lines that allocate the most often
SELECT file, line, function, count, total_bytes, total_bytes / count AS average_bytes
FROM lines
ORDER BY count DESC
LIMIT 100;

-- # Large allocations that lived only briefly
SELECT a.allocation, a.size_bytes, a.lifetime_us, a.start_time_us, f.file, f.line, f.function
FROM allocations AS a JOIN stacks USING (stack) JOIN frames AS f USING (frame)
WHERE a.lifetime_us < 10000
ORDER BY a.size_bytes DESC
LIMIT 100;

-- # Free space that is reserved but not usable, by segment
SELECT s.segment, s.device, s.type, s.stream, s.pool, s.total_bytes, s.total_bytes - s.allocated_bytes AS free_bytes,
       max(b.size_bytes) AS largest_hole_bytes, count(b.block) AS holes, s.address
FROM segments AS s JOIN blocks AS b ON b.segment = s.segment AND b.state = 'inactive'
GROUP BY s.segment
ORDER BY free_bytes DESC;

-- #replays What would have been reserved without each of the lines with most at the peak
SELECT most.file, most.line, replays.peak_allocated_bytes, replays.peak_reserved_bytes, replays.failed_event
FROM (
  SELECT file, line FROM by_line WHERE line > 0 AND live_at_peak_bytes > 0 ORDER BY live_at_peak_bytes DESC LIMIT 5
) AS most JOIN what_if(NULL, NULL, '"' || most.file || ':' || most.line || '"') AS replays
WHERE replays.replay = 1
ORDER BY replays.peak_reserved_bytes;

-- # All that a function made, itself or through what it called
SELECT f.file, f.line, f.function, sum(s.live_at_peak_bytes) AS live_at_peak_bytes, sum(s.total_bytes) AS total_bytes
FROM frames AS f JOIN stack_frames USING (frame) JOIN stacks AS s USING (stack)
WHERE f.function LIKE '%forward%' AND f.kind = 'user'
GROUP BY f.frame
ORDER BY live_at_peak_bytes DESC;

-- # The whole stack of the largest allocation at the peak
SELECT level, file, line, function, kind
FROM stack_frames JOIN frames USING (frame)
WHERE stack_frames.stack = (SELECT stack FROM live_at_peak ORDER BY size_bytes DESC LIMIT 1)
ORDER BY level;

-- # Live memory at every hundredth of the run
WITH RECURSIVE hundredth (percent) AS (
  SELECT 1 UNION ALL SELECT percent + 1 FROM hundredth WHERE percent < 100
), trace AS (
  SELECT device, events AS length, sum(events) OVER (ORDER BY device) - events AS first_event FROM devices
)
SELECT trace.device, percent, time_us, live_bytes
FROM trace JOIN hundredth JOIN events ON event = first_event + max(length * percent / 100, 1) - 1
WHERE length > 0
ORDER BY trace.device, percent;

-- # Where memory was freed that was allocated before recording
SELECT category, file, line, function, count(*) AS allocations, sum(size_bytes) AS bytes,
       sum(size_bytes) FILTER (WHERE live_at_peak) AS live_at_peak_bytes
FROM allocations AS a LEFT JOIN stacks AS s ON s.stack = a.freed_stack LEFT JOIN frames AS f ON f.frame = s.frame
WHERE before_trace = 1
GROUP BY category, file, line
ORDER BY bytes DESC;
