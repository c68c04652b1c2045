-- Queries about dumps with the values of fields that the editor offers, each below its title.

-- # Equal arrays of numbers, and what one copy of each would save
SELECT a.type, a.length, count(*) AS copies, sum(o.shallow_bytes) - max(o.shallow_bytes) AS bytes, min(a.object) AS object
FROM arrays AS a JOIN objects AS o ON o.object = a.object
WHERE a.contents IS NOT NULL AND o.distance IS NOT NULL
GROUP BY a.type, a.length, a.contents
HAVING copies > 1
ORDER BY bytes DESC
LIMIT 100;

-- # What the longest arrays of floating-point numbers contain
SELECT a.object, a.type, a.length, min(e.value) AS least, avg(e.value) AS average, max(e.value) AS most
FROM (SELECT * FROM arrays WHERE type IN ('float[]', 'double[]') ORDER BY length DESC LIMIT 10) AS a
JOIN elements_of(a.object) AS e
GROUP BY a.object
ORDER BY a.length DESC;

-- # The system properties
SELECT c.key_name, c.name
FROM refs AS r JOIN objects AS o ON o.object = r.source JOIN contents_of(r.target) AS c
WHERE o.name = 'java.lang.System' AND r.name = 'props'
ORDER BY c.key_name;

-- # What the largest map contains
SELECT position, key_name, object, type, name, retained_bytes
FROM contents_of((SELECT object FROM collections WHERE type LIKE '%Map' ORDER BY size DESC LIMIT 1));

-- # Collections by how much of their arrays they use
SELECT type, 20 * (5 * used_slots / slots) AS at_least_percent, count(*) AS collections,
       sum(slots - used_slots) AS unused_slots
FROM collections
WHERE slots > 0
GROUP BY type, at_least_percent
ORDER BY unused_slots DESC;

-- # Hash maps whose keys collide: entries that aren't the first of their bucket
SELECT object, type, size, slots, used_slots, 100 * (size - used_slots) / size AS colliding_percent
FROM collections
WHERE type GLOB '*.HashMap' OR type GLOB '*.LinkedHashMap' OR type GLOB '*.ConcurrentHashMap' OR type GLOB '*.Hashtable'
ORDER BY size - used_slots DESC
LIMIT 100;

-- # Boxed numbers by value
SELECT type, value_of(object) AS value, count(*) AS objects, sum(shallow_bytes) AS bytes
FROM objects
WHERE type IN ('java.lang.Integer', 'java.lang.Long', 'java.lang.Double')
GROUP BY type, value
ORDER BY objects DESC
LIMIT 100;

-- # Class loaders, with what they have loaded
SELECT l.object, l.type, l.name, count(*) AS classes, sum(t.count) AS instances, l.retained_bytes
FROM types AS t JOIN refs AS r ON r.source = t.class AND r.kind = 'class loader' JOIN objects AS l ON l.object = r.target
GROUP BY l.object
ORDER BY l.retained_bytes DESC;

-- # What is softly reachable
SELECT o.type, count(DISTINCT o.object) AS objects, retained(o.object) AS bytes
FROM refs AS r JOIN objects AS o ON o.object = r.target
WHERE r.strength = 'soft' AND o.distance IS NOT NULL AND NOT EXISTS (SELECT 1 FROM paths_to(o.object, 1, ''))
GROUP BY o.type
ORDER BY bytes DESC
LIMIT 100;

-- # What only weak and other such references lead to
SELECT r.strength, o.type, count(DISTINCT o.object) AS objects, sum(o.shallow_bytes) AS bytes
FROM refs AS r JOIN objects AS o ON o.object = r.target
WHERE r.strength <> 'strong' AND o.distance IS NULL
GROUP BY r.strength, o.type
ORDER BY bytes DESC
LIMIT 100;

-- # What of the program holds arrays of bytes, with the library's classes between skipped
SELECT h.type, count(*) AS arrays, sum(o.shallow_bytes) AS bytes
FROM objects AS o JOIN objects AS h ON h.object = holder_of(o.object, 'java*')
WHERE o.type = 'byte[]'
GROUP BY h.type
ORDER BY bytes DESC
LIMIT 100;
