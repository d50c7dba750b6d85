-- How often, along one order, another value falls. A long series is cut into pieces of work. Used by every comparison.

--- breaks: {rows}: along, value, to_value (a row may stand for a run from value to to_value; for a single one both are the
-- same), lowest_priority and highest_priority, and the columns {by}; the answer by {group}. A run that reaches into the
-- next piece is fine, as no other row lies inside of it. A message that overtook one of another priority did what
-- priorities are for: ranked
SELECT {group},
    CAST(sum(backs + CASE WHEN before > starts AND NOT is_ranked THEN 1 ELSE 0 END) AS BIGINT) AS breaks,
    CAST(sum(ranked + CASE WHEN before > starts AND is_ranked THEN 1 ELSE 0 END) AS BIGINT) AS ranked
FROM (
    SELECT *,
        lag(ends) OVER (PARTITION BY {by} ORDER BY piece NULLS FIRST) AS before,
        coalesce(lag(last_highest) OVER (PARTITION BY {by} ORDER BY piece NULLS FIRST) < first_lowest
            OR lag(last_lowest) OVER (PARTITION BY {by} ORDER BY piece NULLS FIRST) > first_highest, FALSE)
            AS is_ranked
    FROM (
        SELECT {by}, piece,
            count(CASE WHEN before > value AND NOT is_ranked THEN 1 END) AS backs,
            count(CASE WHEN before > value AND is_ranked THEN 1 END) AS ranked,
            min(CASE WHEN is_first THEN value END) AS starts,
            min(CASE WHEN is_last THEN to_value END) AS ends,
            min(CASE WHEN is_first THEN lowest_priority END) AS first_lowest,
            min(CASE WHEN is_first THEN highest_priority END) AS first_highest,
            min(CASE WHEN is_last THEN lowest_priority END) AS last_lowest,
            min(CASE WHEN is_last THEN highest_priority END) AS last_highest
        FROM (
            SELECT *, coalesce(highest_before < lowest_priority OR lowest_before > highest_priority, FALSE) AS is_ranked
            FROM (
                SELECT *,
                    lag(to_value) OVER (PARTITION BY {by}, piece ORDER BY along NULLS FIRST, value NULLS FIRST)
                        AS before,
                    lag(lowest_priority) OVER (PARTITION BY {by}, piece ORDER BY along NULLS FIRST, value NULLS FIRST)
                        AS lowest_before,
                    lag(highest_priority) OVER (PARTITION BY {by}, piece ORDER BY along NULLS FIRST, value NULLS FIRST)
                        AS highest_before,
                    lag(along) OVER (PARTITION BY {by}, piece ORDER BY along NULLS FIRST, value NULLS FIRST) IS NULL
                        AS is_first,
                    lead(along) OVER (PARTITION BY {by}, piece ORDER BY along NULLS FIRST, value NULLS FIRST) IS NULL
                        AS is_last
                FROM (SELECT *, along >> 16 AS piece FROM ({rows}) AS places) AS cut
            ) AS ordered
        ) AS judged
        GROUP BY {by}, piece
    ) AS pieces
) AS joined
GROUP BY {group}
