-- The questions about past runs. The name it starts from: facts_read (a row for each fact, pipeline/history/facts.py). The
-- answers grow with steps, services and devices, never with runs; their columns are the fields of the report's models.

--- counts: how many facts of each kind there are, and of how many runs
SELECT kind, count(*) AS n, count(DISTINCT run) AS runs FROM facts_read GROUP BY kind

--- facts: the facts without those that another file tells too. A run that went on after it was exported may be in two
-- files: the one with more records counts
SELECT f.* FROM facts_read AS f SEMI JOIN (
    SELECT run, file FROM (
        SELECT run, file, row_number() OVER (
            PARTITION BY run ORDER BY amount DESC NULLS LAST, file DESC NULLS LAST) AS number
        FROM facts_read WHERE kind = 'run'
    ) AS numbered WHERE number = 1
) AS fullest ON f.run = fullest.run AND f.file = fullest.file
UNION ALL
SELECT kind, moment_s, simulated, run, runbook, service, site, device, name, state, seconds, amount, min(file) AS file, place
FROM facts_read WHERE kind = 'check'
GROUP BY kind, moment_s, simulated, run, runbook, service, site, device, name, state, seconds, amount, place
UNION ALL
SELECT * FROM facts_read WHERE kind = 'unread'

--- checks: how many checks there were
SELECT count(DISTINCT moment_s) AS n FROM facts WHERE kind = 'check'

--- unread: files that could not be used
SELECT file, state AS why FROM facts WHERE kind = 'unread' ORDER BY file NULLS FIRST LIMIT {most}

--- done: steps that were finished
SELECT simulated, place, runbook, name, service, seconds, moment_s, run, amount FROM facts
WHERE kind = 'step' AND state = 'done' AND seconds IS NOT NULL

--- durations: of seconds, and their change in 30 days, of a straight line through all; empty through too few, or through a
-- few days
count(seconds) AS n, percentile_of(seconds, 0.05) AS p05, percentile_of(seconds, 0.5) AS p50,
    percentile_of(seconds, 0.95) AS p95, max(seconds) AS longest,
    CASE WHEN count(seconds) >= {fewest} AND max(moment_s) - min(moment_s) >= {week}
        THEN regr_slope(seconds, ratio(moment_s, {days_30})) END AS trend

--- phases: how long each finished step took, by runbook
SELECT simulated, runbook, name AS step, CAST(max(amount) AS BIGINT) AS number, {durations}
FROM done GROUP BY simulated, runbook, name
ORDER BY simulated NULLS FIRST, runbook NULLS FIRST, number NULLS FIRST, step NULLS FIRST

--- outages: how long services had no active site, by runbook: the recovery time that clients saw
SELECT simulated, runbook, {durations} FROM facts WHERE kind = 'lane' AND seconds IS NOT NULL
GROUP BY simulated, runbook ORDER BY simulated NULLS FIRST, runbook NULLS FIRST

--- endings: how runs ended, by runbook
SELECT simulated, runbook, state AS outcome, count(*) AS n FROM facts WHERE kind = 'run'
GROUP BY simulated, runbook, state ORDER BY simulated NULLS FIRST, runbook NULLS FIRST, outcome NULLS FIRST

--- rates: drains that took time; rate in messages a second
SELECT simulated, place, service, ratio(amount, seconds) AS rate,
    floordiv(CAST(floor(moment_s) AS BIGINT), 3600) % 24 AS hour,
    CAST(pow(10, floor(log10(amount))) AS BIGINT) AS backlog
FROM facts WHERE kind = 'drain' AND seconds > 0

--- drains: by service, hour (UTC) in which it started, and backlog (its power of ten)
SELECT simulated, service, hour, backlog, count(*) AS n, percentile_of(rate, 0.05) AS p05,
    percentile_of(rate, 0.5) AS p50, percentile_of(rate, 0.95) AS p95
FROM rates GROUP BY simulated, service, hour, backlog
ORDER BY simulated NULLS FIRST, service NULLS FIRST, backlog NULLS FIRST, hour NULLS FIRST

--- retries: second attempts and doubtful ends of actions, by device (or site, where no device was told)
SELECT simulated, site, device, name AS action, count(*) AS n, CAST(sum(amount - 1) AS BIGINT) AS again,
    count(CASE WHEN state = 'doubtful' THEN 1 END) AS doubtful, count(CASE WHEN state = 'rejected' THEN 1 END) AS refused
FROM facts WHERE kind = 'action' GROUP BY simulated, site, device, name
ORDER BY simulated NULLS FIRST, site NULLS FIRST, device NULLS FIRST, action NULLS FIRST

