-- Queries about heap dumps that the editor offers, each below its title.
-- "#threads" before a title: only for dumps that have any; packs have more for their dumps;
-- "#unread": those in which closures have variables that nothing reads;
-- "#realms": those with several realms, as the frames of a page.

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
SELECT s.text, count(*) AS copies, sum(d.bytes) - max(d.bytes) AS bytes, min(d.object) AS object
FROM (SELECT object, name_string, shallow_bytes, type = '(concatenated string)' AS is_joined,
             CASE type WHEN '(concatenated string)' THEN shallow_bytes ELSE retained_bytes END AS bytes
      FROM objects
      WHERE distance IS NOT NULL AND type IN (
          SELECT type FROM types
          WHERE kind IN ('string', 'concatenated string') OR type IN (STRING_TYPES)
      )) AS d JOIN strings AS s ON s.string = d.name_string AND s.string > 0
WHERE NOT d.is_joined OR (octet_length(s.text) < 1024 AND instr(s.text, '(sliced string)') = 0)
GROUP BY s.text, d.shallow_bytes, d.is_joined
HAVING copies > 1
ORDER BY bytes DESC
LIMIT 100;

-- # Objects with the most references to them
SELECT r.target AS object, o.type, o.name, count(*) AS referrers, o.retained_bytes
FROM refs AS r JOIN objects AS o ON o.object = r.target
GROUP BY r.target
ORDER BY referrers DESC
LIMIT 100;

-- # What refers to the objects of the largest type, by type and field
SELECT object, type, name, kind, refs, referrers, objects, retained_bytes
FROM referrers_by_type((SELECT type FROM types ORDER BY shallow_bytes DESC LIMIT 1))
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
SELECT type, module, count(*) AS objects, retained(object) AS retained_bytes
FROM objects
WHERE type_id IN (SELECT type_id FROM types ORDER BY retained_bytes DESC LIMIT 5)
GROUP BY type_id
ORDER BY retained_bytes DESC;

-- # What the 1,000 largest objects retain together, by type
SELECT r.type, count(*) AS objects, sum(r.shallow_bytes) AS shallow_bytes
FROM retained_by((
    SELECT object_set(object)
    FROM (SELECT object FROM objects WHERE distance IS NOT NULL ORDER BY shallow_bytes DESC LIMIT 1000)
)) AS r
GROUP BY r.type
ORDER BY shallow_bytes DESC;

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

-- #unread Variables of closures that nothing reads, and what only they keep alive
SELECT function, file, line, group_concat(DISTINCT variable) AS variables, count(DISTINCT context) AS contexts,
       retained(CASE WHEN NOT held_otherwise THEN object END) AS retained_bytes
FROM unread_variables
GROUP BY scope
ORDER BY retained_bytes DESC
LIMIT 100;

-- #realms Types by the frame of the page that they are of
SELECT r.address, o.type, count(*) AS objects, sum(o.shallow_bytes) AS shallow_bytes
FROM objects AS o JOIN realms AS r ON r.realm IS realm_of(o.object)
WHERE o.distance IS NOT NULL
GROUP BY r.realm, o.type
ORDER BY shallow_bytes DESC
LIMIT 100;
