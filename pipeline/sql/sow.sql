-- Comparing the SOW topics of two AMPS instances: each with what its own log makes of it, and both with each other. The
-- names it starts from: log_l and log_r (sql/journals.sql), sows_l and sows_r (what the SOW dumps hold).

--- sow_told: how far the SOW dumps of one instance reach, and how much of them could not be read
SELECT max(txid) AS last_txid, count(reason) AS unread FROM sows_{side}

--- records: the records of one instance. One whose key fields are not known or not there goes by AMPS's own key, which no
-- log tells
SELECT topic, message_type, coalesce({key}, concat('#', sow_key)) AS key, sow_key, txid, digest, expiration
FROM sows_{side} WHERE reason IS NULL

--- operations: the messages of one log that say which record they are of
SELECT topic, message_type, {key} AS key, txid, kind, client, sequence, digest, expiration, micros FROM log_{side}

--- last_operations: for each key that the log knows its last operation. What a part of a message makes of the record is
-- not known: its content is not compared
SELECT topic, message_type, key, txid AS op_txid, kind AS op_kind, expiration AS op_expiration,
    CASE WHEN kind <> 'part' THEN digest END AS op_digest
FROM (
    SELECT *, row_number() OVER (
        PARTITION BY topic, message_type, key
        ORDER BY txid DESC NULLS LAST, client NULLS FIRST, sequence DESC NULLS LAST) AS number
    FROM operations_{name} WHERE key IS NOT NULL
) AS numbered
WHERE number = 1

--- blind_deletions: for each topic the last deletion that does not say which key it is of
SELECT topic, message_type, max(txid) AS blind_txid FROM operations_{name}
WHERE kind = 'deletion' AND key IS NULL GROUP BY topic, message_type

--- against_log: one row for each key that the SOW or the rebuilt SOW has: cause is empty where both agree. A comparison
-- with an unknown is never true: an empty SOW explains nothing; of an empty log all has aged out
SELECT *,
    CASE WHEN has AND is_rebuilt AND txid = op_txid
            THEN CASE WHEN digest <> op_digest THEN 'changed' END
        WHEN has AND op_txid > txid THEN CASE WHEN op_txid > {sow_last} THEN 'dumped-later' ELSE 'not-applied' END
        WHEN has AND coalesce(txid < {log_first}, {is_emptied}) THEN 'aged-out'
        WHEN has AND txid > {log_last} THEN 'dumped-later'
        WHEN has THEN CASE WHEN substr(key, 1, 1) = '#' THEN 'unknown' ELSE '{absent}' END
        WHEN NOT is_rebuilt THEN CAST(NULL AS STRING)
        WHEN op_txid > {sow_last} THEN 'dumped-later'
        WHEN op_expiration > 0 THEN 'expired'
        WHEN coalesce(blind_txid > coalesce(op_txid, txid), FALSE) THEN 'unknown'
        ELSE 'not-applied' END AS cause,
    has AND is_rebuilt AND txid = op_txid AND (digest IS NULL OR op_digest IS NULL) AS is_unverified
FROM (
    SELECT j.topic, j.message_type, j.key, j.has, coalesce(j.op_kind <> 'deletion', FALSE) AS is_rebuilt, j.sow_key,
        j.txid, j.digest, j.expiration, j.op_txid, j.op_kind, j.op_expiration, j.op_digest, b.blind_txid
    FROM (
        SELECT coalesce(r.topic, o.topic) AS topic, coalesce(r.message_type, o.message_type) AS message_type,
            coalesce(r.key, o.key) AS key, r.key IS NOT NULL AS has, r.sow_key, r.txid, r.digest, r.expiration,
            o.op_txid, o.op_kind, o.op_expiration, o.op_digest
        FROM records_{name} AS r FULL OUTER JOIN last_operations_{name} AS o
            ON r.topic = o.topic AND r.message_type = o.message_type AND r.key = o.key
    ) AS j LEFT JOIN blind_deletions_{name} AS b ON j.topic = b.topic AND j.message_type = b.message_type
) AS joined

