-- Reconciling two sites. The names it starts from: rows_l and rows_r (the messages of either side), near_l and near_r
-- (at least those that are looked at closer), settings (a row for each endpoint).
--
-- A bucket is a run of neighbouring numbers of one stream in one endpoint. Its fingerprint at one side is the count, sum
-- and exclusive or of a hash of (stream, number, digest), modulo 2**64. Its order is the sum of (position - lowest
-- position) * hash: equal when the messages stand in the same places relative to each other, however far the whole bucket
-- has moved. Buckets that overlap form a cluster; one that has moved as a whole keeps its order inside, and its two ends
-- stand for it when its stream's order is judged. Any other is looked at closer.

--- keyed: messages with what they are told apart by; {rows}: rows_l, rows_r or what is near of them
SELECT *,
    hash64(endpoint_id, stream) AS stream_id,
    CASE WHEN kind = 'topic' AND stream <> '#' THEN hash64(service, stream) END AS publisher,
    CASE WHEN stream = '#' THEN sequence >> 52 ELSE sequence >> {bits} END AS bucket
FROM (SELECT *, hash64(service, endpoint, kind) AS endpoint_id FROM {rows}) AS named

--- folded: one side's buckets, in the only reading of all its rows
SELECT endpoint_id, stream_id, bucket,
    count(*) AS n,
    wsum(hash) AS total,
    bit_xor(hash) AS mixed,
    wsum(wmul(position, hash)) AS placed,
    min(position) AS lowest,
    max(position) AS highest,
    min(CASE WHEN NOT is_local THEN micros END) AS oldest,
    max(micros) AS newest,
    CAST(sum(size) AS BIGINT) AS bytes,
    count(CASE WHEN is_local THEN 1 END) AS local,
    count(CASE WHEN digest IS NULL THEN 1 END) AS undigested,
    {priority} AS lowest_priority,
    {priorities} AS highest_priority{numbers}
FROM (SELECT *, hash64(stream, sequence{digest}) AS hash, {is_local} AS is_local FROM keyed_{side}) AS hashed
GROUP BY endpoint_id, stream_id, bucket

--- numbers: of a log of AMPS also which of a publisher's numbers it has
,
    min(publisher) AS publisher,
    min(sequence) AS first_number

--- buckets: both sides beside each other
SELECT endpoint_id, stream_id, bucket,
    coalesce(max(CASE WHEN side = 0 THEN n END), 0) AS n_l,
    coalesce(max(CASE WHEN side = 1 THEN n END), 0) AS n_r,
    max(CASE WHEN side = 0 THEN total END) AS total_l,
    max(CASE WHEN side = 1 THEN total END) AS total_r,
    max(CASE WHEN side = 0 THEN mixed END) AS mixed_l,
    max(CASE WHEN side = 1 THEN mixed END) AS mixed_r,
    max(CASE WHEN side = 0 THEN wsub(placed, wmul(lowest, total)) END) AS placed_l,
    max(CASE WHEN side = 1 THEN wsub(placed, wmul(lowest, total)) END) AS placed_r,
    max(CASE WHEN side = 0 THEN lowest END) AS lowest_l,
    max(CASE WHEN side = 1 THEN lowest END) AS lowest_r,
    max(CASE WHEN side = 0 THEN highest END) AS highest_l,
    max(CASE WHEN side = 1 THEN highest END) AS highest_r,
    max(CASE WHEN side = 0 THEN oldest END) AS oldest_l,
    max(CASE WHEN side = 1 THEN oldest END) AS oldest_r,
    max(CASE WHEN side = 0 THEN newest END) AS newest_l,
    max(CASE WHEN side = 1 THEN newest END) AS newest_r,
    coalesce(max(CASE WHEN side = 0 THEN bytes END), 0) AS bytes_l,
    coalesce(max(CASE WHEN side = 1 THEN bytes END), 0) AS bytes_r,
    coalesce(max(CASE WHEN side = 0 THEN local END), 0) AS local_l,
    coalesce(max(CASE WHEN side = 1 THEN local END), 0) AS local_r,
    coalesce(max(CASE WHEN side = 0 THEN undigested END), 0) AS undigested_l,
    coalesce(max(CASE WHEN side = 1 THEN undigested END), 0) AS undigested_r,
    min(lowest_priority) AS lowest_priority,
    max(highest_priority) AS highest_priority{numbers}
