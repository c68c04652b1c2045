-- Queries about heap dumps that the editor offers, each below its title.
-- "#threads" before a title: only for dumps that have any.

-- # Types, those that retain the most first
SELECT type, count, shallow_bytes, retained_bytes
FROM types
ORDER BY retained_bytes DESC
LIMIT 100;

-- # The largest objects
SELECT object, id, type, name, shallow_bytes, retained_bytes, file, line
FROM objects
ORDER BY retained_bytes DESC
LIMIT 100;

-- # Duplicate strings, and what one copy of each would save
SELECT name, count(*) AS copies, sum(shallow_bytes) - max(shallow_bytes) AS bytes
FROM objects
WHERE type LIKE '%string%'
GROUP BY name
HAVING copies > 1
ORDER BY bytes DESC
LIMIT 100;

-- # Objects with the most references to them
SELECT r.target AS object, o.type, o.name, count(*) AS referrers, o.retained_bytes
FROM refs AS r JOIN objects AS o ON o.object = r.target
GROUP BY r.target
ORDER BY referrers DESC
LIMIT 100;

-- # What kinds of roots hold immediately
SELECT kind, count(*) AS roots, count(DISTINCT object) AS objects
FROM roots
GROUP BY kind
ORDER BY roots DESC;

-- # What only several roots together hold, by type
SELECT type, count(*) AS objects, sum(retained_bytes) AS retained_bytes
FROM objects
WHERE dominator IS NULL
GROUP BY type
ORDER BY retained_bytes DESC
LIMIT 100;

-- # Why the object that retains most is alive
SELECT p.step, p.kind, p.name, p.object, p.type, p.retained_bytes
FROM paths_to((SELECT object FROM objects WHERE dominator IS NOT NULL ORDER BY retained_bytes DESC LIMIT 1)) AS p
ORDER BY p.path, p.step;

-- # What all instances of each type retain together
SELECT type, count(*) AS objects, retained(object) AS retained_bytes
FROM objects
WHERE type IN (SELECT type FROM types ORDER BY retained_bytes DESC LIMIT 5)
GROUP BY type
ORDER BY retained_bytes DESC;

-- #threads What the variables of each thread retain together
SELECT t.thread, t.name, t.state, t.out_of_memory, count(DISTINCT v.object) AS objects,
       retained(v.object) AS retained_bytes
FROM threads AS t LEFT JOIN variables AS v USING (thread)
GROUP BY t.thread
ORDER BY retained_bytes DESC;

-- #threads What the variables of each frame retain together
SELECT t.name, f.depth, f.function, f.file, f.line, count(DISTINCT v.object) AS objects,
       retained(v.object) AS retained_bytes
FROM threads AS t JOIN thread_frames AS f USING (thread) JOIN variables AS v USING (thread, depth)
GROUP BY t.thread, f.depth
ORDER BY retained_bytes DESC
LIMIT 100;
