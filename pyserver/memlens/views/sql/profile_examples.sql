-- Queries about profiles that the editor offers, each below its title; VALUE is the name of the value shown first.
-- "#labels" and "#sizes" before a title: only for profiles that have them.

-- # What the profile's values are, and what they come to
SELECT name, title, total, unit, meaning
FROM value_types;

-- # Lines with the most, by themselves
SELECT file, line, function, sum(amount) AS amount, unit, count(*) AS samples
FROM "values"
WHERE name = 'VALUE'
GROUP BY file, line, function
ORDER BY amount DESC
LIMIT 100;

-- # Functions with what they call, recursion counted once
WITH of_stacks AS (
  SELECT stack, sum(amount) AS amount FROM "values" WHERE name = 'VALUE' GROUP BY stack
), functions AS (
  SELECT DISTINCT stack, file, function FROM stack_frames JOIN frames USING (frame)
)
SELECT file, function, sum(amount) AS amount, count(*) AS stacks
FROM of_stacks JOIN functions USING (stack)
GROUP BY file, function
ORDER BY amount DESC
LIMIT 100;

-- # Lines with what they call, every value side by side
SELECT f.file, f.line, f.function, t.name, sum(v.amount) AS amount, t.unit
FROM sample_values AS v JOIN value_types AS t USING (value) JOIN samples USING (sample)
     JOIN stacks AS s USING (stack) JOIN frames AS f USING (frame)
GROUP BY f.frame, t.value
ORDER BY f.file, f.line, t.value
LIMIT 1000;

-- # The whole stack of the largest sample
SELECT level, file, line, function, kind
FROM stack_frames JOIN frames USING (frame)
WHERE stack = (SELECT stack FROM "values" WHERE name = 'VALUE' ORDER BY amount DESC LIMIT 1)
ORDER BY level;

-- # Whose code it is, by file
SELECT f.file, f.kind, sum(v.amount) AS amount, round(100.0 * sum(v.amount) / t.total, 1) AS percent
FROM sample_values AS v JOIN value_types AS t USING (value) JOIN samples USING (sample)
     JOIN stacks AS s USING (stack) JOIN frames AS f USING (frame)
WHERE t.name = 'VALUE'
GROUP BY f.file
ORDER BY amount DESC
LIMIT 100;

-- #sizes Sizes of blocks
SELECT s.size_bytes, sum(v.amount) AS amount, t.unit, count(DISTINCT s.stack) AS stacks
FROM samples AS s JOIN sample_values AS v USING (sample) JOIN value_types AS t USING (value)
WHERE t.name = 'VALUE' AND s.size_bytes IS NOT NULL
GROUP BY s.size_bytes
ORDER BY amount DESC
LIMIT 100;

-- #labels What each label comes to
SELECT l.name, l.text, l.unit AS label_unit, sum(v.amount) AS amount, t.unit
FROM labels AS l JOIN sample_values AS v USING (sample) JOIN value_types AS t USING (value)
WHERE t.name = 'VALUE'
GROUP BY l.name, l.text, l.unit
ORDER BY amount DESC
LIMIT 100;