FROM (SELECT 0 AS side, * FROM folded_l UNION ALL SELECT 1 AS side, * FROM folded_r) AS sides
GROUP BY endpoint_id, stream_id, bucket

--- numbers_of_both: the same beside each other
,
    max(publisher) AS publisher,
    max(CASE WHEN side = 0 THEN first_number END) AS first_number_l,
    max(CASE WHEN side = 1 THEN first_number END) AS first_number_r

--- compared: which buckets differ: in what they hold, or in its order as well
SELECT *,
    n_l > 0 AND n_r > 0 AS has_both,
    coalesce(n_l <> n_r OR total_l <> total_r OR mixed_l <> mixed_r, TRUE) AS holds_other,
    coalesce(n_l <> n_r OR total_l <> total_r OR mixed_l <> mixed_r OR placed_l <> placed_r, TRUE) AS differs
FROM buckets

--- endpoints: what is told of each endpoint when nothing is looked at closer, and whether its order is in question: that
-- of one whose buckets are all alike, and all have moved as far, is not. And by how much later (microseconds) the right
-- site spooled what both have, by the first and the last message of each bucket that holds the same
SELECT endpoint_id,
    CAST(sum(n_l) AS BIGINT) AS n_l,
    CAST(sum(n_r) AS BIGINT) AS n_r,
    CAST(sum(local_l) AS BIGINT) AS local_l,
    CAST(sum(local_r) AS BIGINT) AS local_r,
    CAST(sum(bytes_l) AS BIGINT) AS bytes_l,
    CAST(sum(bytes_r) AS BIGINT) AS bytes_r,
    min(oldest_l) AS oldest_l,
    min(oldest_r) AS oldest_r,
    max(newest_l) AS newest_l,
    max(newest_r) AS newest_r,
    count(*) AS buckets,
    count(CASE WHEN holds_other THEN 1 END) AS others,
    min(CASE WHEN has_both THEN lowest_l END) AS common_l,
    min(CASE WHEN has_both THEN lowest_r END) AS common_r,
    CAST(sum(CASE WHEN undigested_l > undigested_r THEN undigested_l ELSE undigested_r END) AS BIGINT) AS unverified,
    max(CASE WHEN differs THEN 1 ELSE 0 END) = 1
        OR coalesce(
            min(CASE WHEN has_both THEN wsub(lowest_l, lowest_r) END)
            <> max(CASE WHEN has_both THEN wsub(lowest_l, lowest_r) END), FALSE) AS is_in_question,
    count(later_first) AS samples,
    min(least(later_first, later_last)) AS later_least,
    max(greatest(later_first, later_last)) AS later_greatest,
    avg(later_first) AS later_middle
FROM (
    SELECT *,
        CASE WHEN has_both AND NOT holds_other AND local_l = 0 AND local_r = 0 THEN oldest_r - oldest_l END AS later_first,
        CASE WHEN has_both AND NOT holds_other AND local_l = 0 AND local_r = 0 THEN newest_r - newest_l END AS later_last
    FROM compared
) AS timed
GROUP BY endpoint_id