--- failures: readings that failed, by site, reading and kind of error
SELECT simulated, site, name AS reading, state AS error, CAST(sum(amount) AS BIGINT) AS n
FROM facts WHERE kind = 'failure' GROUP BY simulated, site, name, state
ORDER BY simulated NULLS FIRST, site NULLS FIRST, reading NULLS FIRST, error NULLS FIRST

--- drift: readiness over time: each check's first and last state, how often it changed, and when last
SELECT simulated, site, service, name AS named(check), count(*) AS n,
    max(CASE WHEN from_first = 1 THEN state END) AS named(first), max(CASE WHEN from_last = 1 THEN state END) AS named(last),
    count(CASE WHEN state_before <> state THEN 1 END) AS changes,
    max(CASE WHEN state_before <> state THEN moment_s END) AS changed_at
FROM (
    SELECT *,
        lag(state) OVER (PARTITION BY simulated, site, service, name
            ORDER BY moment_s NULLS FIRST, state NULLS FIRST) AS state_before,
        row_number() OVER (PARTITION BY simulated, site, service, name
            ORDER BY moment_s NULLS FIRST, state NULLS FIRST) AS from_first,
        row_number() OVER (PARTITION BY simulated, site, service, name
            ORDER BY moment_s DESC NULLS LAST, state DESC NULLS LAST) AS from_last
    FROM facts WHERE kind = 'check'
) AS seen
GROUP BY simulated, site, service, name
ORDER BY simulated NULLS FIRST, site NULLS FIRST, service NULLS FIRST, name NULLS FIRST

--- numbered: finished steps of one service on one pair, one after the other
SELECT *, row_number() OVER (PARTITION BY simulated, place, runbook, name, service
    ORDER BY moment_s NULLS FIRST, run NULLS FIRST, seconds NULLS FIRST) AS number FROM done

--- foretold: what a forecast from the runs before would have said of each
SELECT o.simulated, o.place, o.runbook, o.name, o.service, o.number, o.seconds,
    percentile_of(e.seconds, 0.05) AS p05, percentile_of(e.seconds, 0.5) AS p50, percentile_of(e.seconds, 0.95) AS p95
FROM numbered AS o JOIN numbered AS e
    ON o.simulated = e.simulated AND o.place = e.place AND o.runbook = e.runbook AND o.name = e.name AND o.service = e.service
    AND e.number < o.number AND e.number >= o.number - {remembered}
GROUP BY o.simulated, o.place, o.runbook, o.name, o.service, o.number, o.seconds
HAVING count(*) >= {fewest}

--- prediction_errors: how wrong a forecast from earlier runs alone would have been, by runbook and step: off, the middle of
-- |took - foretold| in seconds; within, the share that fell into the range foretold
SELECT simulated, runbook, name AS step, count(*) AS n, percentile_of(abs(seconds - p50), 0.5) AS off,
    avg(CASE WHEN seconds >= p05 AND seconds <= p95 THEN CAST(1 AS DOUBLE) ELSE CAST(0 AS DOUBLE) END) AS within
FROM foretold GROUP BY simulated, runbook, name
ORDER BY simulated NULLS FIRST, runbook NULLS FIRST, step NULLS FIRST

--- step_forecasts: seconds of each step on one pair, by service and (service empty) over all of them
SELECT simulated, place, runbook, name, service, count(*) AS n, percentile_of(seconds, 0.05) AS p05,
    percentile_of(seconds, 0.5) AS p50, percentile_of(seconds, 0.95) AS p95
FROM (SELECT simulated, place, runbook, name, service, seconds FROM done
    UNION ALL SELECT simulated, place, runbook, name, CAST(NULL AS STRING) AS service, seconds FROM done) AS twice
GROUP BY simulated, place, runbook, name, service
ORDER BY simulated NULLS FIRST, place NULLS FIRST, runbook NULLS FIRST, name NULLS FIRST, service NULLS FIRST

--- drain_forecasts: messages a second on one pair, by service and (service empty) over all of them
SELECT simulated, place, service, count(*) AS n, percentile_of(rate, 0.05) AS p05, percentile_of(rate, 0.5) AS p50,
    percentile_of(rate, 0.95) AS p95
FROM (SELECT simulated, place, service, rate FROM rates
    UNION ALL SELECT simulated, place, CAST(NULL AS STRING) AS service, rate FROM rates) AS twice
GROUP BY simulated, place, service ORDER BY simulated NULLS FIRST, place NULLS FIRST, service NULLS FIRST

--- table: the facts as they are written
SELECT kind, moment_s AS named(at), simulated, run, runbook, service, site, device, name, state, seconds, amount, file, place
FROM facts
