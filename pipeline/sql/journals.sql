-- Comparing the logs of two AMPS instances by the identity that survives replication: client name hash and sequence. The
-- names it starts from: dumps_l and dumps_r, what their journal dumps hold.

--- log: the messages of one instance
SELECT topic, message_type, txid, client, sequence, micros, expiration, digest, kind, own_key, pair_key, fields
FROM dumps_{side} WHERE reason IS NULL AND kind IS NOT NULL

--- told: what is told of one log
SELECT count(CASE WHEN reason IS NULL THEN 1 END) AS entries,
    count(CASE WHEN reason IS NOT NULL THEN 1 END) AS unread,
    count(CASE WHEN reason IS NULL AND kind IS NULL THEN 1 END) AS others,
    min(txid) AS first_txid,
    max(txid) AS last_txid,
    min(micros) AS first_micros,
    max(micros) AS last_micros
FROM dumps_{side}

--- types: entries that are no messages, by type, the most frequent first
SELECT type, count(*) AS number FROM dumps_{side} WHERE reason IS NULL AND kind IS NULL
GROUP BY type ORDER BY number DESC NULLS LAST, type NULLS FIRST LIMIT {most}

--- unread: what could not be read, by file: of each the number of pieces, their bytes and the first reason. What is wrong
-- with a record may be worded with its own numbers
SELECT file, count(*) AS pieces, CAST(coalesce(sum(length), 0) AS BIGINT) AS bytes,
    max(CASE WHEN number = 1 THEN reason END) AS reason
FROM (
    SELECT file, length, reason, row_number() OVER (
        PARTITION BY file ORDER BY coalesce(place, 4611686018427387904) NULLS LAST, reason NULLS LAST) AS number
    FROM {dumps} WHERE reason IS NOT NULL
) AS pieces
GROUP BY file ORDER BY pieces DESC NULLS LAST, file NULLS FIRST LIMIT {most}

--- quarantine: each piece that could not be read
SELECT file, place AS named(offset), length, reason, excerpt FROM {dumps} WHERE reason IS NOT NULL

--- publishers: from which number to which one log has what a publisher sent. An instance discards what is not above the
-- highest as a duplicate
SELECT client, min(sequence) AS lowest, max(sequence) AS highest FROM log_{side} GROUP BY client

--- topics: the topics that one log has messages of
SELECT topic, message_type, TRUE AS is_logged FROM log_{side} GROUP BY topic, message_type

--- messages: one row for each identity of a topic, with the values of both sides beside each other; copies are compared
-- with all that is in them
SELECT topic, message_type, client, sequence,
    CAST(sum(n_l) AS BIGINT) AS n_l,
    CAST(sum(n_r) AS BIGINT) AS n_r,
    min(txid_l) AS txid_l,
    min(txid_r) AS txid_r,
    min(micros_l) AS micros_l,
    min(micros_r) AS micros_r,
    CAST(sum(CASE WHEN digest IS NULL THEN n_l + n_r ELSE 0 END) AS BIGINT) AS blind,
    count(CASE WHEN digest IS NOT NULL AND (n_l = 0) <> (n_r = 0) THEN 1 END) AS contents_at_one,
    count(CASE WHEN digest IS NOT NULL AND n_l <> n_r THEN 1 END) AS contents_uneven
FROM (
    SELECT topic, message_type, client, sequence, digest,
        count(CASE WHEN side = 0 THEN 1 END) AS n_l,
        count(CASE WHEN side = 1 THEN 1 END) AS n_r,
        min(CASE WHEN side = 0 THEN txid END) AS txid_l,
        min(CASE WHEN side = 1 THEN txid END) AS txid_r,
        min(CASE WHEN side = 0 THEN micros END) AS micros_l,
        min(CASE WHEN side = 1 THEN micros END) AS micros_r
    FROM (SELECT 0 AS side, * FROM log_l UNION ALL SELECT 1 AS side, * FROM log_r) AS logs
    GROUP BY topic, message_type, client, sequence, digest
) AS by_content
GROUP BY topic, message_type, client, sequence