--- clusters: the buckets of endpoints in question, with the number of their cluster
SELECT *, sum(starts) OVER (
    PARTITION BY endpoint_id, stream_id, has_both ORDER BY lowest_l NULLS FIRST, bucket NULLS FIRST
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS cluster
FROM (
    SELECT *,
        CASE WHEN lowest_l <= max(highest_l) OVER (
            PARTITION BY endpoint_id, stream_id, has_both ORDER BY lowest_l NULLS FIRST, bucket NULLS FIRST
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) THEN 0 ELSE 1 END AS starts
    FROM compared SEMI JOIN in_question USING (endpoint_id)
) AS marked

--- decided: is_drilled: a cluster is looked at closer as a whole, or not at all; is_apart: the first bucket of a cluster
-- that, at the right, does not follow the one before it
SELECT *,
    has_both AND starts = 1 AND coalesce(lag(ends_r) OVER (
        PARTITION BY endpoint_id, stream_id, has_both ORDER BY lowest_l NULLS FIRST, bucket NULLS FIRST) > starts_r, FALSE
    ) AS is_apart
FROM (
    SELECT *,
        NOT has_both
            OR max(CASE WHEN differs THEN 1 ELSE 0 END) OVER (
                PARTITION BY endpoint_id, stream_id, has_both, cluster) = 1
            OR min(wsub(lowest_l, lowest_r)) OVER (PARTITION BY endpoint_id, stream_id, has_both, cluster)
                <> max(wsub(lowest_l, lowest_r)) OVER (PARTITION BY endpoint_id, stream_id, has_both, cluster)
            AS is_drilled,
        min(lowest_r) OVER (PARTITION BY endpoint_id, stream_id, has_both, cluster) AS starts_r,
        max(highest_r) OVER (PARTITION BY endpoint_id, stream_id, has_both, cluster) AS ends_r
    FROM clusters
) AS judged

--- chosen: what is told of each endpoint in question
SELECT endpoint_id,
    min(CASE WHEN NOT is_drilled THEN lowest_l END) AS common_l,
    min(CASE WHEN NOT is_drilled THEN lowest_r END) AS common_r,
    CAST(sum(CASE WHEN is_drilled THEN 0 WHEN undigested_l > undigested_r THEN undigested_l ELSE undigested_r END)
        AS BIGINT) AS unverified,
    count(CASE WHEN is_drilled THEN 1 END) AS buckets_drilled,
    count(CASE WHEN is_apart THEN 1 END) AS clusters_apart,
    CAST(sum(CASE WHEN is_drilled THEN n_l + n_r ELSE 0 END) AS BIGINT) AS rows_drilled
FROM decided
GROUP BY endpoint_id

--- wanted: the buckets to be looked at closer, and how many bits of a number are left out to tell each
SELECT endpoint_id, stream_id, bucket,
    CASE WHEN stream_id = hash64(endpoint_id, '#') THEN 52 ELSE {bits} END AS omitted
FROM decided WHERE is_drilled

--- near: the messages that are in the buckets which are looked at closer; {rows}: what is near of them
SELECT /*+ BROADCAST(wanted_buckets) */ * FROM {rows} SEMI JOIN wanted_buckets USING (endpoint_id, stream_id, bucket)

--- copies: what is looked at closer of both sides, as one
SELECT /*+ REPARTITION(endpoint_id, stream_id, message_id) */ endpoint_id, stream_id, bucket, message_id, sequence,
    publisher, side, position, micros, expires, dmq_eligible, priority,
    CASE WHEN digest IS NOT NULL THEN hash64(digest) END AS content,
    CASE replicated WHEN 'not-replicated' THEN 0 WHEN 'pending-replication' THEN 1 ELSE 2 END AS state
FROM {rows}

--- messages: one row for each message id of an endpoint, with the values of both sides beside each other; copies are
-- compared with all that is in them
SELECT endpoint_id, stream_id, message_id,
    min(bucket) AS bucket,
    min(number) AS number,
    min(publisher) AS publisher,
    CAST(sum(n_l) AS BIGINT) AS n_l,
    CAST(sum(n_r) AS BIGINT) AS n_r,
    CAST(sum(CASE WHEN content IS NULL THEN n_l ELSE 0 END) AS BIGINT) AS blind_l,
    CAST(sum(CASE WHEN content IS NULL THEN n_r ELSE 0 END) AS BIGINT) AS blind_r,
    count(CASE WHEN (n_l = 0) <> (n_r = 0) THEN 1 END) AS contents_at_one,
    count(CASE WHEN n_l <> n_r THEN 1 END) AS contents_uneven,
    min(place_l) AS place_l,
    min(place_r) AS place_r,
    min(spooled_l) AS spooled_l,
    min(spooled_r) AS spooled_r,
    min(state_l) AS state_l,
    min(state_r) AS state_r,
    min(expires_l) AS expires_l,
    min(expires_r) AS expires_r,
    max(eligible_l) AS eligible_l,
    max(eligible_r) AS eligible_r,
    min(priority) AS priority
FROM (
    SELECT endpoint_id, stream_id, message_id, content,
        min(bucket) AS bucket,
        min(sequence) AS number,
        min(publisher) AS publisher,
        count(CASE WHEN side = 0 THEN 1 END) AS n_l,
        count(CASE WHEN side = 1 THEN 1 END) AS n_r,
        min(CASE WHEN side = 0 THEN position END) AS place_l,
        min(CASE WHEN side = 1 THEN position END) AS place_r,
        min(CASE WHEN side = 0 THEN micros END) AS spooled_l,
        min(CASE WHEN side = 1 THEN micros END) AS spooled_r,
        min(CASE WHEN side = 0 THEN state END) AS state_l,
        min(CASE WHEN side = 1 THEN state END) AS state_r,
        min(CASE WHEN side = 0 THEN expires END) AS expires_l,
        min(CASE WHEN side = 1 THEN expires END) AS expires_r,
        max(CASE WHEN side = 0 THEN (CASE WHEN dmq_eligible THEN 1 WHEN NOT dmq_eligible THEN 0 END) END) AS eligible_l,
        max(CASE WHEN side = 1 THEN (CASE WHEN dmq_eligible THEN 1 WHEN NOT dmq_eligible THEN 0 END) END) AS eligible_r,
        min(priority) AS priority
    FROM copies
    GROUP BY endpoint_id, stream_id, message_id, content
) AS by_content
GROUP BY endpoint_id, stream_id, message_id

--- judged: adds class, empty where nothing differs, and the numbers that are summed up
SELECT *,
    CASE WHEN is_local THEN 'local' WHEN n_l = 0 THEN 'extra' WHEN n_r = 0 THEN 'missing'
        WHEN n_l <> n_r THEN 'duplicate' WHEN is_changed THEN 'changed' END AS class,
    CASE WHEN is_local THEN 0 ELSE greatest(n_l - greatest(n_r, 1), 0) END AS surplus_l,
    CASE WHEN is_local THEN 0 ELSE greatest(n_r - greatest(n_l, 1), 0) END AS surplus_r,
    greatest(least(n_l, n_r) - 1, 0) AS copies_at_both
FROM (
    SELECT *,
        n_l = 0 OR n_r = 0 AS is_alone,
        (n_l = 0 OR n_r = 0) AND coalesce(state_l, state_r) = 0 AS is_local,
        n_l > 0 AND n_r > 0 AND blind_l + blind_r = 0
            AND (contents_at_one > 0 OR (n_l = n_r AND contents_uneven > 0)) AS is_changed,
        CASE WHEN n_l > 0 AND n_r > 0 THEN greatest(blind_l, blind_r) ELSE 0 END AS unverified
    FROM messages
) AS told

--- sums: what is told of the messages of each endpoint; first by bucket, as a bucket that holds other things and in which
-- nothing is found must be told
SELECT endpoint_id,
    CAST(sum(n_l) AS BIGINT) AS n_l,
    CAST(sum(n_r) AS BIGINT) AS n_r,
    CAST(sum(differences) AS BIGINT) AS differences,
    CAST(sum(missing) AS BIGINT) AS missing,
    CAST(sum(extra) AS BIGINT) AS extra,
    CAST(sum(surplus_l) AS BIGINT) AS surplus_l,
    CAST(sum(surplus_r) AS BIGINT) AS surplus_r,
    CAST(sum(copies_at_both) AS BIGINT) AS copies_at_both,
    CAST(sum(changed) AS BIGINT) AS changed,
    CAST(sum(unverified) AS BIGINT) AS unverified,
    count(CASE WHEN differences + unverified + changed > 0 THEN 1 END) AS found,
    min(common_l) AS common_l,
    min(common_r) AS common_r,
    min(first_at) AS first_at,
    max(last_at) AS last_at,
    count(later_least) AS samples,
    min(later_least) AS later_least,
    max(later_greatest) AS later_greatest,
    avg(later_least) AS later_middle
FROM (
    SELECT endpoint_id, stream_id, bucket,
        sum(n_l) AS n_l,
        sum(n_r) AS n_r,
        count(class) AS differences,
        count(CASE WHEN class = 'missing' THEN 1 END) AS missing,
        count(CASE WHEN class = 'extra' THEN 1 END) AS extra,
        sum(surplus_l) AS surplus_l,
        sum(surplus_r) AS surplus_r,
        sum(copies_at_both) AS copies_at_both,
        count(CASE WHEN is_changed THEN 1 END) AS changed,
        sum(unverified) AS unverified,
        min(CASE WHEN NOT is_alone THEN place_l END) AS common_l,
        min(CASE WHEN NOT is_alone THEN place_r END) AS common_r,
        min(CASE WHEN class IS NOT NULL THEN coalesce(spooled_l, spooled_r) END) AS first_at,
        max(CASE WHEN class IS NOT NULL THEN coalesce(spooled_l, spooled_r) END) AS last_at,
        min(spooled_r - spooled_l) AS later_least,
        max(spooled_r - spooled_l) AS later_greatest
    FROM judged
    GROUP BY endpoint_id, stream_id, bucket
) AS by_bucket
GROUP BY endpoint_id

--- along: what the order is judged by: the messages that both sides have
SELECT endpoint_id, stream_id, place_l AS along, place_r AS value, place_r AS to_value,
    priority AS lowest_priority, priority AS highest_priority
FROM judged WHERE NOT is_alone

--- ends: and the two ends of every cluster that is not looked at closer
SELECT endpoint_id, stream_id, min(lowest_l) AS along, min(lowest_r) AS value, max(highest_r) AS to_value,
    min(lowest_priority) AS lowest_priority, max(highest_priority) AS highest_priority
FROM decided WHERE NOT is_drilled GROUP BY endpoint_id, stream_id, cluster

--- publishers: of a publisher of AMPS, the lowest number in either site's log
SELECT publisher, min(first_number_l) AS first_l, min(first_number_r) AS first_r
FROM buckets WHERE publisher IS NOT NULL GROUP BY publisher

--- no_publishers: there is no log
SELECT CAST(NULL AS BIGINT) AS publisher, CAST(NULL AS BIGINT) AS first_l, CAST(NULL AS BIGINT) AS first_r

--- named: what differs, with the names and the circumstances of its endpoint
SELECT j.endpoint_id, j.message_id, j.class, j.number, j.publisher, j.n_l, j.n_r, j.place_l, j.place_r, j.spooled_l,
    j.spooled_r, j.state_l, j.state_r, j.expires_l, j.expires_r, j.eligible_l, j.eligible_r, j.is_changed,
    s.service, s.endpoint, s.kind, s.first_common_l, s.first_common_r, s.from_l, s.to_l, s.begins_l, s.from_r, s.to_r,
    s.begins_r, s.active, s.failover, coalesce(j.spooled_l, j.spooled_r) AS spooled
FROM (SELECT * FROM judged WHERE class IS NOT NULL) AS j
    JOIN endpoint_settings AS s ON j.endpoint_id = s.endpoint_id

--- unmoved: no endpoint has gained what another has lost
SELECT *, FALSE AS is_moved, CAST(NULL AS STRING) AS elsewhere FROM named

--- moved: messages that one endpoint of a service lacks, and another has more of, as after a move to the dead message
-- queue; as many copies as were gained there are not lost
SELECT *,
    CASE WHEN class = 'missing' THEN fewer_so_far_r <= gained_r WHEN class = 'extra' THEN fewer_so_far_l <= gained_l
        ELSE FALSE END AS is_moved,
    CASE WHEN class = 'missing' AND fewer_so_far_r <= gained_r THEN gained_at_r
        WHEN class = 'extra' AND fewer_so_far_l <= gained_l THEN gained_at_l END AS elsewhere
FROM (
    SELECT *,
        sum(only_r) OVER (PARTITION BY service, message_id) AS gained_r,
        sum(only_l) OVER (PARTITION BY service, message_id) AS gained_l,
        max(CASE WHEN only_r > 0 THEN endpoint END) OVER (PARTITION BY service, message_id) AS gained_at_r,
        max(CASE WHEN only_l > 0 THEN endpoint END) OVER (PARTITION BY service, message_id) AS gained_at_l,
        CASE WHEN only_l > 0 THEN sum(only_l) OVER (PARTITION BY service, message_id
            ORDER BY endpoint NULLS FIRST, kind NULLS FIRST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) END
            AS fewer_so_far_r,
        CASE WHEN only_r > 0 THEN sum(only_r) OVER (PARTITION BY service, message_id
            ORDER BY endpoint NULLS FIRST, kind NULLS FIRST ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) END
            AS fewer_so_far_l
    FROM (
        SELECT *,
            CASE WHEN kind IN ('topic', 'sow') OR class = 'local' THEN 0 ELSE greatest(n_l - n_r, 0) END AS only_l,
            CASE WHEN kind IN ('topic', 'sow') OR class = 'local' THEN 0 ELSE greatest(n_r - n_l, 0) END AS only_r
        FROM named
    ) AS counted
) AS shared

--- why: why the site {own} may have a message that {other} has not. A comparison with an unknown is never true
CASE WHEN state_{own} = 1 AND active = {number} THEN 'in-replication'
    WHEN kind = 'sow' AND to_{other} IS NULL THEN 'not-dumped'
    WHEN kind = 'topic' AND to_{other} IS NULL THEN 'topic-absent'
    WHEN is_moved AND eligible_{own} = 1 THEN 'dead-lettered'
    WHEN is_moved THEN 'moved'
    WHEN spooled_{own} + {skew} >= from_{other} THEN 'after-snapshot'
    WHEN kind = 'topic' AND number < first_{other} THEN 'aged-out'
    WHEN kind = 'topic' AND first_{other} IS NULL AND spooled_{own} + {skew} < begins_{other} THEN 'aged-out'
    WHEN kind = 'topic' AND first_{other} IS NULL AND spooled_{own} - {skew} <= begins_{other} THEN 'undecided'
    WHEN kind NOT IN ('topic', 'sow') AND expires_{own} > 0 AND expires_{own} <= to_{other} + {skew} THEN 'expired'
    WHEN kind NOT IN ('topic', 'sow') AND coalesce(place_{own} < first_common_{own}, TRUE)
        AND from_{own} < to_{other} THEN 'consumed-between'
    WHEN kind NOT IN ('topic', 'sow') AND coalesce(place_{own} < first_common_{own}, TRUE)
        AND active <> {number} AND to_{other} IS NOT NULL THEN 'consumed-unpropagated'
    ELSE 'none' END

--- differences: says of every message that only one site has whether something other than a loss explains it, and
-- whether nobody can tell if it expired
SELECT d.endpoint_id, d.service, d.endpoint, d.kind, d.message_id, d.class, d.n_l, d.n_r, d.place_l, d.place_r, d.spooled_l,
    d.spooled_r, d.is_changed, d.elsewhere, d.spooled,
    CASE WHEN class = 'missing' THEN {why_l} WHEN class = 'extra' THEN {why_r} END AS why,
    d.spooled <= d.failover + {skew} AS is_before,
    d.kind NOT IN ('topic', 'sow')
        AND CASE WHEN class = 'missing' THEN expires_l ELSE expires_r END IS NULL AS may_expire
FROM moved AS d LEFT JOIN publishers AS p ON d.publisher = p.publisher

--- each: the differences, which are few
SELECT endpoint_id, service, endpoint, message_id, class, why, is_before, may_expire, elsewhere, spooled,
    floordiv(spooled - {zero}, {width}) AS number, 1 AS count
FROM differences ORDER BY service NULLS FIRST, endpoint NULLS FIRST, class NULLS FIRST, spooled NULLS FIRST,
    message_id NULLS FIRST

--- whys: the same of many, counted by what explains them
SELECT endpoint_id, class, why, is_before, may_expire, count(*) AS count
FROM differences WHERE class IN ('missing', 'extra') GROUP BY endpoint_id, class, why, is_before, may_expire

--- times: and by when they were spooled
SELECT service, class, number, count(*) AS count
FROM (SELECT service, class, floordiv(spooled - {zero}, {width}) AS number FROM differences) AS spans
GROUP BY service, class, number

--- some: a few of one class
SELECT service, endpoint, message_id, class, why, elsewhere, spooled
FROM differences WHERE class = '{name}' LIMIT {most}

--- table: the differences as they are written: docs/how-to/pipeline.md has the columns
SELECT service, endpoint, kind, message_id, class, why, n_l AS copies_left, n_r AS copies_right,
    moment(spooled_l) AS spooled_at_left, moment(spooled_r) AS spooled_at_right, place_l AS position_left,
    place_r AS position_right, is_changed AS changed, elsewhere
FROM differences
