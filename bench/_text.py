"""The algorithm of reconciling, written by hand for DuckDB: fingerprints, a closer check, the order."""

from __future__ import annotations

SEEN = ("missing", "extra", "duplicate", "changed")

FINGERPRINTS = """
CREATE TABLE differing AS
WITH folded AS (
    SELECT side, service, endpoint, kind, stream, bucket, count(*) AS n, bit_xor(h) AS x, sum(h::HUGEINT) AS s,
        sum((position - low)::HUGEINT * (h % 4294967296)::HUGEINT) AS placed
    FROM (
        SELECT *, hash(stream, sequence, digest) AS h, 4 * (bucket << {width}) AS low
        FROM (SELECT * FROM side0 UNION ALL SELECT * FROM side1)
    )
    GROUP BY ALL
)
SELECT service, endpoint, kind, stream, bucket FROM folded
GROUP BY ALL
HAVING count(*) < 2 OR min(n) <> max(n) OR min(x) <> max(x) OR min(s) <> max(s) OR min(placed) <> max(placed)
"""
DRILL = """
WITH near AS (
    SELECT * FROM (SELECT * FROM side0 UNION ALL SELECT * FROM side1)
    SEMI JOIN differing USING (service, endpoint, kind, stream, bucket)
), messages AS (
    SELECT service, endpoint, kind, stream, message_id,
        count(*) FILTER (side = 0) AS n_l, count(*) FILTER (side = 1) AS n_r,
        min(position) FILTER (side = 0) AS l, min(position) FILTER (side = 1) AS r,
        min(digest) FILTER (side = 0) AS d_l, min(digest) FILTER (side = 1) AS d_r
    FROM near GROUP BY ALL
), ordered AS (
    SELECT *, lag(r) OVER (PARTITION BY service, endpoint, kind, stream ORDER BY l) > r AS is_back
    FROM messages WHERE n_l > 0 AND n_r > 0
)
SELECT (SELECT count(*) FROM messages WHERE n_r = 0), (SELECT count(*) FROM messages WHERE n_l = 0),
    (SELECT sum(n_r - n_l) FROM ordered WHERE n_r > n_l), (SELECT count(*) FROM ordered WHERE d_l <> d_r),
    (SELECT count(*) FROM ordered WHERE is_back)
"""