--- judged: class, empty where both are equal, and for what one side has why the other has not. A younger log that starts
-- with a resynchronisation has later times for old messages: numbers come first. A number below the lowest that the other
-- log has of the publisher was before its beginning, one between its lowest and its highest is a hole
SELECT m.topic, m.message_type, m.client, m.sequence, m.n_l, m.n_r, m.txid_l, m.txid_r, m.micros_l, m.micros_r,
    m.n_l > 0 AND m.n_r > 0 AS is_common,
    m.n_l > 0 AND m.n_r > 0 AND m.blind > 0 AS is_unverified,
    {is_changed} AS is_changed,
    CASE WHEN m.n_l = 0 THEN 'extra' WHEN m.n_r = 0 THEN 'missing' WHEN {is_changed} THEN 'changed'
        WHEN m.n_l > 1 OR m.n_r > 1 THEN 'duplicate' END AS class,
    CASE WHEN m.n_r = 0 THEN {why_l} WHEN m.n_l = 0 THEN {why_r} END AS why
FROM messages AS m
    LEFT JOIN publishers_l AS pl ON m.client = pl.client
    LEFT JOIN publishers_r AS pr ON m.client = pr.client
    LEFT JOIN topics_l AS tl ON m.topic = tl.topic AND m.message_type = tl.message_type
    LEFT JOIN topics_r AS tr ON m.topic = tr.topic AND m.message_type = tr.message_type

--- is_changed: has one identity other content at the two sides
m.n_l > 0 AND m.n_r > 0 AND m.blind = 0 AND (m.contents_at_one > 0 OR (m.n_l = m.n_r AND m.contents_uneven > 0))

--- why: why the log of {other} has not what that of {own} has
CASE WHEN t{other}.is_logged IS NULL THEN '{absent}'
    WHEN m.sequence > p{other}.highest THEN 'not-yet-replicated'
    WHEN m.sequence < p{other}.lowest THEN 'aged-out'
    WHEN p{other}.highest IS NULL AND m.micros_{own} + {skew} < {begins} THEN 'aged-out'
    WHEN p{other}.highest IS NULL AND m.micros_{own} - {skew} <= {begins} THEN 'undecided'
    WHEN p{other}.highest IS NULL THEN 'not-yet-replicated'
    ELSE '{lost}' END

--- sums: what is told of each topic
SELECT topic, message_type,
    CAST(sum(n_l) AS BIGINT) AS n_l,
    CAST(sum(n_r) AS BIGINT) AS n_r,
    CAST(sum(greatest(n_l - 1, 0)) AS BIGINT) AS copies_l,
    CAST(sum(greatest(n_r - 1, 0)) AS BIGINT) AS copies_r,
    count(CASE WHEN is_changed THEN 1 END) AS changed,
    count(CASE WHEN is_unverified THEN 1 END) AS unverified
FROM judged GROUP BY topic, message_type ORDER BY topic NULLS FIRST, message_type NULLS FIRST

--- whys: and of why messages are absent
SELECT topic, message_type, class, why, count(*) AS number FROM judged WHERE why IS NOT NULL
GROUP BY topic, message_type, class, why

--- own_order: a publisher's numbers along one log
SELECT topic, message_type, client, txid AS along, sequence AS value, sequence AS to_value,
    CAST(NULL AS INT) AS lowest_priority, CAST(NULL AS INT) AS highest_priority
FROM log_{side}

--- order_across: where messages stand in the other log, along the one
SELECT topic, message_type, client, txid_l AS along, txid_r AS value, txid_r AS to_value,
    CAST(NULL AS INT) AS lowest_priority, CAST(NULL AS INT) AS highest_priority
FROM judged WHERE is_common

--- remains: what was left behind for good, by publisher
SELECT class, client, count(*) AS messages, min(sequence) AS first_sequence, max(sequence) AS last_sequence,
    min(coalesce(micros_l, micros_r)) AS first_micros, max(coalesce(micros_l, micros_r)) AS last_micros
FROM judged WHERE why = 'lost' GROUP BY class, client
ORDER BY messages DESC NULLS LAST, class NULLS FIRST, client NULLS FIRST LIMIT {most}

--- table: the differences as they are written
SELECT topic, message_type, client, sequence, class, why, n_l, n_r, txid_l, txid_r, micros_l, micros_r
FROM judged WHERE class IS NOT NULL