--- own_counts: records that are there, that the log gives, that agree, and whose content could not be compared
SELECT topic, message_type,
    count(CASE WHEN has THEN 1 END) AS records,
    count(CASE WHEN is_rebuilt THEN 1 END) AS rebuilt,
    count(CASE WHEN has AND is_rebuilt AND cause IS NULL AND NOT coalesce(is_unverified, FALSE) THEN 1 END) AS same,
    count(CASE WHEN cause IS NULL AND is_unverified THEN 1 END) AS unverified
FROM own_{side} GROUP BY topic, message_type

--- keyless: of each topic whose key is known, how many messages and records there are, and how many have any of its fields
SELECT topic, message_type, count(*) AS messages, count(own_key) AS keyed, min(fields) AS fields
FROM (
    SELECT topic, message_type, own_key, fields FROM log_{side} WHERE kind <> 'deletion'
    UNION ALL
    SELECT topic, message_type, own_key, fields FROM sows_{side} WHERE reason IS NULL
) AS all_of_them
GROUP BY topic, message_type

--- mate_publishers: from which number to which a log has what a publisher sent
SELECT client, min(sequence) AS lowest, max(sequence) AS highest FROM operations_{name} GROUP BY client

--- identities: the messages that a log has
SELECT topic, message_type, client, sequence, TRUE AS is_there FROM operations_{name}
GROUP BY topic, message_type, client, sequence

--- by_txid: the message behind a transaction id; the same journal may have been dumped twice
SELECT topic, message_type, txid, min(client) AS client, min(sequence) AS sequence, min(micros) AS micros
FROM operations_{name} GROUP BY topic, message_type, txid

--- states: both sides' records and last operations beside each other, and the transaction behind each state: the one that
-- made its record, or the deletion that ended it
SELECT *,
    CASE WHEN NOT is_same AND has_l THEN txid_l WHEN NOT is_same AND op_kind_l = 'deletion' THEN op_txid_l END AS at_l,
    CASE WHEN NOT is_same AND has_r THEN txid_r WHEN NOT is_same AND op_kind_r = 'deletion' THEN op_txid_r END AS at_r
FROM (
    SELECT *, coalesce(has_l AND has_r AND digest_l = digest_r, FALSE) AS is_same
    FROM (
        SELECT coalesce(l.topic, r.topic) AS topic, coalesce(l.message_type, r.message_type) AS message_type,
            coalesce(l.key, r.key) AS key, coalesce(l.has, FALSE) AS has_l, coalesce(r.has, FALSE) AS has_r,
            l.sow_key AS sow_key_l, r.sow_key AS sow_key_r, l.txid AS txid_l, r.txid AS txid_r, l.digest AS digest_l,
            r.digest AS digest_r, l.expiration AS expiration_l, r.expiration AS expiration_r, l.op_txid AS op_txid_l,
            r.op_txid AS op_txid_r, l.op_kind AS op_kind_l, r.op_kind AS op_kind_r
        FROM {left} AS l FULL OUTER JOIN {right} AS r
            ON l.topic = r.topic AND l.message_type = r.message_type AND l.key = r.key
    ) AS both_sides
    WHERE has_l OR has_r
) AS states_of_both

--- paired: one row for each key that either SOW has, with the cause of its difference, empty where there is none
SELECT topic, message_type, key, has_l, has_r,
    coalesce(has_l AND has_r AND sow_key_l <> sow_key_r, FALSE) AS other_sow_key,
    CASE WHEN is_same THEN CAST(NULL AS STRING)
        WHEN client_l = client_r AND sequence_l = sequence_r AND has_l AND has_r THEN 'changed'
        WHEN astray_l = 'lost' OR astray_r = 'lost' THEN 'lost'
        WHEN astray_l = 'unknown' OR astray_r = 'unknown' THEN 'unknown'
        WHEN astray_l = 'not-yet-replicated' OR astray_r = 'not-yet-replicated' THEN 'not-yet-replicated'
        WHEN {is_later} THEN 'dumped-later'
        WHEN {is_gone} OR astray_l = 'aged-out' OR astray_r = 'aged-out' THEN 'aged-out'
        WHEN (NOT has_l AND expiration_r > 0) OR (NOT has_r AND expiration_l > 0) THEN 'expired'
        WHEN is_apart THEN 'different-keys'
        WHEN (NOT has_l AND op_kind_l <> 'deletion') OR (NOT has_r AND op_kind_r <> 'deletion') THEN 'not-applied'
        WHEN sequence_l IS NOT NULL AND sequence_r IS NOT NULL THEN 'other-order'
        ELSE 'unknown' END AS cause
FROM (
    SELECT s.*, bl.client AS client_l, bl.sequence AS sequence_l, br.client AS client_r, br.sequence AS sequence_r,
        coalesce(a.is_apart, FALSE) AS is_apart,
        {astray_l} AS astray_l,
        {astray_r} AS astray_r
    FROM states AS s
        LEFT JOIN by_txid_l AS bl ON s.topic = bl.topic AND s.message_type = bl.message_type AND s.at_l = bl.txid
        LEFT JOIN by_txid_r AS br ON s.topic = br.topic AND s.message_type = br.message_type AND s.at_r = br.txid
        LEFT JOIN identities_r AS ml ON bl.topic = ml.topic AND bl.message_type = ml.message_type
            AND bl.client = ml.client AND bl.sequence = ml.sequence
        LEFT JOIN identities_l AS mr ON br.topic = mr.topic AND br.message_type = mr.message_type
            AND br.client = mr.client AND br.sequence = mr.sequence
        LEFT JOIN mate_publishers_r AS pl ON bl.client = pl.client
        LEFT JOIN mate_publishers_l AS pr ON br.client = pr.client
        LEFT JOIN apart AS a ON s.topic = a.topic AND s.message_type = a.message_type
        SEMI JOIN in_both AS i ON s.topic = i.topic AND s.message_type = i.message_type
) AS known

--- astray: why the mate's log has not the message behind this side's state; empty when it has it, or none is known
CASE WHEN b{own}.sequence IS NOT NULL AND m{own}.is_there IS NULL THEN
    CASE WHEN b{own}.sequence > p{own}.highest THEN 'not-yet-replicated'
        WHEN b{own}.sequence < p{own}.lowest THEN 'aged-out'
        WHEN p{own}.highest IS NULL AND b{own}.micros + {skew} < {begins} THEN 'aged-out'
        WHEN p{own}.highest IS NULL AND b{own}.micros - {skew} <= {begins} THEN 'unknown'
        WHEN p{own}.highest IS NULL THEN 'not-yet-replicated'
        ELSE '{lost}' END END

--- is_later: the log goes on behind the SOW dump, or the SOW dump behind the log: they tell of different moments
coalesce(op_txid_{side} > {sow_last} AND (NOT has_{side} OR op_txid_{side} > txid_{side}), FALSE)
    OR coalesce(has_{side} AND txid_{side} > {log_last}, FALSE)

--- is_gone: the message behind this side's record is older than its own log
coalesce(has_{side} AND sequence_{side} IS NULL AND coalesce(txid_{side} < {log_first}, {is_emptied}), FALSE)

--- judged: every difference of an instance from its own log, and every record of the pair
SELECT 'left' AS compared, '' AS which, topic, message_type, key, cause, FALSE AS other_sow_key
FROM own_l SEMI JOIN rebuilt_l USING (topic, message_type) WHERE cause IS NOT NULL
UNION ALL
SELECT 'right' AS compared, '' AS which, topic, message_type, key, cause, FALSE AS other_sow_key
FROM own_r SEMI JOIN rebuilt_r USING (topic, message_type) WHERE cause IS NOT NULL
UNION ALL
SELECT 'pair' AS compared, CASE WHEN has_l AND has_r THEN 'differing' WHEN has_l THEN 'only_left' ELSE 'only_right' END AS which,
    topic, message_type, key, cause, other_sow_key
FROM paired

--- tallies: how many are alike, and two of their keys
SELECT compared, topic, message_type, which, cause, count(*) AS records,
    count(CASE WHEN other_sow_key THEN 1 END) AS other_keys, min(key) AS one, max(key) AS another
FROM judged GROUP BY compared, topic, message_type, which, cause
ORDER BY compared NULLS FIRST, topic NULLS FIRST, message_type NULLS FIRST, which NULLS FIRST, cause NULLS FIRST

--- table: the differences as they are written
SELECT compared AS named(where), which, topic, message_type, key, cause FROM judged WHERE cause IS NOT NULL
